// SPDX-License-Identifier: Apache-2.0
/*
 * oversubscription: inferences that run at a time ask for more threads than there are CPUs, so that
 * they take the CPU away from each other.
 */
#include "analyze/findings/findings_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Half as many again as there are CPUs: one thread more (a session of all CPUs, called from two
 * threads) does little harm. A tenth of the time in which anything is inferred, and 1 % of the
 * recording: more than chance meetings. Twice the CPUs for half of the time is bad. */
#define OVER_TIMES    1.5
#define SHARE_OF_BUSY 0.1
#define SHARE_OF_RUN  0.01
#define HIGH_SHARE    0.5
#define HIGH_TIMES    2.0
#define ACTIVE_MAX    256u /* sessions at a time that are told apart */
#define RUNNING_MAX   1024u
#define EXAMPLES      4u

struct run {
    const struct ml_event *event;
    uint32_t model;
};

struct active {
    uint32_t model;
    uint32_t session;
    uint32_t runs;
    uint32_t threads;
};

struct sweep {
    struct active active[ACTIVE_MAX];
    size_t count;
    struct run running[RUNNING_MAX]; /* a heap: what ends first is on top */
    size_t running_count;
    uint64_t now;
    uint64_t demand; /* threads that compute now */
    uint64_t peak;
    size_t peak_sessions;
    uint64_t busy_ns;
    uint64_t over_ns;
    const struct ml_event *examples[EXAMPLES];
    size_t example_count;
    bool single_threaded; /* at the peak, every session had one thread */
};

/* How many threads one session computes with, at least. A runtime's default is one for each core;
 * with two threads to a core that is half of the CPUs. */
static uint32_t threads_of(const struct ml_input *input, const struct ml_model *model)
{
    const struct runtime *runtime = runtime_called(model->model->runtime);

    if (model->intra_threads)
        return model->intra_threads;
    if (runtime && runtime->uses_all_cores && *model->options)
        return (input->cpus + 1) / 2;
    return 1;
}

static bool is_over(const struct sweep *sweep, uint32_t cpus)
{
    return (double)sweep->demand >= OVER_TIMES * cpus;
}

static uint64_t end_of(const struct run *run)
{
    return run->event->start_ns + run->event->duration_ns;
}

static int by_start(const void *a, const void *b)
{
    const struct run *left = a;
    const struct run *right = b;

    if (left->event->start_ns != right->event->start_ns)
        return left->event->start_ns < right->event->start_ns ? -1 : 1;
    return left->event < right->event ? -1 : left->event > right->event;
}

static void push(struct sweep *sweep, struct run run)
{
    size_t at = sweep->running_count++;

    while (at && end_of(&sweep->running[(at - 1) / 2]) > end_of(&run)) {
        sweep->running[at] = sweep->running[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sweep->running[at] = run;
}

static struct run pop(struct sweep *sweep)
{
    struct run top = sweep->running[0];
    struct run last = sweep->running[--sweep->running_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < sweep->running_count &&
            end_of(&sweep->running[child + 1]) < end_of(&sweep->running[child]))
            child++;
        if (child >= sweep->running_count || end_of(&sweep->running[child]) >= end_of(&last))
            break;
        sweep->running[at] = sweep->running[child];
        at = child;
    }
    sweep->running[at] = last;
    return top;
}

static struct active *find_active(struct sweep *sweep, const struct run *run)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->active[i].model == run->model && sweep->active[i].session == run->event->session)
            return &sweep->active[i];
    return NULL;
}

/* Time goes on: what was the case until now is counted. */
static void advance(struct sweep *sweep, uint64_t to, uint32_t cpus)
{
    if (sweep->running_count && to > sweep->now) {
        sweep->busy_ns += to - sweep->now;
        if (is_over(sweep, cpus))
            sweep->over_ns += to - sweep->now;
    }
    sweep->now = to;
}

static void end_first(struct sweep *sweep, uint32_t cpus)
{
    struct run run = pop(sweep);
    struct active *active = find_active(sweep, &run);

    sweep->running_count++; /* it runs until its end */
    advance(sweep, end_of(&run), cpus);
    sweep->running_count--;
    sweep->demand--;
    if (!--active->runs) {
        sweep->demand -= active->threads - 1;
        *active = sweep->active[--sweep->count];
    }
}

/* A session has one pool: its threads, and one more for each further call at a time. */
static void begin(struct sweep *sweep, const struct ml_input *input, struct run run)
{
    struct active *active = find_active(sweep, &run);

    if (sweep->running_count == RUNNING_MAX || (!active && sweep->count == ACTIVE_MAX))
        return;
    advance(sweep, run.event->start_ns, input->cpus);
    if (!active) {
        active = &sweep->active[sweep->count++];
        *active = (struct active){ run.model, run.event->session, 0,
                                   threads_of(input, &input->models[run.model]) };
        sweep->demand += active->threads - 1;
    }
    active->runs++;
    sweep->demand++;
    push(sweep, run);
    if (!is_over(sweep, input->cpus))
        return;
    if (sweep->example_count < EXAMPLES)
        sweep->examples[sweep->example_count++] = run.event;
    if (sweep->demand > sweep->peak) {
        sweep->peak = sweep->demand;
        sweep->peak_sessions = sweep->count;
        sweep->single_threaded = true;
        for (size_t i = 0; i < sweep->count; i++)
            if (sweep->active[i].threads > 1)
                sweep->single_threaded = false;
    }
}

