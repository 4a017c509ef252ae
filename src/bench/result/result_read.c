// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the JSON document of a result. It may come from anywhere, so nothing in it is believed:
 * blocks must cover the samples, and whatever follows from the samples is computed again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/result/result_reading.h"

#define DOCUMENT_MAX  ((uint64_t)1 << 30)
#define FOREIGN_BLOCK 10u

/* ---- afterwards --------------------------------------------------------------------------------
 */

/* What another tool measured: one process, blocks of ten. */
static bool make_blocks(struct bench_row *row)
{
    size_t count = (row->sample_count + FOREIGN_BLOCK - 1) / FOREIGN_BLOCK;

    row->blocks = ifg_alloc(count, sizeof *row->blocks);
    if (!row->blocks)
        return false;
    row->block_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t first = i * FOREIGN_BLOCK;
        size_t left = row->sample_count - first;

        row->blocks[i].where.first = first;
        row->blocks[i].where.count = left < FOREIGN_BLOCK ? left : FOREIGN_BLOCK;
        row->blocks[i].reference_ms = row->blocks[i].wall_ms = NAN;
    }
    return true;
}

static int check_blocks(struct reading *reading, const struct bench_row *row)
{
    size_t at = 0;
    uint32_t process = 0;

    for (size_t i = 0; i < row->block_count; i++) {
        const struct statistics_block *where = &row->blocks[i].where;

        if (where->first != at || !where->count || where->count > row->sample_count - at)
            return result_reading_refuse(
                reading,
                "blocks[%zu] (first %zu, count %zu) does not follow the one before it "
                "within %zu raw_samples_ms",
                i, where->first, where->count, row->sample_count);
        if (where->process < process ||
            (row->process_count && where->process >= row->process_count))
            return result_reading_refuse(reading,
                                         "blocks[%zu].process is %" PRIu32
                                         ": out of order, or no such "
                                         "process",
                                         i, where->process);
        process = where->process;
        at += where->count;
    }
    if (at != row->sample_count)
        return result_reading_refuse(reading, "blocks cover %zu of %zu raw_samples_ms", at,
                                     row->sample_count);
    return 1;
}

static bool fill_texts(const struct field *fields, void *base)
{
    for (const struct field *field = fields; field->key; field++) {
        char *text;

        if (field->type != TEXT || field->derived)
            continue;
        memcpy(&text, (char *)base + field->offset, sizeof text);
        if (text)
            continue;
        text = ifg_strdup("");
        if (!text)
            return false;
        memcpy((char *)base + field->offset, &text, sizeof text);
    }
    return true;
}

static enum ifg_status find_lateness(struct bench_row *row, struct ifg_error *err)
{
    struct bench_open_loop *open = &row->open;
    double *lateness = ifg_alloc(row->sample_count, sizeof *lateness);

    if (!lateness)
        return ifg_fail_no_memory(err, "for %zu samples", row->sample_count);
    open->late = 0;
    for (size_t i = 0; i < row->sample_count; i++) {
        lateness[i] = fmax(row->samples_ms[i] - open->service_ms[i], 0);
        open->late += lateness[i] > 0.1;
    }
    statistics_sort(lateness, row->sample_count);
    open->lateness_p99_ms =
        ifg_quantile_sorted(lateness, row->sample_count, 0.99, IFG_QUANTILE_LINEAR);
    ifg_free(lateness);
    return IFG_OK;
}

static int finish_row(struct reading *reading, struct bench_row *row)
{
    const struct bench_result *result = reading->result;

    if (!fill_texts(result_objects[ROW].fields, row) ||
        !fill_texts(result_objects[ENERGY].fields, row))
        return result_reading_no_memory(reading);
    for (size_t i = 0; i < row->op_count; i++)
        if (!fill_texts(result_objects[OPERATOR].fields, &row->ops[i]))
            return result_reading_no_memory(reading);
    row->slo_ms = row->slo_ms > 0 ? row->slo_ms : 0;
    row->per_query = row->per_query ? row->per_query : 1;
    row->available = row->available && (row->sample_count || row->process_count);
    if (row->sample_count && !row->block_count && !make_blocks(row))
        return result_reading_no_memory(reading);
    if (!check_blocks(reading, row))
        return 0;
    if (!row->sample_count) {
        row->goodput = row->throughput = NAN;
        return 1;
    }
    reading->status = bench_row_finish(row, result->percentile_nearest, result->seed, reading->err);
    if (!reading->status && row->open.used)
        reading->status = find_lateness(row, reading->err);
    return !reading->status;
}

static int finish(struct reading *reading)
{
    struct bench_result *result = reading->result;

    reading->depth = 0; /* for messages: not within anything any more */
    if (!result->row_count) {
        if (!result_reading_check_row(reading, reading->flat, &reading->flat_state))
            return 0;
        ifg_free(result->rows);
        result->rows = reading->flat;
        result->row_count = 1;
        reading->flat = NULL;
    }
    result->batch = result->batch > 0 ? result->batch : 1;
    for (enum object i = TOP; i <= OPTIONS; i++)
        if (!fill_texts(result_objects[i].fields, result))
            return result_reading_no_memory(reading);
    for (size_t i = 0; i < result->row_count; i++)
        if (!finish_row(reading, &result->rows[i]))
            return 0;
    return 1;
}

