// SPDX-License-Identifier: Apache-2.0
/*
 * The one door to the heap for everything outside the watched process.
 *
 * Sizes are checked products, running out is a NULL (never an abort), and tests can make call N
 * fail to see that every caller copes.
 */
#ifndef IFG_BASE_ALLOC_H
#define IFG_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory for count objects of size bytes; NULL when it overflows or memory is short. */
void *ifg_alloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/* Resizes; on failure returns NULL and leaves the old block alone. New bytes are not zeroed. */
void *ifg_realloc(void *block, size_t count, size_t size) __attribute__((warn_unused_result));

char *ifg_strdup(const char *text) __attribute__((malloc, warn_unused_result));
char *ifg_strndup(const char *text, size_t length) __attribute__((malloc, warn_unused_result));
void ifg_free(void *block);

/* For what another library has allocated and given to us. */
void ifg_free_foreign(void *block);

/* The most that may be allocated at a time; 0, the default: as much as the system gives. To be set
 * once, before there are threads. What was allocated before does not count. */
void ifg_alloc_limit(size_t bytes);

/* What is left of the limit; SIZE_MAX without one. */
size_t ifg_alloc_left(void);

/* For memory that comes straight from the kernel. False: the limit does not allow it. */
bool ifg_alloc_take(size_t bytes) __attribute__((warn_unused_result));
void ifg_alloc_give_back(size_t bytes);

/* What the limit has refused last: wanted on top of what was in use. False: nothing yet. */
struct ifg_alloc_refusal {
    size_t wanted;
    size_t used;
    size_t limit;
};
bool ifg_alloc_refused(struct ifg_alloc_refusal *out_refusal);

/* "" or, when the limit has refused something, a clause for the end of a message that tells of it
 * and of the option that raises it. Static memory of the calling thread. */
const char *ifg_alloc_why(void);

/* Tests only: the next `successes` allocations work, the one after fails, later ones work again.
 * Negative turns it off. */
void ifg_alloc_fail_after(long successes);

#endif
