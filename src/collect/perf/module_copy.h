// SPDX-License-Identifier: Apache-2.0
/*
 * A file that is only in the memory of a process any more, put together from what is mapped of it:
 * enough of an ELF file for code, call frames and exported names.
 */
#ifndef IFG_COLLECT_PERF_MODULE_COPY_H
#define IFG_COLLECT_PERF_MODULE_COPY_H

#include <stdint.h>

/* A file without a name, the caller's to close; -1: nothing of that file can be read. */
int module_copy(uint32_t pid, uint64_t inode);

#endif
