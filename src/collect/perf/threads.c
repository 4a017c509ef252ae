// SPDX-License-Identifier: Apache-2.0
/* See threads.h. Threads are found by their number; ended ones go when their name is written. */
#include "collect/perf/threads.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "system/process_folder.h"
#include "trace/samples.h"

#define BUCKETS      4096u
#define RECORDED_MAX 65536u
#define MET_MAX      4096u
#define NAME_BYTES   64u /* the kernel's are 16 */
#define BATCH        64u

struct thread {
    uint32_t pid, tid;
    bool recorded; /* else only met */
    bool ended;
    bool waits;      /* something is to be done when names are written */
    bool is_written; /* its name */
    char name[NAME_BYTES];
    struct thread *next;       /* of the same bucket */
    struct thread *next_to_go; /* of those whose name is to be written */
};

struct threads {
    struct thread *buckets[BUCKETS];
    struct thread *waiting;
    size_t recorded, met;
};

struct threads *threads_create(void)
{
    return ifg_alloc(1, sizeof(struct threads));
}

void threads_destroy(struct threads *threads)
{
    if (!threads)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (threads->buckets[i]) {
            struct thread *thread = threads->buckets[i];

            threads->buckets[i] = thread->next;
            ifg_free(thread);
        }
    ifg_free(threads);
}

static struct thread *find(const struct threads *threads, uint32_t tid)
{
    struct thread *thread = threads->buckets[tid % BUCKETS];

    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

static void let_wait(struct threads *threads, struct thread *thread)
{
    if (thread->waits)
        return;
    thread->waits = true;
    thread->next_to_go = threads->waiting;
    threads->waiting = thread;
}

/* One of this number, new or known by now under another process. */
static struct thread *take(struct threads *threads, uint32_t pid, uint32_t tid, bool recorded)
{
    struct thread *thread = find(threads, tid);

    if (!tid || (recorded ? threads->recorded >= RECORDED_MAX : threads->met >= MET_MAX))
        return thread && thread->pid == pid ? thread : NULL;
    if (!thread) {
        thread = ifg_alloc(1, sizeof *thread);
        if (!thread)
            return NULL;
        thread->tid = tid;
        thread->ended = true;
        thread->next = threads->buckets[tid % BUCKETS];
        threads->buckets[tid % BUCKETS] = thread;
        threads->met++;
    }
    if (thread->pid != pid || thread->ended) { /* the number belongs to another one now */
        thread->pid = pid;
        thread->ended = thread->is_written = false;
        thread->name[0] = '\0';
        let_wait(threads, thread);
    }
    if (recorded && !thread->recorded) {
        thread->recorded = true;
        threads->met--;
        threads->recorded++;
    }
    return thread;
}

void threads_add(struct threads *threads, uint32_t pid, uint32_t tid, uint32_t parent)
{
    struct thread *thread = take(threads, pid, tid, true);
    const struct thread *from = find(threads, parent);

    if (thread && from && from != thread && !thread->name[0])
        memcpy(thread->name, from->name, sizeof thread->name);
}

void threads_add_all(struct threads *threads, uint32_t pid)
{
    struct process_threads list;
    pid_t tid;

    (void)process_threads_of((pid_t)pid, &list);
    while (process_threads_next(&list, &tid))
        threads_add(threads, pid, (uint32_t)tid, 0);
    process_threads_close(&list);
}

void threads_end(struct threads *threads, uint32_t tid)
{
    struct thread *thread = find(threads, tid);

    if (!thread)
        return;
    thread->ended = true;
    let_wait(threads, thread);
}

void threads_name(struct threads *threads, uint32_t pid, uint32_t tid, const char *name)
{
    struct thread *thread = take(threads, pid, tid, true);

    if (!thread || strncmp(thread->name, name, NAME_BYTES - 1) == 0)
        return;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->is_written = false;
    let_wait(threads, thread);
}

void threads_meet(struct threads *threads, uint32_t pid, uint32_t tid)
{
    if (!find(threads, tid))
        take(threads, pid, tid, false);
}

uint32_t threads_process(const struct threads *threads, uint32_t tid)
{
    const struct thread *thread = find(threads, tid);

    return thread && thread->recorded ? thread->pid : 0;
}

static void forget(struct threads *threads, struct thread *thread)
{
    struct thread **link = &threads->buckets[thread->tid % BUCKETS];

    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    threads->recorded -= thread->recorded;
    threads->met -= !thread->recorded;
    ifg_free(thread);
}

void threads_write(struct threads *threads, struct trace_writer *writer)
{
    struct trace_thread_name names[BATCH];
    char texts[BATCH][NAME_BYTES];
    size_t count = 0;

    while (threads->waiting) {
        struct thread *thread = threads->waiting;

        threads->waiting = thread->next_to_go;
        thread->waits = false;
        if (!thread->name[0] && !thread->ended)
            process_thread_name((pid_t)thread->pid, (pid_t)thread->tid, thread->name,
                                sizeof thread->name);
        if (thread->name[0] && !thread->is_written) {
            thread->is_written = true;
            memcpy(texts[count], thread->name, NAME_BYTES);
            names[count] = (struct trace_thread_name){ thread->pid, thread->tid, texts[count] };
            count++;
        }
        if (thread->ended)
            forget(threads, thread);
        if (count == BATCH) {
            trace_writer_thread_names(writer, names, count);
            count = 0;
        }
    }
    if (count)
        trace_writer_thread_names(writer, names, count);
}
