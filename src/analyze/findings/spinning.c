// SPDX-License-Identifier: Apache-2.0
/*
 * spinning: threads of a runtime's pool that busy-wait.
 *
 * Recognised by code, since runtimes are stripped: a loop that waits tells the CPU so (pause and
 * tpause on x86). A function is a waiting one if a good part of its samples stand behind such an
 * instruction, in itself or in a function that it calls for that. Where the code is not in the
 * trace, well-known names serve.
 */
#include "analyze/findings/findings_internal.h"
#include "analyze/waiting.h"
#include "base/alloc.h"

#include <string.h>

#define SAMPLES_LEAST 50u
#define SHARE_LEAST   0.2
#define SHARE_HIGH    0.4
#define PART_OF_LOOP  4u /* of a waiting function's samples, at least every fourth is at a pause */
#define LOOP_LEAST    5u
#define BEHIND        8u /* bytes: the instructions after a pause, before the loop goes on */
#define WAIT_SHARE    0.05
#define KERNEL_FRAMES 64u

struct spinning {
    const struct timeline_profile *profile;
    uint8_t *at_pause; /* by frame: 0 not known yet, 1 no, 2 yes */
    uint64_t *self;    /* by function */
    uint64_t *pausing; /* same: samples at a pause in it, or right below it */
    bool *spins;
    bool *threads;
    uint64_t samples;
};

static bool has_spin_name(const struct timeline_profile *profile, uint32_t frame)
{
    static const char *const names[] = { "SpinPause",
                                         "cpu_relax",
                                         "do_spin",
                                         "gomp_barrier_wait",
                                         "__kmp_wait",
                                         "__kmp_flag",
                                         "gomp_team_barrier",
                                         "ggml_barrier",
                                         "sched_yield",
                                         "pthreadpool_wait",
                                         "ggml_graph_compute_poll" };
    const struct trace_symbol *symbols;
    size_t count = timeline_frame_symbols(profile, frame, &symbols);

    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            if (strstr(symbols[i].function, names[n]))
                return true;
    return false;
}

/* A pause (f3 90) or tpause (66 0f ae f0..f7) that ends not long before an address. */
static bool is_behind_pause(const struct timeline_profile *profile, const struct trace_frame *frame)
{
    uint64_t from = frame->address - BEHIND;
    size_t size;
    const uint8_t *bytes;

    for (unsigned skip = 0; skip < BEHIND - 1; skip++) { /* the function may begin in between */
        bytes = frame->address < BEHIND
                    ? NULL
                    : timeline_code_at(profile, frame->module, from + skip, &size);
        if (!bytes || size < BEHIND - skip)
            continue;
        for (unsigned i = 0; i + 1 < BEHIND - skip; i++) {
            if (bytes[i] == 0xf3 && bytes[i + 1] == 0x90)
                return true;
            if (i + 3 < BEHIND - skip && bytes[i] == 0x66 && bytes[i + 1] == 0x0f &&
                bytes[i + 2] == 0xae && bytes[i + 3] >= 0xf0 && bytes[i + 3] <= 0xf7)
                return true;
        }
        break;
    }
    return false;
}

static bool pauses(struct spinning *s, uint32_t frame)
{
    if (!frame)
        return false;
    if (!s->at_pause[frame])
        s->at_pause[frame] =
            1 + (has_spin_name(s->profile, frame) ||
                 is_behind_pause(s->profile, &s->profile->trace->frames[frame - 1]));
    return s->at_pause[frame] == 2;
}

/* The innermost frame outside the kernel, or 0: a yield of the CPU is in it. */
static uint32_t user_node(const struct timeline_profile *profile, uint32_t node)
{
    const struct trace_profile *trace = profile->trace;

    for (unsigned i = 0; node && i < KERNEL_FRAMES; i++) {
        uint32_t frame = trace->nodes[node - 1].frame;
        uint32_t module = frame ? trace->frames[frame - 1].module : 0;

        if (!module || trace->modules[module - 1].kind != TRACE_MODULE_KERNEL)
            return node;
        node = trace->nodes[node - 1].parent;
    }
    return 0;
}

