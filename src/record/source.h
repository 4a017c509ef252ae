// SPDX-License-Identifier: Apache-2.0
/*
 * A source of events: everything that a recording takes from outside of the programs' own rings.
 * Each is one file in record/sources/ and one row in record/sources/table.c; nothing else in the
 * recorder knows any of them. The life of a source:
 *
 *     open      before a program runs or a file is replaced for it: can this be had at all?
 *     attach    processes that run already, before there is a file
 *     begin     the file is open (sink.writer): from here on it writes
 *     start     the recording begins: threads may be made now
 *     work, processes, ended, defined      while it runs
 *     explain   a copy of it is written to a file, and it goes on
 *     stop      it is over at until_ns, for all sources at nearly the same moment
 *     finish    writes the rest, the counts and the losses; nothing after that
 *     close     frees; also after a failure at any of these
 *
 * All calls come from one thread. Every call but open may be NULL. What a source cannot get is said
 * in the trace as its instrument, and does not end a recording; only open and attach may. One that
 * fails at work is finished and closed at once, and the trace says so as a loss.
 */
#ifndef IFG_RECORD_SOURCE_H
#define IFG_RECORD_SOURCE_H

#include "collect/map_watch/map_watch.h"
#include "collect/sink.h"
#include "record/process.h"
#include "record/session.h"

struct hooks;
struct map_hold;
struct pipeline;

#define SOURCES_MAX    16
#define SOURCE_FDS_MAX 4

/* What a source may know of its recording; it is filled in as it becomes known. */
struct recording {
    const struct session_options *options;
    struct session_result *result;
    struct sink sink;
    struct hooks *hooks;    /* what a command gets that is launched, until it is */
    const char *directory;  /* of this recording, for files that a program shares with us */
    pid_t root;             /* the command, or the process; 0: not known yet */
    bool root_waits;        /* it is to be launched and has not called exec */
    uint64_t begin_ns;      /* when the file was opened */
    uint64_t since_ns;      /* attached: nothing of before that is recorded; 0: all is */
    uint64_t deadline_ns;   /* nor of after, as far as that is known before; 0: not known */
    uint64_t until_ns;      /* nor of after, once it is over; 0: the program ended first */
    struct map_hold *holds; /* who maps a runtime; NULL: nobody is held */
    const char
        *device_reason;      /* why GPUs of an injected program are not followed; NULL, "": none */
    struct pipeline *stacks; /* where call stacks go, of whoever copies any; NULL: nowhere yet */
};

/* What was found in a process that runs already. */
struct source_sight {
    bool watched;        /* something of it is recorded */
    bool hooked;         /* our hooks are in it and tell everything */
    bool python_hooked;  /* our import hook is in it and tells of its package */
    bool is_refused;     /* there is a runtime that cannot be watched */
    enum ifg_status why; /* that, or something else that is in the way; IFG_OK: nothing is */
    char reason[768];
};

/* What a process has, for those who only want to know (ls). */
struct source_survey {
    char runtimes[256]; /* names with versions; "": none */
    char missing[800];  /* why one cannot be watched; "": nothing is in the way */
    bool is_told;       /* hooks in it tell of them */
    bool can;           /* they can be watched from outside, given the rights */
};

void source_survey_add(struct source_survey *survey, const char *name, const char *version);

/* How a process came to be looked at by somebody who waits for one that runs a model. */
enum source_look {
    SOURCE_LOOK_EARLIER, /* it ran before; only what it does from now on counts */
    SOURCE_LOOK_MAPPED,  /* it has just mapped something that may_be a runtime */
    SOURCE_LOOK_POLLED,  /* nobody tells of mappings: all are looked at again and again */
};

struct source {
    const char *name;
    bool needs_no_runtime; /* what it records is worth a recording of its own */
    bool wakes;            /* its descriptor wakes the loop, which may sleep longer */
    bool may_wait;         /* late work costs counted losses, and keeps nobody waiting */

    /* *out_state stays NULL: it is not wanted in this recording. */
    enum ifg_status (*open)(struct recording *recording, void **out_state, struct ifg_error *err);
    /* Adds to out_sight. A failure for the root ends the recording. */
    enum ifg_status (*attach)(void *state, pid_t pid, struct source_sight *out_sight,
                              struct ifg_error *err);
    bool (*begin)(void *state); /* false: it has said why, and is closed */
    void (*start)(void *state);

