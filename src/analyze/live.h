// SPDX-License-Identifier: Apache-2.0
/*
 * What a gauge shows of a program that runs: bars of one second, medians, the last events, those
 * that are still open, and what the machine does meanwhile. Pure bookkeeping: events and values go
 * in, numbers come out, and memory stays the same however many there are.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. An event counts in the second in which it ended; seconds
 * of events are counted from the first event, those of resources from the recording's begin.
 *
 * Medians are exact while there are at most LIVE_EXACT values (of the whole run, or in the window);
 * above, they come from a histogram whose cells are 1/64 of a power of two wide, and lie within
 * 0.8 % of the exact ones. They interpolate between the two middle values, as reports do.
 *
 * For whoever sends changes: everything that can change has the version at which it last did, and
 * live_begin_step begins a new one.
 */
#ifndef IFG_ANALYZE_LIVE_H
#define IFG_ANALYZE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIVE_SECONDS      600 /* kept */
#define LIVE_WINDOW       90  /* of a graph */
#define LIVE_ROWS         5000u
#define LIVE_ROWS_SECOND  1000u /* above this, rows are thinned */
#define LIVE_EXACT        1024u
#define LIVE_OPEN_MOST    64u
#define LIVE_SERIES_MOST  192u
#define LIVE_MODELS_MOST  4096u
#define LIVE_THREADS_MOST 4096u
#define LIVE_NONE         UINT32_MAX
#define LIVE_NO_ZONE      UINT64_MAX

enum live_category {
    LIVE_PREPARE_EP,
    LIVE_SPECIALIZATION,
    LIVE_LOAD,
    LIVE_SETUP,
    LIVE_INFERENCE,
    LIVE_CATEGORIES,
};
#define LIVE_ALL LIVE_CATEGORIES /* inference, load and specialization together */

struct live_event {
    uint64_t start_ns;
    uint64_t end_ns;
    enum live_category category;
    uint32_t model;  /* of live_model, or LIVE_NONE */
    uint32_t thread; /* the trace's number; where it began */
    uint64_t zone;   /* its number on the thread; LIVE_NO_ZONE: it is asynchronous */
};

struct live_row {
    uint64_t number; /* of all events, from 1 */
    struct live_event event;
};

struct live_bucket {
    int64_t second;
    uint32_t count; /* 0: there was none, and the rest means nothing */
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t min_ns;
    uint64_t changed;
};

struct live_open {
    uint32_t thread;
    enum live_category category;
    uint32_t model;
    uint64_t start_ns;
    bool async; /* it may end on any thread, and the thread that it began on does other things */
    char inside[96]; /* what the thread is in now; "" if in nothing deeper */
    char function[64];
};

struct live_model {
    uint32_t process;
    uint32_t id;
    char name[128];
    char path[512];
    char runtime[64];
    uint64_t changed;
};

struct live_thread {
    uint32_t thread;
    uint32_t tid;
    uint32_t pid;
    char name[64];
    uint64_t changed;
};

struct live_value {
    int64_t second;
    uint32_t count; /* 0: none */
    double last;
    double min;
    double max;
    uint64_t changed;
};

enum live_kind {
    LIVE_KIND_CPU,
    LIVE_KIND_CORE,
    LIVE_KIND_PROCESS_CPU,
    LIVE_KIND_MEMORY,
    LIVE_KIND_PROCESS_MEMORY,
    LIVE_KIND_GPU,
    LIVE_KIND_GPU_MEMORY,
    LIVE_KIND_NPU,
    LIVE_KIND_NPU_MEMORY,
    LIVE_KIND_POWER,
    LIVE_KIND_OTHER,
};

struct live_series {
    uint32_t process; /* the trace's number of it, and of the counter's location */
    uint32_t location;
    uint32_t pid; /* 0: the machine */
    enum live_kind kind;
    const char *unit;
    double scale; /* largest possible, or NAN */
    char name[64];
    char label[64];
    uint64_t changed;
    int64_t newest;
    struct live_value values[LIVE_SECONDS];
};

