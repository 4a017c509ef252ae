// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile result documents. The input is the document. What is read is checked against what every
 * caller relies on, written in all three forms, and read again: what we write we must read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/result/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct bench_row *row)
{
    size_t at = 0;

    if (!row->name || !row->settings || !row->reason || !row->ops_reason || !row->energy_reason)
        abort();
    for (size_t i = 0; i < row->block_count; i++) {
        if (row->blocks[i].where.first != at)
            abort();
        at += row->blocks[i].where.count;
    }
    if (at != row->sample_count || (row->open.used && row->sample_count && !row->open.service_ms))
        abort();
    for (size_t i = 0; i < row->sample_count; i++)
        if (!(row->samples_ms[i] >= 0))
            abort();
    for (size_t i = 0; i < row->op_count; i++)
        if (!row->ops[i].name || !row->ops[i].op_type || !row->ops[i].provider)
            abort();
    for (size_t i = 0; i < row->trust.count; i++)
        if (!row->trust.lines[i].name || !memchr(row->trust.lines[i].text, 0, 160))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bench_result *result, *again;
    struct ifg_error err;
    struct ifg_bytes out;
    char **lines;
    size_t count;

    if (bench_result_parse("fuzz", data, size, &result, &err)) {
        if (result || !*err.message)
            abort();
        return 0;
    }
    for (size_t i = 0; i < result->row_count; i++)
        check_row(&result->rows[i]);
    ifg_bytes_init(&out, (size_t)1 << 26);
    if (bench_result_write_csv(result, &out, &err) || bench_result_write_winml(result, &out, &err))
        abort();
    ifg_bytes_clear(&out);
    if (bench_result_write_json(result, &out, &err) ||
        bench_result_parse("again", out.data, out.size, &again, &err))
        abort();
    if (bench_result_differences(result, again, false, &lines, &count, &err) || count)
        abort();
    ifg_free(lines);
    ifg_bytes_fini(&out);
    bench_result_destroy(again);
    bench_result_destroy(result);
    return 0;
}
