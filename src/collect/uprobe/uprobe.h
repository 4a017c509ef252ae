// SPDX-License-Identifier: Apache-2.0
/*
 * Probes at places of libraries in running processes, and what they saw.
 *
 * A description says where (a file and an offset in it) and what to take along: the arguments
 * always, a text that one argument points to, a word that the function stores through another. The
 * engine knows nothing of what the functions are. BPF does the work in the kernel; where it is
 * refused, plain perf events and this process do, with the differences told below.
 *
 * Rules for places, which cannot be checked here:
 * - The offset is the first byte of a function, in the file and not in memory. A landing pad
 *   (endbr64) there is skipped. What the kernel then finds decides about the cost: it emulates a
 *   push, as nearly all functions have one (2 us), and steps through anything else (10 us).
 * - A return is seen by replacing the return address on the stack. The function must not let a C++
 *   exception pass through it to its caller (the unwinder does not know the replaced address and
 *   ends the program), and must not be one that changes stacks.
 *
 * The kernel owns the breakpoints: when the engine is closed, or this process dies in whatever
 * way, they are gone. A fork of the process is not followed; after an exec, probes go on where the
 * new program maps the same file.
 */
#ifndef IFG_COLLECT_UPROBE_UPROBE_H
#define IFG_COLLECT_UPROBE_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define UPROBE_ARGUMENTS 6
#define UPROBE_TEXT_MAX  256 /* with the final zero byte */
#define UPROBE_DEPTH_MAX 32  /* open calls of one thread; deeper ones are counted as lost */
#define UPROBE_EVERYONE  ((pid_t)-1)

enum uprobe_flags {
    UPROBE_RETURN = 1,      /* also the return: a UPROBE_CALL when it comes */
    UPROBE_OPEN = 2,        /* with UPROBE_RETURN: a UPROBE_BEGIN at once, for calls that last */
    UPROBE_EXACT = 4,       /* at this very byte, even if it is a landing pad */
    UPROBE_TEXT_BEHIND = 8, /* the text argument points to a pointer to it, as to a std::string */
};

struct uprobe_spec {
    const char *file; /* opens here: /proc/PID/root/..., /proc/PID/map_files/..., /proc/self/fd/N */
    uint64_t offset;
    uint32_t id;           /* the caller's, not unique; comes back in the event */
    uint32_t flags;        /* enum uprobe_flags */
    uint8_t text_argument; /* 1 to 6: points to a C string, read at the entry; 0: none */
    uint8_t out_argument;  /* 1 to 6: points to a word, read at the return; 0: none */
};

enum uprobe_kind {
    UPROBE_POINT, /* the entry of a function whose return is not watched */
    UPROBE_BEGIN, /* a call that is open now; its UPROBE_CALL will have the same start and thread */
    UPROBE_CALL,  /* a call from begin to end */
};

enum uprobe_notes {
    UPROBE_TEXT_CUT = 1,     /* longer than UPROBE_TEXT_MAX */
    UPROBE_TEXT_MISSING = 2, /* asked for, and not readable */
    UPROBE_OUT_MISSING = 4,  /* the same for the word */
    UPROBE_READ_LATE = 8, /* text and word were read after the fact: they may be somebody else's */
};

struct uprobe_event {
    enum uprobe_kind kind;
    uint32_t id;
    uint32_t notes; /* enum uprobe_notes */
    uint32_t depth; /* watched calls of this thread that were open around this one */
    /* BPF: in the initial pid namespace. perf: in ours. They differ where we are in a container. */
    pid_t pid, tid;
    /* In the namespace of the process itself; 0 where that is not known (UPROBE_EVERYONE). */
    pid_t own_pid, own_tid;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;   /* 0 unless UPROBE_CALL */
    uint64_t arguments[UPROBE_ARGUMENTS];
    uint64_t result;   /* 0 unless UPROBE_CALL */
    uint64_t out_word; /* 0 unless UPROBE_CALL with an out_argument */
    const char *text;  /* NULL without text_argument; valid during the callback only */
};

enum uprobe_way {
    UPROBE_ANY, /* BPF, or perf where BPF is refused */
    UPROBE_BPF,
    UPROBE_PERF, /* breakpoints in every process that maps the file; others are sorted out later */
};

struct uprobe_options {
    enum uprobe_way way;
    size_t ring_bytes; /* 0: 4 MiB */
    size_t wake_bytes; /* the descriptor is readable from so many bytes on; 0: at once (dearer) */
    bool one_by_one; /* BPF as on kernels before 6.12: more time to set and to remove; for tests */
};

struct uprobe_losses {
    uint64_t ring_full;    /* events that found no room */
    uint64_t too_deep;     /* calls beyond UPROBE_DEPTH_MAX */
    uint64_t too_many;     /* calls of threads beyond those that can be followed */
    uint64_t out_of_order; /* perf: returns that were older than what had been delivered */
    uint64_t let_go;       /* processes that ran a program which this user may not look into */
};

#define UPROBE_LET_GO "processes that ran a program with more rights than you, and were let go"

struct uprobe;
typedef void uprobe_seen(const struct uprobe_event *event, void *user);

/* An engine without probes; options may be NULL. */
IFG_MUST_CHECK enum ifg_status uprobe_open(const struct uprobe_options *options,
                                           struct uprobe **out_engine, struct ifg_error *err);

/* Sets probes in a process, or in all that map the files. All of them or none. */
IFG_MUST_CHECK enum ifg_status uprobe_add(struct uprobe *engine, pid_t pid,
                                          const struct uprobe_spec *specs, size_t count,
                                          struct ifg_error *err);

/* Takes the probes of a process out again (those that were added with this very pid). */
void uprobe_remove(struct uprobe *engine, pid_t pid);

/* Delivers what is there, oldest first within a thread. Returns how many events that were. */
size_t uprobe_read(struct uprobe *engine, uprobe_seen *seen, void *user);

/* From now on nothing is delivered that began before this moment. */
void uprobe_since(struct uprobe *engine, uint64_t since_ns);

/* From now on nothing is delivered that began, or calls that ended, after this moment. */
void uprobe_until(struct uprobe *engine, uint64_t until_ns);

/* Takes all probes out; what they saw until then can still be read. */
void uprobe_stop(struct uprobe *engine);

/* Everything, in any state; NULL is fine. */
void uprobe_close(struct uprobe *engine);

int uprobe_fd(const struct uprobe *engine); /* for poll: readable when there is something */
enum uprobe_way uprobe_way(const struct uprobe *engine);
const char *uprobe_why(const struct uprobe *engine); /* why not BPF; empty where it is BPF */
struct uprobe_losses uprobe_lost(const struct uprobe *engine);

/* What this process may do here, found out by doing it to itself. */
struct uprobe_right {
    bool works;
    char message[768]; /* if not: what is missing, and what to do */
};

struct uprobe_rights {
    struct uprobe_right bpf;
    struct uprobe_right perf;
    struct uprobe_right memory; /* reading another process: libraries in it, texts without BPF */
};

void uprobe_check(struct uprobe_rights *out_rights);

/* The same, but perf only where BPF is refused: taking a probe out again can take half a second. */
void uprobe_check_best(struct uprobe_rights *out_rights);

#endif
