// SPDX-License-Identifier: Apache-2.0
/*
 * Small traces of models, written by hand: for tests of the report and its rules.
 *
 *     struct ml_trace trace;
 *     ml_trace_begin(&trace, NULL);
 *     uint32_t ocr = ml_trace_model(&trace, &(struct ml_trace_model){ .name = "ocr" });
 *     ml_trace_event(&trace, 0, ocr, TRACE_CATEGORY_INFERENCE, 15 * ML_MS);
 *     ml_trace_load(&trace);       now trace.model is there
 *     ml_trace_end(&trace);
 *
 * Every thread has a time of its own, which an event moves forward.
 */
#ifndef IFG_TESTS_ML_TRACE_H
#define IFG_TESTS_ML_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/timeline.h"
#include "trace/writer.h"

#define ML_US              1000u
#define ML_MS              1000000u
#define ML_S               1000000000u
#define ML_TRACE_THREADS   6u
#define ML_TRACE_PROCESSES 2u /* threads 0 to 3 belong to the first, 4 and 5 to the second */
#define ML_TRACE_MODELS    64u
#define ML_TRACE_START     ML_S
#define ML_TRACE_RESOURCES 64u

struct ml_trace_model {
    const char *name;
    const char *path;      /* NULL: /models/x.onnx */
    const char *runtime;   /* NULL: ONNX Runtime 1.30.0 */
    const char *requested; /* NULL: CPUExecutionProvider */
    const char *actual;    /* NULL: the same */
    uint32_t process;
};

struct ml_trace {
    char path[256];
    struct trace_writer *writer;
    struct trace_stream *streams[ML_TRACE_THREADS];
    uint64_t now[ML_TRACE_THREADS];
    uint32_t models;
    uint32_t process_of[ML_TRACE_MODELS];
    uint32_t locations;
    struct trace_stream *resources[ML_TRACE_PROCESSES + 1]; /* of the processes, of the machine */
    char resource_names[ML_TRACE_RESOURCES][48];
    uint32_t resource_count;
    struct trace_reader *reader;
    const struct timeline *timeline;
};

/* Into this file, or into a new one that ml_trace_end removes. */
void ml_trace_begin(struct ml_trace *trace, const char *path);
bool ml_trace_load(struct ml_trace *trace); /* closes the file and reads it */
void ml_trace_end(struct ml_trace *trace);

uint32_t ml_trace_model(struct ml_trace *trace, const struct ml_trace_model *model);
void ml_trace_property(struct ml_trace *trace, uint32_t model, const char *key, const char *value);

/* An event, and time moves to its end. Attributes: one text and one number, or NULL. */
void ml_trace_event(struct ml_trace *trace, uint32_t thread, uint32_t model,
                    enum trace_category category, uint64_t ns);

struct ml_trace_details {
    uint32_t session;
    uint32_t batch;
    bool ops;
    const char *key; /* "shapes", "status", "specialization", "provider", "why" */
    const char *text;
};
void ml_trace_event_with(struct ml_trace *trace, uint32_t thread, uint32_t model,
                         enum trace_category category, uint64_t ns,
                         const struct ml_trace_details *details);

/* What lies around: the events of a thread between the two are inside. Locations come from
 * ml_trace_location or ml_trace_category. */
struct ml_trace_open {
    uint64_t start;
    uint32_t location;
};
uint32_t ml_trace_location(struct ml_trace *trace, enum trace_location_kind kind, uint32_t model,
                           const char *name, const char *function);
uint32_t ml_trace_category(const struct ml_trace *trace, uint32_t model,
                           enum trace_category category);
struct ml_trace_open ml_trace_enter(struct ml_trace *trace, uint32_t thread, uint32_t location);
void ml_trace_text(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open,
                   const char *key, const char *text);
void ml_trace_number(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open,
                     const char *key, uint64_t value);
void ml_trace_leave(struct ml_trace *trace, uint32_t thread, struct ml_trace_open open);
void ml_trace_slice(struct ml_trace *trace, uint32_t thread, uint32_t location, uint64_t ns);
void ml_trace_wait(struct ml_trace *trace, uint32_t thread, uint64_t ns);

/* A span of a model, from now; does not move time. */
void ml_trace_async(struct ml_trace *trace, uint32_t thread, uint32_t model, uint64_t id,
                    uint64_t ns);

/* A value of a counter of what was used, so long after the start: of a process (0, 1) or of the
 * machine. */
#define ML_TRACE_MACHINE ML_TRACE_PROCESSES
void ml_trace_resource(struct ml_trace *trace, uint32_t process, const char *name, uint64_t ns,
                       double value);

/* A trace with some of everything that a report shows: for tests of the command. */
void ml_trace_showcase(struct ml_trace *trace);

#endif
