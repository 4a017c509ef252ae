// SPDX-License-Identifier: Apache-2.0
/* How much memory may be taken: see memory_limit.h. */
#include "cli/memory_limit.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/small_file.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LEAST ((size_t)1 << 30)

static const char *reading;

/* Bytes that could be had without swapping; 0: not known. */
static size_t available(void)
{
    char text[512];
    uint64_t kib = IFG_NO_NUMBER;

    if (ifg_read_small("/proc/meminfo", text, sizeof text))
        kib = ifg_find_number(text, "MemAvailable");
    return kib < SIZE_MAX / 1024 ? (size_t)kib * 1024 : 0;
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
    { "max-memory", 0, "SIZE", "use at most this much memory [half of the free]", OPTION_CALL,
      .take = take_limit },
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
