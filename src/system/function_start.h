// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a place in a program's file is where a function begins.
 *
 * A probe replaces a byte of an instruction. In the middle of one it changes what the program does,
 * and it stays in a process that goes on to execute a set-user-id program which maps the same file.
 * Who sets probes with rights that his user lacks must therefore look at every place: files that
 * belong to this user may be probed anywhere, all others only where their own unwind tables
 * (.eh_frame_hdr) say that a function begins, or right behind its landing pad.
 */
#ifndef IFG_SYSTEM_FUNCTION_START_H
#define IFG_SYSTEM_FUNCTION_START_H

#include <stdbool.h>
#include <stdint.h>

/* `fd`: open for reading. False also for everything that is no ELF file with such a table. */
bool function_start_is(int fd, uint64_t offset);

/* The same, and true for regular files of the real user. */
bool function_start_may_be_probed(int fd, uint64_t offset);

#endif
