// SPDX-License-Identifier: Apache-2.0
/*
 * For programs that run already: our functions are put into ONNX Runtime's own table, where the
 * program looks them up whenever it calls one, and are taken out again.
 *
 * A recorder calls these two in a thread of the program that waits in a system call
 * (src/record/inject.c). It cannot see what they return, and reads ifg_ort_patch_result instead;
 * what is in it is known over there, too.
 */
#ifndef IFG_HOOKS_ORT_PATCH_H
#define IFG_HOOKS_ORT_PATCH_H

#include <stdint.h>

#define IFG_ORT_PATCH __attribute__((visibility("default")))

struct ifg_ort_patch_result {
    uint32_t calls;   /* of the two functions, finished */
    int32_t watched;  /* ONNX Runtimes whose calls go through us now */
    int32_t found;    /* that are in this process */
    char reason[244]; /* of the last one that is left alone; "" if there is none */
};

extern IFG_ORT_PATCH struct ifg_ort_patch_result ifg_ort_patch_result;

/* Patches every ONNX Runtime of this process; harmless when that is done already. Returns how many
 * are watched. */
IFG_ORT_PATCH int ifg_ort_patch(void);

/* Puts back what was there. Calls that are inside of our functions finish in them: this library
 * stays. Returns how many tables were put back. */
IFG_ORT_PATCH int ifg_ort_unpatch(void);

#endif
