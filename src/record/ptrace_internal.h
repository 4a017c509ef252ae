// SPDX-License-Identifier: Apache-2.0
/* What ptrace_thread.c finds out for ptrace_call.c. */
#ifndef IFG_RECORD_PTRACE_INTERNAL_H
#define IFG_RECORD_PTRACE_INTERNAL_H

#include "record/ptrace.h"

/* What the threads were doing when none of them would do. */
struct ptrace_crowd {
    unsigned threads;
    unsigned running;
    unsigned waiting_for_locks;
    unsigned small_stacks;
};

/* Offers threads that wait safely, until one is taken. */
typedef bool ptrace_try(pid_t tid, void *user);
bool ptrace_find_waiting(const struct ptrace *remote, ptrace_try *attempt, void *user,
                         struct ptrace_crowd *out_crowd);

/* Whether a thread that is in system call `number`, entered just before pc, may be borrowed. */
bool ptrace_is_safe_call(const struct ptrace *remote, long number, uint64_t first, uint64_t pc);
bool ptrace_has_stack(const struct ptrace *remote, uint64_t sp);

#endif
