// SPDX-License-Identifier: Apache-2.0
/*
 * A recording from its first to its last moment: launch or attach, follow every process that
 * carries the library, drain, write, finish the file. One thread, one loop; some sources have
 * threads of their own (source.h).
 *
 * The caller prints; this room only tells what happened.
 */
#ifndef IFG_RECORD_SESSION_H
#define IFG_RECORD_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "record/instruments.h"

struct dump_rule;
struct probe_file;
struct redaction;
struct trace_output;

#define SESSION_OTHERS_MAX 63u

struct session_progress {
    double seconds;
    uint64_t events;
    uint64_t inferences;
    uint64_t dropped;
    uint64_t bytes;
    uint32_t models;
    uint32_t processes; /* recorded now or before */
    uint32_t threads;
};

/* How runtimes in the program are observed. */
enum session_hook {
    SESSION_HOOK_AUTO,
    SESSION_HOOK_PRELOAD,
    SESSION_HOOK_NONE,
    SESSION_HOOK_UPROBE, /* from outside, also in a command that is launched */
    SESSION_HOOK_INJECT, /* the hooks are loaded into a process that runs already */
};

/* What is recorded of accelerators. */
enum session_gpu {
    SESSION_GPU_AUTO,    /* as kernels, where there is a driver */
    SESSION_GPU_KERNELS, /* their use; of launched programs work, and the calls that ask for it */
    SESSION_GPU_FULL,    /* and memory */
    SESSION_GPU_OFF,
};

/* Whose inputs are kept. */
enum session_capture_mode {
    SESSION_CAPTURE_OFF,
    SESSION_CAPTURE_FIRST, /* of the first inferences of each model */
    SESSION_CAPTURE_SLOWEST,
    SESSION_CAPTURE_FAILED,
};

struct session_capture {
    enum session_capture_mode mode;
    uint32_t first;
    size_t max_bytes; /* in all */
};

/* What is known when recording begins. */
struct session_start {
    const char *program;
    pid_t pid;
    const char *path;
    const char *not_hooked; /* why runtimes cannot be watched; "" if they can, or were not to be */
};

/* A recording that keeps its last seconds in memory, and when it writes them (flight.h). */
struct session_flight {
    bool is_on;
    double seconds;    /* 0: as many as there is memory for */
    size_t bytes;      /* of memory */
    double after_s;    /* what is still recorded after a trigger before it is written */
    double interval_s; /* between two triggers of rules; others do not count */
    uint32_t most;     /* files of rules */
    bool on_signal;    /* SIGUSR2 is a trigger */
    const struct dump_rule *rules;
    size_t rule_count;
};

/* A file that a flight recorder has written, or could not. */
struct session_dump {
    const char *path;
    const char *why;
    uint64_t bytes;
    const char *problem; /* NULL: it is there */
};

/* Something that the trace is to say of itself. */
struct session_fact {
    const char *key; /* of trace/keys.h */
    const char *value;
};

struct session_options {
    char *const *command; /* launch this, NULL-terminated; or NULL */
    pid_t pid;            /* else record this process */
    const pid_t *others;  /* and these, until all have ended */
    size_t other_count;
    bool next;             /* else wait for the next one that runs a model */
    double timeout_s;      /* and wait no longer than this; 0: as long as it takes */
    const char *next_name; /* only one of this name, or of this path; NULL: any */
    const char *next_path;
    const char *output; /* NULL: inferogram-<program>-<pid>-<time>.ifg */
    /* Where the trace goes instead of a file; called when there is something to record. */
    enum ifg_status (*open_output)(struct trace_output **out_output, void *user,
                                   struct ifg_error *err);
    bool makes_own_index; /* that output does, when it is read: the writer keeps none */
    bool overwrite;
    bool lossless;
    bool prompt; /* somebody looks: write what is known sooner than a recording needs */
    enum session_hook hook;
    struct probe_file *const *probes; /* descriptions of runtimes to be followed by probes */
    size_t probe_count;
    const char *annotations; /* "off", or domains of NVTX and ITT; NULL: all */
    uint32_t ops;            /* operators of every so many inferences; 0: none */
    uint32_t sample_hz;      /* call stacks, so many a second of CPU time; 0: see the next */
    double overhead_pct;     /* as many as slow the program down by this much; 0: none */
    bool machine_alone;      /* samples, say, were asked for: a process without a runtime will do */
    bool sched;              /* switches and wakeups, even without samples */
    bool memory;             /* allocations, and the resident memory every 10 ms */
    struct session_capture capture;
    enum session_gpu gpu;
    bool no_sources;     /* leave the text of sampled files out of the trace */
    double resources_hz; /* looks at what is used, so many a second; 0: none */
    double idle_s;       /* measure idle power so long before the command starts; 0: do not */
    double duration_s;   /* 0: until the program ends or the user stops */
    double delay_s;      /* nothing of before is recorded */
    size_t max_bytes;    /* stop when the file is so large; 0: never */
    const char *tool_version;
    char *const *words; /* the whole command line, for the trace */
    size_t word_count;
    const struct session_fact *facts; /* of the caller */
    size_t fact_count;
    const struct redaction *redaction; /* what of arguments is not to be told */
    uint32_t mode;                     /* of the file */
    struct session_flight flight;

