// SPDX-License-Identifier: Apache-2.0
/* Measuring what a sample costs: gaps in the time of a thread that is sampled while it watches. */
#include "collect/perf/calibrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "collect/perf/sampler.h"

#define MS         1000000ull
#define MS_DEFAULT 40u
#define PATIENCE   10u   /* times as long, where others want the processor, too */
#define RATE       1999u /* most gaps are ours then, not those of the timer's tick */
#define GAPS_MAX   8192u
#define GAPS_LEAST 12u
#define GAP_LEAST  800u    /* ns: less is the loop itself */
#define GAP_MOST   150000u /* ns: more is another program that ran */
/* Caches are colder after an interrupt: inferences were slowed down by about twice of what the
 * interrupts took (measured: docs/sampling.md). */
#define AFTERMATH 2.0

struct gaps {
    uint32_t ns[GAPS_MAX];
    uint32_t count;
};

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* Looks at the clock; what is missing between two looks was taken by somebody else. */
static void watch(struct gaps *gaps, uint64_t until_ns)
{
    uint64_t last = ifg_monotonic_ns();

    while (last < until_ns && gaps->count < GAPS_MAX) {
        uint64_t now = ifg_monotonic_ns();

        if (now - last >= GAP_LEAST && now - last <= GAP_MOST)
            gaps->ns[gaps->count++] = (uint32_t)(now - last);
        last = now;
    }
}

/* With a stack as deep as what a sample copies. */
static void watch_deep(struct gaps *gaps, uint64_t until_ns)
{
    volatile uint8_t depth[SAMPLER_STACK_MAX];

    for (size_t i = 0; i < sizeof depth; i += 512)
        depth[i] = 0;
    watch(gaps, until_ns);
    depth[0] = depth[sizeof depth - 1];
}

enum ifg_status calibrate_cost(const struct calibrate_options *options,
                               struct calibrate_result *out_result, struct ifg_error *err)
{
    struct sampler_options sampled = { .pid = getpid(),
                                       .hz = RATE,
                                       .stack_bytes = options->stack_bytes };
    const struct sampler_events none = { 0 };
    uint32_t milliseconds = options->milliseconds ? options->milliseconds : MS_DEFAULT;
    struct sampler_counts counts;
    struct sampler_facts facts;
    struct sampler *sampler;
    struct gaps gaps = { .count = 0 };
    uint64_t begin_cpu_ns, end_ns;
    uint32_t longest;
    enum ifg_status status = sampler_open(&sampled, &sampler, &facts, err);

    memset(out_result, 0, sizeof *out_result);
    if (status)
        return status;
    sampler_pause(sampler, false);
    /* In parts, because the rings hold a hundredth of a second at this rate. Samples come with CPU
     * time, of which a busy machine gives us less. */
    begin_cpu_ns = ifg_thread_cpu_ns();
    end_ns = ifg_monotonic_ns() + milliseconds * MS * PATIENCE;
    do {
        watch_deep(&gaps, ifg_monotonic_ns() + 5 * MS);
        sampler_read(sampler, false, &none);
    } while (ifg_thread_cpu_ns() - begin_cpu_ns < milliseconds * MS && ifg_monotonic_ns() < end_ns);
    sampler_read(sampler, true, &none);
    sampler_count(sampler, &counts);
    sampler_close(sampler);
    out_result->samples = (uint32_t)counts.samples;
    snprintf(out_result->clock, sizeof out_result->clock, "%s", facts.clock);
    if (gaps.count < GAPS_LEAST || counts.samples < GAPS_LEAST)
        return ifg_fail(err, IFG_UNSUPPORTED, "only %u samples came in %u ms of CPU time",
                        out_result->samples, milliseconds);
    /* An idle machine has many small gaps of its own. Those of samples are the longest, and as many
     * as there are samples. */
    qsort(gaps.ns, gaps.count, sizeof gaps.ns[0], compare);
    longest = counts.samples < gaps.count ? (uint32_t)counts.samples : gaps.count;
    out_result->sample_us = gaps.ns[gaps.count - 1 - longest / 2] / 1000.0;
    return IFG_OK;
}

double calibrate_share(double sample_us, uint32_t hz, double budget_pct)
{
    double pct = sample_us * AFTERMATH * hz / 1e4;

    return pct > budget_pct ? budget_pct / pct : 1;
}

uint32_t calibrate_rate(double sample_us, double budget_pct)
{
    static const uint32_t rates[] = { 1999, 997, 499, 251, 127, 61, 31, 13, 7, 3 };
    double most = budget_pct / 100 * 1e6 / (sample_us * AFTERMATH);

    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (rates[i] <= most && (rates[i] <= 997 || budget_pct > 1))
            return rates[i];
    return 1;
}
