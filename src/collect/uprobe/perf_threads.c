// SPDX-License-Identifier: Apache-2.0
/* The threads of the fallback: see perf_internal.h. */
#include "collect/uprobe/perf_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/uprobe/calls_internal.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define THREADS_MOST 4096
#define PAGE_BYTES   4096u /* the smallest there is */

struct text {
    uint32_t notes;
    char bytes[UPROBE_TEXT_MAX];
};

struct perf_thread {
    struct perf_thread *next;
    pid_t pid, tid;
    pid_t own_pid, own_tid;
    struct call_stack stack;
    struct text *texts; /* one per depth and one for points, made when first needed */
};

#if defined(__x86_64__)
static const int argument_registers[UPROBE_ARGUMENTS] = { 4, 3, 2, 1, 6, 7 };
enum { STACK_REGISTER = 5, RETURN_POPS = 8 };
#else
static const int argument_registers[UPROBE_ARGUMENTS] = { 0, 1, 2, 3, 4, 5 };
enum { STACK_REGISTER = 6, RETURN_POPS = 0 };
#endif

static struct perf_thread **bucket_of(struct perf_threads *threads, pid_t tid)
{
    return &threads->buckets[(uint32_t)tid % PERF_BUCKETS];
}

static void thread_free(struct perf_thread *thread)
{
    ifg_free(thread->texts);
    ifg_free(thread);
}

static void find_own_ids(struct perf_thread *thread, bool our_namespace)
{
    char folder[PROCESS_FOLDER_BYTES];
    struct process_status now = { .own_pid = thread->pid, .own_tid = thread->tid };

    if (!our_namespace)
        (void)process_status_in(process_folder(thread->pid, thread->tid, folder), &now);
    thread->own_pid = now.own_pid;
    thread->own_tid = now.own_tid;
}

static void drop_ended(struct perf_threads *threads)
{
    for (size_t i = 0; i < PERF_BUCKETS; i++) {
        struct perf_thread **at = &threads->buckets[i];

        while (*at) {
            struct perf_thread *thread = *at;

            if (process_thread_exists(thread->pid, thread->tid)) {
                at = &thread->next;
                continue;
            }
            *at = thread->next;
            threads->count--;
            thread_free(thread);
        }
    }
}

static struct perf_thread *find(struct perf_threads *threads, const struct perf_hit *hit)
{
    pid_t tid = hit->tid;
    struct perf_thread *thread = *bucket_of(threads, tid);

    while (thread && thread->tid != tid)
        thread = thread->next;
    if (thread && thread->pid != hit->pid) { /* the number of a thread that is long gone */
        thread->pid = hit->pid;
        thread->stack.depth = 0;
        find_own_ids(thread, hit->our_namespace);
    }
    if (thread || hit->at_return)
        return thread;
    if (threads->count >= THREADS_MOST)
        drop_ended(threads);
    if (threads->count >= THREADS_MOST)
        return NULL;
    thread = ifg_alloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->pid = hit->pid;
    thread->tid = tid;
    find_own_ids(thread, hit->our_namespace);
    thread->next = *bucket_of(threads, tid);
    *bucket_of(threads, tid) = thread;
    threads->count++;
    return thread;
}

void perf_threads_fini(struct perf_threads *threads)
{
    for (size_t i = 0; i < PERF_BUCKETS; i++) {
        while (threads->buckets[i]) {
            struct perf_thread *thread = threads->buckets[i];

            threads->buckets[i] = thread->next;
            thread_free(thread);
        }
    }
    threads->count = 0;
}

