// SPDX-License-Identifier: Apache-2.0
/*
 * A program that runs a model on an AMD GPU that is none (stub_rocm.h), with a copy of each kind, a
 * set, kernels in operators, a graph, and a wait in every inference.
 *
 *     rocm_app [INFERENCES [KERNELS [WHAT]]]      WHAT: kill, fork, await, memory, threads
 *
 * memory: with memory of the device. threads: INFERENCES on each of two threads.
 *
 * Prints how many inferences it made.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#include "stub_rocm.h"

/* As the device's code has it: void net::gemm<float>(float*, int) */
#define GEMM "_ZN3net4gemmIfEEvPT_i.kd"

static unsigned inferences = 10, kernels = 4;

static void inference(ifg_model *model)
{
    const struct dim3 grid = { 8, 2, 1 }, block = { 256, 1, 1 };
    static uint64_t host[256];
    ifg_zone event = ifg_event_begin(model, NULL, IFG_INFERENCE);

    hipMemcpyAsync(NULL, host, sizeof host, 1, NULL);
    hipMemsetAsync(NULL, 0, 4096, NULL);
    for (unsigned i = 0; i < kernels; i++) {
        IFG_BEGIN(zone, "layer");
        if (i % 2)
            hipLaunchKernel_spt("relu.kd", grid, block, NULL, 2048, NULL);
        else
            hipLaunchKernel(GEMM, grid, block, NULL, 2048, NULL);
        IFG_END(zone);
    }
    hipGraphLaunch((void *)3, (void *)13);
    hipMemcpyAsync(NULL, NULL, 512, 3, NULL);
    hipMemcpyAsync(host, NULL, sizeof host, 2, NULL);
    hipStreamSynchronize(NULL);
    ifg_zone_end(event);
}

static void *run(void *model)
{
    for (unsigned i = 0; i < inferences; i++)
        inference(model);
    return NULL;
}

static void run_with_memory(ifg_model *model)
{
    void *weights[2];
    void *scratch;

    hipMalloc(&weights[0], 65536);
    hipMalloc(&weights[1], 131072);
    for (unsigned i = 0; i < inferences; i++) {
        hipMalloc(&scratch, 1u << 20);
        inference(model);
        hipFree(scratch);
    }
    hipFree(weights[1]);
    hipFree((void *)7); /* that nobody has allocated */
}

static void run_threads(ifg_model *model)
{
    pthread_t other;

    if (pthread_create(&other, NULL, run, model) != 0)
        return;
    run(model);
    pthread_join(other, NULL);
}

/* Until somebody records, and then until nobody does. */
static void run_while_recorded(ifg_model *model)
{
    while (!ifg_is_recording())
        inference(model);
    while (ifg_is_recording())
        inference(model);
}

static void run_and_fork(ifg_model *model)
{
    pid_t child;

    run(model);
    child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    inference(model);
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[3] : "";
    ifg_model_options options = { .struct_size = sizeof options, .name = "net" };
    ifg_model *model = ifg_model_create(&options);

    if (argc > 1)
        inferences = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        kernels = (unsigned)strtoul(argv[2], NULL, 10);
    hipInit(0);
    if (strcmp(what, "await") == 0)
        run_while_recorded(model);
    else if (strcmp(what, "memory") == 0)
        run_with_memory(model);
    else if (strcmp(what, "threads") == 0)
        run_threads(model);
    else if (strcmp(what, "fork") == 0)
        run_and_fork(model);
    else
        run(model);
    printf("%u\n", inferences);
    fflush(stdout);
    if (strcmp(what, "kill") == 0) {
        usleep(1000000);
        raise(SIGKILL);
    }
    ifg_model_destroy(model);
    return 0;
}
