// SPDX-License-Identifier: Apache-2.0
/*
 * Holding whoever maps a runtime until its probes are set.
 *
 * The kernel reports a mapping on the processor where it happens. There a thread of ours waits for
 * the report, with a real-time priority and on that processor alone: it runs before the program
 * that made the mapping gets the processor back, and holds it (thread_hold.h), mostly before it has
 * come back from the call. The recorder's own thread sets the probes and says so; then the program
 * goes on. Where there is no right to such a priority the same threads do it as soon as they are
 * let, which on a busy machine can be too late.
 *
 * A hold has a ceiling. Those that the caller wants are also held while a file is looked into that
 * is not known yet: a program may have the runtime inside of it.
 */
#ifndef IFG_RECORD_MAP_HOLD_H
#define IFG_RECORD_MAP_HOLD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

struct map_hold;

struct map_hold_options {
    /* Whether the process is to be held. Called in other threads, with is_named for a file whose
     * name is that of a runtime, and else for every file that is not known yet: then it must not
     * wait for anything, or who comes next is held too late. */
    bool (*wants)(void *user, pid_t pid, bool is_named);
    void *user;
    pid_t child; /* that we started and wait for; 0: none */
};

/* IFG_PERMISSION with the sentence if this user may not watch everybody. */
enum ifg_status map_hold_open(const struct map_hold_options *options, struct map_hold **out_hold,
                              struct ifg_error *err) IFG_MUST_CHECK;

int map_hold_fd(const struct map_hold *hold); /* readable when somebody waits for us */

/* Calls look for each process that has mapped a runtime, and lets it go on. in_time: the thread
 * that mapped it has been standing since then, which is only known where we have that priority. */
typedef void map_hold_look(void *user, pid_t pid);
typedef void map_hold_looked(void *user, pid_t pid, bool in_time);
void map_hold_work(struct map_hold *hold, map_hold_look *look, map_hold_looked *looked, void *user);

/* Lets everybody go, and holds nobody any more. Calls looked for those that nobody has come to look
 * at, mostly because they are gone: they were quicker than we. */
void map_hold_end(struct map_hold *hold, map_hold_looked *looked, void *user);

/* While looking: this takes longer, because of something that was asked for. */
void map_hold_extend(struct map_hold *hold);

/* Lets everybody go. NULL is fine. */
void map_hold_close(struct map_hold *hold);

#endif
