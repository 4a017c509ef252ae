// SPDX-License-Identifier: Apache-2.0
/*
 * What the code at an address is called: function, file and line, with what was inlined there. From
 * symbol tables and debug information (libdw; separate debug files are found by build-id), and,
 * where a library was stripped, from the type information that C++ leaves in it.
 *
 * libdw reads foreign files: do this in a process that may die (collect/perf does).
 */
#ifndef IFG_SYMBOL_NAMES_H
#define IFG_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbol/elf_file.h"
#include "symbol/unwind_table.h"

#define NAMES_INLINED_MAX 16

struct names;

/* Texts belong to names and live as long as it does. */
struct names_location {
    const char *function; /* demangled; "" unknown */
    const char *file;     /* "" unknown */
    uint32_t line;
    bool inlined;
    bool guessed; /* recovered, see above; without a name: where it begins and ends is inferred */
};

/* fd: the file (kept by the caller); elf and table: what is known of it already, table may be NULL.
 */
enum ifg_status names_open(int fd, struct elf_file *elf, struct unwind_table *table,
                           struct names **out_names, struct ifg_error *err) IFG_MUST_CHECK;
void names_close(struct names *names);

/* The functions at an address of the file, inlined ones first, at least one (maybe without a name).
 * start and size are those of the function that has the code; size 0: not known. */
size_t names_find(struct names *names, uint64_t address, uint64_t *out_start, uint64_t *out_size,
                  struct names_location out_locations[NAMES_INLINED_MAX]);

/* A C++ name for people, or the name itself. Free with ifg_free. NULL: no memory. */
char *names_demangle(const char *name);

#endif
