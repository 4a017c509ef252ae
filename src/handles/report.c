// SPDX-License-Identifier: Apache-2.0
/* What a callback is given: a latency table for each program, or a trace of all of them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/latency_table.h"
#include "handles/handle.h"

#define ALWAYS_KNOWN                                                                               \
    (LATENCY_KNOWN(LATENCY_SAMPLE) | LATENCY_KNOWN(LATENCY_HOST_ROUND_TRIP) |                      \
     LATENCY_KNOWN(LATENCY_EXEC_TOTAL) | LATENCY_KNOWN(LATENCY_TOTAL) |                            \
     LATENCY_KNOWN(LATENCY_QUEUE_DEPTH))

/* A program's samples go into the report; the program stays, if its model does. */
bool report_take(struct handle *handle, struct report *out)
{
    size_t kept = 0;

    *out = (struct report){ .known = ALWAYS_KNOWN };
    out->programs = ifg_alloc(handle->program_count + 1, sizeof *out->programs);
    out->ends = ifg_alloc(handle->program_count + 1, sizeof *out->ends);
    if (!out->programs || !out->ends) {
        report_fini(out);
        return false;
    }
    for (size_t i = 0; i < handle->program_count; i++) {
        struct program *program = &handle->programs[i];

        if (!program->present && program->count == 0) {
            if (program->removed)
                handle->programs[kept++] = *program;
            continue;
        }
        out->programs[out->count] = *program;
        out->programs[out->count].requested =
            handle->is_stream ? program->seen - program->reported : handle->wanted;
        out->requested += out->programs[out->count++].requested;
        out->samples += program->count;
        for (size_t j = 0; j < program->count; j++)
            out->known |= program->samples[j].known;
        program->reported = program->seen;
        program->samples = NULL;
        program->count = program->capacity = 0;
        if (program->present || program->removed)
            handle->programs[kept++] = *program;
    }
    handle->program_count = kept;
    return true;
}

void report_fini(struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        ifg_free(report->programs[i].samples);
    ifg_free(report->programs);
    ifg_free(report->ends);
    ifg_free(report->text);
}

/* Room for so many more bytes and the 0 at the end; NULL when there is no memory. */
static char *room(struct report *report, size_t bytes)
{
    if (report->failed || !IFG_ARRAY_ROOM(report->text, report->capacity,
                                          report->length + bytes + 1, IFG_ARRAY_ANY)) {
        report->failed = true;
        return NULL;
    }
    return report->text + report->length;
}

/* ---- the latency table ---- */

static void write_table_row(struct report *report, const struct sample *sample)
{
    struct latency_row row = { .known = report->known };
    char *out = room(report, LATENCY_ROW_BYTES);

    if (!out)
        return;
    row.values[LATENCY_SAMPLE] = sample->number;
    row.values[LATENCY_HOST_ROUND_TRIP] = handles_duration_ns(sample->end - sample->start);
    row.values[LATENCY_EXEC_TOTAL] = row.values[LATENCY_HOST_ROUND_TRIP];
    row.values[LATENCY_ENQUEUE] = handles_duration_ns(sample->enqueue);
    row.values[LATENCY_PRE] = handles_duration_ns(sample->pre);
    row.values[LATENCY_POST] = handles_duration_ns(sample->post);
    row.values[LATENCY_TOTAL] = handles_duration_ns(sample->trip_end - sample->trip_start);
    row.values[LATENCY_QUEUE_DEPTH] = sample->running;
    report->length += latency_write_row(out, &row);
}

static void write_table(struct report *report, uint64_t number, const char *name,
                        uint64_t requested, const struct sample *samples, size_t count)
{
    char *out = room(report, LATENCY_HEAD_BYTES + strlen(name));

    if (!out)
        return;
    report->length += latency_write_head(out, number, name, count, requested);
    for (size_t i = 0; i < count; i++)
        write_table_row(report, &samples[i]);
}

/* ---- the trace ---- */

static void __attribute__((format(printf, 2, 3)))
put(struct report *report, const char *format, ...)
{
    char line[256];
    va_list args;
    int length;
    char *out;

    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof line || !(out = room(report, (size_t)length)))
        return;
    memcpy(out, line, (size_t)length);
    report->length += (size_t)length;
}