/* ---- feeding -----------------------------------------------------------------------------------
 */

static enum ifg_status not_json(struct reading *reading, yajl_handle parser, uint64_t at)
{
    unsigned char *text = yajl_get_error(parser, 0, NULL, 0);
    char reason[128];
    size_t length;

    snprintf(reason, sizeof reason, "%s", text ? (const char *)text : "");
    yajl_free_error(parser, text);
    length = strcspn(reason, "\n");
    return ifg_fail(reading->err, IFG_CORRUPT,
                    "%.200s is no JSON at byte %llu: %.*s; " READING_WAY_OUT, reading->name,
                    (unsigned long long)at, (int)length, reason);
}

/* Takes bytes from `next` until it gives none. */
static enum ifg_status
read_all(const char *name,
         enum ifg_status (*next)(void *source, const unsigned char **out_data, size_t *out_bytes,
                                 struct ifg_error *err),
         void *source, struct bench_result **out_result, struct ifg_error *err)
{
    struct reading reading = { .name = name, .err = err };
    const unsigned char *data;
    yajl_handle parser = NULL;
    yajl_status parsed = yajl_status_ok;
    uint64_t before = 0;
    size_t bytes = 0;

    *out_result = NULL;
    reading.result = bench_result_create();
    reading.flat = ifg_alloc(1, sizeof *reading.flat);
    parser = yajl_alloc(&result_reading_callbacks, NULL, &reading);
    if (!reading.result || !reading.flat || !parser) {
        result_reading_no_memory(&reading);
        goto out;
    }
    result_reading_row_init(reading.flat);
    reading.result->seed = 1;
    do {
        before += bytes;
        reading.status = next(source, &data, &bytes, err);
        if (!reading.status && before + bytes > DOCUMENT_MAX)
            result_reading_refuse(&reading, "is larger than %llu MB",
                                  (unsigned long long)(DOCUMENT_MAX >> 20));
        if (reading.status)
            goto out;
        parsed = bytes ? yajl_parse(parser, data, bytes) : yajl_complete_parse(parser);
    } while (bytes && parsed == yajl_status_ok);
    if (!reading.status && parsed != yajl_status_ok)
        reading.status =
            not_json(&reading, parser, before + (bytes ? yajl_get_bytes_consumed(parser) : 0));
    else if (!reading.status && !reading.levels[0].base)
        result_reading_refuse(&reading, "it is empty");
    if (!reading.status)
        finish(&reading);
out:
    if (parser)
        yajl_free(parser);
    if (reading.flat)
        bench_row_fini(reading.flat);
    ifg_free(reading.flat);
    if (reading.status)
        bench_result_destroy(reading.result);
    else
        *out_result = reading.result;
    return reading.status;
}

struct memory_source {
    const unsigned char *data;
    size_t bytes;
};

static enum ifg_status next_of_memory(void *from, const unsigned char **out_data, size_t *out_bytes,
                                      struct ifg_error *err)
{
    struct memory_source *source = from;

    (void)err;
    *out_data = source->data;
    *out_bytes = source->bytes;
    source->bytes = 0;
    return IFG_OK;
}

enum ifg_status bench_result_parse(const char *name, const void *json, size_t bytes,
                                   struct bench_result **out_result, struct ifg_error *err)
{
    struct memory_source source = { json, bytes };

    return read_all(name, next_of_memory, &source, out_result, err);
}

struct file_source {
    const char *path;
    int fd;
    unsigned char buffer[65536];
};

static enum ifg_status next_of_file(void *from, const unsigned char **out_data, size_t *out_bytes,
                                    struct ifg_error *err)
{
    struct file_source *source = from;
    ssize_t got;

    do
        got = read(source->fd, source->buffer, sizeof source->buffer);
    while (got < 0 && errno == EINTR);
    *out_data = source->buffer;
    *out_bytes = got > 0 ? (size_t)got : 0;
    return got < 0 ? ifg_fail_errno(err, "cannot read %.200s", source->path) : IFG_OK;
}

enum ifg_status bench_result_read(const char *path, struct bench_result **out_result,
                                  struct ifg_error *err)
{
    struct file_source *source = ifg_alloc(1, sizeof *source);
    enum ifg_status status;
    struct stat facts;

    *out_result = NULL;
    if (!source)
        return ifg_fail_no_memory(err, "to read %.200s", path);
    source->path = path;
    source->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (source->fd < 0)
        status = ifg_fail_errno(err, "cannot open %.200s", path);
    else if (fstat(source->fd, &facts) == 0 && S_ISDIR(facts.st_mode))
        status = ifg_fail(err, IFG_INVALID,
                          "%.200s is a directory, not a result; name the file that "
                          "`inferogram bench --json` wrote",
                          path);
    else
        status = read_all(path, next_of_file, source, out_result, err);
    if (source->fd >= 0)
        close(source->fd);
    ifg_free(source);
    return status;
}
