// SPDX-License-Identifier: Apache-2.0
/* What is kept of the threads of a watched process beside their streams. */
#include "collect/ort_attach/attach_internal.h"

#include "base/alloc.h"

#define THREADS_MAX 65536u

static bool open_zone(void *user, struct thread_stream *stream, size_t number,
                      struct trace_open_zone *out_zone)
{
    struct attach_load *load = &((struct attach_thread *)stream)->open[number];

    attach_load_settle(user, load);
    *out_zone = (struct trace_open_zone){ .start = load->start_ns, .location = load->location };
    return true;
}

static void release(struct thread_stream *thread)
{
    ifg_free(((struct attach_thread *)thread)->ops);
}

void attach_threads_begin(struct attach_process *process)
{
    static const struct streams_kind kind = { .bytes = sizeof(struct attach_thread),
                                              .most = THREADS_MAX,
                                              .open_zone = open_zone,
                                              .release = release };

    process->threads = (struct streams){ .kind = &kind,
                                         .sink = process->attach->sink,
                                         .user = process,
                                         .pid = process->pid,
                                         .process = process->index };
}

struct attach_thread *attach_thread_of(struct attach_process *process, pid_t tid, pid_t own_tid)
{
    bool is_new;
    struct attach_thread *thread = (struct attach_thread *)streams_take(
        &process->threads, tid, own_tid, process->attach->now_ns, &is_new);

    if (is_new) {
        thread->attach = process->attach;
        process->attach->counts.threads++;
    }
    return thread;
}
