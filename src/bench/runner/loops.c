// SPDX-License-Identifier: Apache-2.0
/*
 * The loops that are timed. Between two inferences there is no system call, no allocation and no
 * lock: a number is taken, the clock is read twice, four words are stored.
 */
#include "bench/runner/loops.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"

#define SPIN_NS       100000u    /* the last piece of a wait, which a sleep would not hit */
#define SLEEP_MAX_NS  100000000u /* the word to stop is looked at this often */
#define FULL_PAUSE_NS 50000      /* until the tool has taken some samples */
#define PATIENCE      3u         /* an overloaded open loop ends after so many durations */

struct run {
    const struct loop *loop;
    const uint64_t *due_ns; /* open: from begin_ns */
    size_t due_count;
    uint64_t begin_ns;
    _Atomic uint32_t failed;
    struct loop_result *result;
    /* Workers wait here until all are there. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t ready;
    enum { GATE_CLOSED, GATE_OPEN, GATE_CANCELLED } gate;
};

struct worker {
    struct run *run;
    uint32_t number;
    pthread_t thread;
    char text[1024];
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

enum ifg_status loop_schedule(const struct runner_work *work, uint64_t **out_due_ns,
                              size_t *out_count, struct ifg_error *err)
{
    uint64_t state = work->seed;
    uint64_t *due = NULL;
    size_t capacity = 0;
    size_t count = 0;
    double at_s = 0;

    *out_due_ns = NULL;
    *out_count = 0;
    if (!(work->rate_hz > 0) || isinf(work->rate_hz))
        return ifg_fail(err, IFG_INVALID, "a rate must be a number above 0");
    if (work->queries == 0 && work->duration_ns == 0)
        return ifg_fail(err, IFG_INVALID, "queries at a rate need a number or a duration");
    while (work->queries == 0 || count < work->queries) {
        double at_ns = at_s * 1e9 + 0.5;

        if (at_ns >= 9e18 || (work->duration_ns && at_ns > (double)work->duration_ns))
            break;
        if (!IFG_ARRAY_ROOM(due, capacity, count + 1, PROTOCOL_SCHEDULE_MAX)) {
            ifg_free(due);
            return ifg_fail(err, IFG_NO_MEMORY,
                            "a schedule of more than %zu queries is too long: take a lower rate or "
                            "a shorter duration",
                            count);
        }
        due[count++] = (uint64_t)at_ns;
        at_s -= log((double)((next_random(&state) >> 11) + 1) * 0x1p-53) / work->rate_hz;
    }
    *out_due_ns = due;
    *out_count = count;
    return IFG_OK;
}

static bool must_end(const struct run *run)
{
    return atomic_load_explicit(&run->loop->shared->stop, memory_order_relaxed) ||
           atomic_load_explicit(&run->failed, memory_order_relaxed);
}

/* Room for the times of this query; false: the run ends. */
static bool wait_for_room(const struct run *run, uint64_t query)
{
    const struct timespec pause = { .tv_nsec = FULL_PAUSE_NS };
    struct shared_area *shared = run->loop->shared;

    while (query - atomic_load_explicit(&shared->drained, memory_order_acquire) >= SHARED_SAMPLES) {
        if (must_end(run))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static void fail(struct worker *worker, int code, uint64_t query)
{
    struct run *run = worker->run;

    if (atomic_exchange(&run->failed, 1u))
        return; /* somebody was first */
    worker->text[sizeof worker->text - 1] = '\0';
    run->result->code = code;
    run->result->failed_query = query;
    memcpy(run->result->text, worker->text, sizeof run->result->text);
}

/* One query. due_ns 0: whenever it starts. Returns when it ended, or 0 if it failed. */
static uint64_t run_query(struct worker *worker, uint64_t query, uint64_t due_ns)
{
    const struct loop *loop = worker->run->loop;
    const struct ifg_bench_runtime *runtime = loop->runtime;
    struct shared_sample *sample = &loop->shared->samples[query % SHARED_SAMPLES];
    size_t set = (size_t)((loop->work.first_set + query) % loop->sets);
    uint32_t more = loop->work.per_query - 1;
    uint64_t start_ns, end_ns;
    int code;

    start_ns = ifg_monotonic_ns();
    code = runtime->run(loop->model, set, worker->number, worker->text, sizeof worker->text);
    end_ns = ifg_monotonic_ns();
    runtime->finish(loop->model, worker->number);
    for (; more && code == IFG_BENCH_OK; more--) {
        code = runtime->run(loop->model, set, worker->number, worker->text, sizeof worker->text);
        end_ns = ifg_monotonic_ns();
        runtime->finish(loop->model, worker->number);
    }
    if (code != IFG_BENCH_OK) {
        fail(worker, code, query);
        return 0;
    }
    atomic_store_explicit(&sample->due_ns, due_ns ? due_ns : start_ns, memory_order_relaxed);
    atomic_store_explicit(&sample->start_ns, start_ns, memory_order_relaxed);
    atomic_store_explicit(&sample->end_ns, end_ns, memory_order_relaxed);
    atomic_store_explicit(&sample->full, query + 1, memory_order_release);
    return end_ns;
}

static void closed_loop(struct worker *worker)
{
    struct run *run = worker->run;
    const struct runner_work *work = &run->loop->work;
    uint64_t end_ns = work->duration_ns ? ifg_monotonic_ns() + work->duration_ns : UINT64_MAX;
    uint64_t last_ns = 0;

    while (!must_end(run) && last_ns < end_ns) {
        uint64_t query =
            atomic_fetch_add_explicit(&run->loop->shared->begun, 1, memory_order_relaxed);

        if (work->queries && query >= work->queries)
            break;
        if (!wait_for_room(run, query))
            break;
        last_ns = run_query(worker, query, 0);
        if (last_ns == 0)
            break;
    }
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* False: the run ends before that. */
static bool wait_until(const struct run *run, uint64_t due_ns)
{
    uint64_t now_ns = ifg_monotonic_ns();

    while (now_ns + SPIN_NS < due_ns) {
        uint64_t wake_ns = due_ns - SPIN_NS;
        struct timespec wake;

        if (must_end(run))
            return false;
        if (wake_ns > now_ns + SLEEP_MAX_NS)
            wake_ns = now_ns + SLEEP_MAX_NS;
        wake = ifg_timespec(wake_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
        now_ns = ifg_monotonic_ns();
    }
    while (ifg_monotonic_ns() < due_ns)
        relax();
    return true;
}

static void open_loop(struct worker *worker)
{
    struct run *run = worker->run;
    const struct runner_work *work = &run->loop->work;
    uint64_t end_ns = work->duration_ns ? run->begin_ns + PATIENCE * work->duration_ns : UINT64_MAX;
    uint64_t last_ns = 0;

    while (!must_end(run) && last_ns < end_ns) {
        uint64_t query =
            atomic_fetch_add_explicit(&run->loop->shared->begun, 1, memory_order_relaxed);
        uint64_t due_ns;

        if (query >= run->due_count)
            break;
        due_ns = run->begin_ns + run->due_ns[query];
        if (!wait_for_room(run, query) || !wait_until(run, due_ns))
            break;
        last_ns = run_query(worker, query, due_ns);
        if (last_ns == 0)
            break;
    }
}

static void work_off(struct worker *worker)
{
    if (worker->run->loop->work.kind == RUNNER_OPEN)
        open_loop(worker);
    else
        closed_loop(worker);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    bool go;

    pthread_mutex_lock(&run->lock);
    run->ready++;
    pthread_cond_broadcast(&run->changed);
    while (run->gate == GATE_CLOSED)
        pthread_cond_wait(&run->changed, &run->lock);
    go = run->gate == GATE_OPEN;
    pthread_mutex_unlock(&run->lock);
    if (go)
        work_off(worker);
    return NULL;
}

static uint64_t choose_begin(void)
{
    return ifg_monotonic_ns() + 2 * SPIN_NS; /* so that the first query is not late */
}

static enum ifg_status run_threads(struct run *run, struct worker *workers, uint32_t count,
                                   struct ifg_error *err)
{
    uint32_t started = 0;
    int failure = 0;

    for (; started < count; started++) {
        failure = pthread_create(&workers[started].thread, NULL, worker_main, &workers[started]);
        if (failure)
            break;
    }
    pthread_mutex_lock(&run->lock);
    while (run->ready < started)
        pthread_cond_wait(&run->changed, &run->lock);
    run->begin_ns = choose_begin();
    run->gate = failure ? GATE_CANCELLED : GATE_OPEN;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    if (failure)
        return ifg_fail(err, IFG_NO_MEMORY, "only %u of %u threads could be started: %s", started,
                        count, strerror(failure));
    return IFG_OK;
}

enum ifg_status loop_run(const struct loop *loop, struct loop_result *out_result,
                         struct ifg_error *err)
{
    struct run run = { .loop = loop,
                       .result = out_result,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER };
    struct worker *workers = NULL;
    uint64_t *due_ns = NULL;
    enum ifg_status status = IFG_OK;

    memset(out_result, 0, sizeof *out_result);
    if (loop->work.kind == RUNNER_OPEN)
        status = loop_schedule(&loop->work, &due_ns, &run.due_count, err);
    if (status)
        return status;
    run.due_ns = due_ns;
    workers = ifg_alloc(loop->work.workers, sizeof *workers);
    if (!workers) {
        ifg_free(due_ns);
        return ifg_fail_no_memory(err, "for %u workers", loop->work.workers);
    }
    for (uint32_t i = 0; i < loop->work.workers; i++) {
        workers[i].run = &run;
        workers[i].number = i;
        memset(workers[i].text, 0, sizeof workers[i].text);
    }
    if (loop->work.workers == 1) {
        /* No second thread: in a process that never had one, malloc and reference counts are
         * cheaper, and the model is measured as in a program of one thread. */
        run.begin_ns = choose_begin();
        work_off(&workers[0]);
    } else {
        status = run_threads(&run, workers, loop->work.workers, err);
    }
    if (!status && loop->work.kind == RUNNER_OPEN && !must_end(&run)) {
        uint64_t begun = atomic_load(&loop->shared->begun);

        out_result->unserved = begun < run.due_count ? run.due_count - begun : 0;
    }
    ifg_free(workers);
    ifg_free(due_ns);
    return status;
}
