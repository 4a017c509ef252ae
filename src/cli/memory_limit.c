// SPDX-License-Identifier: Apache-2.0
/* How much memory may be taken: see memory_limit.h. */
#include "cli/memory_limit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LEAST ((size_t)1 << 30)

static const char *reading;

/* Bytes that could be had without swapping; 0: not known. */
static size_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    size_t bytes = 0;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            bytes = (size_t)strtoull(line + 13, NULL, 10) * 1024;
    if (file)
        fclose(file);
    return bytes;
}

static int take_limit(const struct option_use *use, void *request)
{
    size_t limit;

    (void)request;
    if (!cli_parse_size(use->value, &limit))
        return options_bad_value(use, "a size (500M, 2G)");
    ifg_alloc_limit(limit);
    return CLI_YES;
}

const struct option_row memory_limit_rows[] = {
    { "max-memory", 0, "SIZE", "use at most this much memory [half of what is available]",
      OPTION_CALL, .take = take_limit },
    { 0 },
};

void memory_limit_begin(void)
{
    size_t limit = available() / 2;

    ifg_alloc_limit(limit > LEAST ? limit : LEAST);
}

void memory_limit_reading(const char *path)
{
    reading = path;
}

int memory_limit_settle(int code)
{
    struct ifg_alloc_refusal refusal;

    if (!ifg_alloc_refused(&refusal))
        return code;
    if (!cli_told_of_limit())
        cli_say("%s: not enough memory%s", reading ? reading : "the input", ifg_alloc_why());
    return CLI_USAGE;
}