/* As a JSON string. Bytes that are no UTF-8 were never promised to be: they become '?'. */
static void put_string(struct report *report, const char *text)
{
    put(report, "\"");
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        unsigned extra = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc2 ? 1 : 0;
        bool good = *at < 0x80 || (extra && *at < 0xf5);

        for (unsigned i = 1; i <= extra && good; i++)
            good = (at[i] & 0xc0) == 0x80;
        if (*at == '"' || *at == '\\')
            put(report, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            put(report, "\\u%04x", *at);
        else if (!good)
            put(report, "?");
        else
            put(report, "%.*s", (int)extra + 1, (const char *)at);
        at += good ? extra : 0;
    }
    put(report, "\"");
}

static void put_slice(struct report *report, const char *category, const struct sample *sample,
                      uint64_t start, uint64_t end)
{
    uint64_t ns = handles_ns(start);
    uint64_t duration = handles_duration_ns(end - start);

    put(report,
        ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64
        ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"cat\":\"%s\",\"name\":",
        sample->thread, ns / 1000, ns % 1000, duration / 1000, duration % 1000, category);
}

static void write_trace_sample(struct report *report, const struct program *program,
                               const struct sample *sample)
{
    if (sample->trip_start < sample->start) {
        put_slice(report, "pre", sample, sample->trip_start, sample->start);
        put(report, "\"before the inference\",\"args\":{\"sample\":%" PRIu64 "}}", sample->number);
    }
    put_slice(report, "inference", sample, sample->start, sample->end);
    put_string(report, ifg_tap_model_name(program->model));
    put(report,
        ",\"args\":{\"program\":%" PRIu64 ",\"sample\":%" PRIu64 ",\"queueDepth\":%" PRIu32 "}}",
        program->number, sample->number, sample->running);
}

static void write_trace(struct report *report, const char *name)
{
    put(report, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"stream\":");
    put_string(report, name);
    put(report, ",\"device\":\"N/A: nothing was measured on a device\"},\"traceEvents\":[\n");
    put(report, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":"
                "\"HOST_PROC\"}},\n");
    put(report, "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":"
                "\"DEVICE\"}},\n");
    put(report, "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_labels\",\"args\":{\"labels\":"
                "\"nothing was measured on a device\"}}");
    for (size_t i = 0; i < report->count; i++) {
        const struct program *program = &report->programs[i];

        for (size_t j = 0; j < program->count; j++)
            write_trace_sample(report, program, &program->samples[j]);
        report->ends[i] = report->length;
    }
    put(report, "\n]}\n");
}

/* ---- */

void report_write(struct report *report, enum ifg_report_type type, const char *name)
{
    handles_clock_read();
    if (type == IFG_REPORT_TRACE) {
        write_trace(report, name);
    } else if (!report->count) {
        write_table(report, 0, name, 0, NULL, 0); /* the head alone: nothing took part */
    } else {
        for (size_t i = 0; i < report->count; i++) {
            const struct program *program = &report->programs[i];

            if (i)
                put(report, "\n");
            write_table(report, program->number, ifg_tap_model_name(program->model),
                        program->requested, program->samples, program->count);
            report->ends[i] = report->length;
        }
    }
    if (report->text)
        report->text[report->length] = '\0';
}

const char *report_missing(const struct report *report, enum ifg_report_type type)
{
    bool staged = report->known & LATENCY_KNOWN(LATENCY_ENQUEUE);
    bool prepared = report->known & LATENCY_KNOWN(LATENCY_PRE);

    if (type == IFG_REPORT_TRACE)
        return "";
    if (staged && prepared && (report->known & LATENCY_KNOWN(LATENCY_POST)))
        return "dev*, exectoVcUs, execToCompleteUs, numInfInQueue: nothing was measured on a "
               "device. submitTimeUs: a call that waits for its result has no submission.";
    return "dev*, exectoVcUs, execToCompleteUs, numInfInQueue: nothing was measured on a device. "
           "submitTimeUs: a call that waits for its result has no submission. enqTimeUs, "
           "preProcTimeUs, postProcUs: no setup event, or no stage of the request, before or after "
           "the inference.";
}
