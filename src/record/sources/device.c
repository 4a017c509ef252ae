// SPDX-License-Identifier: Apache-2.0
/*
 * Work of GPUs (record --gpu): arms a launched program with the library that CUDA's driver loads
 * (hooks/cupti). What it sees comes through the program's own rings; here is only what it takes to
 * get it there, and the word for programs that it never got into.
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
static bool has_driver(void)
{
    return access("/proc/driver/nvidia/version", F_OK) == 0 ||
           access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void arm(struct device_watch *watch)
{
    const struct session_options *options = watch->recording->options;
    struct program program;
    char path[PATH_MAX];

    if (launch_find(options->command, path, sizeof path, NULL) != IFG_OK)
        return; /* whoever starts it will say so */
    program_probe(path, &program);
    watch->armed =
        hooks_add_device(watch->recording->hooks, &program, options->gpu == SESSION_GPU_FULL,
                         watch->reason, sizeof watch->reason);
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
    else if (options->gpu != SESSION_GPU_AUTO || has_driver())
        arm(watch);
    return IFG_OK;
}

/* The library in the program says more, once it is there. */
static bool begin(void *state)
{
    struct device_watch *watch = state;

    if (!watch->armed && watch->reason[0])
        sink_instrument(&watch->recording->sink, IFG_GPU_INSTRUMENT, TRACE_INSTRUMENT_UNAVAILABLE,
                        watch->reason);
    else if (!has_driver())
        sink_instrument(&watch->recording->sink, IFG_GPU_INSTRUMENT, TRACE_INSTRUMENT_OFF,
                        "no CUDA driver");
    else
        sink_instrument(&watch->recording->sink, IFG_GPU_INSTRUMENT, TRACE_INSTRUMENT_OFF,
                        "the program did not use CUDA");
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
