// SPDX-License-Identifier: Apache-2.0
/*
 * Names of functions in a stripped C++ library: every class with virtual functions leaves its name
 * and the list of these functions (its vtable) in the file, because the program itself needs them.
 */
#ifndef IFG_SYMBOL_RTTI_H
#define IFG_SYMBOL_RTTI_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbol/elf_file.h"
#include "symbol/unwind_table.h"

struct rtti;

/* IFG_NOT_FOUND: nothing of the kind in there. */
enum ifg_status rtti_build(struct elf_file *elf, struct unwind_table *table, struct rtti **out_rtti,
                           struct ifg_error *err) IFG_MUST_CHECK;
void rtti_destroy(struct rtti *rtti);

size_t rtti_function_count(const struct rtti *rtti);

/* Which virtual function begins at this address: the mangled name of the class ("N3foo3BarE"), the
 * position in its vtable, and that of the class at the root of its first bases, whose functions the
 * vtable begins with ("" of a vtable that is not the class's first). False: none. */
bool rtti_find(const struct rtti *rtti, uint64_t start, const char **out_class,
               unsigned *out_position, const char **out_root);

#endif