/* Pieces are read whole or not at all: what lies on the next page must not cost us this one. */
static size_t read_memory(pid_t pid, uint64_t address, void *out, size_t size)
{
    size_t first = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
    struct iovec local = { out, size };
    struct iovec remote[2];
    ssize_t got;

    if (first > size)
        first = size;
    remote[0] = (struct iovec){ (void *)(uintptr_t)address, first };
    remote[1] = (struct iovec){ (void *)(uintptr_t)(address + first), size - first };
    got = process_vm_readv(pid, &local, 1, remote, size > first ? 2 : 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

static void read_text(struct perf_thread *thread, uint32_t slot, uint64_t address, uint64_t cookie)
{
    struct text *text;
    uint64_t behind = 0;
    size_t size;

    if (!thread->texts)
        thread->texts = ifg_alloc(CALL_DEPTH + 1, sizeof *thread->texts);
    if (!thread->texts)
        return;
    text = &thread->texts[slot];
    if (cookie & COOKIE_TEXT_BEHIND) {
        if (read_memory(thread->pid, address, &behind, sizeof behind) != sizeof behind)
            behind = 0;
        address = behind;
    }
    size = read_memory(thread->pid, address, text->bytes, sizeof text->bytes);
    text->notes = UPROBE_READ_LATE;
    if (!size)
        text->notes |= UPROBE_TEXT_MISSING;
    else if (!memchr(text->bytes, '\0', size))
        text->notes |= UPROBE_TEXT_CUT;
    text->bytes[size < sizeof text->bytes ? size : size - 1] = '\0';
}

static void make_event(const struct perf_thread *thread, const struct call_frame *frame,
                       enum uprobe_kind kind, uint32_t depth, struct uprobe_event *out_event)
{
    *out_event = (struct uprobe_event){
        .kind = kind,
        .id = COOKIE_ID(frame->cookie),
        .depth = depth,
        .pid = thread->pid,
        .tid = thread->tid,
        .own_pid = thread->own_pid,
        .own_tid = thread->own_tid,
        .start_ns = frame->start_ns,
    };
    for (int i = 0; i < UPROBE_ARGUMENTS; i++)
        out_event->arguments[i] = frame->arguments[i];
    if (COOKIE_TEXT(frame->cookie)) {
        const struct text *text =
            thread->texts ? &thread->texts[kind == UPROBE_POINT ? CALL_DEPTH : depth] : NULL;

        out_event->text = text ? text->bytes : "";
        out_event->notes |= text ? text->notes : UPROBE_TEXT_MISSING;
    }
}

static void fill(struct call_frame *frame, const struct perf_hit *hit)
{
    frame->start_ns = hit->time_ns;
    for (int i = 0; i < UPROBE_ARGUMENTS; i++)
        frame->arguments[i] = hit->registers[argument_registers[i]];
}

static bool on_point(struct perf_thread *thread, const struct perf_hit *hit,
                     struct uprobe_event *out_event)
{
    struct call_frame frame = { .cookie = hit->cookie };
    uint32_t text = COOKIE_TEXT(hit->cookie);

    fill(&frame, hit);
    if (text)
        read_text(thread, CALL_DEPTH, frame.arguments[text - 1], hit->cookie);
    make_event(thread, &frame, UPROBE_POINT, thread->stack.depth, out_event);
    return true;
}

static bool on_enter(struct perf_thread *thread, const struct perf_hit *hit,
                     struct uprobe_losses *losses, struct uprobe_event *out_event)
{
    struct call_frame *frame =
        call_enter(&thread->stack, hit->cookie, hit->registers[STACK_REGISTER]);
    uint32_t text = COOKIE_TEXT(hit->cookie);

    if (!frame) {
        losses->too_deep++;
        return false;
    }
    fill(frame, hit);
    if (text)
        read_text(thread, thread->stack.depth - 1, frame->arguments[text - 1], hit->cookie);
    if (!(hit->cookie & COOKIE_OPEN))
        return false;
    make_event(thread, frame, UPROBE_BEGIN, thread->stack.depth - 1, out_event);
    return true;
}

static bool on_leave(struct perf_thread *thread, const struct perf_hit *hit,
                     struct uprobe_event *out_event)
{
    uint32_t depth = 0;
    const struct call_frame *frame = call_leave(
        &thread->stack, hit->cookie, hit->registers[STACK_REGISTER] - RETURN_POPS, &depth);
    uint32_t out;

    if (!frame)
        return false;
    make_event(thread, frame, UPROBE_CALL, depth, out_event);
    out_event->end_ns = hit->time_ns;
    out_event->result = hit->registers[0];
    out = COOKIE_OUT(frame->cookie);
    if (out) {
        out_event->notes |= UPROBE_READ_LATE;
        if (read_memory(thread->pid, frame->arguments[out - 1], &out_event->out_word,
                        sizeof out_event->out_word) != sizeof out_event->out_word)
            out_event->notes |= UPROBE_OUT_MISSING;
    }
    return true;
}

bool perf_threads_hit(struct perf_threads *threads, const struct perf_hit *hit,
                      struct uprobe_losses *losses, struct uprobe_event *out_event)
{
    struct perf_thread *thread = find(threads, hit);

    if (!thread) {
        losses->too_many += !hit->at_return;
        return false;
    }
    if (hit->at_return)
        return on_leave(thread, hit, out_event);
    if (hit->cookie & COOKIE_RETURN)
        return on_enter(thread, hit, losses, out_event);
    return on_point(thread, hit, out_event);
}
