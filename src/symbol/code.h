// SPDX-License-Identifier: Apache-2.0
/*
 * As much reading of machine code as finding a table needs: which addresses do the first
 * instructions of a function compute, and where may a probe be put on it.
 */
#ifndef IFG_SYMBOL_CODE_H
#define IFG_SYMBOL_CODE_H

#include "symbol/elf_file.h"

#define CODE_WINDOW_MAX 192

/*
 * Addresses that the first `window` bytes of a function load, in order of appearance; jumps at its
 * start are followed. Nothing is disassembled in full, so there may be addresses that no
 * instruction loads: whoever uses one makes sure that it leads to what is expected.
 */
size_t code_addresses(struct elf_file *elf, uint64_t function, size_t window, uint64_t *out,
                      size_t capacity);

/* The file offset for a probe: past endbr64 and bti, on which a probe is costly. False when vaddr
 * is no code in the file. */
bool code_probe_offset(struct elf_file *elf, uint64_t vaddr, uint64_t *out_offset);

#endif
