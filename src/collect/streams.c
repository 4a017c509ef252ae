// SPDX-License-Identifier: Apache-2.0
/* Threads and their streams: see streams.h. */
#include "collect/streams.h"

#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "system/process_folder.h"

#define IDLE_NS  2000000000ull /* a thread that has been quiet for this long may be gone */
#define OPEN_MAX 64

struct thread_stream *streams_thread_create(struct sink *sink, uint32_t process, uint32_t tid,
                                            const char *name, size_t bytes)
{
    struct thread_stream *thread = ifg_alloc(1, bytes);

    if (!thread)
        return NULL;
    thread->thread = sink_thread(sink, process, tid, name);
    thread->stream = trace_stream_create(sink->writer, thread->thread);
    if (thread->stream)
        return thread;
    ifg_free(thread);
    return NULL;
}

void streams_thread_destroy(struct thread_stream *thread)
{
    if (!thread)
        return;
    trace_stream_destroy(thread->stream);
    ifg_free(thread);
}

void streams_thread_wait(struct thread_stream *thread, uint64_t now_ns)
{
    if (!thread->oldest_ns)
        thread->oldest_ns = now_ns ? now_ns : 1;
}

/* Where a thread is, or would be. */
static size_t position(const struct streams *streams, pid_t tid)
{
    size_t low = 0;
    size_t high = streams->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (streams->items[middle]->tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct thread_stream *add(struct streams *streams, size_t at, pid_t tid, pid_t own_tid)
{
    struct thread_stream *thread;
    char name[32];

    if (!IFG_ARRAY_ROOM(streams->items, streams->capacity, streams->count + 1, streams->kind->most))
        return NULL;
    process_thread_name(streams->pid, tid, name, sizeof name);
    if (!name[0] && own_tid)
        process_thread_name(streams->pid, own_tid, name, sizeof name);
    thread = streams_thread_create(streams->sink, streams->process,
                                   (uint32_t)(own_tid ? own_tid : tid), name, streams->kind->bytes);
    if (!thread)
        return NULL;
    thread->tid = tid;
    thread->own_tid = own_tid;
    memmove(streams->items + at + 1, streams->items + at,
            (streams->count - at) * sizeof(struct thread_stream *));
    streams->items[at] = thread;
    streams->count++;
    return thread;
}

struct thread_stream *streams_take(struct streams *streams, pid_t tid, pid_t own_tid,
                                   uint64_t now_ns, bool *out_new)
{
    size_t at = position(streams, tid);
    struct thread_stream *thread;

    *out_new = at == streams->count || streams->items[at]->tid != tid;
    thread = *out_new ? add(streams, at, tid, own_tid) : streams->items[at];
    *out_new = *out_new && thread;
    if (thread)
        thread->seen_ns = now_ns;
    return thread;
}

static void flush(struct streams *streams, struct thread_stream *thread, uint64_t now_ns,
                  bool final)
{
    struct trace_open_zone open[OPEN_MAX];
    uint64_t until_ns = streams->sink->until[SINK_CLOCK_MONOTONIC];
    uint64_t as_of_ns = until_ns && until_ns < now_ns ? until_ns : now_ns;
    bool is_old = thread->oldest_ns && now_ns - thread->oldest_ns >= streams->sink->flush_after_ns;
    size_t count = 0;

    if (!final && !thread->open_changed && !is_old)
        return;
    if (!thread->open_changed && !thread->open_count && !trace_stream_pending(thread->stream))
        return;
    for (size_t i = 0; i < thread->open_count && count < OPEN_MAX; i++) {
        if (!streams->kind->open_zone(streams->user, thread, i, &open[count]))
            continue;
        if (open[count].start > as_of_ns)
            as_of_ns = open[count].start;
        count++;
    }
    trace_stream_flush(thread->stream, open, count, as_of_ns);
    thread->oldest_ns = 0;
    thread->open_changed = false;
}

void streams_flush(struct streams *streams, uint64_t now_ns, bool final)
{
    for (size_t i = 0; i < streams->count; i++)
        flush(streams, streams->items[i], now_ns, final);
}

static bool is_gone(const struct streams *streams, const struct thread_stream *thread)
{
    return !process_thread_exists(streams->pid, thread->tid) &&
           !process_thread_exists(streams->pid, thread->own_tid);
}

static void release(const struct streams *streams, struct thread_stream *thread)
{
    if (streams->kind->release)
        streams->kind->release(thread);
    streams_thread_destroy(thread);
}

void streams_sweep(struct streams *streams, uint64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < streams->count; i++) {
        struct thread_stream *thread = streams->items[i];

        if (now_ns - thread->seen_ns > IDLE_NS && !thread->open_count && is_gone(streams, thread)) {
            flush(streams, thread, now_ns, true);
            release(streams, thread);
        } else {
            streams->items[kept++] = thread;
        }
    }
    streams->count = kept;
}

void streams_fini(struct streams *streams)
{
    for (size_t i = 0; i < streams->count; i++)
        release(streams, streams->items[i]);
    ifg_free(streams->items);
    streams->items = NULL;
    streams->count = streams->capacity = 0;
}
