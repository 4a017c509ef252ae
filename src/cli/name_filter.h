// SPDX-License-Identifier: Apache-2.0
/* A pattern for names: PCRE2 with its ECMAScript-like options; it matches if it is found anywhere.
 */
#ifndef IFG_CLI_NAME_FILTER_H
#define IFG_CLI_NAME_FILTER_H

#include <stdbool.h>

#include "base/status.h"

struct name_filter {
    void *code;
    void *match;
};

/* IFG_INVALID with the position of what is wrong. */
enum ifg_status name_filter_init(struct name_filter *filter, const char *pattern,
                                 struct ifg_error *err) IFG_MUST_CHECK;
bool name_filter_matches(const char *name, void *filter);
void name_filter_fini(struct name_filter *filter);

#endif
