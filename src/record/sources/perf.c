// SPDX-License-Identifier: Apache-2.0
/* Samples and context switches of what is recorded (record --sample): the recorder's side of
 * collect/perf. */
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/perf/calibrate.h"
#include "collect/perf/pipeline.h"
#include "record/overhead.h"
#include "record/own_cost.h"
#include "record/process.h"
#include "record/source.h"
#include "trace/keys.h"

#define DRAIN_MOST_NS  20000000ull
#define PATIENCE_NS    200000000ull /* and a drain: a killed recorder loses 250 ms at most */
#define HZ_UNKNOWN     97u          /* a rate that is harmless wherever it is */
#define ERROR_MOST_PCT 1.0          /* a cost that is known less well is not worth printing */
#define LOOK_NS        500000000ull
#define LOOK_CHAINS    32u
#define OTHERS_MAX     512u
#define DRAIN_SAMPLES  8ull /* a ring holds 20 of them */

struct sampled {
    struct recording *recording;
    struct pipeline *profile;
    struct overhead *overhead; /* what sampling costs; NULL: nothing is sampled */
    uint32_t hz;               /* as it was chosen */
    double sample_us;          /* that one takes; 0: not known */
    bool sampling;             /* at this moment */
    uint64_t next_drain_ns;
    double chain_us; /* that reading Python calls adds to one, on average */
    struct own_cost own_cost;
    uint64_t begin_ns;     /* since when own_cost is looked at */
    uint64_t next_look_ns; /* at these two */
};

struct others {
    pid_t pids[OTHERS_MAX];
    size_t count;
};

static void report(struct sampled *sampled, enum trace_instrument_state state, const char *reason)
{
    sink_instrument(&sampled->recording->sink, "samples", state, reason);
}

/* Inside the budget if no rate was asked for. What samples take here is good to know anyway. */
static uint32_t choose_rate(struct sampled *sampled)
{
    const struct calibrate_options options = { .stack_bytes = 0 };
    struct calibrate_result result;

    if (calibrate_cost(&options, &result, NULL) == IFG_OK)
        sampled->sample_us = result.sample_us;
    if (sampled->recording->options->sample_hz)
        return sampled->recording->options->sample_hz;
    if (sampled->sample_us <= 0)
        return HZ_UNKNOWN;
    return calibrate_rate(sampled->sample_us, sampled->recording->options->overhead_pct);
}

static void on_inference(void *user, uint32_t key, uint64_t start_ns, uint64_t end_ns)
{
    overhead_inference(user, key, start_ns, end_ns);
}

static void watch_cost(struct sampled *sampled)
{
    sampled->begin_ns = ifg_monotonic_ns();
    sampled->own_cost.last.cpu_ns = ifg_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sampled->overhead = overhead_create(
        sampled->recording->options->sample_hz ? 0 : sampled->recording->options->overhead_pct,
        sampled->begin_ns);
    sampled->recording->sink.inference = sampled->overhead ? on_inference : NULL;
    sampled->recording->sink.inference_user = sampled->overhead;
}

/* Wakeups: on wherever the kernel lets us. */
static void report_wakers(struct sampled *sampled, const char *refused)
{
    const char *words = refused;
    bool on = !refused && pipeline_wakers(sampled->profile, &words);

    sink_instrument(&sampled->recording->sink, "wakers",
                    on ? TRACE_INSTRUMENT_ON : TRACE_INSTRUMENT_UNAVAILABLE, words);
}

