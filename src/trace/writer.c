// SPDX-License-Identifier: Apache-2.0
/*
 * A trace writer and its output: appending whole blocks, remembering the first error, and closing
 * with a footer.
 */
#include "trace/writer_internal.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"

/* Appends bytes, or leaves the output as it was and remembers why. */
static void append(struct trace_writer *writer, const uint8_t *data, size_t size)
{
    if (!trace_output_append(writer->output, writer->bytes, data, size, &writer->error))
        writer->bytes += size;
}

static void writer_destroy(struct trace_writer *writer)
{
    while (writer->streams)
        trace_stream_destroy(writer->streams);
    trace_output_close(writer->output, NULL);
    trace_packer_fini(&writer->packer);
    zone_encoder_fini(&writer->zone_encoder);
    ifg_bytes_fini(&writer->fields);
    ifg_bytes_fini(&writer->definitions);
    ifg_bytes_fini(&writer->all_definitions);
    ifg_bytes_fini(&writer->index.bytes);
    ifg_free(writer);
}

enum ifg_status trace_writer_create_as(struct trace_output *output,
                                       const struct trace_identity *identity,
                                       struct trace_writer **out_writer, struct ifg_error *err)
{
    uint8_t header[TRACE_FILE_HEADER_BYTES];
    struct trace_writer *writer = ifg_alloc(1, sizeof *writer);
    enum ifg_status status;

    *out_writer = NULL;
    if (!writer || trace_packer_init(&writer->packer)) {
        status = ifg_fail_no_memory(err, "to write %s", output->name);
        ifg_free(writer);
        trace_output_remove(output);
        trace_output_close(output, NULL);
        return status;
    }
    writer->output = output;
    ifg_bytes_init(&writer->fields, TRACE_PAYLOAD_MAX);
    ifg_bytes_init(&writer->definitions, TRACE_PAYLOAD_MAX);
    ifg_bytes_init(&writer->all_definitions, TRACE_FOOTER_MAX);
    ifg_bytes_init(&writer->index.bytes, TRACE_FOOTER_MAX);
    trace_file_header_put(header, identity);
    append(writer, header, sizeof header);
    status = trace_writer_status(writer, err);
    if (status) {
        trace_output_remove(output);
        writer_destroy(writer);
        return status;
    }
    *out_writer = writer;
    return IFG_OK;
}

enum ifg_status trace_writer_create_on(struct trace_output *output,
                                       struct trace_writer **out_writer, struct ifg_error *err)
{
    struct trace_identity identity = { 0 };

    identity.created_realtime_ns = ifg_realtime_ns();
    if (getrandom(identity.trace_id, sizeof identity.trace_id, GRND_NONBLOCK) < 0) {
        /* Before the kernel has entropy, time and process are the best there is. */
        store_u64(identity.trace_id, identity.created_realtime_ns);
        store_u64(identity.trace_id + 8, (uint64_t)getpid());
    }
    return trace_writer_create_as(output, &identity, out_writer, err);
}

enum ifg_status trace_writer_create_private(const char *path, bool overwrite, uint32_t mode,
                                            struct trace_writer **out_writer, struct ifg_error *err)
{
    struct trace_output *output;
    enum ifg_status status = trace_output_file(path, overwrite, mode, &output, err);

    *out_writer = NULL;
    return status ? status : trace_writer_create_on(output, out_writer, err);
}

enum ifg_status trace_writer_create(const char *path, bool overwrite,
                                    struct trace_writer **out_writer, struct ifg_error *err)
{
    return trace_writer_create_private(path, overwrite, 0, out_writer, err);
}

void trace_writer_keep_no_index(struct trace_writer *writer)
{
    writer->footer_impossible = true;
    ifg_bytes_fini(&writer->all_definitions);
    ifg_bytes_fini(&writer->index.bytes);
}

enum ifg_status trace_writer_status(const struct trace_writer *writer, struct ifg_error *err)
{
    if (trace_writer_broken(writer) && err)
        *err = writer->error;
    return writer->error.status;
}

uint64_t trace_writer_bytes(const struct trace_writer *writer)
{
    return writer->bytes;
}

const char *trace_writer_path(const struct trace_writer *writer)
{
    return writer->output->name;
}

bool trace_writer_accepts(struct trace_writer *writer)
{
    const struct trace_output_functions *functions = writer->output->functions;

    return !functions->accepts || functions->accepts(writer->output);
}

void trace_writer_no_memory(struct trace_writer *writer, const char *what)
{
    if (!trace_writer_broken(writer))
        ifg_fail(&writer->error, IFG_NO_MEMORY,
                 "%s: not enough memory for %s after %llu bytes (what is there can be read)",
                 writer->output->name, what, (unsigned long long)writer->bytes);
}

