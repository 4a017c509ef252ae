// SPDX-License-Identifier: Apache-2.0
/* The threads that look at resources and at resident memory. What they find waits in a queue. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/array.h"
#include "base/ticks.h"
#include "record/sources/proc_internal.h"

#define DEVICES_NS    (SECOND_NS / 10) /* as often as that, if it costs no more than a ... */
#define DEVICES_TIMES 100u             /* ... hundredth of a core; once a second in any case */
#define RESIDENT_NS   (SECOND_NS / 100)
#define GAP_NS        (3 * RESIDENT_NS) /* so much between two looks is said */
#define COST_TIMES    20u /* steps are longer than so many looks take: 5 % of a core */
#define QUEUE_MAX     65536u
#define CLOSE_LOOK_NS 40000000ull /* a last look sooner after another one tells nothing */

bool proc_push(struct values *values, const struct value *value, size_t most)
{
    if (!IFG_ARRAY_ROOM(values->items, values->capacity, values->count + 1, most))
        return false;
    values->items[values->count++] = *value;
    return true;
}

void proc_take_value(void *user, uint32_t pid, const char *name, double number)
{
    const struct moment *moment = user;
    struct resource_watch *watch = moment->watch;
    struct value value = { .ns = moment->ns, .ticks = moment->ticks, .pid = pid, .value = number };

    snprintf(value.name, sizeof value.name, "%s", name);
    pthread_mutex_lock(&watch->lock);
    if (!proc_push(&watch->queue, &value, QUEUE_MAX))
        watch->lost++;
    pthread_mutex_unlock(&watch->lock);
}

struct moment proc_moment(struct resource_watch *watch)
{
    return (struct moment){ watch, ifg_monotonic_ns(), ifg_counter_read() };
}

void proc_take_time(void *user)
{
    struct moment *moment = user;

    *moment = proc_moment(moment->watch);
}

static size_t copy_pids(struct resource_watch *watch, pid_t *out)
{
    size_t count;

    pthread_mutex_lock(&watch->lock);
    count = watch->pid_count;
    memcpy(out, watch->pids, count * sizeof out[0]);
    pthread_mutex_unlock(&watch->lock);
    return count;
}

static void look(struct resource_watch *watch, bool last)
{
    struct moment moment = proc_moment(watch);
    const struct proc_sink sink = { proc_take_value, &moment, NULL };
    pid_t pids[PROC_PROCESSES_MAX];
    size_t count;

    pthread_mutex_lock(&watch->looking);
    count = copy_pids(watch, pids);
    watch->last_look_ns = moment.ns;
    proc_follow(watch->collector, pids, count);
    proc_look(watch->collector, moment.ns, last, &sink);
    pthread_mutex_unlock(&watch->looking);
}

/* What there is, for the instrument; said again when a look found more or less of it. Only the
 * thread for devices knows theirs. */
static void describe(struct resource_watch *watch)
{
    struct proc_device_info infos[PROC_DEVICE_INFOS];
    size_t info_count = proc_list_devices(watch->collector, infos, PROC_DEVICE_INFOS);
    char missing[800];
    double hz = (double)SECOND_NS / (double)watch->every_ns;

    pthread_mutex_lock(&watch->looking);
    proc_missing(watch->collector, missing, sizeof missing);
    pthread_mutex_unlock(&watch->looking);
    pthread_mutex_lock(&watch->lock);
    snprintf(watch->words, sizeof watch->words, "%.3g Hz%s%s", hz, *missing ? "; " : "", missing);
    snprintf(watch->gpu, sizeof watch->gpu, "%s", proc_gpu_words(watch->collector));
    snprintf(watch->npu, sizeof watch->npu, "%s", proc_npu_words(watch->collector));
    memcpy(watch->infos, infos, info_count * sizeof infos[0]);
    watch->info_count = info_count;
    watch->told = true;
    pthread_mutex_unlock(&watch->lock);
}

/* Sleeps until then; true when it is to end. */
static bool wait_until(struct resource_watch *watch, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };
    bool stop;

    pthread_mutex_lock(&watch->lock);
    while (!watch->stop &&
           pthread_cond_clockwait(&watch->wake, &watch->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    stop = watch->stop;
    pthread_mutex_unlock(&watch->lock);
    return stop;
}

/* A program that is over soon shall be seen too: the first second has looks of its own. */
void *proc_look_at_all(void *user)
{
    static const uint64_t early_ns[] = { 0, 50000000, 300000000, 600000000 };
    struct resource_watch *watch = user;
    uint64_t begin_ns = ifg_monotonic_ns();
    uint64_t next_ns = begin_ns;
    size_t early = 0;
    bool stop;

    prctl(PR_SET_NAME, "resources");
    prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0);
    do {
        uint64_t now_ns = ifg_monotonic_ns();

        look(watch, false);
        while (early < sizeof early_ns / sizeof early_ns[0] && begin_ns + early_ns[early] <= now_ns)
            early++;
        while (next_ns <= now_ns)
            next_ns += watch->every_ns;
        if (early < sizeof early_ns / sizeof early_ns[0] && begin_ns + early_ns[early] < next_ns)
            stop = wait_until(watch, begin_ns + early_ns[early]);
        else
            stop = wait_until(watch, next_ns);
    } while (!stop);
    if (ifg_monotonic_ns() >= watch->last_look_ns + CLOSE_LOOK_NS)
        look(watch, true);
    watch->cpu_ns = ifg_thread_cpu_ns();
    return NULL;
}