static void run_sweep(struct sweep *sweep, const struct ml_input *input, const struct run *runs,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (sweep->running_count && end_of(&sweep->running[0]) <= runs[i].event->start_ns)
            end_first(sweep, input->cpus);
        begin(sweep, input, runs[i]);
    }
    while (sweep->running_count)
        end_first(sweep, input->cpus);
}

static void report(const struct ml_input *input, const struct sweep *sweep, struct findings *out)
{
    double share = (double)sweep->over_ns / (double)sweep->busy_ns;
    struct finding *finding = finding_add(
        out,
        share >= HIGH_SHARE && (double)sweep->peak >= HIGH_TIMES * input->cpus ? FINDING_HIGH
                                                                               : FINDING_MEDIUM,
        TIMELINE_NONE);

    if (!finding)
        return;
    finding->weight_ns = (double)sweep->over_ns;
    finding_title(finding, "up to %llu threads compute at a time on %u CPUs",
                  (unsigned long long)sweep->peak, input->cpus);
    finding_sentence(finding, "Up to %llu threads of %zu session%s compute at a time on %u CPUs.",
                     (unsigned long long)sweep->peak, sweep->peak_sessions,
                     sweep->peak_sessions == 1 ? "" : "s", input->cpus);
    finding_evidence(finding,
                     "1.5 times as many threads as CPUs, or more, for %s, %s of the time with "
                     "inferences running; "
                     "at most %zu session%s at a time",
                     finding_words_time((double)sweep->over_ns).text,
                     finding_words_share(share).text, sweep->peak_sessions,
                     sweep->peak_sessions == 1 ? "" : "s");
    if (sweep->single_threaded) /* fewer than one thread for each cannot be set */
        finding_fix(finding,
                    "each session already computes with one thread: run at most %u inferences at a "
                    "time (fewer workers, or a queue in front of them)",
                    input->cpus);
    else
        finding_fix(
            finding,
            "sessions at a time x threads of each should not exceed %u: fewer threads%s, or one "
            "pool for all%s",
            input->cpus, finding_option(input, TIMELINE_NONE, RUNTIME_FEWER_THREADS).text,
            finding_option(input, TIMELINE_NONE, RUNTIME_SHARE_THREADS).text);
    for (size_t i = 0; i < sweep->example_count; i++)
        finding_event(finding, sweep->examples[i]);
    finding_number(finding, "threads", (double)sweep->peak);
    finding_number(finding, "cpus", input->cpus);
    finding_number(finding, "over_ms", (double)sweep->over_ns / MS);
    finding_number(finding, "share", share);
}

/* Whether inferences can meet at all: it costs a sort to know how often. */
static bool may_exceed(const struct ml_input *input, size_t *out_runs)
{
    uint32_t thread = UINT32_MAX;
    bool may = false;

    *out_runs = 0;
    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];

        *out_runs += runs->count;
        if (runs->count &&
            threads_of(input, &input->models[input->functions[f].model]) > input->cpus)
            may = true;
        for (size_t i = 0; i < runs->count && !may; i++) {
            if (thread == UINT32_MAX)
                thread = runs->items[i].thread;
            may = runs->items[i].thread != thread || runs->items[i].flags & ML_ASYNC;
        }
    }
    return may;
}

static size_t gather(const struct ml_input *input, struct run *out)
{
    size_t count = 0;
    bool sorted = true;

    for (size_t f = 0; f < input->function_count; f++) {
        const struct ml_events *runs = &input->functions[f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < runs->count; i++) {
            const struct ml_event *run = &runs->items[i];

            if (run->flags & ML_NESTED || !run->duration_ns ||
                run->start_ns + run->duration_ns < run->start_ns)
                continue;
            sorted &= !count || out[count - 1].event->start_ns <= run->start_ns;
            out[count++] = (struct run){ run, input->functions[f].model };
        }
    }
    if (!sorted)
        qsort(out, count, sizeof *out, by_start);
    return count;
}

void rule_oversubscription(const struct ml_input *input, struct findings *out)
{
    struct sweep *sweep;
    struct run *runs;
    size_t most;

    if (!input->cpus || !may_exceed(input, &most))
        return;
    sweep = ifg_alloc(1, sizeof *sweep);
    runs = ifg_alloc(most, sizeof *runs);
    if (sweep && runs) {
        run_sweep(sweep, input, runs, gather(input, runs));
        if (sweep->busy_ns && (double)sweep->over_ns >= SHARE_OF_BUSY * (double)sweep->busy_ns &&
            (double)sweep->over_ns >= SHARE_OF_RUN * (double)input->duration_ns)
            report(input, sweep, out);
    } else {
        out->status = IFG_NO_MEMORY;
    }
    ifg_free(runs);
    ifg_free(sweep);
}
