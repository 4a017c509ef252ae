// SPDX-License-Identifier: Apache-2.0
/*
 * The one door to the heap for everything outside the watched process.
 *
 * Sizes are checked products, running out is a NULL (never an abort), and tests can make call N
 * fail to see that every caller copes.
 */
#ifndef IFG_BASE_ALLOC_H
#define IFG_BASE_ALLOC_H

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

/* Tests only: the next `successes` allocations work, the one after fails, later ones work again.
 * Negative turns it off. */
void ifg_alloc_fail_after(long successes);

#endif
