// SPDX-License-Identifier: Apache-2.0
/*
 * See npz.h. The entries of an archive are stored, not compressed, so that any reader of numpy's
 * files can map them; their checksums are computed in a first pass, because they come before the
 * bytes. Nothing is held in memory but one part of a tensor.
 */
#include "export/npz.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "export/export_internal.h"

#define HEADER_MAX  1024u
#define ALIGNMENT   64u
#define SHOWN       8u
#define ZIP_MOST    UINT32_MAX /* more needs fields that not every reader knows */
#define ZIP_ENTRIES 65534u
#define ZIP_UTF8    0x0800u
#define ZIP_VERSION 20u
#define ZIP_DATE    0x21u /* the first day there is: the same inputs give the same file */

/* ---- an array of numpy ---- */

struct npy_type {
    const char *descr;
    uint32_t bytes;
};

/* bfloat16 is not a type of numpy's own; this is how ml_dtypes saves it. */
static const struct npy_type types[] = {
    [1] = { "<f4", 4 },  [2] = { "|u1", 1 },  [3] = { "|i1", 1 },  [4] = { "<u2", 2 },
    [5] = { "<i2", 2 },  [6] = { "<i4", 4 },  [7] = { "<i8", 8 },  [9] = { "|b1", 1 },
    [10] = { "<f2", 2 }, [11] = { "<f8", 8 }, [12] = { "<u4", 4 }, [13] = { "<u8", 8 },
    [16] = { "<V2", 2 },
};

struct npy_header {
    char text[HEADER_MAX];
    size_t bytes;
};

static bool has_elements(const struct trace_input_tensor *tensor, uint32_t element_bytes)
{
    uint64_t bytes = element_bytes;
    bool is_empty = false;

    for (uint32_t i = 0; i < tensor->rank; i++) {
        is_empty = is_empty || tensor->dims[i] == 0;
        if (tensor->dims[i] > 0 && __builtin_mul_overflow(bytes, (uint64_t)tensor->dims[i], &bytes))
            return false;
    }
    return tensor->bytes == (is_empty ? 0 : bytes);
}

/* The text of a header, filled up so that the elements are aligned. */
static enum ifg_status make_header(const struct trace_input_tensor *tensor, struct npy_header *out,
                                   struct ifg_error *err)
{
    const struct npy_type *type =
        tensor->type < sizeof types / sizeof types[0] ? &types[tensor->type] : &types[0];
    size_t start = 10; /* magic, version, bytes of the text */
    size_t used = start;
    size_t length;

