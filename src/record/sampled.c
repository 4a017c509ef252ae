// SPDX-License-Identifier: Apache-2.0
/* See sampled.h. */
#include "record/sampled.h"

#include <stdio.h>

#include "base/ticks.h"
#include "collect/perf/calibrate.h"
#include "collect/perf/profile.h"
#include "record/overhead.h"
#include "record/session_internal.h"

#define DRAIN_MOST_NS  20000000ull
#define PATIENCE_NS    200000000ull /* and a drain: a killed recorder loses 250 ms at most */
#define HZ_UNKNOWN     97u          /* a rate that is harmless wherever it is */
#define ERROR_MOST_PCT 1.0          /* a cost that is known less well is not worth printing */
#define DRAIN_SAMPLES  8ull         /* a ring holds 20 of them */

static void report(struct session *session, enum trace_instrument_state state, const char *reason)
{
    instruments_report(&session->result->instruments, session->recording.sink.writer, "samples",
                       state, reason);
}

/* Inside the budget if no rate was asked for. What samples take here is good to know anyway. */
static uint32_t choose_rate(struct session *session)
{
    const struct calibrate_options options = { .stack_bytes = 0 };
    struct calibrate_result result;

    if (calibrate_cost(&options, &result, NULL) == IFG_OK)
        session->sample_us = result.sample_us;
    if (session->options->sample_hz)
        return session->options->sample_hz;
    if (session->sample_us <= 0)
        return HZ_UNKNOWN;
    return calibrate_rate(session->sample_us, session->options->overhead_pct);
}

static void on_inference(void *user, uint32_t key, uint64_t start_ns, uint64_t end_ns)
{
    overhead_inference(user, key, start_ns, end_ns);
}

static void watch_cost(struct session *session)
{
    session->overhead = overhead_create(
        session->options->sample_hz ? 0 : session->options->overhead_pct, ifg_monotonic_ns());
    session->recording.sink.inference = session->overhead ? on_inference : NULL;
    session->recording.sink.inference_user = session->overhead;
}

/* Who woke whom: on wherever the kernel lets us. */
static void report_wakers(struct session *session, const char *refused)
{
    const char *words = refused;
    bool on = !refused && profile_wakers(session->profile, &words);

    instruments_report(&session->result->instruments, session->recording.sink.writer, "wakers",
                       on ? TRACE_INSTRUMENT_ON : TRACE_INSTRUMENT_UNAVAILABLE, words);
}

void sampled_begin(struct session *session, pid_t pid, bool launched)
{
    struct profile_options options = {
        .writer = session->recording.sink.writer,
        .sampler = { .pid = pid,
                     .launched = launched,
                     .want_kernel = true,
                     .patience_ns = PATIENCE_NS },
        .want_wakers = true,
    };
    bool samples = session->options->sample_hz || session->options->overhead_pct > 0;
    struct sampler_facts facts;
    struct ifg_error err = { .message = "" };
    char text[512];

    if (!samples)
        report(session, TRACE_INSTRUMENT_OFF, "--no-sample was given");
    if (!samples && !session->options->sched)
        return;
    session->sample_hz = samples ? choose_rate(session) : 0;
    options.sampler.hz = session->sample_hz;
    if (profile_open(&options, &session->profile, &facts, &err) != IFG_OK) {
        session->profile = NULL;
        if (samples)
            report(session, TRACE_INSTRUMENT_UNAVAILABLE, err.message);
        report_wakers(session, err.message);
        return;
    }
    report_wakers(session, NULL);
    if (!samples)
        return;
    snprintf(text, sizeof text, "%u Hz by %s, %u KiB of stack%s%s", facts.hz, facts.clock,
             facts.stack_bytes / 1024, facts.missing[0] ? "; not available: " : "", facts.missing);
    report(session, TRACE_INSTRUMENT_ON, text);
    if (!facts.kernel_frames)
        instruments_report(&session->result->instruments, session->recording.sink.writer,
                           "kernel frames", TRACE_INSTRUMENT_UNAVAILABLE, facts.kernel_missing);
    session->sampling = true;
    watch_cost(session);
}

