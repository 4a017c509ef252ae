// SPDX-License-Identifier: Apache-2.0
/* Programs that confine themselves (seccomp), seen from outside: before the first event, and again
 * while they are recorded. */
#ifndef IFG_RECORD_CONFINED_H
#define IFG_RECORD_CONFINED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum confined_how {
    CONFINED_NOT,
    CONFINED_BY_FILTER, /* by more filters than the recorder has: not those of a container */
    CONFINED_STRICTLY,
};

/* The tightest of all threads of a process. */
enum confined_how confined_look(pid_t pid);

/* Whether a process has more filters than the first process of its container, or of the machine. */
bool confined_more_than_born(pid_t pid);

/* Seccomp filters that we have ourselves: everything that we start has them as well. */
unsigned confined_own_filters(void);

#endif