    if (!type->descr || !has_elements(tensor, type->bytes))
        return ifg_fail(err, IFG_CORRUPT,
                        "the input '%.200s' is of a type or size that makes no sense",
                        tensor->name);
    used += (size_t)snprintf(out->text + used, HEADER_MAX - used,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (", type->descr);
    for (uint32_t i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(out->text + used, HEADER_MAX - used, "%s%" PRId64 "%s",
                                 i ? ", " : "", tensor->dims[i], tensor->rank == 1 ? "," : "");
    used += (size_t)snprintf(out->text + used, HEADER_MAX - used, "), }");
    while ((used + 1) % ALIGNMENT)
        out->text[used++] = ' ';
    out->text[used++] = '\n';
    length = used - start;
    memcpy(out->text, "\x93NUMPY\1\0", 8);
    out->text[8] = (char)(length & 0xff);
    out->text[9] = (char)(length >> 8);
    out->bytes = used;
    return IFG_OK;
}

/* ---- an archive ---- */

struct entry {
    uint32_t crc;
    uint64_t bytes; /* with the header */
    uint64_t offset;
    struct npy_header header;
};

struct archive {
    const struct trace_inputs *inputs;
    struct entry *entries;
    size_t begun; /* entries of which something was written */
    uint64_t at;
    export_inputs_put *put;
    void *user;
};

static void put(struct archive *archive, const void *data, size_t bytes)
{
    archive->put(data, bytes, archive->user);
    archive->at += bytes;
}

static void put_u16(struct archive *archive, uint32_t value)
{
    put(archive, (const uint8_t[]){ value & 0xff, value >> 8 & 0xff }, 2);
}

static void put_u32(struct archive *archive, uint64_t value)
{
    put_u16(archive, value & 0xffff);
    put_u16(archive, value >> 16 & 0xffff);
}

/* What both the entry and the directory at the end say of it. */
static void put_description(struct archive *archive, size_t number)
{
    const struct entry *entry = &archive->entries[number];

    put_u16(archive, ZIP_VERSION);
    put_u16(archive, ZIP_UTF8);
    put_u16(archive, 0); /* stored */
    put_u16(archive, 0);
    put_u16(archive, ZIP_DATE);
    put_u32(archive, entry->crc);
    put_u32(archive, entry->bytes);
    put_u32(archive, entry->bytes);
    put_u16(archive, (uint32_t)strlen(archive->inputs->tensors[number].name) + 4);
    put_u16(archive, 0);
}

static void put_name(struct archive *archive, size_t number)
{
    const char *name = archive->inputs->tensors[number].name;

    put(archive, name, strlen(name));
    put(archive, ".npy", 4);
}

static void begin_entries(struct archive *archive, size_t until)
{
    for (; archive->begun < until; archive->begun++) {
        struct entry *entry = &archive->entries[archive->begun];

        entry->offset = archive->at;
        put(archive, "PK\3\4", 4);
        put_description(archive, archive->begun);
        put_name(archive, archive->begun);
        put(archive, entry->header.text, entry->header.bytes);
    }
}

static void put_directory(struct archive *archive)
{
    size_t count = archive->inputs->tensor_count;
    uint64_t begin = archive->at;
    uint64_t end;

    for (size_t i = 0; i < count; i++) {
        put(archive, "PK\1\2", 4);
        put_u16(archive, ZIP_VERSION);
        put_description(archive, i);
        put_u16(archive, 0); /* no comment, the first disk, attributes */
        put_u16(archive, 0);
        put_u16(archive, 0);
        put_u32(archive, 0);
        put_u32(archive, archive->entries[i].offset);
        put_name(archive, i);
    }
    end = archive->at;
    put(archive, "PK\5\6\0\0\0\0", 8);
    put_u16(archive, (uint32_t)count);
    put_u16(archive, (uint32_t)count);
    put_u32(archive, end - begin);
    put_u32(archive, begin);
    put_u16(archive, 0);
}

static enum ifg_status sum_part(size_t tensor, const void *data, size_t bytes, void *user,
                                struct ifg_error *err)
{
    struct archive *archive = user;
    struct entry *entry = &archive->entries[tensor];

    (void)err;
    entry->crc = (uint32_t)crc32(entry->crc, data, (uInt)bytes);
    return IFG_OK;
}

static enum ifg_status write_part(size_t tensor, const void *data, size_t bytes, void *user,
                                  struct ifg_error *err)
{
    struct archive *archive = user;

    (void)err;
    begin_entries(archive, tensor + 1);
    put(archive, data, bytes);
    return IFG_OK;
}

static enum ifg_status prepare(struct archive *archive, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; !status && i < archive->inputs->tensor_count; i++) {
        struct entry *entry = &archive->entries[i];

        status = make_header(&archive->inputs->tensors[i], &entry->header, err);
        entry->bytes = entry->header.bytes + archive->inputs->tensors[i].bytes;
        entry->crc = (uint32_t)crc32(0, (const Bytef *)entry->header.text,
                                     status ? 0 : (uInt)entry->header.bytes);
    }
    return status;
}

static enum ifg_status write_archive(const struct timeline *timeline, struct archive *archive,
                                     struct ifg_error *err)
{
    const struct trace_inputs *inputs = archive->inputs;
    enum ifg_status status;

    if (export_inputs_bytes(inputs) > ZIP_MOST || inputs->tensor_count > ZIP_ENTRIES)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "these inputs have more than 4 GiB, which a .npz archive does not hold");
    status = trace_inputs_each_part(timeline->reader, inputs, sum_part, archive, err);
    if (!status)
        status = trace_inputs_each_part(timeline->reader, inputs, write_part, archive, err);
    if (!status) {
        begin_entries(archive, inputs->tensor_count);
        put_directory(archive);
    }
    return status;
}

static enum ifg_status plain_part(size_t tensor, const void *data, size_t bytes, void *user,
                                  struct ifg_error *err)
{
    (void)tensor, (void)err;
    put(user, data, bytes);
    return IFG_OK;
}

enum ifg_status export_inputs_write(const struct timeline *timeline,
                                    const struct trace_inputs *inputs, export_inputs_put *out,
                                    void *user, struct ifg_error *err)
{
    struct archive archive = { .inputs = inputs, .put = out, .user = user };
    enum ifg_status status;

    archive.entries = ifg_alloc(inputs->tensor_count + 1, sizeof *archive.entries);
    if (!archive.entries)
        return ifg_fail_no_memory(err, NULL);
    status = prepare(&archive, err);
    if (!status && inputs->tensor_count == 1) {
        put(&archive, archive.entries[0].header.text, archive.entries[0].header.bytes);
        status = trace_inputs_each_part(timeline->reader, inputs, plain_part, &archive, err);
    } else if (!status) {
        status = write_archive(timeline, &archive, err);
    }
    ifg_free(archive.entries);
    return status;
}

const char *export_inputs_extension(const struct trace_inputs *inputs)
{
    return inputs->tensor_count == 1 ? ".npy" : ".npz";
}

uint64_t export_inputs_bytes(const struct trace_inputs *inputs)
{
    uint64_t bytes = 22;

    for (size_t i = 0; i < inputs->tensor_count; i++)
        if (__builtin_add_overflow(bytes, HEADER_MAX + 128 + 2 * strlen(inputs->tensors[i].name),
                                   &bytes) ||
            __builtin_add_overflow(bytes, inputs->tensors[i].bytes, &bytes))
            return UINT64_MAX;
    return bytes;
}

/* ---- which ---- */

/* "17 (vad, 1.204 ms), 98 (vad, 3.551 ms) and 12 more" */
static void list_events(const struct timeline *timeline, const struct timeline_inputs *inputs,
                        char *out, size_t size)
{
    size_t used = 0;
    size_t shown = 0;
    size_t last = SIZE_MAX;

    out[0] = '\0';
    for (size_t i = 0; i < inputs->count && inputs->items[i].slice != SIZE_MAX; i++) {
        size_t slice = inputs->items[i].slice;
        uint32_t model;

        if (slice == last)
            continue;
        last = slice;
        if (shown++ >= SHOWN || used >= size)
            continue;
        model = timeline->locations[timeline->location[slice]].model;
        used += (size_t)snprintf(out + used, size - used, "%s%zu (%.40s, %.3f ms)",
                                 shown > 1 ? ", " : "", slice,
                                 model < timeline->model_count ? timeline->models[model].name : "",
                                 (double)timeline_duration_ns(timeline, slice) * 1e-6);
    }
    if (shown > SHOWN && used < size)
        snprintf(out + used, size - used,
                 " and %zu more (inferogram query FILE 'SELECT DISTINCT "
                 "slice FROM input')",
                 shown - SHOWN);
}

static enum ifg_status say_choice(const struct timeline *timeline,
                                  const struct timeline_inputs *inputs, size_t slice,
                                  struct ifg_error *err)
{
    char events[600];

