// SPDX-License-Identifier: Apache-2.0
/*
 * The thread that reports: there from the first start of a handle to the last stop. It sleeps on a
 * futex until a report is due, a call asks for something, or the queue has so much in it that a
 * profile may be complete.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "handles/handle.h"
#include "handles/queue.h"

static bool alive; /* with the lock */
static uint32_t bell;
static uint64_t wake_at = UINT64_MAX; /* events put into the queue when the bell is rung */
static __thread bool own_thread;

uint64_t __attribute__((weak)) handles_realtime_ns(void)
{
    return ifg_realtime_ns();
}

bool handles_on_own_thread(void)
{
    return own_thread;
}

void handles_ring(void)
{
    int saved_errno = errno;

    __atomic_add_fetch(&bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = saved_errno;
}

/* On a thread of the program, perhaps in a signal handler. */
static void take_event(const struct ifg_tap_event *event)
{
    uint64_t count = queue_put(event);
    uint64_t at = __atomic_load_n(&wake_at, __ATOMIC_SEQ_CST);

    if (count >= at && ifg_tap_may_call() &&
        __atomic_exchange_n(&wake_at, UINT64_MAX, __ATOMIC_SEQ_CST) != UINT64_MAX)
        handles_ring();
}

/* ---- reports ---- */

/* Lets go of the lock for the callback. The handle may be gone after it. */
static void report(struct handle *handle)
{
    ifg_report_callback *callback = handle->callback;
    bool ends = handle->state == HANDLE_STOPPING;
    uint64_t flushes = handle->flush_wanted;
    uint64_t lost = queue_lost() - handle->lost_before;
    struct report parts;

    if (!report_take(handle, &parts))
        parts = (struct report){ .failed = true };
    handle->lost_before += lost;
    if (callback && (parts.samples || !ends)) {
        ifg_report given = { .type = handle->type, .lost = lost };

        handle->reporting = true;
        handles_unlock();
        report_write(&parts, handle->type, handle->name);
        given.text = parts.text ? parts.text : "";
        given.length = parts.length;
        given.samples = parts.samples;
        given.requested = parts.requested;
        given.missing = report_missing(&parts, handle->type);
        if (handle->keep)
            handle->keep(&parts, handle, handle->user);
        else
            callback(&given, handle->user);
        handles_lock();
        handle->reporting = false;
    }
    handle->reports += callback && (parts.samples || !ends);
    handle->reported += parts.samples;
    report_fini(&parts);
    handle->flush_done = flushes;
    if (ends && handle->state == HANDLE_STOPPING) {
        handle->state = HANDLE_STOPPED;
        handle->ended++;
    }
    handles_changed();
    if (handle->doomed)
        handle_free(handle);
}

static bool is_due(struct handle *handle, uint64_t now_ns)
{
    if (handle->state == HANDLE_STOPPING)
        return true;
    if (handle->state != HANDLE_STARTED || !handle->is_stream)
        return false;
    if (handle->flush_done < handle->flush_wanted)
        return true;
    if (now_ns >= handle->next_ns) {
        handle->next_ns = handle_boundary(now_ns, handle->report_ns);
        return true;
    }
    if (handle->next_ns - now_ns > handle->report_ns) /* the clock was set back */
        handle->next_ns = handle_boundary(now_ns, handle->report_ns);
    return false;
}

static void report_what_is_due(void)
{
    struct handle *handle = handles;

    while (handle) {
        if (is_due(handle, handles_realtime_ns())) {
            report(handle);
            handle = handles; /* the callback may have made and ended others */
        } else {
            handle = handle->next;
        }
    }
}

/* ---- sleeping ---- */

/* When the next report is due, and after how many events a profile could be complete. */
static bool plan(uint64_t *out_deadline_ns, uint64_t *out_events)
{
    bool any = false;

    *out_deadline_ns = UINT64_MAX;
    *out_events = QUEUE_CELLS / 2;
    for (struct handle *handle = handles; handle; handle = handle->next) {
        if (handle->state == HANDLE_STOPPED)
            continue;
        any = true;
        if (handle->is_stream && handle->next_ns < *out_deadline_ns)
            *out_deadline_ns = handle->next_ns;
        if (!handle->is_stream && handle->program_count &&
            handle->wanted - handle->programs[0].count < *out_events)
            *out_events = handle->wanted - handle->programs[0].count;
    }
    return any;
}

/* Boundaries are the wall clock's, which may be set while we sleep: so the time left is slept by a
 * clock that nobody sets, and looked at again at least this often. */
#define LOOK_AGAIN_NS UINT64_C(10000000000)

static void sleep_until(uint64_t deadline_ns, uint32_t heard)
{
    uint64_t now_ns = handles_realtime_ns();
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint64_t wake_ns = ifg_monotonic_ns() + (left_ns < LOOK_AGAIN_NS ? left_ns : LOOK_AGAIN_NS);
    struct timespec wake = { (time_t)(wake_ns / 1000000000u), (long)(wake_ns % 1000000000u) };

    syscall(SYS_futex, &bell, FUTEX_WAIT_BITSET_PRIVATE, heard,
            deadline_ns == UINT64_MAX ? NULL : &wake, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *run(void *unused)
{
    uint64_t deadline_ns;
    uint64_t events;

    (void)unused;
    own_thread = true;
    pthread_setname_np(pthread_self(), "ifg-handles");
    handles_lock();
    for (;;) {
        uint32_t heard = __atomic_load_n(&bell, __ATOMIC_SEQ_CST);

        handles_drain();
        report_what_is_due();
        if (!plan(&deadline_ns, &events))
            break;
        __atomic_store_n(&wake_at, queue_taken_count() + (events ? events : 1), __ATOMIC_SEQ_CST);
        if (queue_put_count() >= __atomic_load_n(&wake_at, __ATOMIC_SEQ_CST))
            continue;
        handles_unlock();
        sleep_until(deadline_ns, heard);
        handles_lock();
    }
    ifg_tap_set(NULL);
    alive = false;
    handles_unlock();
    return NULL;
}

int handles_thread_start(void)
{
    sigset_t all;
    sigset_t before;
    pthread_attr_t attributes;
    pthread_t thread;
    int status;

    if (alive)
        return 0;
    handles_clock_start();
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&thread, &attributes, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (status)
        return handle_fail(-status, "cannot make a thread for reports: %s", strerror(status));
    alive = true;
    ifg_tap_set(take_event);
    return 0;
}

void handles_thread_forked(void)
{
    alive = false;
    own_thread = false;
    wake_at = UINT64_MAX;
    ifg_tap_set(NULL);
}