/* ---- the thread for devices ---- */

static void look_at_devices(struct resource_watch *watch, bool last)
{
    struct moment moment = proc_moment(watch);
    const struct proc_sink sink = { proc_take_value, &moment, proc_take_time };
    pid_t pids[PROC_PROCESSES_MAX];
    size_t count = copy_pids(watch, pids);
    uint64_t begin_ns = moment.ns, took_ns;

    proc_look_devices(watch->collector, pids, count, begin_ns, last, &sink);
    took_ns = ifg_monotonic_ns() - begin_ns;
    watch->devices.looks++;
    /* The first one loads the driver's library. */
    if (watch->devices.looks > 1 && took_ns > watch->devices.longest_ns)
        watch->devices.longest_ns = took_ns;
}

/* The more a look costs the rarer it is. */
void *proc_look_at_devices(void *user)
{
    struct resource_watch *watch = user;
    uint64_t next_ns;
    bool stop = false;

    prctl(PR_SET_NAME, "devices");
    prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0);
    for (unsigned i = 0; !stop; i++) {
        uint64_t cpu_ns = ifg_thread_cpu_ns(), step_ns;

        next_ns = ifg_monotonic_ns();
        look_at_devices(watch, false);
        if (i < 2)
            describe(watch);
        step_ns = DEVICES_TIMES * (ifg_thread_cpu_ns() - cpu_ns);
        if (!i || step_ns < DEVICES_NS)
            step_ns = DEVICES_NS;
        if (step_ns > SECOND_NS)
            step_ns = SECOND_NS;
        if (watch->every_ns > step_ns &&
            (watch->every_ns > SECOND_NS || !proc_has_devices(watch->collector)))
            step_ns = watch->every_ns;
        stop = wait_until(watch, next_ns + step_ns);
    }
    look_at_devices(watch, true);
    describe(watch);
    watch->devices.cpu_ns = ifg_thread_cpu_ns();
    return NULL;
}

/* ---- the thread for resident memory ---- */

/* Names of those that are there: the loop may come too late for them. */
static void keep_names(struct resource_watch *watch)
{
    struct resident_watch *fast = &watch->fast;
    const char *name;
    uint32_t pid;

    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; proc_resident_name(fast->resident, i, &pid, &name); i++) {
        size_t at = 0, used = fast->name_count < NAMES_KEPT ? fast->name_count : NAMES_KEPT;

        while (at < used && fast->names[at].pid != pid)
            at++;
        if (at == used)
            at = fast->name_count++ % NAMES_KEPT;
        fast->names[at].pid = pid;
        memcpy(fast->names[at].name, name, PROC_COMM_BYTES);
    }
    if (!fast->has_looked)
        pthread_cond_broadcast(&watch->wake);
    fast->has_looked = true;
    pthread_mutex_unlock(&watch->lock);
}

void *proc_look_at_memory(void *user)
{
    struct resource_watch *watch = user;
    struct resident_watch *fast = &watch->fast;
    uint64_t begin_ns = ifg_monotonic_ns(), next_ns = begin_ns, before_ns = 0;
    size_t there = 0;
    bool stop = false;

    prctl(PR_SET_NAME, "resident");
    prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0);
    while (!stop) {
        struct moment moment;
        const struct proc_sink sink = { proc_take_value, &moment, NULL };
        pid_t pids[PROC_PROCESSES_MAX];
        uint64_t cpu_ns = ifg_thread_cpu_ns(), cost_ns;
        size_t count = copy_pids(watch, pids);

        moment = proc_moment(watch);
        if (there && moment.ns - before_ns > GAP_NS)
            fast->gaps++;
        if (there && moment.ns - before_ns > fast->longest_ns)
            fast->longest_ns = moment.ns - before_ns;
        there = proc_resident_look(fast->resident, pids, count, &sink);
        keep_names(watch);
        before_ns = moment.ns;
        fast->looks++;
        cost_ns = COST_TIMES * (ifg_thread_cpu_ns() - cpu_ns); /* many processes: not so often */
        next_ns += cost_ns > RESIDENT_NS ? cost_ns : RESIDENT_NS;
        if (next_ns <= ifg_monotonic_ns()) /* late: the next one is a whole step away */
            next_ns = ifg_monotonic_ns() + RESIDENT_NS;
        stop = wait_until(watch, next_ns);
    }
    fast->cpu_ns = ifg_thread_cpu_ns();
    fast->wall_ns = ifg_monotonic_ns() - begin_ns;
    return NULL;
}
