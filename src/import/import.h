// SPDX-License-Identifier: Apache-2.0
/*
 * Turning a foreign trace into a trace file.
 *
 * Memory is bounded by 32 bytes per event (IMPORT_RECORD_BYTES), 8 more for those of the thread
 * with the most (14 where they overlap), plus the distinct names; the
 * details of events wait in an unlinked temporary file beside the output. Nothing is dropped
 * silently: what could not be taken over is counted under a reason, in the result and as losses and
 * facts in the trace.
 */
#ifndef IFG_IMPORT_IMPORT_H
#define IFG_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define IMPORT_NOWHERE        UINT64_MAX
#define IMPORT_RECORD_BYTES   32u
#define IMPORT_EVENTS_DEFAULT 100000000u /* 3.2 GB of records */
#define IMPORT_EVENTS_MAX     4000000000u

enum import_format {
    IMPORT_AUTO, /* by its first line; ONNX Runtime's events are recognised one by one */
    IMPORT_CHROME,
    IMPORT_ORT,
    IMPORT_IREEPERF,
};

/* Why something is not in the trace, or not as it was in the file. */
enum import_reason {
    /* lost */
    IMPORT_NOT_JSON,
    IMPORT_CUT_EVENT,
    IMPORT_TOO_LARGE,
    IMPORT_TOO_DEEP,
    IMPORT_NOT_AN_EVENT,
    IMPORT_NO_PHASE,
    IMPORT_NO_TIME,
    IMPORT_BAD_TIME,
    IMPORT_NEGATIVE_DURATION,
    IMPORT_END_WITHOUT_BEGIN,
    IMPORT_OPEN_TOO_DEEP,
    IMPORT_COUNTER_NOT_NUMBER,
    IMPORT_ASYNC_WITHOUT_ID,
    IMPORT_ASYNC_DETAILS,
    IMPORT_FLOW_WITHOUT_ID,
    IMPORT_STACKS,
    IMPORT_DISPLAY_HINTS,
    IMPORT_OTHER_PHASES,
    IMPORT_UNKNOWN_PHASE,
    IMPORT_OTHER_PARTS,
    IMPORT_TOO_MANY_THREADS,
    IMPORT_TOO_MANY_NAMES,
    IMPORT_TOO_MANY_DETAILS,
    IMPORT_DAMAGED_GZIP,
    IMPORT_NOT_VALID,
    IMPORT_NO_CLOCK,
    IMPORT_UNKNOWN_RECORD,
    IMPORT_DROPPED_BEFORE,
    IMPORT_LOST_REASONS,
    /* kept, but changed or odd */
    IMPORT_REPAIRED = IMPORT_LOST_REASONS,
    IMPORT_NOT_A_NUMBER,
    IMPORT_TEXT_CUT,
    IMPORT_NO_NAME,
    IMPORT_NO_DURATION,
    IMPORT_UNFINISHED,
    IMPORT_OVERLAPPING,
    IMPORT_TIMES_SHIFTED,
    IMPORT_NO_CLOSING_BRACKET,
    IMPORT_ORT_LIMIT,
    IMPORT_UNKNOWN_KEPT,
    IMPORT_PROBLEMS,
    IMPORT_OTHER_SCHEMA,
    IMPORT_REASONS,
};

struct import_options {
    const char *path; /* "-": standard input */
    const void *data; /* instead of the path, if not NULL; path is then only a name */
    size_t data_bytes;
    size_t data_chunk; /* for tests: hand data over in such small pieces; 0: all at once */
    const char *output;
    bool overwrite;
    enum import_format format;
    uint64_t max_events; /* 0: IMPORT_EVENTS_DEFAULT */
    const char *tool_version;
    /* Called now and then; total_bytes is 0 if unknown. May be NULL. */
    void (*progress)(void *context, uint64_t read_bytes, uint64_t total_bytes, uint64_t events);
    void *progress_context;
};

struct import_result {
    uint64_t events; /* found in the file */
    uint64_t zones;
    uint64_t ml;
    uint64_t ops;
    uint64_t async; /* begins and ends */
    uint64_t flows; /* begins, steps and ends */
    uint64_t counters;
    uint64_t messages;
    uint64_t details;
    uint64_t processes;
    uint64_t threads;
    uint64_t input_bytes; /* as stored; of the file */
    uint64_t text_bytes;  /* after decompression */
    uint64_t output_bytes;
    uint64_t counts[IMPORT_REASONS];
    uint64_t first_at[IMPORT_REASONS]; /* byte of the text, or IMPORT_NOWHERE */
    bool gzip;
    bool has_lines;            /* first_at are numbers of lines */
    enum import_format format; /* what it was; never IMPORT_AUTO */
};

/* What a format is called: as an option, and in sentences. */
const char *import_format_key(enum import_format format);
const char *import_format_text(enum import_format format);

/* IFG_CORRUPT: not a trace we know, or there is no event in it; then nothing is written. */
enum ifg_status import_file(const struct import_options *options, struct import_result *out_result,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* A plural noun phrase: "events without a time (ts)". */
const char *import_reason_text(enum import_reason reason);

/* A short name for scripts: "no_time". */
const char *import_reason_key(enum import_reason reason);

#endif