static void count(struct spinning *s)
{
    const struct timeline_profile *profile = s->profile;
    const struct trace_stack_node *nodes = profile->trace->nodes;

    for (size_t i = 0; i < profile->sample_count; i++) {
        uint32_t node = user_node(profile, profile->samples[i].stack);
        uint32_t frame = node ? nodes[node - 1].frame : 0;
        uint32_t parent = node ? nodes[node - 1].parent : 0;
        uint32_t function = profile->function_of[frame];

        s->samples++;
        s->self[function]++;
        if (!pauses(s, frame))
            continue;
        s->pausing[function]++;
        if (parent && nodes[parent - 1].frame)
            s->pausing[profile->function_of[nodes[parent - 1].frame]]++;
    }
    for (size_t r = 0; r < profile->function_count; r++)
        s->spins[r] = s->pausing[r] >= LOOP_LEAST && s->pausing[r] >= s->self[r] / PART_OF_LOOP;
}

/* Samples in waiting functions, and the threads they are of. */
static uint64_t sum_up(struct spinning *s, size_t *out_threads)
{
    const struct timeline_profile *profile = s->profile;
    uint64_t sum = 0;

    *out_threads = 0;
    for (size_t i = 0; i < profile->sample_count; i++) {
        uint32_t node = user_node(profile, profile->samples[i].stack);
        uint32_t frame = node ? profile->trace->nodes[node - 1].frame : 0;

        if (!frame || !s->spins[profile->function_of[frame]])
            continue;
        sum++;
        *out_threads += !s->threads[profile->samples[i].thread];
        s->threads[profile->samples[i].thread] = true;
    }
    return sum;
}

static double worst_wait(const struct ml_input *input)
{
    double worst = 0;

    for (size_t i = 0; input->waiting && i < input->model_count; i++)
        if (waiting_share(&input->waiting->models[i]) > worst)
            worst = waiting_share(&input->waiting->models[i]);
    return worst;
}

static void report(const struct ml_input *input, const struct spinning *s, uint64_t spun,
                   size_t threads, struct findings *out)
{
    double share = (double)spun / (double)s->samples;
    bool crowded = (input->cpus && threads > input->cpus) || worst_wait(input) >= WAIT_SHARE;
    struct finding *finding = finding_add(out,
                                          !crowded              ? FINDING_LOW
                                          : share >= SHARE_HIGH ? FINDING_HIGH
                                                                : FINDING_MEDIUM,
                                          TIMELINE_NONE);

    if (!finding)
        return;
    finding->weight_ns = s->profile->hz > 0 ? (double)spun * 1e9 / s->profile->hz : 0;
    finding_title(finding, "%s of the CPU time is spent busy-waiting",
                  finding_words_share(share).text);
    finding_sentence(finding, "%s of the CPU time is spent busy-waiting (spinning).",
                     finding_words_share(share).text);
    finding_evidence(
        finding,
        "%llu of %llu samples of %zu thread%s are in functions that spin; there are %u CPUs%s",
        (unsigned long long)spun, (unsigned long long)s->samples, threads, threads == 1 ? "" : "s",
        input->cpus, crowded ? ", and other threads wait for them" : "");
    finding_fix(finding,
                "use fewer threads in a session; or disable spinning, which frees the CPU and "
                "costs a few microseconds per operator%s; in OpenMP, OMP_WAIT_POLICY=passive",
                finding_option(input, TIMELINE_NONE, RUNTIME_WAIT_PASSIVELY).text);
    finding_number(finding, "share", share);
    finding_number(finding, "samples", (double)spun);
    finding_number(finding, "threads", (double)threads);
    finding_number(finding, "cpus", input->cpus);
}

void rule_spinning(const struct ml_input *input, struct findings *out)
{
    const struct timeline_profile *profile = input->profile;
    struct spinning s = { .profile = profile };

    if (!profile || profile->sample_count < SAMPLES_LEAST || !input->model_count)
        return;
    s.at_pause = ifg_alloc(profile->trace->frame_count + 1, sizeof *s.at_pause);
    s.self = ifg_alloc(profile->function_count, sizeof *s.self);
    s.pausing = ifg_alloc(profile->function_count, sizeof *s.pausing);
    s.spins = ifg_alloc(profile->function_count, sizeof *s.spins);
    s.threads = ifg_alloc(profile->thread_count, sizeof *s.threads);
    if (s.at_pause && s.self && s.pausing && s.spins && s.threads) {
        size_t threads;
        uint64_t spun;

        count(&s);
        spun = sum_up(&s, &threads);
        if (spun >= SAMPLES_LEAST && (double)spun >= SHARE_LEAST * (double)s.samples)
            report(input, &s, spun, threads, out);
    } else {
        out->status = IFG_NO_MEMORY;
    }
    ifg_free(s.at_pause);
    ifg_free(s.self);
    ifg_free(s.pausing);
    ifg_free(s.spins);
    ifg_free(s.threads);
}
