// SPDX-License-Identifier: Apache-2.0
/* What remote_thread.c finds out for remote_call.c. */
#ifndef IFG_RECORD_REMOTE_INTERNAL_H
#define IFG_RECORD_REMOTE_INTERNAL_H

#include "record/remote.h"

/* What the threads were doing when none of them would do. */
struct remote_crowd {
    unsigned threads;
    unsigned running;
    unsigned waiting_for_locks;
    unsigned small_stacks;
};

/* Offers threads that wait safely, until one is taken. */
typedef bool remote_try(pid_t tid, void *user);
bool remote_find_waiting(const struct remote *remote, remote_try *attempt, void *user,
                         struct remote_crowd *out_crowd);

/* Whether a thread that is in system call `number`, entered just before pc, may be borrowed. */
bool remote_is_safe_call(const struct remote *remote, long number, uint64_t first, uint64_t pc);
bool remote_has_stack(const struct remote *remote, uint64_t sp);

#endif
