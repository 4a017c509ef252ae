// SPDX-License-Identifier: Apache-2.0
/* The tool's side of the process that runs models, shared by runner.c and runner_spawn.c. */
#ifndef IFG_BENCH_RUNNER_INTERNAL_H
#define IFG_BENCH_RUNNER_INTERNAL_H

#include "bench/runner/protocol.h"
#include "bench/runner/runner.h"

#define RUNNER_CHATTER 4096u

struct runner_taken {
    uint64_t due_ns, start_ns, end_ns; /* CLOCK_MONOTONIC */
};

struct runner_slot {
    char name[96];       /* of the model's file */
    uint64_t inferences; /* that ended well */
};

struct runner {
    pid_t child; /* what we started: the process itself, or what stands before it */
    pid_t pid;   /* the process itself; 0: has not spoken yet */
    int exit_fd; /* readable once that has ended; -1: not known */
    bool prefixed;
    bool ended;   /* and reaped */
    bool killed;  /* by us */
    char how[96]; /* it ended, if that was not well; "" */

    struct channel channel;
    struct ifg_bytes question;
    struct message answer;
    struct shared_area *shared;

    int chatter_fd; /* its stdout and stderr */
    bool verbose;
    uint64_t chatter_next_ns; /* not looked at before: a runtime that prints must not wake us */
    char chatter[RUNNER_CHATTER];
    size_t chatter_used;

    const volatile sig_atomic_t *stop;
    uint64_t stop_seen_ns; /* in this call; 0: not */
    uint64_t patience_ns;
    uint64_t progress_ns;

    char runtime[64];
    char doing[192]; /* "loading model.onnx" */
    struct runner_slot slots[PROTOCOL_SLOTS_MAX];

    /* while a run is on */
    bool running;
    unsigned slot;
    struct runner_work work;
    struct runner_taken *taken;
    size_t taken_count, taken_room;
    bool nonsense; /* in the shared memory */
    bool out_of_memory;
    int pause_ms; /* between two looks at it */
};

/* Starts the process; its descriptors and memory are ours then. */
enum ifg_status runner_spawn(struct runner *runner, const struct runner_options *options,
                             struct ifg_error *err) IFG_MUST_CHECK;

/* The first answer came from this process. */
void runner_meet(struct runner *runner, pid_t pid);

/* channel.wait: until the socket is ready, the process has ended, the user's or our patience is at
 * its end. */
enum ifg_status runner_wait(void *user, short events, struct ifg_error *err);

/* Takes what the workers have left in shared memory; last: nothing more comes, gaps are passed
 * over. How many. */
size_t runner_drain(struct runner *runner, bool last);

/* Waits until it is gone, kills it if need be, and notes how it ended. */
void runner_reap(struct runner *runner, uint64_t patience_ns);
void runner_kill(struct runner *runner);

/* The last line that it printed, or "". */
void runner_last_words(struct runner *runner, char *out, size_t size);

/* Everything but the memory of the structure itself. */
void runner_release(struct runner *runner);

#endif
