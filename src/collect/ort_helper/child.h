// SPDX-License-Identifier: Apache-2.0
/* A process with a job, limits and one pipe, whose words are collected until it ends. */
#ifndef IFG_COLLECT_ORT_HELPER_CHILD_H
#define IFG_COLLECT_ORT_HELPER_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/status.h"

struct child {
    const char *what;        /* for messages: "the library X" */
    const char *const *argv; /* a program to be started, or NULL for `function` */
    int (*function)(void *user);
    void *user;
    const char *const *environment; /* all of it; NULL at the end */
    int result_fd;                  /* what it writes there is collected */
    int input_fds[2];               /* become descriptors 4 and 5; -1 = none */
    unsigned timeout_s;
    uint64_t memory_bytes; /* of address space; 0 = no limit */
    uint64_t file_bytes;   /* largest file it may write */
    uid_t uid;             /* who it is, when we are root */
    gid_t gid;
};

/* *out_words also holds what was said before a failure. IFG_UNSUPPORTED: it crashed, hung or ended
 * with another status than 0 or 1; the message says which. */
enum ifg_status child_collect(const struct child *child, struct ifg_bytes *out_words,
                              struct ifg_error *err) IFG_MUST_CHECK;

#endif
