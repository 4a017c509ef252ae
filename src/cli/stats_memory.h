// SPDX-License-Identifier: Apache-2.0
/* `inferogram stats --by memory` and `--by allocation`; the report shows parts of the same. */
#ifndef IFG_CLI_STATS_MEMORY_H
#define IFG_CLI_STATS_MEMORY_H

#include "analyze/memory.h"

enum memory_sort { MEMORY_BY_MOST, MEMORY_BY_TOTAL, MEMORY_BY_COUNT, MEMORY_BY_NAME };
enum memory_form { MEMORY_TABLE, MEMORY_JSON, MEMORY_CSV };

struct memory_request {
    const char *path;
    const struct timeline *timeline;
    bool allocations;  /* else phases */
    const char *model; /* only phases of the model of this name; NULL: all */
    bool (*name_matches)(const char *name, void *user); /* NULL: all */
    void *user;
    enum memory_sort sort;
    enum memory_form form;
    size_t limit; /* 0: all */
};

/* Prints them; the exit status. */
int memory_print(const struct memory_request *request);

#endif