/* The block in the packer. */
static void append_block(struct trace_writer *writer, const struct trace_block_head *head)
{
    uint64_t offset = writer->bytes;

    append(writer, writer->packer.data, writer->packer.size);
    if (trace_writer_broken(writer))
        return;
    writer->blocks++;
    if (head->type == TRACE_BLOCK_FOOTER || writer->footer_impossible)
        return;
    trace_index_add(&writer->index, head, offset);
    writer->footer_impossible = writer->index.bytes.failed;
}

void trace_writer_emit(struct trace_writer *writer, struct trace_block_head *head,
                       const struct trace_column *columns, size_t count)
{
    enum ifg_status status;

    if (writer->definitions.size && head->type != TRACE_BLOCK_DEFINITIONS)
        trace_writer_flush_definitions(writer);
    if (trace_writer_broken(writer))
        return;
    head->sequence = writer->blocks;
    status = trace_pack(&writer->packer, head, columns, count);
    if (status == IFG_NO_MEMORY) {
        trace_writer_no_memory(writer, "a block");
        return;
    }
    if (status) {
        ifg_fail(&writer->error, IFG_INTERNAL, "%s: a block of type %u is too large",
                 writer->output->name, head->type);
        return;
    }
    append_block(writer, head);
}

void trace_writer_emit_packed(struct trace_writer *writer, const struct trace_block_head *head,
                              const uint8_t *payload)
{
    struct trace_block_head own = *head;

    if (writer->definitions.size)
        trace_writer_flush_definitions(writer);
    if (trace_writer_broken(writer))
        return;
    own.sequence = writer->blocks;
    if (trace_pack_again(&writer->packer, &own, payload))
        trace_writer_no_memory(writer, "a block");
    else
        append_block(writer, &own);
}

void trace_writer_clock_pairs(struct trace_writer *writer, uint32_t clock,
                              const struct trace_clock_pair *pairs, size_t count)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_CLOCK, .stream = clock };
    struct trace_clock_pair before = { 0 };
    struct trace_column column;
    struct ifg_bytes bytes;

    if (trace_writer_broken(writer) || count == 0)
        return;
    ifg_bytes_init(&bytes, TRACE_PAYLOAD_MAX - 1024);
    head.count = (uint32_t)count;
    head.t0 = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct trace_clock_pair *pair = &pairs[i];

        ifg_bytes_put_varint(&bytes, ifg_zigzag((int64_t)(pair->ticks - before.ticks)));
        ifg_bytes_put_varint(&bytes,
                             ifg_zigzag((int64_t)(pair->monotonic_ns - before.monotonic_ns)));
        ifg_bytes_put_varint(&bytes, ifg_zigzag((int64_t)(pair->realtime_ns - before.realtime_ns)));
        before = *pair;
        if (pair->ticks < head.t0)
            head.t0 = pair->ticks;
        if (pair->ticks > head.t1)
            head.t1 = pair->ticks;
    }
    if (bytes.failed) {
        trace_writer_no_memory(writer, "clock pairs");
    } else {
        column.data = bytes.data;
        column.size = bytes.size;
        trace_writer_emit(writer, &head, &column, 1);
    }
    ifg_bytes_fini(&bytes);
}

static void append_footer(struct trace_writer *writer)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_FOOTER };
    struct trace_column columns[FOOTER_COLUMNS] = {
        [FOOTER_INDEX] = { writer->index.bytes.data, writer->index.bytes.size },
        [FOOTER_DEFINITIONS] = { writer->all_definitions.data, writer->all_definitions.size },
    };
    uint64_t offset = writer->bytes;
    uint64_t blocks = writer->blocks;
    uint8_t trailer[TRACE_TRAILER_BYTES];

    if (writer->footer_impossible ||
        writer->index.bytes.size + writer->all_definitions.size > TRACE_FOOTER_MAX - 1024)
        return;
    head.count = blocks > UINT32_MAX ? UINT32_MAX : (uint32_t)blocks;
    trace_writer_emit(writer, &head, columns, FOOTER_COLUMNS);
    if (trace_writer_broken(writer))
        return;
    trace_trailer_put(trailer, offset, writer->bytes, blocks);
    append(writer, trailer, sizeof trailer);
}

enum ifg_status trace_writer_close(struct trace_writer *writer, struct ifg_error *err)
{
    enum ifg_status status;

    if (!writer)
        return IFG_OK;
    while (writer->streams)
        trace_stream_destroy(writer->streams);
    trace_writer_flush_definitions(writer);
    append_footer(writer);
    trace_output_close(writer->output, trace_writer_broken(writer) ? NULL : &writer->error);
    writer->output = NULL;
    status = trace_writer_status(writer, err);
    writer_destroy(writer);
    return status;
}
