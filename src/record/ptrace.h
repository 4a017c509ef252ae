// SPDX-License-Identifier: Apache-2.0
/*
 * Another process: reading its memory, and having one of its threads call a function.
 *
 * The thread is taken out of a system call that it waits in, and goes back into it afterwards as
 * after any stop. Whatever it needs to find its way back by itself lies on its stack before its
 * first register is changed, in the form of a signal's frame: if we die at any moment, the call
 * ends there and the program goes on.
 */
#ifndef IFG_RECORD_PTRACE_H
#define IFG_RECORD_PTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* Where a borrowed thread stands; tests end the recorder in each of them. */
enum ptrace_phase {
    PTRACE_STOPPED,  /* nothing is changed yet */
    PTRACE_CALLING,  /* its registers are those of the call */
    PTRACE_INSIDE,   /* in a system call of the function that it calls */
    PTRACE_RETURNED, /* the call is over */
    PTRACE_RESTORED, /* everything is as it was; it is not let go yet */
    PTRACE_PHASES,
};
typedef void ptrace_observer(enum ptrace_phase phase, void *user);

struct ptrace_thread;

struct ptrace {
    pid_t pid;
    int memory;
    struct ptrace_thread *thread; /* the one that is borrowed; NULL: none */
    ptrace_observer *observer;
    void *user;
};

#define PTRACE_NONE ((struct ptrace){ .memory = -1 })

/* A process whose memory can be reached; ptrace_close always. */
enum ifg_status ptrace_open(pid_t pid, struct ptrace *out_remote,
                            struct ifg_error *err) IFG_MUST_CHECK;
void ptrace_close(struct ptrace *remote);

/* All of it, or false. */
bool ptrace_read(const struct ptrace *remote, uint64_t address, void *out, size_t bytes);

/* A text that ends within size; cut off there otherwise. "" if it cannot be read. */
void ptrace_read_text(const struct ptrace *remote, uint64_t address, char *out, size_t size);

/* ---- calls ---- */

/* Borrows a thread. `restorer` is the C library's way back from a signal (ptrace_elf.h). IFG_BUSY:
 * there was no safe moment within wait_ms. */
enum ifg_status ptrace_borrow(struct ptrace *remote, uint64_t restorer, unsigned wait_ms,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* function(text, number) on the borrowed thread; what it returns cannot be seen. After a failure
 * the thread can only be given back. */
enum ifg_status ptrace_call(struct ptrace *remote, uint64_t function, const char *text,
                            uint64_t number, struct ifg_error *err) IFG_MUST_CHECK;

/* The thread goes on with what it did. Harmless if none is borrowed. */
void ptrace_give_back(struct ptrace *remote);

/* A sentence about why a process may not be traced by us, from what the system tells. */
enum ifg_status ptrace_explain_rights(pid_t pid, struct ifg_error *err);

#endif
