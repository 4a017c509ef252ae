// SPDX-License-Identifier: Apache-2.0
/*
 * A trace in somebody else's format.
 *
 * One file per format; all stream: what is kept in memory besides the timeline is one buffer, the
 * texts of the locations, and indexes of what is rare (requests, inferences, distinct stacks).
 * docs/exports.md says what each format gets and what it cannot hold.
 */
#ifndef IFG_EXPORT_EXPORT_H
#define IFG_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "export/sink.h"
#include "timeline/timeline.h"

/* What stacks are made of. */
enum export_stacks {
    EXPORT_STACKS_ANY, /* samples if there are enough, else zones */
    EXPORT_STACKS_SAMPLES,
    EXPORT_STACKS_ZONES, /* in timelines: no samples */
};

struct export_options {
    enum export_stacks stacks;
    bool compress;         /* perfetto: zstd packets */
    bool unwrap;           /* tracy-csv: a row for each zone */
    bool self;             /* tracy-csv: time without children */
    bool case_sensitive;   /* tracy-csv: `filter` is */
    double keep_middle;    /* aic-latency: percent of the samples, from the middle; 0: all */
    bool by_thread;        /* folded: the thread is the first frame */
    const char *separator; /* tracy-csv, csv: NULL is "," */
    const char *filter;    /* tracy-csv: part of a name */
    uint64_t event;        /* npz: the inference; if has_event */
    bool has_event;
    size_t program; /* aic-latency: which of export_programs, from 0 */

    /* What to export; NULL or 0 is all. */
    const char *model;  /* its name: the model's events and what lies inside them */
    const char *thread; /* its name or number */
    bool (*name_matches)(const char *name, void *user);
    void *user;
    uint64_t from_ns; /* what begins in [from, to), since the trace began */
    uint64_t to_ns;   /* 0: to the end */
};

#define EXPORT_NOTES      8
#define EXPORT_NOTE_BYTES 240

/* What was written, and sentences about what the format could not hold. */
struct export_result {
    uint64_t slices;
    uint64_t spans;
    uint64_t values; /* of counters */
    uint64_t marks;  /* messages and frames */
    uint64_t samples;
    uint64_t states; /* of threads: running, runnable, sleeping */
    uint64_t overlapping;
    size_t note_count;
    char notes[EXPORT_NOTES][EXPORT_NOTE_BYTES];
};

/* Options that not every format knows. */
enum export_takes {
    EXPORT_TAKES_COMPRESS = 1 << 0,
    EXPORT_TAKES_STACKS = 1 << 1,
    EXPORT_TAKES_BY_THREAD = 1 << 2,
    EXPORT_TAKES_SEPARATOR = 1 << 3,
    EXPORT_TAKES_ZONES = 1 << 4, /* unwrap, self, filter, case_sensitive */
    EXPORT_TAKES_KEEP_MIDDLE = 1 << 5,
    EXPORT_TAKES_EVENT = 1 << 6,
};

struct export_job;

/* All that is known of a format: a new one is its file and a row of the table. */
struct export_format {
    const char *name;
    const char *extension; /* with what is before it: ".json", "-latency.txt" */
    const char *summary;
    unsigned takes;   /* enum export_takes */
    bool per_program; /* a file for each of export_programs, of inferences */
    bool one_event;   /* of one inference alone: nothing else can be chosen */
    enum ifg_status (*write)(struct export_job *job);
};

/* table.c: the formats in the order in which they are shown; ends with NULL. */
extern const struct export_format *const export_formats[];

/* NULL if there is none of that name. */
const struct export_format *export_find_format(const char *name);

/* Writes the trace to the sink, which the caller opens and closes. A write error is not reported
 * here but by export_sink_close. */
enum ifg_status export_run(const struct timeline *timeline, const struct export_format *format,
                           const struct export_options *options, struct export_sink *sink,
                           struct export_result *out_result, struct ifg_error *err) IFG_MUST_CHECK;

/* Inferences that were timed by somebody else, as `bench` does: in order of their starts, the times
 * of one clock. */
struct export_inference {
    uint64_t due_ns; /* not after start_ns */
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t number;  /* from 0; goes on over several reports */
    uint32_t process; /* from 0 */
};

struct export_inferences {
    const char *name;
    size_t program; /* from 0 */
    uint32_t every; /* 1: all are written; 4: those whose number 4 divides */
    const struct export_inference *items;
    size_t count;
};

/* AIC100's latency file of them, and a Chrome trace with a track for each worker. Write errors are
 * told by export_sink_close. */
enum ifg_status export_latency_of(const struct export_inferences *inferences,
                                  struct export_sink *sink, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status export_chrome_of(const struct export_inferences *inferences,
                                 struct export_sink *sink, struct ifg_error *err) IFG_MUST_CHECK;

/* The models that have inferences, each of them a program of its own in AIC100's terms: at most
 * size of their indexes in timeline->models go to out; returns how many there are. */
size_t export_programs(const struct timeline *timeline, uint32_t *out, size_t size);

#endif
