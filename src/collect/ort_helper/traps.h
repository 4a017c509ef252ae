// SPDX-License-Identifier: Apache-2.0
/*
 * Breakpoints of a process on its own code, to see with which arguments functions are called. Only
 * for processes that are thrown away: the pages of the functions become writable and stay so.
 */
#ifndef IFG_COLLECT_ORT_HELPER_TRAPS_H
#define IFG_COLLECT_ORT_HELPER_TRAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAPS_MAX       96
#define TRAPS_ARGUMENTS 6

/* Called in a signal handler, when a function with a trap is entered; the trap is gone then. */
typedef void traps_entered(uintptr_t function, const uint64_t arguments[TRAPS_ARGUMENTS]);

/* NULL, or why there can be none here. */
const char *traps_init(traps_entered *entered);

/* Remembers a function; more than TRAPS_MAX are ignored. */
void traps_add(uintptr_t function);
void traps_forget(void); /* all of them; no trap is left */

/* Sets a trap on every function that has none. Returns NULL, or why it could not. */
const char *traps_set(void);

#endif