void sampled_work(struct session *session, uint64_t now_ns)
{
    if (!session->profile)
        return;
    if (session->overhead) {
        bool wanted = overhead_turn(session->overhead, now_ns);

        if (wanted != session->sampling)
            sampler_pause(profile_sampler(session->profile), !wanted);
        session->sampling = wanted;
    }
    if (now_ns < session->next_samples_ns)
        return;
    profile_drain(session->profile, false);
    if (session->sample_hz)
        session->next_samples_ns = now_ns + DRAIN_SAMPLES * 1000000000ull / session->sample_hz;
    if (!session->sample_hz || session->next_samples_ns > now_ns + DRAIN_MOST_NS)
        session->next_samples_ns = now_ns + DRAIN_MOST_NS;
}

int sampled_fd(const struct session *session)
{
    return session->profile ? sampler_wait_fd(profile_sampler(session->profile)) : -1;
}

static void write_number(struct session *session, const char *key, const char *format, double value)
{
    char text[64];

    snprintf(text, sizeof text, format, value);
    trace_writer_fact(session->recording.sink.writer, key, text);
}

/* What it cost: measured, if there were inferences enough; else what samples took by themselves. */
static void write_cost(struct session *session)
{
    struct overhead_result result = { .on_share = 1 };
    struct session_result *out = session->result;

    if (session->overhead)
        overhead_tell(session->overhead, ifg_monotonic_ns(), &result);
    out->sample_hz = session->sample_hz;
    out->cost_measured = result.known && result.error_pct <= ERROR_MOST_PCT;
    out->cost_pct = out->cost_measured ? result.pct : session->sample_us * session->sample_hz / 1e4;
    out->cost_error_pct = result.error_pct;
    write_number(session, "samples.on_share", "%.4f", result.on_share);
    if (session->sample_us > 0) {
        write_number(session, "samples.cost_us", "%.2f", session->sample_us);
        write_number(session, "samples.overhead_estimate_pct", "%.3f",
                     session->sample_us * session->sample_hz / 1e4);
    }
    if (!result.known)
        return;
    write_number(session, "samples.overhead_moments", "%.0f", result.moments);
    write_number(session, "samples.overhead_inferences", "%.0f", (double)result.inferences);
    write_number(session, "samples.overhead_error_pct", "%.3f", result.error_pct);
    if (out->cost_measured)
        write_number(session, "samples.overhead_pct", "%.3f", result.pct);
}

static void write_count(struct session *session, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    trace_writer_fact(session->recording.sink.writer, key, text);
}

void sampled_stop(struct session *session)
{
    if (!session->profile)
        return;
    sampler_pause(profile_sampler(session->profile), true);
    profile_limit(session->profile, session->recording.since_ns, session->recording.until_ns);
}

void sampled_finish(struct session *session)
{
    struct explain_options options = { .sources = !session->options->no_sources };
    struct profile_counts counts;
    struct explain_counts named;

    if (!session->profile)
        return;
    profile_finish(session->profile, &options, &named);
    profile_count(session->profile, &counts);
    if (named.problem[0])
        trace_writer_fact(session->recording.sink.writer, "samples.names_problem", named.problem);
    write_count(session, "samples.frames", named.frames);
    write_count(session, "samples.named", named.named);
    write_count(session, "samples.guessed", named.guessed);
    session->result->samples = counts.sampler.samples;
    write_cost(session);
    write_count(session, "samples.hz", session->sample_hz);
    write_count(session, "samples.count", counts.sampler.samples);
    write_count(session, "samples.switches", counts.sampler.switches);
    write_count(session, "samples.wakes", counts.wakes);
    write_count(session, "samples.wakes_lost", counts.wakes_lost);
    write_count(session, "samples.lost", counts.sampler.lost);
    write_count(session, "samples.cut", counts.cut);
    write_count(session, "samples.stack_bytes", counts.stack_bytes);
    write_count(session, "samples.throttled", counts.sampler.throttled);
    write_count(session, "samples.rooted", counts.rooted);
    write_count(session, "samples.inferred", counts.inferred);
    write_count(session, "samples.unwind_ns", counts.unwind_ns);
}

void sampled_close(struct session *session)
{
    profile_close(session->profile);
    session->profile = NULL;
    session->recording.sink.inference = NULL;
    overhead_destroy(session->overhead);
    session->overhead = NULL;
}