/* What is behind a median. */
struct live_distribution {
    uint64_t count;
    uint64_t *cells;          /* whole run; NULL until there are too many to keep */
    uint32_t *second_cells;   /* the same for each second of the window */
    int64_t *second_of_cells; /* which second it is of */
    struct live_kept {
        uint64_t duration_ns;
        int64_t second;
    } * kept; /* the last LIVE_EXACT */
};

struct live {
    uint64_t version;
    uint64_t begin_ns; /* of the recording */
    uint64_t first_ns; /* of the first event; 0: there was none */
    uint64_t now_ns;
    uint64_t events;
    uint64_t row_count; /* ever; the last LIVE_ROWS are kept, at row_count % LIVE_ROWS and before */
    struct live_row *rows;
    struct live_bucket *buckets; /* LIVE_CATEGORIES * LIVE_SECONDS */
    struct live_second *seconds;
    struct live_distribution distributions[LIVE_CATEGORIES + 1];
    struct live_open open[LIVE_OPEN_MOST];
    size_t open_count;
    uint64_t open_changed;
    struct live_model *models;
    size_t model_count;
    size_t model_capacity;
    struct live_thread *threads;
    size_t thread_count;
    size_t thread_capacity;
    struct live_series *series[LIVE_SERIES_MOST];
    size_t series_count;
};

/* A graph's numbers beside it, of the last LIVE_WINDOW seconds. */
struct live_window {
    uint64_t count;
    uint64_t high_ns;
    uint64_t low_ns;
};

/* NULL: no memory. */
struct live *live_create(void);
void live_destroy(struct live *live); /* accepts NULL */

void live_begin_step(struct live *live);
void live_set_now(struct live *live, uint64_t now_ns);

/* The first event's start; only the first call counts. */
void live_set_first(struct live *live, uint64_t first_ns);

/* False: no memory; it is counted all the same. */
bool live_add(struct live *live, const struct live_event *event);

/* Replaces what is known to be open on a thread, or of all asynchronous events; sorted and cut to
 * the oldest by the next. */
void live_replace_open(struct live *live, uint32_t thread, const struct live_open *open,
                       size_t count);
void live_replace_async(struct live *live, const struct live_open *open, size_t count);

/* The model of a process; added if it is not known. LIVE_NONE: too many. */
uint32_t live_model(struct live *live, uint32_t process, uint32_t id, const char *name,
                    const char *path, const char *runtime);
void live_thread(struct live *live, uint32_t thread, uint32_t tid, uint32_t pid, const char *name);

/* The series of a counter, found by process and location; NULL if it is not known. */
struct live_series *live_find_series(struct live *live, uint32_t process, uint32_t location);

/* Adds one; process, location, pid, name are given, the rest follows from the name. NULL: of no
 * interest to a gauge, too many, or no memory. */
struct live_series *live_add_series(struct live *live, uint32_t process, uint32_t location,
                                    uint32_t pid, const char *name);
void live_value(struct live *live, struct live_series *series, uint64_t ns, double value);

/* The bucket of a second (counted from the first event); NULL: nothing in it, or too old. */
const struct live_bucket *live_bucket(const struct live *live, enum live_category category,
                                      int64_t second);

/* The second that a moment lies in, counted from the first event. */
int64_t live_second_of(const struct live *live, uint64_t ns);

struct live_window live_window(const struct live *live, enum live_category category);

/* NAN if there is none. category may be LIVE_ALL. */
double live_median(const struct live *live, unsigned category);
double live_window_median(const struct live *live, unsigned category); /* not of LIVE_ALL */

/* The value of a series in its newest second; NULL if there is none. */
const struct live_value *live_latest(const struct live_series *series);

/* "inference", ... */
const char *live_category_name(enum live_category category);
const char *live_kind_name(enum live_kind kind);

#endif
