// SPDX-License-Identifier: Apache-2.0
/*
 * Where the caller of a function is found, for every address of a program or library, from its
 * .eh_frame: rows sorted by address, each good from there to the next one.
 *
 * Addresses are those of the file. The file is hostile: every length is checked, and what cannot be
 * understood becomes a row that says so (UNWIND_UNKNOWN), never a guess.
 *
 * Building the table of a large library takes 20 to 30 ms of CPU time, and libraries are mapped
 * when a program starts, which is the worst moment. So a table can be opened instead: rows are then
 * looked up one by one in the index that linkers write (.eh_frame_hdr), until that has cost about
 * as much as building it.
 */
#ifndef IFG_SYMBOL_UNWIND_TABLE_H
#define IFG_SYMBOL_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbol/elf_file.h"

/* How the frame's own address (the CFA: the stack pointer before the call) is found. */
enum unwind_rule {
    UNWIND_NONE,    /* no function is known here */
    UNWIND_SP,      /* stack pointer + offset */
    UNWIND_FP,      /* frame pointer + offset */
    UNWIND_FP_LOAD, /* what is stored at frame pointer + offset */
    UNWIND_PLT,     /* a stub of the linker: 8 more once it has pushed; offset: from that byte on */
    UNWIND_SIGNAL,  /* the kernel's frame of a signal handler */
    UNWIND_ROOT,    /* nobody called this: the thread begins here */
    UNWIND_UNKNOWN, /* a rule that we cannot follow */
};

/* Where the caller's frame pointer is. */
enum unwind_saved {
    UNWIND_KEPT,   /* not changed yet */
    UNWIND_AT_CFA, /* at the frame's address + 8 * saved_fp */
    UNWIND_AT_FP,  /* where the frame pointer points to */
    UNWIND_LOST,
};

struct unwind_row {
    uint32_t at; /* from the table's first address */
    int32_t offset;
    int16_t saved_fp;  /* in words of 8 bytes */
    int8_t saved_ra;   /* likewise; 0: still in the link register (arm64) */
    uint8_t rule : 4;  /* enum unwind_rule */
    uint8_t saved : 4; /* enum unwind_saved */
};

struct unwind_function {
    uint32_t at; /* from the table's first address */
    uint32_t size;
};

struct unwind_table {
    enum elf_machine machine;
    uint64_t first; /* address of the first function */
    uint64_t end;   /* behind the last one */
    struct unwind_row *rows;
    size_t row_count;
    struct unwind_function *functions; /* by address; they do not overlap */
    size_t function_count;
    uint32_t *index; /* row that holds the begin of each UNWIND_PAGE, and one more */
    size_t index_count;
    size_t unknown;               /* rows with UNWIND_UNKNOWN */
    struct unwind_search *search; /* NULL: all of the above is there */
};

/* So small that the rows of one are two or three lines of the CPU's cache. */
#define UNWIND_PAGE 128u

/* IFG_NOT_FOUND: the file has no .eh_frame. Parts that are damaged are left out. */
enum ifg_status unwind_table_build(struct elf_file *elf, struct unwind_table **out_table,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* The same, without reading more than a header. The file has to stay open as long as the table is
 * there. */
enum ifg_status unwind_table_open(struct elf_file *elf, struct unwind_table **out_table,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Builds what an opened table lacks; if that fails, it is empty. For who asks for many
 * functions. */
void unwind_table_complete(struct unwind_table *table);
void unwind_table_destroy(struct unwind_table *table);

/* The row for an address; NULL outside of the table, and where no function is known. Good until the
 * next call; `at` says nothing. */
const struct unwind_row *unwind_table_find(struct unwind_table *table, uint64_t address);

/* The function that an address is in; false if none is known. */
bool unwind_table_function(struct unwind_table *table, uint64_t address, uint64_t *out_start,
                           uint64_t *out_size);

/* Whether a function begins exactly there. */
bool unwind_table_begins(struct unwind_table *table, uint64_t address);

/* What no function covers around an address: 0 and UINT64_MAX where none is before or behind it.
 * False: a function does. */
bool unwind_table_gap(struct unwind_table *table, uint64_t address, uint64_t *out_start,
                      uint64_t *out_end);

#endif
