// SPDX-License-Identifier: Apache-2.0
/* Columns and limits of the blocks of samples, shared by samples_out.c and samples_in.c. */
#ifndef IFG_TRACE_SAMPLES_INTERNAL_H
#define IFG_TRACE_SAMPLES_INTERNAL_H

enum { FRAME_MODULE, FRAME_ADDRESS, FRAME_LANES };
enum { STACK_PARENT, STACK_FRAME, STACK_FLAGS, STACK_LANES };
enum { SAMPLE_TIME, SAMPLE_PID, SAMPLE_TID, SAMPLE_CPU, SAMPLE_STACK, SAMPLE_FLAGS, SAMPLE_LANES };
enum {
    SWITCH_TIME,
    SWITCH_PID,
    SWITCH_TID,
    SWITCH_CPU,
    SWITCH_KIND,
    SWITCH_OTHER_PID,
    SWITCH_OTHER_TID,
    SWITCH_LANES
};
enum { SYMBOL_NUMBERS, SYMBOL_NAMES, SYMBOL_LANES };
enum { CODE_NUMBERS, CODE_BYTES, CODE_LANES };
enum { SOURCE_NAMES, SOURCE_TEXT, SOURCE_LANES };

#define CODE_BYTES_MAX   ((size_t)1 << 20) /* of one function */
#define CODE_BLOCK_BYTES ((size_t)4 << 20)

#endif
