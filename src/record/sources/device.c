// SPDX-License-Identifier: Apache-2.0
/*
 * Work of GPUs (record --gpu): arms a launched program with the libraries that CUDA's driver and
 * ROCm load (hooks/cupti, hooks/rocm). What they see comes through the program's own rings; here is
 * only what it takes to get them there, and the word for programs that they never got into.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/hooks.h"
#include "record/launch.h"
#include "record/program.h"
#include "record/source.h"
#include "wire/device.h"

struct device_watch {
    struct recording *recording;
    bool armed;
    char reason[512];
};

/* Where the kernel's part of the driver is, CUDA's may be as well. */
static bool has_cuda(void)
{
    return access("/proc/driver/nvidia/version", F_OK) == 0 ||
           access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static bool has_rocm(void)
{
    return access("/dev/kfd", F_OK) == 0;
}

/* A library that is missing is a reason only where nothing else can be recorded. */
static void arm(struct device_watch *watch)
{
    const struct session_options *options = watch->recording->options;
    struct hooks *hooks = watch->recording->hooks;
    bool is_full = options->gpu == SESSION_GPU_FULL;
    bool is_asked = options->gpu != SESSION_GPU_AUTO;
    struct program program;
    char path[PATH_MAX];

    if (launch_find(options->command, path, sizeof path, NULL) != IFG_OK)
        return; /* whoever starts it will say so */
    program_probe(path, &program);
    if (is_asked || has_rocm())
        watch->armed =
            hooks_add_rocm(hooks, &program, is_full, watch->reason, sizeof watch->reason);
    if (is_asked || has_cuda())
        watch->armed |=
            hooks_add_device(hooks, &program, is_full, watch->reason, sizeof watch->reason);
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    const struct session_options *options = recording->options;
    struct device_watch *watch;

    if ((!options->command && (!recording->device_reason || !*recording->device_reason)) ||
        options->gpu == SESSION_GPU_OFF || options->hook == SESSION_HOOK_NONE ||
        options->hook == SESSION_HOOK_UPROBE)
        return IFG_OK;
    watch = ifg_alloc(1, sizeof *watch);
    *out_state = watch;
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->recording = recording;
    if (!options->command)
        snprintf(watch->reason, sizeof watch->reason, "%s", recording->device_reason);
    else
        arm(watch);
    return IFG_OK;
}

static const char *unused_words(void)
{
    if (has_cuda())
        return has_rocm() ? "the program used neither CUDA nor ROCm"
                          : "the program did not use CUDA";
    return has_rocm() ? "the program did not use ROCm" : "no CUDA or ROCm driver";
}

/* The library in the program says more, once it is there. */
static bool begin(void *state)
{
    struct device_watch *watch = state;

    if (!watch->armed && watch->reason[0])
        sink_instrument(&watch->recording->sink, IFG_GPU_INSTRUMENT, TRACE_INSTRUMENT_UNAVAILABLE,
                        watch->reason);
    else
        sink_instrument(&watch->recording->sink, IFG_GPU_INSTRUMENT, TRACE_INSTRUMENT_OFF,
                        unused_words());
    return false;
}

static void close_source(void *state)
{
    ifg_free(state);
}

const struct source source_device = {
    .name = "devices",
    .open = open_source,
    .begin = begin,
    .close = close_source,
};
