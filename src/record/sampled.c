// SPDX-License-Identifier: Apache-2.0
/* See sampled.h. */
#include "record/sampled.h"

#include <stdio.h>

#include "collect/perf/profile.h"
#include "record/session_internal.h"

#define DRAIN_MOST_NS 20000000ull
#define DRAIN_SAMPLES 8ull /* a ring holds 20 of them */

static void report(struct session *session, enum trace_instrument_state state, const char *reason)
{
    instruments_report(&session->result->instruments, session->writer, "samples", state, reason);
}

void sampled_begin(struct session *session, pid_t pid, bool launched)
{
    struct profile_options options = {
        .writer = session->writer,
        .sampler = { .pid = pid,
                     .launched = launched,
                     .hz = session->options->sample_hz,
                     .want_kernel = true },
    };
    struct sampler_facts facts;
    struct ifg_error err = { .message = "" };
    char text[512];

    if (!session->options->sample_hz)
        return;
    if (profile_open(&options, &session->profile, &facts, &err) != IFG_OK) {
        session->profile = NULL;
        report(session, TRACE_INSTRUMENT_UNAVAILABLE, err.message);
        return;
    }
    snprintf(text, sizeof text, "%u Hz by %s, %u KiB of stack%s%s", facts.hz, facts.clock,
             facts.stack_bytes / 1024, facts.missing[0] ? "; not available: " : "", facts.missing);
    report(session, TRACE_INSTRUMENT_ON, text);
}

void sampled_work(struct session *session, uint64_t now_ns)
{
    if (!session->profile || now_ns < session->next_samples_ns)
        return;
    profile_drain(session->profile, false);
    session->next_samples_ns = now_ns + DRAIN_SAMPLES * 1000000000ull / session->options->sample_hz;
    if (session->next_samples_ns > now_ns + DRAIN_MOST_NS)
        session->next_samples_ns = now_ns + DRAIN_MOST_NS;
}

int sampled_fd(const struct session *session)
{
    return session->profile ? sampler_wait_fd(profile_sampler(session->profile)) : -1;
}

static void write_count(struct session *session, const char *key, uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    trace_writer_fact(session->writer, key, text);
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
        trace_writer_fact(session->writer, "samples.names_problem", named.problem);
    write_count(session, "samples.frames", named.frames);
    write_count(session, "samples.named", named.named);
    write_count(session, "samples.guessed", named.guessed);
    write_count(session, "samples.hz", session->options->sample_hz);
    write_count(session, "samples.count", counts.sampler.samples);
    write_count(session, "samples.switches", counts.sampler.switches);
    write_count(session, "samples.lost", counts.sampler.lost);
    write_count(session, "samples.cut", counts.sampler.cut);
    write_count(session, "samples.throttled", counts.sampler.throttled);
    write_count(session, "samples.rooted", counts.rooted);
    write_count(session, "samples.inferred", counts.inferred);
    write_count(session, "samples.unwind_ns", counts.unwind_ns);
}

void sampled_close(struct session *session)
{
    profile_close(session->profile);
    session->profile = NULL;
}
