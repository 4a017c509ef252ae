// SPDX-License-Identifier: Apache-2.0
/* What a merged trace says of the traces in it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "merge/merge_internal.h"
#include "trace/keys.h"

size_t merge_stored_count(const struct trace_tables *tables)
{
    const char *text = trace_find_fact(tables, TRACE_FACT_MERGE_COUNT);
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;

    return count <= MERGE_PARTS_MAX ? (size_t)count : 0;
}

static void take(struct merge_part *part, const char *key, const char *value)
{
    int64_t number = strtoll(value, NULL, 10);

    if (strcmp(key, TRACE_MERGED_FILE) == 0) {
        part->file = value;
    } else if (strcmp(key, TRACE_FACT_HOST_NAME) == 0) {
        part->host = value;
    } else if (strcmp(key, TRACE_MERGED_METHOD) == 0) {
        part->method = merge_method_of(value);
    } else if (strcmp(key, TRACE_MERGED_OFFSET_NS) == 0) {
        part->offset_ns = number;
    } else if (strcmp(key, TRACE_MERGED_SHIFT_NS) == 0) {
        part->shift_ns = number;
    } else if (strcmp(key, TRACE_MERGED_FIRST_PROCESS) == 0) {
        part->first_process = (uint32_t)number;
    } else if (strcmp(key, TRACE_MERGED_NUMBERS_FROM) == 0) {
        part->numbers_from = (uint32_t)number;
    } else if (strcmp(key, TRACE_MERGED_ERROR_NS) == 0) {
        part->has_error = true;
        part->error_ns = (uint64_t)number;
    }
}

enum ifg_status merge_stored_parts(const struct trace_tables *tables, struct merge_part **out_parts,
                                   size_t *out_count, struct ifg_error *err)
{
    const size_t prefix = strlen(TRACE_FACT_MERGE);
    size_t count = merge_stored_count(tables);
    struct merge_part *parts = ifg_alloc(count, sizeof *parts);

    *out_parts = parts;
    *out_count = parts ? count : 0;
    if (!parts)
        return ifg_fail_no_memory(err, "for the parts of a merged trace");
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct merge_part){ .file = "", .host = "", .method = MERGE_WALL_CLOCK };
    for (size_t i = 0; i < tables->fact_count; i++) {
        const char *key = tables->facts[i].key;
        unsigned long number;
        char *rest;

        if (strncmp(key, TRACE_FACT_MERGE, prefix) != 0)
            continue;
        number = strtoul(key + prefix, &rest, 10);
        if (rest != key + prefix && *rest == '.' && number >= 1 && number <= count)
            take(&parts[number - 1], rest + 1, tables->facts[i].value);
    }
    return IFG_OK;
}
