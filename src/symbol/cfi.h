// SPDX-License-Identifier: Apache-2.0
/*
 * The call frame information of one .eh_frame: its functions one by one, and the program of each,
 * run row by row (DWARF 5, 6.4; System V ABI, Linux extensions). Inside this room only.
 */
#ifndef IFG_SYMBOL_CFI_H
#define IFG_SYMBOL_CFI_H

#include "symbol/unwind_table.h"

struct cfi {
    const uint8_t *data; /* of .eh_frame */
    size_t size;
    uint64_t address; /* of data[0] */
    enum elf_machine machine;
};

struct cfi_row {
    uint64_t address;
    enum unwind_rule rule;
    int64_t offset;
    enum unwind_saved saved;
    int64_t saved_fp; /* bytes from the frame's address */
    int64_t saved_ra; /* 0: in the link register */
};

struct cfi_function {
    uint64_t start;
    uint64_t size;
};

/* False stops the walk. Rows come in order of addresses, the first at the function's start. */
typedef bool cfi_take_function(const struct cfi_function *function, void *user);
typedef bool cfi_take_row(const struct cfi_row *row, void *user);

/* Calls for each function, then for its rows. Entries that make no sense are stepped over. */
void cfi_walk(const struct cfi *cfi, cfi_take_function *take_function, cfi_take_row *take_row,
              void *user);

/* The same for the one entry at `offset` of .eh_frame. Returns how many bytes were looked at; 0:
 * there is no function. */
size_t cfi_entry(const struct cfi *cfi, uint64_t offset, cfi_take_function *take_function,
                 cfi_take_row *take_row, void *user);

/* A pointer in one of the encodings of .eh_frame; false if it is not one that we know. `address` is
 * that of cursor->at. */
bool cfi_read_pointer(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t address,
                      uint64_t data_base, uint64_t *out_value);

#endif
