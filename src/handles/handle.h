// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of libinferogram-handles share. It lives in the watched process: it never waits
 * on a thread that runs models, never prints, and keeps errno there.
 *
 * One lock protects everything but the queue. Whoever holds it may drain the queue: the thread of
 * the handles does it in time, and a call that must be exact (stop, add, remove) does it first.
 */
#ifndef IFG_HANDLES_HANDLE_H
#define IFG_HANDLES_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/handles.h>

#include "client/event_tap.h"
#include "handles/pattern.h"

/* Of one handle, between two reports. */
#define SAMPLES_MAX 1000000u

struct sample {
    uint64_t number; /* of the model's inferences, as the handle counts them, from 0 */
    uint64_t start;  /* ticks, all of them */
    uint64_t end;
    uint64_t trip_start; /* with setup and the stages of its request before it */
    uint64_t trip_end;   /* with the stages after it */
    uint64_t enqueue;
    uint64_t pre;
    uint64_t post;
    uint64_t request;
    uint32_t known; /* of the columns LATENCY_ENQUEUE, LATENCY_PRE and LATENCY_POST */
    uint32_t running;
    uint32_t thread;
};

/* A model in a handle. It leaves when its last samples are reported. */
struct program {
    ifg_model *model;
    uint64_t number;    /* in the handle, from 1 */
    uint64_t since;     /* ticks: inferences that began before do not count */
    uint64_t seen;      /* inferences since it joined */
    uint64_t reported;  /* of those, at the last report */
    uint64_t requested; /* in a report: what its head says */
    struct sample *samples;
    size_t count;
    size_t capacity;
    bool present;
    bool removed; /* by hand: it does not join by itself again */
};

struct report;
struct handle;
struct command;
typedef void unattended_keep(const struct report *report, const struct handle *handle, void *user);

enum handle_state {
    HANDLE_STOPPED,
    HANDLE_STARTED,
    HANDLE_STOPPING, /* its last report is due */
};

struct handle {
    struct handle *next;
    enum handle_state state;
    bool is_stream;
    bool reporting; /* its callback is under way */
    bool doomed;    /* destroyed in its own callback */
    enum ifg_report_type type;
    ifg_report_callback *callback;
    unattended_keep *keep; /* instead of a callback */
    void *user;
    char *name;
    uint64_t wanted;    /* a profile's */
    uint32_t every;     /* a stream's: 1, 2, 4, 8, 16 */
    uint64_t report_ns; /* a stream's */
    uint64_t next_ns;   /* CLOCK_REALTIME of its next report */
    uint64_t reports;   /* so far, and the samples in them */
    uint64_t reported;
    uint64_t ended;        /* how often it was stopped: somebody may start it again at once */
    uint64_t flush_wanted; /* calls, and how many of them are done */
    uint64_t flush_done;
    uint64_t lost_before;
    struct pattern pattern;
    struct program *programs;
    size_t program_count;
    size_t program_capacity;
    uint64_t next_program;
};

/* ---- handle.c: with the lock held ---- */

void handles_lock(void);
void handles_unlock(void);
void handles_changed(void);    /* wakes who waits for a state */
void handles_wait(void);       /* until something changed */
extern struct handle *handles; /* all there are */

/* Takes what is in the queue now to the handles that are started. */
void handles_drain(void);
struct program *handle_join(struct handle *handle, ifg_model *model, uint64_t since);
void handle_free(struct handle *handle);

/* Without the lock. */
int handle_stop(struct handle *handle);
void handle_stop_soon(struct handle *handle); /* does not wait for its last report */
void handle_flush_soon(struct handle *handle);
int handle_start(struct handle *handle);
void handle_destroy(struct handle *handle);
bool handle_is_started(const struct handle *handle);

/* Of IFG_PROFILE: takes its models by their names. NULL with ifg_handle_error(). It is started when
 * the program has a model, with what is in the queue then. */
struct handle *handle_create_unattended(const struct command *command, unattended_keep *keep,
                                        void *user);
int handle_start_waiting(struct handle *handle);
void unattended_wait(void); /* unattended.c: in a new process, for its first model */

/* The next multiple of the rate after `now`. */
uint64_t handle_boundary(uint64_t now_ns, uint64_t report_ns);

/* ---- thread.c ---- */

/* Sees to a thread and a tap, with the lock held. 0 or a negative errno value. */
int handles_thread_start(void);
void handles_ring(void); /* something was asked of it */
bool handles_on_own_thread(void);
uint64_t handles_realtime_ns(void); /* its clock; tests have their own */
void handles_thread_forked(void);

/* ---- report.c ---- */

/* The programs of a report, taken out of their handle. */
struct report {
    struct program *programs;
    size_t count;
    uint64_t samples;
    uint64_t requested;
    char *text;
    size_t length;
    size_t capacity;
    size_t *ends; /* in text, of each program's part */
    bool failed;  /* no memory: the callback gets what there is */
    uint32_t known;
};

/* Moves the samples of `handle` into *out. */
bool report_take(struct handle *handle, struct report *out);
/* Makes text of them; without the lock. */
void report_write(struct report *report, enum ifg_report_type type, const char *name);
const char *report_missing(const struct report *report, enum ifg_report_type type);
void report_fini(struct report *report);

/* clock.c: from the counter of events to CLOCK_MONOTONIC. */
void handles_clock_start(void);
void handles_clock_read(void); /* again, so that the rate gets better */
uint64_t handles_ns(uint64_t ticks);
uint64_t
handles_duration_ns(uint64_t ticks); /* rounded down: parts are never more than the whole */

/* Sets what ifg_handle_error() says and returns `status`. */
int handle_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
