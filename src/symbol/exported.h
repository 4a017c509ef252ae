// SPDX-License-Identifier: Apache-2.0
/*
 * Where the functions are that a library exports, by exact name or by pattern, for probes on
 * libraries that we know nothing else about.
 */
#ifndef IFG_SYMBOL_EXPORTED_H
#define IFG_SYMBOL_EXPORTED_H

#include "symbol/elf_file.h"

struct exported_function {
    const char *name; /* lives as long as the file is open */
    uint64_t vaddr;
    uint64_t file_offset;
    uint64_t probe_offset; /* the same, or past endbr64 or bti */
};

struct exported_functions {
    struct exported_function *items; /* by file offset, one for each function even if it has
                                        several names */
    size_t count;
};

/*
 * In a pattern * stands for any text and ? for one character; names are as the linker knows them,
 * so C++ ones are mangled. IFG_NOT_FOUND when there is none. IFG_UNSUPPORTED when an exact name is
 * no function that can be probed: data, or a choice among functions that is made at load time.
 */
enum ifg_status exported_find(struct elf_file *elf, const char *pattern,
                              struct exported_functions *out_functions,
                              struct ifg_error *err) IFG_MUST_CHECK;
void exported_fini(struct exported_functions *functions);

/* Whether the whole text fits the pattern. */
bool exported_matches(const char *pattern, const char *text);

#endif