    /* All processes of the recording, as they are now: about ten times a second. */
    void (*processes)(void *state, const pid_t *pids, size_t count);
    /* A process was defined in the trace by anybody. */
    void (*defined)(void *state, pid_t pid, uint32_t process, uint32_t clock);
    /* The command has ended and was not waited for yet. */
    void (*ended)(void *state, pid_t pid);
    /* Descriptors for poll, at most SOURCE_FDS_MAX. One that hangs up is not polled any more. */
    size_t (*fds)(const void *state, int *out_fds);
    /* Takes what there is; *out_any if there was anything. */
    enum ifg_status (*work)(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err);
    void (*count)(const void *state, struct session_progress *progress); /* adds */

    /* Writes what explains all that is written so far, as finish would: names, say. Called in a
     * child process with a copy of everything, which ends then. */
    void (*explain)(void *state);

    void (*stop)(void *state);
    enum ifg_status (*finish)(void *state, struct ifg_error *err);
    void (*close)(void *state);

    /* Waiting for the next process that runs a model (record --next): all three, or none. Such a
     * source works before it begins, and keeps what it sees until then.
     * *out_watches is set if there is anybody who may run one. */
    bool (*may_be)(void *state, const struct map_seen *seen);
    bool (*consider)(void *state, pid_t pid, enum source_look how); /* true: it is watched */
    /* It stood still while it was looked at, since it had mapped that. May be NULL. */
    void (*held)(void *state, pid_t pid);
    pid_t (*creator)(const void *state, bool *out_watches); /* who ran one; 0: nobody did yet */

    /* Without a recording: which runtimes a process has that this source could watch. *kept is NULL
     * at first, and then what this source wants to remember: one block, which the caller frees. */
    void (*survey)(pid_t pid, void **kept, struct source_survey *survey);
};

/* sources/table.c */
extern const struct source *const record_sources[];
extern const size_t record_source_count;

/* The sources of one recording: those of the table that are open, in the same order. */
struct sources {
    struct source_open {
        const struct source *source;
        void *state;
        int hung_up[SOURCE_FDS_MAX]; /* descriptors, + 1 */
    } open[SOURCES_MAX];
    size_t count;
    bool hold_back; /* the output takes no more: those that may wait have no work now */
    struct session_progress failed; /* what those had counted that are closed by now */
    struct recording *recording;
};

enum ifg_status sources_open(struct sources *sources, struct recording *recording,
                             struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status sources_attach(struct sources *sources, pid_t pid, struct source_sight *out_sight,
                               struct ifg_error *err) IFG_MUST_CHECK;
void sources_begin(struct sources *sources);
void sources_start(struct sources *sources);
void sources_processes(struct sources *sources, const pid_t *pids, size_t count);
void sources_defined(struct sources *sources, pid_t pid, uint32_t process, uint32_t clock);
void sources_ended(struct sources *sources, pid_t pid);
size_t sources_fds(const struct sources *sources, int *out_fds, size_t room);
void sources_hung_up(struct sources *sources, int fd);
/* True if the loop is to come back soon. is_alone: nothing but sources is recorded. */
bool sources_work(struct sources *sources, uint64_t now_ns, bool is_alone);
/* For a source's count. */
void source_add(struct session_progress *progress, struct sink_counts counts);
void sources_count(const struct sources *sources, struct session_progress *progress);
void sources_explain(struct sources *sources);
void sources_stop(struct sources *sources);
void sources_finish(struct sources *sources);
void sources_close(struct sources *sources);

bool sources_any_attach(const struct sources *sources); /* looks into processes */
bool sources_any_ended(const struct sources *sources);
bool sources_any_wakes(const struct sources *sources);
bool sources_any_creator(const struct sources *sources); /* watches runtimes by itself */
bool sources_need_no_runtime(const struct sources *sources);

bool sources_may_be(struct sources *sources, const struct map_seen *seen);
bool sources_consider(struct sources *sources, pid_t pid, enum source_look how);
void sources_held(struct sources *sources, pid_t pid);
/* Works, without a file, and tells who ran a model. */
pid_t sources_creator(struct sources *sources, uint64_t now_ns, bool *out_watches);

#endif
