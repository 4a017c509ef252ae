// SPDX-License-Identifier: Apache-2.0
/*
 * Definitions on their way out: each is encoded once and kept twice, for the next definitions block
 * and for the footer.
 */
#include "trace/writer_internal.h"

/* Far above anything sensible: a string that somebody else chose must not fill the file. */
#define STRING_MAX (1u << 20)

/* A block of this size is worth writing even if nothing needs it yet. */
#define WRITE_AT (1u << 20)

static void put_number(struct trace_writer *writer, uint64_t value)
{
    ifg_bytes_put_varint(&writer->fields, value);
}

static void put_bytes(struct trace_writer *writer, const char *text, size_t size)
{
    ifg_bytes_put_string(&writer->fields, text, size < STRING_MAX ? size : STRING_MAX);
}

static void put_string(struct trace_writer *writer, const char *text)
{
    put_bytes(writer, text ? text : "", text ? strnlen(text, STRING_MAX) : 0);
}

static bool begin(struct trace_writer *writer)
{
    ifg_bytes_clear(&writer->fields);
    return !trace_writer_broken(writer);
}

void trace_writer_raw_definition(struct trace_writer *writer, uint64_t kind, const void *fields,
                                 size_t size)
{
    size_t before;

    if (trace_writer_broken(writer))
        return;
    if (writer->definitions.size + size > WRITE_AT)
        trace_writer_flush_definitions(writer);
    before = writer->definitions.size;
    ifg_bytes_put_varint(&writer->definitions, kind);
    ifg_bytes_put_string(&writer->definitions, fields, size);
    if (writer->definitions.failed) {
        trace_writer_no_memory(writer, "definitions");
        return;
    }
    if (writer->footer_impossible)
        return;
    ifg_bytes_put(&writer->all_definitions, writer->definitions.data + before,
                  writer->definitions.size - before);
    if (writer->all_definitions.failed) {
        /* Too many for a footer: the file is read by scanning its blocks instead. */
        writer->footer_impossible = true;
        ifg_bytes_fini(&writer->all_definitions);
    }
}

static void end(struct trace_writer *writer, enum trace_definition_kind kind)
{
    if (writer->fields.failed) {
        trace_writer_no_memory(writer, "definitions");
        return;
    }
    trace_writer_raw_definition(writer, kind, writer->fields.data, writer->fields.size);
}

void trace_writer_flush_definitions(struct trace_writer *writer)
{
    struct trace_block_head head = { .type = TRACE_BLOCK_DEFINITIONS };
    struct trace_column column = { writer->definitions.data, writer->definitions.size };

    if (writer->definitions.size == 0 || trace_writer_broken(writer))
        return;
    trace_writer_emit(writer, &head, &column, 1);
    ifg_bytes_clear(&writer->definitions);
}

void trace_writer_process(struct trace_writer *writer, const struct trace_process *process)
{
    if (!begin(writer))
        return;
    put_number(writer, process->index);
    put_number(writer, process->pid);
    put_number(writer, process->parent_pid);
    put_number(writer, process->clock);
    put_number(writer, process->start_ticks);
    put_string(writer, process->program);
    put_bytes(writer, process->arguments ? process->arguments : "",
              process->arguments ? process->arguments_bytes : 0);
    put_string(writer, process->directory);
    end(writer, TRACE_DEF_PROCESS);
}

void trace_writer_process_end(struct trace_writer *writer, uint32_t index, uint64_t ticks,
                              enum trace_process_fate fate, uint32_t code)
{
    if (!begin(writer))
        return;
    put_number(writer, index);
    put_number(writer, ticks);
    put_number(writer, fate);
    put_number(writer, code);
    end(writer, TRACE_DEF_PROCESS_END);
}

void trace_writer_thread(struct trace_writer *writer, uint32_t index, uint32_t process,
                         uint32_t tid, const char *name)
{
    if (!begin(writer))
        return;
    put_number(writer, index);
    put_number(writer, process);
    put_number(writer, tid);
    put_string(writer, name);
    end(writer, TRACE_DEF_THREAD);
}

void trace_writer_location(struct trace_writer *writer, const struct trace_location *location)
{
    if (!begin(writer))
        return;
    put_number(writer, location->process);
    put_number(writer, location->id);
    put_number(writer, location->kind);
    put_number(writer, location->category);
    put_number(writer, location->color);
    put_number(writer, location->line);
    put_number(writer, location->model);
    put_string(writer, location->name);
    put_string(writer, location->function);
    put_string(writer, location->file);
    end(writer, TRACE_DEF_LOCATION);
}

void trace_writer_model(struct trace_writer *writer, const struct trace_model *model)
{
    if (!begin(writer))
        return;
    put_number(writer, model->process);
    put_number(writer, model->id);
    put_string(writer, model->name);
    put_string(writer, model->path);
    put_string(writer, model->content_id);
    put_string(writer, model->runtime);
    put_string(writer, model->requested_devices);
    put_string(writer, model->actual_devices);
    end(writer, TRACE_DEF_MODEL);
}

void trace_writer_model_property(struct trace_writer *writer, uint32_t process, uint32_t model,
                                 const char *key, const char *value)
{
    if (!begin(writer))
        return;
    put_number(writer, process);
    put_number(writer, model);
    put_string(writer, key);
    put_string(writer, value);
    end(writer, TRACE_DEF_MODEL_PROPERTY);
}

void trace_writer_clock(struct trace_writer *writer, uint32_t index, enum trace_clock_kind kind,
                        uint64_t nominal_hz, const char *name)
{
    if (!begin(writer))
        return;
    put_number(writer, index);
    put_number(writer, kind);
    put_number(writer, nominal_hz);
    put_string(writer, name);
    end(writer, TRACE_DEF_CLOCK);
}

void trace_writer_stream_clock(struct trace_writer *writer, uint32_t thread, uint32_t clock)
{
    if (!begin(writer))
        return;
    put_number(writer, thread);
    put_number(writer, clock);
    end(writer, TRACE_DEF_STREAM_CLOCK);
}

void trace_writer_device_stream(struct trace_writer *writer,
                                const struct trace_device_stream *stream)
{
    if (!begin(writer))
        return;
    put_number(writer, stream->thread);
    put_number(writer, stream->device);
    put_number(writer, stream->context);
    put_number(writer, stream->stream);
    put_string(writer, stream->api);
    put_string(writer, stream->name);
    put_string(writer, stream->device_id);
    end(writer, TRACE_DEF_DEVICE_STREAM);
}

void trace_writer_instrument(struct trace_writer *writer, const char *name,
                             enum trace_instrument_state state, const char *reason)
{
    if (!begin(writer))
        return;
    put_string(writer, name);
    put_number(writer, state);
    put_string(writer, reason);
    end(writer, TRACE_DEF_INSTRUMENT);
}

void trace_writer_fact(struct trace_writer *writer, const char *key, const char *value)
{
    if (!begin(writer))
        return;
    put_string(writer, key);
    put_string(writer, value);
    end(writer, TRACE_DEF_FACT);
}

void trace_writer_loss(struct trace_writer *writer, uint32_t process, const char *what,
                       uint64_t count)
{
    if (!begin(writer))
        return;
    put_number(writer, process);
    put_string(writer, what);
    put_number(writer, count);
    end(writer, TRACE_DEF_LOSS);
}
