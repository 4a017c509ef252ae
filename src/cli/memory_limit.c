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
#include "cli/html_file.h"

#define LEAST       ((size_t)1 << 30)
#define OPTION      "--max-memory"
#define OPTION_SIZE (sizeof OPTION - 1)

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

int memory_limit_set(int *argc, char **argv)
{
    size_t limit = available() / 2;
    int kept = 1;

    if (limit < LEAST)
        limit = LEAST;
    for (int i = 1; i < *argc; i++) {
        const char *value;

        if (strcmp(argv[i], "--") == 0) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        if (strncmp(argv[i], OPTION, OPTION_SIZE) != 0 ||
            (argv[i][OPTION_SIZE] && argv[i][OPTION_SIZE] != '=')) {
            argv[kept++] = argv[i];
            continue;
        }
        value = argv[i][OPTION_SIZE] ? argv[i] + OPTION_SIZE + 1 : i + 1 < *argc ? argv[++i] : "";
        if (!html_parse_size(value, &limit))
            return cli_usage(argv[0], "'%s' is no size for " OPTION ": 2G, 500M", value);
    }
    argv[kept] = NULL;
    *argc = kept;
    ifg_alloc_limit(limit);
    return CLI_YES;
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
