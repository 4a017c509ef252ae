// SPDX-License-Identifier: Apache-2.0
/* `inferogram stats --by function` of a trace that has samples. */
#ifndef IFG_CLI_STATS_FUNCTIONS_H
#define IFG_CLI_STATS_FUNCTIONS_H

#include "analyze/hot.h"
#include "base/bytes.h"
#include "export/documents.h"

enum functions_sort { FUNCTIONS_BY_SELF, FUNCTIONS_BY_TOTAL, FUNCTIONS_BY_NAME };
enum functions_form { FUNCTIONS_TABLE, FUNCTIONS_JSON, FUNCTIONS_CSV };

struct functions_request {
    const char *path;
    const struct timeline *timeline;
    struct hot_filter filter;
    enum functions_sort sort;
    enum functions_form form;
    size_t limit; /* 0: all */
};

/* Prints them; the exit status. */
int stats_functions_print(const struct functions_request *request);

#endif