    /* Called once recording runs, then about five times a second. May be NULL. */
    void (*started)(const struct session_start *start, void *user);
    void (*progress)(const struct session_progress *progress, void *user);
    /* Called once with `next`: nothing is recorded yet. how says how processes are watched, if that
     * is not the best way. */
    void (*expecting)(const char *how, void *user);
    /* Called when something is done that may take a second; says what. */
    void (*preparing)(const char *what, void *user);
    /* Called when recording stopped but the launched command goes on and is waited for. */
    void (*waiting)(const char *program, void *user);
    /* Called when a flight recorder has written a file before the end. */
    void (*dumped)(const struct session_dump *dump, void *user);
    void *user;
};

enum session_end {
    SESSION_PROGRAM_ENDED,
    SESSION_DURATION_OVER,
    SESSION_INTERRUPTED,
    SESSION_WRITE_FAILED, /* the disk is full, say; the program went on unharmed */
    SESSION_SIZE_REACHED, /* that of max_bytes; of a flight recorder: by definitions alone */
};

struct session_result {
    enum session_end end;
    bool command_started;
    int wait_status; /* of the command, as from waitpid; valid if command_ended */
    bool command_ended;
    bool interrupted; /* by a signal to us, or Ctrl-C, whatever ended it then */
    bool no_library;  /* no process carried libinferogram, nor was one watched from outside */
    bool hooked;      /* all hooks were in place; if not, `started` was told why */
    struct instruments instruments;
    uint32_t left_running;
    uint32_t refused;         /* processes that carry libinferogram and could not be recorded */
    char refusal[256];        /* why the first of them could not */
    char let_go[512];         /* why recording ended though the process goes on; "": it did not */
    char still_injected[512]; /* why the program still calls through our hooks; "" if it does not */
    struct session_progress totals;
    uint64_t not_written; /* events that were taken, but are not in the file: it could not grow */
    double recorded_s;    /* until it stopped; what was to be written then came on top */
    double recorder_cpu_s;
    uint32_t sample_hz; /* 0: nothing was sampled */
    uint64_t samples;
    bool cost_measured;     /* of samples; else it is an estimate: */
    double cost_pct;        /* the program was slower by so much */
    double cost_error_pct;  /* of a measured one */
    bool is_flight;         /* the rest is known of a flight recorder alone */
    uint32_t dumps;         /* files of a flight recorder, without the last one */
    uint32_t dumps_failed;  /* that could not be written */
    uint64_t dumps_skipped; /* triggers of rules that came too soon, or were too many */
    double not_kept_s;      /* of a flight recorder: so many seconds were too old at the end */
    uint64_t memory_bytes;  /* the most that the recorder had */
    char program[64];
    pid_t pid;
    char path[4096];
};

/* IFG_OK also when the end is SESSION_WRITE_FAILED; then err holds the sentence. Anything else:
 * nothing was recorded. With a command: IFG_NOT_FOUND / IFG_PERMISSION and !command_started mean
 * that it could not be started (err says why) if *out_cannot_start. */
enum ifg_status session_run(const struct session_options *options,
                            struct session_result *out_result, bool *out_cannot_start,
                            struct ifg_error *err) IFG_MUST_CHECK;

#endif
