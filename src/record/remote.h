// SPDX-License-Identifier: Apache-2.0
/*
 * Another process: reading its memory, and having one of its threads call a function.
 *
 * The thread is taken out of a system call that it waits in, and goes back into it afterwards as
 * after any stop. Whatever it needs to find its way back by itself lies on its stack before its
 * first register is changed, in the form of a signal's frame: if we die at any moment, the call
 * ends there and the program goes on.
 */
#ifndef IFG_RECORD_REMOTE_H
#define IFG_RECORD_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* Where a borrowed thread stands; tests end the recorder in each of them. */
enum remote_phase {
    REMOTE_STOPPED,  /* nothing is changed yet */
    REMOTE_CALLING,  /* its registers are those of the call */
    REMOTE_INSIDE,   /* in a system call of the function that it calls */
    REMOTE_RETURNED, /* the call is over */
    REMOTE_RESTORED, /* everything is as it was; it is not let go yet */
    REMOTE_PHASES,
};
typedef void remote_observer(enum remote_phase phase, void *user);

struct remote_thread;

struct remote {
    pid_t pid;
    int memory;
    struct remote_thread *thread; /* the one that is borrowed; NULL: none */
    remote_observer *observer;
    void *user;
};

#define REMOTE_NONE ((struct remote){ .memory = -1 })

/* A process whose memory can be reached; remote_close always. */
enum ifg_status remote_open(pid_t pid, struct remote *out_remote,
                            struct ifg_error *err) IFG_MUST_CHECK;
void remote_close(struct remote *remote);

/* All of it, or false. */
bool remote_read(const struct remote *remote, uint64_t address, void *out, size_t bytes);

/* A text that ends within size; cut off there otherwise. "" if it cannot be read. */
void remote_read_text(const struct remote *remote, uint64_t address, char *out, size_t size);

/* ---- calls ---- */

/* Borrows a thread. `restorer` is the C library's way back from a signal (remote_elf.h). IFG_BUSY:
 * there was no safe moment within wait_ms. */
enum ifg_status remote_borrow(struct remote *remote, uint64_t restorer, unsigned wait_ms,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* function(text, number) on the borrowed thread; what it returns cannot be seen. After a failure
 * the thread can only be given back. */
enum ifg_status remote_call(struct remote *remote, uint64_t function, const char *text,
                            uint64_t number, struct ifg_error *err) IFG_MUST_CHECK;

/* The thread goes on with what it did. Harmless if none is borrowed. */
void remote_give_back(struct remote *remote);

/* A sentence about why a process may not be traced by us, from what the system tells. */
enum ifg_status remote_explain_rights(pid_t pid, struct ifg_error *err);

#endif
