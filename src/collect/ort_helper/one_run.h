// SPDX-License-Identifier: Apache-2.0
/*
 * One run of a model with inputs that are made up, with ONNX Runtime's profiling on: its file tells
 * the index and the name of every node that ran. Tells (tell.h)
 *
 *     profile PATH             the file
 *     run ok SIZE VALUE        dimensions left open were SIZE, integers were VALUE
 *     run failed SENTENCE      what ONNX Runtime said last; the file has the nodes up to there
 */
#ifndef IFG_COLLECT_ORT_HELPER_ONE_RUN_H
#define IFG_COLLECT_ORT_HELPER_ONE_RUN_H

#include <stdbool.h>
#include <stddef.h>

#define ONE_RUN_PROVIDERS_MAX 8

struct one_run {
    const char *model;
    const char *profile; /* prefix of the file */
    int level;           /* -1: as ONNX Runtime does it */
    int threads;         /* 0: one */
    long size;           /* of dimensions that are left open; 0: tried until one fits */
    const char *providers[ONE_RUN_PROVIDERS_MAX];
    size_t provider_count;
};

bool one_run_do(const struct one_run *run);

#endif
