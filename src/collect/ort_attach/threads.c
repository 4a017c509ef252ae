// SPDX-License-Identifier: Apache-2.0
/* The threads of a watched process and the streams that their calls go to. */
#include "collect/ort_attach/attach_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define IDLE_NS 2000000000ull /* a thread that has been quiet for this long may be gone */

static void read_name(pid_t pid, pid_t tid, char *out, size_t size)
{
    char path[64];
    ssize_t length = 0;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, out, size - 1);
        close(fd);
    }
    out[length > 0 ? length : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* Where a thread is, or would be. */
static size_t position(const struct attach_process *process, pid_t tid)
{
    size_t low = 0;
    size_t high = process->thread_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (process->threads[middle]->tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct attach_thread *add(struct attach_process *process, size_t at, pid_t tid,
                                 pid_t own_tid)
{
    const struct ort_attach_sink *sink = &process->attach->sink;
    struct attach_thread *thread;
    char name[32];

    if (process->thread_count == process->thread_capacity) {
        size_t capacity = process->thread_capacity ? 2 * process->thread_capacity : 16;
        struct attach_thread **threads =
            capacity <= ATTACH_THREADS_MAX
                ? ifg_realloc(process->threads, capacity, sizeof *threads)
                : NULL;

        if (!threads)
            return NULL;
        process->threads = threads;
        process->thread_capacity = capacity;
    }
    thread = ifg_alloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->attach = process->attach;
    thread->tid = tid;
    thread->own_tid = own_tid;
    thread->thread = *sink->next_thread;
    thread->stream = trace_stream_create(sink->writer, thread->thread);
    if (!thread->stream) {
        ifg_free(thread);
        return NULL;
    }
    ++*sink->next_thread;
    process->attach->counts.threads++;
    read_name(process->pid, tid, name, sizeof name);
    if (!name[0] && own_tid)
        read_name(process->pid, own_tid, name, sizeof name);
    trace_writer_thread(sink->writer, thread->thread, process->index,
                        (uint32_t)(own_tid ? own_tid : tid), name);
    memmove(process->threads + at + 1, process->threads + at,
            (process->thread_count - at) * sizeof(struct attach_thread *));
    process->threads[at] = thread;
    process->thread_count++;
    return thread;
}

struct attach_thread *attach_thread_of(struct attach_process *process, pid_t tid, pid_t own_tid)
{
    size_t at = position(process, tid);
    struct attach_thread *thread = at < process->thread_count && process->threads[at]->tid == tid
                                       ? process->threads[at]
                                       : add(process, at, tid, own_tid);

    if (thread)
        thread->seen_ns = process->attach->now_ns;
    return thread;
}

void attach_thread_flush(struct attach_process *process, struct attach_thread *thread,
                         uint64_t now_ns, bool final)
{
    struct trace_open_zone open[ATTACH_OPEN_MAX];
    uint64_t until_ns = process->attach->until_ns;

    if (!final && !thread->open_changed &&
        (!thread->oldest_ns || now_ns - thread->oldest_ns < process->attach->sink.flush_after_ns))
        return;
    if (!thread->open_changed && !trace_stream_pending(thread->stream))
        return;
    for (size_t i = 0; i < thread->open_count; i++) {
        attach_load_settle(process, &thread->open[i]);
        open[i].start = thread->open[i].start_ns;
        open[i].location = thread->open[i].place;
    }
    trace_stream_flush(thread->stream, open, thread->open_count,
                       until_ns && until_ns < now_ns ? until_ns : now_ns);
    thread->oldest_ns = 0;
    thread->open_changed = false;
}

void attach_threads_flush(struct attach_process *process, uint64_t now_ns, bool final)
{
    for (size_t i = 0; i < process->thread_count; i++)
        attach_thread_flush(process, process->threads[i], now_ns, final);
}

static bool is_gone(const struct attach_process *process, const struct attach_thread *thread)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process->pid, (int)thread->tid);
    if (access(path, F_OK) == 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)process->pid, (int)thread->own_tid);
    return access(path, F_OK) < 0;
}

/* Programs that make a thread for each request would have streams without end. */
void attach_threads_sweep(struct attach_process *process, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < process->thread_count; i++) {
        struct attach_thread *thread = process->threads[i];

        if (now_ns - thread->seen_ns > IDLE_NS && !thread->open_count && is_gone(process, thread)) {
            attach_thread_flush(process, thread, now_ns, true);
            trace_stream_destroy(thread->stream);
            ifg_free(thread->ops);
            ifg_free(thread);
        } else {
            process->threads[kept++] = thread;
        }
    }
    process->thread_count = kept;
}

void attach_threads_free(struct attach_process *process)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        trace_stream_destroy(process->threads[i]->stream);
        ifg_free(process->threads[i]->ops);
        ifg_free(process->threads[i]);
    }
    ifg_free(process->threads);
    process->threads = NULL;
    process->thread_count = 0;
    process->thread_capacity = 0;
}
