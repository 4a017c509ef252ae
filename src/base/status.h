// SPDX-License-Identifier: Apache-2.0
/*
 * How functions in this project fail.
 *
 * Every fallible function returns an enum ifg_status and may explain itself in a caller-supplied
 * struct ifg_error. The first place that knows the reason fills it; callers add context only where
 * that adds a fact. Nothing here allocates, so an error can always be told.
 */
#ifndef IFG_BASE_STATUS_H
#define IFG_BASE_STATUS_H

#include <stddef.h>

enum ifg_status {
    IFG_OK = 0,
    IFG_INVALID = -1,     /* the caller asked for something that makes no sense */
    IFG_NOT_FOUND = -2,   /* a file, process or name does not exist */
    IFG_PERMISSION = -3,  /* it exists, but this user may not */
    IFG_UNSUPPORTED = -4, /* a version, feature or machine we cannot handle */
    IFG_NO_MEMORY = -5,
    IFG_IO = -6,      /* the operating system refused; saved_errno says why */
    IFG_CORRUPT = -7, /* bytes from outside do not mean what they should */
    IFG_BUSY = -8,    /* somebody else holds it */
    IFG_CANCELLED = -9,
    IFG_INTERNAL = -10,
};

#define IFG_MUST_CHECK __attribute__((warn_unused_result))

/* One sentence for a person: what failed, why, what to do. */
struct ifg_error {
    enum ifg_status status;
    int saved_errno;
    char message[768];
};

/* Fills err (which may be NULL) and returns status, so that `return ifg_fail(...)` reads well. */
enum ifg_status ifg_fail(struct ifg_error *err, enum ifg_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a system call that just failed: picks the status from errno and appends its text. */
enum ifg_status ifg_fail_errno(struct ifg_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts `context: ` before a message that is already there. */
enum ifg_status ifg_fail_context(struct ifg_error *err, enum ifg_status status, const char *format,
                                 ...) __attribute__((format(printf, 3, 4)));

/* Running out of memory: one status, one wording ("not enough memory", and what for), and what the
 * limit of base/alloc.h says about it. The format continues the sentence ("for a block", "to read
 * %s"); NULL: there is nothing to add. */
enum ifg_status ifg_fail_no_memory(struct ifg_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum ifg_status ifg_status_from_errno(int error_number);
const char *ifg_status_name(enum ifg_status status);

#endif
