// SPDX-License-Identifier: Apache-2.0
/* A recording's state, shared by session.c (begin and end) and loop.c (everything between). */
#ifndef IFG_RECORD_SESSION_INTERNAL_H
#define IFG_RECORD_SESSION_INTERNAL_H

#include <signal.h>

#include "record/flight.h"
#include "record/hooks.h"
#include "record/inject.h"
#include "record/launch.h"
#include "record/process.h"
#include "record/rendezvous.h"
#include "record/unhooked_runtimes.h"
#include "record/session.h"
#include "record/source.h"
#include "record/target.h"
#include "system/trace_rule.h"

#define REFUSED_MAX 16u /* that are told of; more are tried again just the same */

/* A process with memory of ours that could not be taken: another recorder has it, it is of another
 * version, or it must be left alone. */
struct refused {
    pid_t pid;
    char why[256];
};

struct session {
    const struct session_options *options;
    struct session_result *result;
    struct target_context context;
    struct hooks hooks;
    struct unhooked_watch runtimes;
    struct rendezvous rendezvous;
    struct injection injection; /* hooks that were put into the process; to be put back */
    struct process_info next;   /* whom --next found: it may be gone when it is described */
    struct recording recording;
    struct sources sources;
    struct flight *flight; /* NULL: all is kept, in a file */
    struct target *targets;
    uint32_t target_count;
    struct refused refused[REFUSED_MAX];
    size_t refused_count;
    struct traced traced; /* the process that was attached to, where not all may be */
    int root_pidfd;
    int other_pidfds[SESSION_OTHERS_MAX]; /* -1: it has ended */
    bool root_is_child;
    bool root_gone; /* but others are recorded still */
    bool root_ended;
    int signal_fd;
    struct launch_surroundings surroundings;
    bool terminal_interrupts_ignored; /* started in the background by a shell without job control */
    uint64_t ready_ns;                /* from here on all is recorded */
    uint64_t next_look_ns;            /* for ends, signals and new processes; 0: now */
    uint64_t next_clock_ns;
    uint64_t next_scan_ns;
    uint64_t next_exec_check_ns;
    uint64_t next_runtime_look_ns;
    uint64_t next_files_ns;
    uint64_t next_progress_ns;
    uint64_t sleep_ns;
    uint64_t last_pass_ns; /* when the rings were looked at last */
    unsigned interrupts;
    struct target_counts ended; /* counts of targets that are closed */
    uint32_t processes;
};

/* session_facts.c */
void session_write_facts(struct session *session); /* at the beginning */
bool session_annotations_are_off(const struct session *session);

/* Waits until a running process is to be attached to. IFG_CANCELLED: the user stopped it. */
enum ifg_status session_delay_attach(struct session *session, struct ifg_error *err) IFG_MUST_CHECK;

/* Waits until recording of a command is to begin; false: the program or the user ended it. */
bool session_delay(struct session *session);

/* Nothing of after end_ns is recorded, from now on; by the clocks as they are known now. */
void session_limit(struct session *session, uint64_t end_ns);

/* Runs until something ends the recording. */
void session_loop(struct session *session);

/* Adds the region behind fd (taken over) as a target. IFG_BUSY and others: not added. */
enum ifg_status session_add_target(struct session *session, int fd, pid_t pid,
                                   struct ifg_error *err) IFG_MUST_CHECK;
void session_close_target(struct session *session, struct target *target,
                          enum trace_process_fate fate, uint32_t code);
void session_fill_progress(struct session *session, struct session_progress *out_progress);
/* IFG_PERMISSION: the process that was attached to is now one that this user may not look into. */
enum ifg_status session_confirm(const struct session *session, struct ifg_error *err);
void session_note_command(struct session *session); /* whether the launched command has ended */
void session_write_clock_pair(struct session *session);

/* wait_for_process.c: waits for the next process that creates a session, and gets ready to record
 * it. IFG_NOT_FOUND: none did in time. IFG_CANCELLED: the user stopped it. */
enum ifg_status session_begin_next(struct session *session, struct ifg_error *err) IFG_MUST_CHECK;
extern const struct sink_calls session_sink_calls; /* session_sink.c */

double session_cpu_seconds(uint64_t *out_memory_bytes); /* of this process; the most it had */

/* What is known at the end, of the recording and its sources; of a dump as far as it has come. */
void session_write_end(struct session *session, const char *reason);

/* session.c: the file, and what is known at its beginning. */
enum ifg_status session_open_output(struct session *session, const char *program, pid_t pid,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* Waits for the launched command after recording ended, so that its status can be passed on. */
void session_await_command(struct session *session);

#endif
