// SPDX-License-Identifier: Apache-2.0
/*
 * A process with a job, limits and one pipe, whose words are collected until it ends. It has a
 * session of its own, nothing of ours open, and is killed with all that it started.
 */
#ifndef IFG_COLLECT_ORT_HELPER_CHILD_H
#define IFG_COLLECT_ORT_HELPER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/status.h"

struct credentials;

#define CHILD_INPUT_FD   4 /* where the first input goes */
#define CHILD_INPUTS_MAX 6

struct child {
    const char *what;        /* for messages: "the library X" */
    const char *const *argv; /* a program to be started, or NULL for `function` */
    int program_fd;          /* the program, opened by whoever checked it; with argv */
    int (*function)(void *user);
    void *user;
    const char *const *environment; /* all of it; NULL at the end */
    int result_fd;                  /* what it writes there is collected */
    int inputs[CHILD_INPUTS_MAX];   /* become CHILD_INPUT_FD and so on; -1 = none */
    size_t input_count;
    unsigned timeout_s;
    uint64_t memory_bytes;         /* of address space; 0 = no limit */
    uint64_t file_bytes;           /* largest file it may write */
    const struct credentials *who; /* without capabilities in any case; NULL: as we are */
    bool is_foreign;               /* code that is not ours: in the sandbox (system/sandbox.h) */
};

/* *out_words also holds what was said before a failure. IFG_UNSUPPORTED: it crashed, hung or ended
 * with another status than 0 or 1; the message says which. */
enum ifg_status child_collect(const struct child *child, struct ifg_bytes *out_words,
                              struct ifg_error *err) IFG_MUST_CHECK;

#endif
