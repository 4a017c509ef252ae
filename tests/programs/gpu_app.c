// SPDX-License-Identifier: Apache-2.0
/*
 * A program that runs a model on a GPU that is none (stub_cuda.h), with a copy of each kind, a set,
 * kernels in operators, a graph, and a wait in every inference.
 *
 *     gpu_app [INFERENCES [KERNELS [WHAT]]]      WHAT: kill, fork, await, memory, less
 *
 * memory: with memory of all kinds, pools, and waits of all kinds. less: as many inferences as it
 * takes until memory is not recorded any more, and INFERENCES more.
 *
 * Prints how many calls of each kind it made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

/* 1 MiB from a pool while the inference runs. */
static void inference_in_pool(ifg_model *model, unsigned kernels)
{
    uint64_t address = 0;

    cuMemAllocAsync(&address, 1u << 20, (void *)13);
    inference(model, kernels);
    cuMemFreeAsync(address, (void *)13);
}

static void inferences_with_memory(ifg_model *model, unsigned inferences, unsigned kernels)
{
    uint64_t weights[2] = { 0, 0 };
    void *host = NULL;
    void *pool = NULL;

    cuMemAlloc_v2(&weights[0], 65536);
    cuMemAlloc_v2(&weights[1], 131072);
    cuMemHostAlloc(&host, 4096, 0);
    cuMemPoolCreate(&pool, NULL);
    for (unsigned i = 0; i < inferences; i++) {
        inference_in_pool(model, kernels);
        cuStreamWaitEvent((void *)13, (void *)1, 0);
        cuEventSynchronize((void *)1);
        cuCtxSynchronize();
    }
    cuMemPoolDestroy(pool);
    cuMemPoolTrimTo((void *)1, 0);
    cuMemFreeHost(host);
    cuMemFree_v2(weights[1]);
}

/* Not so fast that buffers run out; a minute is more than it ever takes. */
static unsigned inferences_until_less(ifg_model *model, unsigned more, unsigned kernels)
{
    unsigned count = 0;

    for (time_t end = time(NULL) + 60; ifg_is_recording() && !stub_cuda_is_less();) {
        if (time(NULL) > end)
            break;
        inference_in_pool(model, kernels);
        usleep(5000);
        count++;
    }
    for (unsigned i = 0; i < more; i++, count++)
        inference_in_pool(model, kernels);
    return count;
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
    if (strcmp(what, "memory") == 0)
        inferences_with_memory(model, inferences, kernels);
    else if (strcmp(what, "less") == 0)
        inferences = inferences_until_less(model, inferences, kernels);
    else if (strcmp(what, "await") != 0)
        for (unsigned i = 0; i < inferences; i++)
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