static bool is_in(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static void add_tree(struct others *others, const struct recording *recording, pid_t pid)
{
    pid_t tree[OTHERS_MAX] = { pid };
    size_t count = 1 + process_descendants(pid, tree + 1, OTHERS_MAX - 1);

    for (size_t i = 0; i < count && others->count < OTHERS_MAX; i++)
        if (tree[i] != recording->root && tree[i] != getpid() &&
            !is_in(tree[i], others->pids, others->count))
            others->pids[others->count++] = tree[i];
}

/* Who runs already: descendants of the process that was attached to, and the others that were named
 * with it, each once. What they start from now on is inherited. */
static void list_others(const struct recording *recording, struct others *others)
{
    others->count = 0;
    if (recording->root_waits)
        return;
    add_tree(others, recording, recording->root);
    for (size_t i = 0; i < recording->options->other_count; i++)
        add_tree(others, recording, recording->options->others[i]);
}

static bool begin(void *state)
{
    struct sampled *sampled = state;
    struct recording *recording = sampled->recording;
    struct others others;
    struct pipeline_options options = {
        .writer = recording->sink.writer,
        .sampler = { .pid = recording->root,
                     .launched = recording->root_waits,
                     .want_kernel = true,
                     .patience_ns = PATIENCE_NS },
        .want_wakers = true,
    };
    bool samples = recording->options->sample_hz || recording->options->overhead_pct > 0;
    struct sampler_facts facts;
    struct ifg_error err = { .message = "" };
    char text[512];

    if (!samples)
        report(sampled, TRACE_INSTRUMENT_OFF, "--no-sample was given");
    if (!samples && !recording->options->sched)
        return false;
    sampled->hz = samples ? choose_rate(sampled) : 0;
    options.sampler.hz = sampled->hz;
    list_others(recording, &others);
    options.sampler.also = others.pids;
    options.sampler.also_count = others.count;
    if (pipeline_open(&options, &sampled->profile, &facts, &err) != IFG_OK) {
        sampled->profile = NULL;
        if (samples)
            report(sampled, TRACE_INSTRUMENT_UNAVAILABLE, err.message);
        report_wakers(sampled, err.message);
        return false;
    }
    recording->stacks = sampled->profile;
    report_wakers(sampled, NULL);
    if (!samples)
        return true;
    snprintf(text, sizeof text, "%u Hz by %s, %u KiB of stack%s%s", facts.hz, facts.clock,
             facts.stack_bytes / 1024, facts.missing[0] ? "; not available: " : "", facts.missing);
    report(sampled, TRACE_INSTRUMENT_ON, text);
    trace_writer_fact(recording->sink.writer, TRACE_FACT_SAMPLES_CLOCK, facts.clock);
    if (!facts.kernel_frames)
        sink_instrument(&recording->sink, "kernel frames", TRACE_INSTRUMENT_UNAVAILABLE,
                        facts.kernel_missing);
    sampled->sampling = true;
    watch_cost(sampled);
    return true;
}

/* What a program did before it was recorded is not ours. */
static void start(void *state)
{
    struct sampled *sampled = state;

    if (sampled->recording->since_ns)
        pipeline_limit(sampled->profile, sampled->recording->since_ns, 0);
}

/* Chains of Python calls are read while a thread stands still, and how long they are shows only
 * then. The share of the time in which samples are inside the budget with them. */
static double share_by_chains(struct sampled *sampled, const struct pipeline_counts *counts)
{
    if (counts->python.chains < LOOK_CHAINS || counts->sampler.samples < LOOK_CHAINS)
        return 1;
    sampled->chain_us = counts->python.chain_us / (double)counts->sampler.samples;
    return sampled->sample_us > 0
               ? calibrate_share(sampled->sample_us + sampled->chain_us, sampled->hz,
                                 sampled->recording->options->overhead_pct)
               : 1;
}

/* The same for what the recorder takes by itself. */
static double share_by_own_cost(struct sampled *sampled, const struct pipeline_counts *counts,
                                uint64_t now_ns)
{
    struct overhead_result result;
    struct own_cost_reading reading = { .time_ns = now_ns - sampled->begin_ns,
                                        .cpu_ns = ifg_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                                        .stack_ns = counts->unwind_ns };

    overhead_tell(sampled->overhead, now_ns, &result);
    reading.on_ns = (uint64_t)(result.on_share * (double)reading.time_ns);
    return own_cost_share(&sampled->own_cost, &reading);
}

/* Where samples turn out to cost more than they may, there is a pause for a part of the time. Who
 * has asked for a rate gets it. */
static void look_at_cost(struct sampled *sampled, uint64_t now_ns)
{
    struct pipeline_counts counts;
    double share, own_share;

    if (now_ns < sampled->next_look_ns || !sampled->overhead)
        return;
    sampled->next_look_ns = now_ns + LOOK_NS;
    pipeline_count(sampled->profile, &counts);
    share = share_by_chains(sampled, &counts);
    own_share = share_by_own_cost(sampled, &counts, now_ns);
    if (!sampled->recording->options->sample_hz)
        overhead_limit(sampled->overhead, own_share < share ? own_share : share);
}

/* It comes when it is due, however much there was: *out_any is left alone. */
static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct sampled *sampled = state;

    (void)out_any, (void)err;
    if (sampled->overhead) {
        bool wanted = overhead_turn(sampled->overhead, now_ns);

        if (wanted != sampled->sampling) {
            uint64_t used_ns = ifg_thread_cpu_ns();

            sampler_pause(pipeline_sampler(sampled->profile), !wanted);
            overhead_turn_cost(sampled->overhead, ifg_thread_cpu_ns() - used_ns);
        }
        sampled->sampling = wanted;
    }
    if (now_ns < sampled->next_drain_ns)
        return IFG_OK;
    if (sampled->recording->deadline_ns)
        pipeline_limit(sampled->profile, sampled->recording->since_ns,
                       sampled->recording->deadline_ns);
    look_at_cost(sampled, now_ns);
    pipeline_drain(sampled->profile, false);
    if (sampled->hz)
        sampled->next_drain_ns = now_ns + DRAIN_SAMPLES * 1000000000ull / sampled->hz;
    if (!sampled->hz || sampled->next_drain_ns > now_ns + DRAIN_MOST_NS)
        sampled->next_drain_ns = now_ns + DRAIN_MOST_NS;
    return IFG_OK;
}

