// SPDX-License-Identifier: Apache-2.0
/* The writer's own parts: one writer, its definitions, its streams. */
#ifndef IFG_TRACE_WRITER_INTERNAL_H
#define IFG_TRACE_WRITER_INTERNAL_H

#include "trace/output.h"
#include "trace/trace_internal.h"
#include "trace/writer.h"
#include "trace/zone_encoder.h"

struct trace_writer {
    struct trace_output *output;
    uint64_t bytes;  /* what the output has; always the end of a whole block */
    uint64_t blocks; /* written so far; the next sequence number */
    struct ifg_error error;
    struct trace_packer packer;
    struct zone_encoder zone_encoder;
    struct ifg_bytes fields;          /* the definition being built */
    struct ifg_bytes definitions;     /* waiting to be written */
    struct ifg_bytes all_definitions; /* for the footer */
    struct trace_index index;         /* for the footer */
    bool footer_impossible;           /* index or definitions outgrew it; the file is scanned */
    struct trace_stream *streams;     /* list of all */
};

/* As trace_writer_create_on, with the values that are otherwise drawn from chance and time. */
enum ifg_status trace_writer_create_as(struct trace_output *output,
                                       const struct trace_identity *identity,
                                       struct trace_writer **out_writer,
                                       struct ifg_error *err) IFG_MUST_CHECK;

static inline bool trace_writer_broken(const struct trace_writer *writer)
{
    return writer->error.status != IFG_OK;
}

/* Remembers that memory ran out, unless an error is remembered already. */
void trace_writer_no_memory(struct trace_writer *writer, const char *what);

/* Packs and writes one block; sequence is filled in here. Definitions that wait go first. */
void trace_writer_emit(struct trace_writer *writer, struct trace_block_head *head,
                       const struct trace_column *columns, size_t count);

/* The same for a payload that is packed already: of another trace, with its checksum. */
void trace_writer_emit_packed(struct trace_writer *writer, const struct trace_block_head *head,
                              const uint8_t *payload);

/* The definition that gives a stream its own clock. */
void trace_writer_stream_clock(struct trace_writer *writer, uint32_t thread, uint32_t clock);

/* Appends a definition that the caller has encoded; used by tests for kinds of later versions. */
void trace_writer_raw_definition(struct trace_writer *writer, uint64_t kind, const void *fields,
                                 size_t size);

#endif
