// SPDX-License-Identifier: Apache-2.0
/*
 * Where functions begin and end in code that nothing describes: neither call frame information nor
 * a symbol with a size. Hand-written kernels are such code, and often the hottest of a program.
 *
 * The gap between two described functions is read instruction by instruction (x86-64 only). A
 * function begins where a pointer in the data, a call or a symbol leads; and on a multiple of 16
 * bytes behind an instruction that nothing follows (ret, jmp, padding), unless a jump leads across
 * that place. All of this is inferred: the begin of such a function is a good guess, not a fact.
 */
#ifndef IFG_SYMBOL_BOUNDS_H
#define IFG_SYMBOL_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf_file.h"
#include "symbol/unwind_table.h"

#define BOUNDS_FUNCTION_MAX ((uint64_t)256 << 10)

struct bounds;

/* The file and its table (NULL: it has none) stay the caller's. NULL: no memory. */
struct bounds *bounds_create(struct elf_file *elf, struct unwind_table *table);
void bounds_destroy(struct bounds *bounds);

/* A place where a function is known to begin; before the first search. */
void bounds_add_start(struct bounds *bounds, uint64_t address);

/* The function that has the instruction at this address, of at most BOUNDS_FUNCTION_MAX bytes.
 * False: it is no code of the file, it is described, or code of this machine cannot be read. */
bool bounds_find(struct bounds *bounds, uint64_t address, uint64_t *out_start, uint64_t *out_size);

#endif