    if (!inputs->inferences)
        return ifg_fail(err, IFG_NOT_FOUND,
                        "%s holds no inputs; record the program with --capture-inputs=1, or "
                        "slowest, or failed",
                        trace_reader_name(timeline->reader));
    list_events(timeline, inputs, events, sizeof events);
    if (slice == SIZE_MAX)
        return ifg_fail(err, IFG_INVALID, "which inference? Give --event with one of: %s", events);
    return ifg_fail(err, IFG_NOT_FOUND, "no inputs of event %zu were kept; there are those of: %s",
                    slice, events);
}

enum ifg_status export_inputs_choose(const struct timeline *timeline, size_t slice,
                                     const struct trace_inputs **out_inputs, size_t *out_slice,
                                     struct ifg_error *err)
{
    const struct timeline_inputs *inputs;
    enum ifg_status status = timeline_inputs_get(timeline, &inputs, err);

    *out_inputs = NULL;
    *out_slice = SIZE_MAX;
    if (status)
        return status;
    if (slice == SIZE_MAX && inputs->inferences == 1)
        *out_slice = inputs->items[0].slice;
    else
        *out_slice = slice;
    if (*out_slice != SIZE_MAX)
        *out_inputs = timeline_inputs_of(timeline, *out_slice);
    return *out_inputs ? IFG_OK : say_choice(timeline, inputs, slice, err);
}

/* ---- as a format ---- */

static void put_to_sink(const void *data, size_t bytes, void *user)
{
    export_put(user, data, bytes);
}

static enum ifg_status write_npz(struct export_job *job)
{
    const struct trace_inputs *inputs;
    size_t slice;
    enum ifg_status status = export_inputs_choose(
        job->timeline, job->options->has_event ? (size_t)job->options->event : SIZE_MAX, &inputs,
        &slice, job->err);

    if (status)
        return status;
    job->result->slices = 1;
    for (size_t i = 0; i < inputs->tensor_count; i++)
        if (inputs->tensors[i].type == 16)
            export_note(job,
                        "%.100s is bfloat16, which numpy does not have: it is saved as V2, and "
                        "x.view(ml_dtypes.bfloat16) reads it",
                        inputs->tensors[i].name);
    return export_inputs_write(job->timeline, inputs, put_to_sink, job->sink, job->err);
}

const struct export_format export_format_npz = {
    .name = "npz",
    .extension = ".npz",
    .summary = "inputs of one inference, for numpy and bench --input-data",
    .takes = EXPORT_TAKES_EVENT,
    .one_event = true,
    .write = write_npz,
};
