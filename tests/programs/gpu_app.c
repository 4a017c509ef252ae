// SPDX-License-Identifier: Apache-2.0
/*
 * A program that runs a model on a GPU that is none (stub_cuda.h), with a copy of each kind, a set,
 * kernels in operators, a graph, and a wait in every inference.
 *
 *     gpu_app [INFERENCES [KERNELS [WHAT]]]      WHAT: kill, fork, await
 *
 * Prints how many calls of each kind it made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "stub_cuda.h"

/* Mangled, as compilers do it: void net::gemm<float>(float*, int) */
#define GEMM "_ZN3net4gemmIfEEvPT_i"

static void inference(ifg_model *model, unsigned kernels)
{
    static uint64_t host[256];
    uint64_t ns = 20000;
    void *parameters[] = { &ns };
    ifg_zone event = ifg_event_begin(model, NULL, IFG_INFERENCE);

    cuMemcpyHtoDAsync_v2(1, host, sizeof host, NULL);
    cuMemsetD8Async(1, 0, 4096, NULL);
    for (unsigned i = 0; i < kernels; i++) {
        IFG_BEGIN(zone, "layer");
        cuLaunchKernel(i % 2 ? (void *)(uintptr_t) "relu" : (void *)(uintptr_t)GEMM, 8, 2, 1, 256,
                       1, 1, 0, NULL, parameters, NULL);
        IFG_END(zone);
    }
    cuGraphLaunch((void *)3, (void *)13);
    cuMemcpyDtoHAsync_v2(host, 1, sizeof host, NULL);
    cuStreamSynchronize(NULL);
    ifg_zone_end(event);
}

int main(int argc, char **argv)
{
    unsigned inferences = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;
    unsigned kernels = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 4;
    const char *what = argc > 3 ? argv[3] : "";
    ifg_model_options options = { .struct_size = sizeof options, .name = "net" };
    ifg_model *model = ifg_model_create(&options);

    if (cuInit(0) != 0)
        return 1;
    if (strcmp(what, "await") == 0) { /* until somebody records, and then until nobody does */
        while (!ifg_is_recording())
            inference(model, kernels);
        inferences = 0;
        while (ifg_is_recording()) {
            inference(model, kernels);
            inferences++;
        }
    }
    for (unsigned i = 0; strcmp(what, "await") != 0 && i < inferences; i++)
        inference(model, kernels);
    if (strcmp(what, "fork") == 0) {
        pid_t child = fork();

        if (child == 0) {
            inference(model, kernels);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        inference(model, kernels);
    }
    printf("%u\n", inferences);
    fflush(stdout);
    if (strcmp(what, "kill") == 0) {
        usleep(1000000);
        raise(SIGKILL);
    }
    ifg_model_destroy(model);
    return 0;
}