static size_t fds(const void *state, int *out_fds)
{
    out_fds[0] = sampler_wait_fd(pipeline_sampler(((const struct sampled *)state)->profile));
    return out_fds[0] >= 0;
}

static void write_number(struct sampled *sampled, const char *key, const char *format, double value)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    trace_writer_fact(sampled->recording->sink.writer, key, text);
}

/* What it cost: measured, if there were inferences enough; else what samples took by themselves. */
static void write_cost(struct sampled *sampled)
{
    struct overhead_result result = { .on_share = 1 };
    struct session_result *out = sampled->recording->result;
    double sample_us = sampled->sample_us + sampled->chain_us;

    if (sampled->overhead)
        overhead_tell(sampled->overhead, ifg_monotonic_ns(), &result);
    out->sample_hz = sampled->hz;
    out->cost_measured = result.known && result.error_pct <= ERROR_MOST_PCT;
    out->cost_pct =
        out->cost_measured ? result.pct : sample_us * sampled->hz * result.on_share / 1e4;
    out->cost_error_pct = result.error_pct;
    write_number(sampled, TRACE_FACT_SAMPLES_ON_SHARE, "%.4f", result.on_share);
    if (sampled->sample_us > 0) {
        write_number(sampled, TRACE_FACT_SAMPLES_COST_US, "%.2f", sample_us);
        write_number(sampled, TRACE_FACT_SAMPLES_OVERHEAD_ESTIMATE_PCT, "%.3f",
                     sample_us * sampled->hz * result.on_share / 1e4);
    }
    if (!result.known)
        return;
    write_number(sampled, TRACE_FACT_SAMPLES_OVERHEAD_MOMENTS, "%.0f", result.moments);
    write_number(sampled, TRACE_FACT_SAMPLES_OVERHEAD_INFERENCES, "%.0f",
                 (double)result.inferences);
    write_number(sampled, TRACE_FACT_SAMPLES_OVERHEAD_ERROR_PCT, "%.3f", result.error_pct);
    if (out->cost_measured)
        write_number(sampled, TRACE_FACT_SAMPLES_OVERHEAD_PCT, "%.3f", result.pct);
}

static void stop(void *state)
{
    struct sampled *sampled = state;

    sampler_pause(pipeline_sampler(sampled->profile), true);
    pipeline_limit(sampled->profile, sampled->recording->since_ns, sampled->recording->until_ns);
}

static void explain(void *state)
{
    struct sampled *sampled = state;
    struct symbolize_options options = { .sources = !sampled->recording->options->no_sources };
    struct symbolize_counts named;

    pipeline_explain(sampled->profile, &options, &named);
    if (named.problem[0])
        trace_writer_fact(sampled->recording->sink.writer, TRACE_FACT_SAMPLES_NAMES_PROBLEM,
                          named.problem);
    write_cost(sampled);
}

