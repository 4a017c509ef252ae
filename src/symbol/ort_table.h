// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of an ONNX Runtime library, found in its file without executing it: official builds
 * are stripped and export OrtGetApiBase only, but what that returns is data with relocations.
 *
 *     OrtGetApiBase --loads--> {GetApi, GetVersionString}; GetApi --loads--> table of functions
 *
 * A table is handed out only if everything about it fits its version; a probe in the wrong place
 * would harm the watched process.
 */
#ifndef IFG_SYMBOL_ORT_TABLE_H
#define IFG_SYMBOL_ORT_TABLE_H

#include "ort_abi/api.h"
#include "symbol/elf_file.h"

enum ort_table_method {
    ORT_TABLE_DECODED, /* by the code of OrtGetApiBase and GetApi */
    ORT_TABLE_ONLY_RUN /* the only run of function pointers of this length */
};

/* Several slots may lead to one function where the linker folded identical ones. */
struct ort_table_slot {
    uint64_t vaddr;
    uint64_t file_offset;
    uint64_t probe_offset; /* the same, or past endbr64 or bti */
};

struct ort_table {
    char version[32]; /* 1.20.1 */
    unsigned minor;
    unsigned slot_count; /* of those that are known; a newer library may have more */
    bool untried;        /* newer than any that was tested */
    enum ort_table_method method;
    uint64_t vaddr;
    struct ort_table_slot slots[ORT_ABI_SLOTS_MAX]; /* by number, as in ONNX Runtime's header */
};

/* IFG_NOT_FOUND: this is no ONNX Runtime. IFG_UNSUPPORTED: it is, but not one we know. */
enum ifg_status ort_table_find(struct elf_file *elf, struct ort_table *out_table,
                               struct ifg_error *err) IFG_MUST_CHECK;

#endif
