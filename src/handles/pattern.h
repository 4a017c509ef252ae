// SPDX-License-Identifier: Apache-2.0
/* Which models a stream takes by their names: a regular expression, a glob, or neither. */
#ifndef IFG_HANDLES_PATTERN_H
#define IFG_HANDLES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern {
    void *regex; /* a pcre2_code */
    char *glob;
};

/* 0, or a negative errno value with the place of the fault in `why`. */
int pattern_init(struct pattern *pattern, const char *regex, const char *glob, char *why,
                 size_t why_bytes);
void pattern_fini(struct pattern *pattern);

/* Whether it takes a name; one without a regular expression and a glob takes none. */
bool pattern_takes(const struct pattern *pattern, const char *name);

#endif