/* Only of programs that have an interpreter. */
static void report_python(struct sampled *sampled, const struct python_counts *counts)
{
    char text[96];
    const char *why = text;
    size_t at = (size_t)snprintf(text, sizeof text, "CPython");
    bool on = counts->versions != 0;

    for (unsigned minor = 0; minor < 64 && at < sizeof text; minor++)
        if (counts->versions >> minor & 1)
            at += (size_t)snprintf(text + at, sizeof text - at, " 3.%u", minor);
    if (!on && !pipeline_saw_python(sampled->profile))
        return;
    if (!on && pipeline_python(sampled->profile, &why))
        why = counts->unknown ? "this interpreter is not one of CPython 3.8 to 3.14, or a build "
                                "of it that is not known"
                              : "the interpreter did not begin";
    sink_instrument(&sampled->recording->sink, "Python frames",
                    on ? TRACE_INSTRUMENT_ON : TRACE_INSTRUMENT_UNAVAILABLE, why);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    struct sampled *sampled = state;
    struct sink *sink = &sampled->recording->sink;
    struct symbolize_options options = { .sources = !sampled->recording->options->no_sources };
    struct pipeline_counts counts;
    struct symbolize_counts named;

    (void)err;
    pipeline_finish(sampled->profile, &options, &named);
    pipeline_count(sampled->profile, &counts);
    if (named.problem[0])
        trace_writer_fact(sink->writer, TRACE_FACT_SAMPLES_NAMES_PROBLEM, named.problem);
    if (sampled->recording->options->flight.is_on) { /* counts are of more than what is kept */
        sampled->recording->result->samples = counts.sampler.samples;
        write_cost(sampled);
        return IFG_OK;
    }
    sink_count(sink, TRACE_FACT_SAMPLES_FRAMES, named.frames);
    sink_count(sink, TRACE_FACT_SAMPLES_NAMED, named.named);
    sink_count(sink, TRACE_FACT_SAMPLES_GUESSED, named.guessed);
    sampled->recording->result->samples = counts.sampler.samples;
    write_cost(sampled);
    sink_count(sink, TRACE_FACT_SAMPLES_HZ, sampled->hz);
    sink_count(sink, TRACE_FACT_SAMPLES_COUNT, counts.sampler.samples);
    sink_count(sink, TRACE_FACT_SAMPLES_SWITCHES, counts.sampler.switches);
    sink_count(sink, TRACE_FACT_SAMPLES_WAKES, counts.wakes);
    sink_count(sink, TRACE_FACT_SAMPLES_WAKES_LOST, counts.wakes_lost);
    sink_count(sink, TRACE_FACT_SAMPLES_LOST, counts.sampler.lost);
    sink_count(sink, TRACE_FACT_SAMPLES_CUT, counts.cut);
    sink_count(sink, TRACE_FACT_SAMPLES_STACK_BYTES, counts.stack_bytes);
    sink_count(sink, TRACE_FACT_SAMPLES_THROTTLED, counts.sampler.throttled);
    sink_count(sink, TRACE_FACT_SAMPLES_ROOTED, counts.rooted);
    sink_count(sink, TRACE_FACT_SAMPLES_INFERRED, counts.inferred);
    sink_count(sink, TRACE_FACT_SAMPLES_UNWIND_NS, counts.unwind_ns);
    sink_count(sink, TRACE_FACT_SAMPLES_CONTINUED, counts.continued);
    report_python(sampled, &counts.python);
    if (counts.python.versions) {
        sink_count(sink, TRACE_FACT_SAMPLES_PYTHON, counts.python.named);
        sink_count(sink, TRACE_FACT_SAMPLES_PYTHON_REFUSED, counts.python.refused);
        sink_count(sink, TRACE_FACT_SAMPLES_PYTHON_LOST, counts.python.lost);
    }
    return IFG_OK;
}

static void close_source(void *state)
{
    struct sampled *sampled = state;

    sampled->recording->stacks = NULL;
    pipeline_close(sampled->profile);
    sampled->recording->sink.inference = NULL;
    overhead_destroy(sampled->overhead);
    ifg_free(sampled);
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    struct sampled *sampled = ifg_alloc(1, sizeof *sampled);

    *out_state = sampled;
    if (!sampled)
        return ifg_fail_no_memory(err, NULL);
    sampled->recording = recording;
    return IFG_OK;
}

const struct source source_perf = {
    .name = "samples",
    .needs_no_runtime = true,
    .may_wait = true, /* the kernel counts what its rings lose */
    .open = open_source,
    .begin = begin,
    .start = start,
    .fds = fds,
    .work = work,
    .explain = explain,
    .stop = stop,
    .finish = finish,
    .close = close_source,
};
