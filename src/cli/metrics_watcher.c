// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder of a program that is watched for metrics: an ordinary recording, without samples and
 * resources, into memory that holds its last minute. What comes is counted at once; what stays is
 * for findings, which a child looks for now and then in its copy of that memory.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/metrics_watch.h"
#include "cli/own_cost.h"
#include "metrics/feed.h"
#include "record/redact.h"
#include "record/session.h"
#include "trace/output.h"
#include "trace/reader.h"

#define MEMORY_BYTES      (16u << 20)
#define KEEP_NS           60000000000ull
#define FIRST_FINDINGS_NS 5000000000ull
#define FINDINGS_NS       60000000000ull
#define FINDINGS_CPU_S    20u
#define TRACE_MOST        (2u * MEMORY_BYTES)

struct watcher {
    struct watch_slot *slot;
    const struct metrics_watch_options *watch;
    struct trace_memory *memory;
    struct metrics_feed *feed;
    uint64_t next_findings_ns;
    pid_t finder; /* 0: none */
};

/* ---- the trace ---- */

static enum ifg_status open_output(struct trace_output **out_output, void *user,
                                   struct ifg_error *err)
{
    struct watcher *watcher = user;
    struct trace_input *input;
    enum ifg_status status = trace_output_memory(watcher->memory, out_output, err);

    if (status)
        return status;
    status = trace_input_memory(watcher->memory, &input, err);
    if (!status)
        status = metrics_feed_open(input, watcher->slot->program, &watcher->slot->tally,
                                   &watcher->feed, err);
    if (!status && watcher->watch->otlp.interval_ms &&
        !metrics_feed_hand_out(watcher->feed, &watcher->slot->spans))
        status = ifg_fail_no_memory(err, "to hand out events");
    if (status)
        trace_output_close(*out_output, NULL);
    return status;
}

/* ---- findings, in a child ---- */

/* A trace that goes into bytes. */
struct bytes_output {
    struct trace_output base;
    struct ifg_bytes bytes;
};

static ssize_t write_bytes(struct trace_output *output, const void *data, size_t size)
{
    struct bytes_output *own = (struct bytes_output *)output;

    ifg_bytes_put(&own->bytes, data, size);
    if (!own->bytes.failed)
        return (ssize_t)size;
    errno = ENOSPC;
    return -1;
}

static void cut_bytes(struct trace_output *output, uint64_t bytes)
{
    struct bytes_output *own = (struct bytes_output *)output;

    if (bytes < own->bytes.size)
        own->bytes.size = (size_t)bytes;
}

static int close_bytes(struct trace_output *output)
{
    (void)output;
    return 0;
}

static void find_problems(struct watcher *watcher)
{
    static const struct trace_output_functions functions = { .write = write_bytes,
                                                             .cut = cut_bytes,
                                                             .close = close_bytes };
    struct bytes_output output = { .base = { .functions = &functions } };
    struct watch_slot *slot = watcher->slot;
    uint32_t next = 1 - atomic_load(&slot->problems_at);
    struct trace_reader *reader = NULL;

    ifg_bytes_init(&output.bytes, TRACE_MOST);
    if (trace_memory_copy(watcher->memory, &output.base, NULL) ||
        trace_reader_open_memory(output.bytes.data, output.bytes.size, "what is kept", &reader,
                                 NULL) ||
        problems_find(reader, slot->program, &slot->problems[next], NULL))
        return;
    atomic_store(&slot->problems_at, next);
}

static void start_finder(struct watcher *watcher)
{
    struct rlimit most = { FINDINGS_CPU_S, FINDINGS_CPU_S };
    pid_t parent = getpid();

    watcher->finder = fork();
    if (watcher->finder < 0)
        watcher->finder = 0; /* another time */
    if (watcher->finder || getpid() == parent)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CPU, &most);
    if (getppid() == parent && nice(10) != -1)
        find_problems(watcher);
    _exit(0);
}

/* ---- meanwhile ---- */

static void note_cost(struct watch_slot *slot)
{
    struct own_cost cost = own_cost_now();

    atomic_store(&slot->cpu_us, (uint64_t)(cost.cpu_s * 1e6));
    atomic_store(&slot->memory_bytes, cost.memory_bytes > 0 ? (uint64_t)cost.memory_bytes : 0);
}

static void take_progress(const struct session_progress *progress, void *user)
{
    struct watcher *watcher = user;
    uint64_t now_ns = ifg_monotonic_ns();

    (void)progress;
    while (metrics_feed_step(watcher->feed))
        ;
    trace_memory_age(watcher->memory, now_ns > KEEP_NS ? now_ns - KEEP_NS : 0);
    note_cost(watcher->slot);
    if (watcher->finder && waitpid(watcher->finder, NULL, WNOHANG) == watcher->finder)
        watcher->finder = 0;
    if (watcher->finder || now_ns < watcher->next_findings_ns)
        return;
    watcher->next_findings_ns = now_ns + FINDINGS_NS;
    start_finder(watcher);
}

int metrics_watcher_run(struct watch_slot *slot, const struct metrics_watch_options *watch)
{
    char *words[] = { (char[]){ "inferogram" }, (char[]){ "agent" } };
    struct watcher watcher = { .slot = slot,
                               .watch = watch,
                               .next_findings_ns = ifg_monotonic_ns() + FIRST_FINDINGS_NS };
    struct redaction redaction = { .no_args = true };
    struct session_options options = {
        .pid = atomic_load(&slot->pid),
        .open_output = open_output,
        .makes_own_index = true,
        .tool_version = INFEROGRAM_VERSION,
        .words = words,
        .word_count = sizeof words / sizeof words[0],
        .redaction = &redaction,
        .progress = take_progress,
        .user = &watcher,
    };
    struct session_result result;
    struct ifg_error err = { .message = "" };
    bool cannot_start = false;
    enum ifg_status status =
        trace_memory_create("the memory of metrics", MEMORY_BYTES, &watcher.memory, &err);

    if (!status)
        status = session_run(&options, &result, &cannot_start, &err);
    if (status && status != IFG_BUSY && status != IFG_NOT_FOUND && !watch->quiet)
        cli_say("%s (pid %d) is not watched: %s", slot->program, (int)options.pid, err.message);
    while (watcher.feed && metrics_feed_step(watcher.feed))
        ;
    if (watcher.feed)
        metrics_feed_flush(watcher.feed);
    metrics_feed_close(watcher.feed);
    trace_memory_destroy(watcher.memory);
    if (watcher.finder)
        waitpid(watcher.finder, NULL, 0);
    return status ? 1 : 0;
}
