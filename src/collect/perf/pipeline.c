// SPDX-License-Identifier: Apache-2.0
/* From the events of a sampler to samples, stacks and states of threads in the trace. */
#include "collect/perf/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/perf/modules.h"
#include "collect/perf/processes.h"
#include "collect/perf/sched.h"
#include "collect/perf/stacks.h"
#include "collect/perf/threads.h"
#include "system/trace_rule.h"

#define BATCH 4096u /* samples or switches that wait to be written */

/* When copies of the stack are made larger. */
#define RAISE_SAMPLES 100u        /* that are looked at */
#define RAISE_PERCENT 5u          /* of them are cut */
#define RAISE_WAIT_NS 10000000ull /* for threads that were just being made */
#define RAISE_TRIES   5u

#define OTHERS_TID 0x7fffffffu /* no thread has this number */

#define LOOKS         1024u         /* processes whose maps are read again, more or less */
#define LOOK_MISS_NS  20000000ull   /* not more often when an address is not mapped */
#define LOOK_AGAIN_NS 1000000000ull /* without the kernel's records: something may have changed */

/* When the maps of a process were read last for a stack that somebody else had copied. */
struct look {
    uint32_t pid;
    uint32_t program;
    uint64_t read_ns;
};

struct pipeline {
    struct sampler *sampler;
    struct trace_writer *writer;
    struct modules *modules;
    struct stacks *stacks;
    struct processes *processes;
    struct trace_sample samples[BATCH];
    size_t sample_count;
    struct trace_switch switches[BATCH];
    size_t switch_count;
    struct pipeline_counts counts;
    uint64_t unwanted;   /* samples outside of what is recorded */
    uint64_t unmapped;   /* mappings that there was no memory for */
    uint64_t walking_ns; /* spent on the samples of this drain */
    bool took_chains;    /* of Python calls, in this drain */
    bool hides_others;   /* trace_rule_applies(), which asks the kernel four times */
    struct {
        uint64_t begun_ns; /* 0: not under way */
        uint64_t ended_ns;
        unsigned tries;
        uint64_t samples, cut; /* counted before, with smaller copies */
    } raise;
    struct threads *threads;
    struct python *python;       /* NULL: no Python functions */
    char no_python[768];         /* why */
    struct sched *sched;         /* NULL: no wakeups */
    char wakers[768];            /* how they are recorded, or why not */
    uint64_t drained_ns;         /* when that was begun last: records of before are told by now */
    uint64_t since_ns, until_ns; /* what is written; until_ns 0: without end */
    struct look looks[LOOKS];
};

static bool is_wanted(const struct pipeline *pipeline, uint64_t time_ns)
{
    return time_ns >= pipeline->since_ns && (!pipeline->until_ns || time_ns <= pipeline->until_ns);
}

/* ---- what the kernel tells ---- */

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    struct pipeline *pipeline = user;

    pipeline->unmapped += !processes_map(pipeline->processes, mapping);
}

static void on_fork(uint64_t time_ns, uint32_t parent_pid, uint32_t parent_tid, uint32_t pid,
                    uint32_t tid, void *user)
{
    struct pipeline *pipeline = user;

    (void)time_ns;
    threads_add(pipeline->threads, pid, tid, parent_tid);
    if (pid != parent_pid)
        processes_fork(pipeline->processes, parent_pid, pid);
}

/* A new program has nothing of the old one's mappings; its own are told after this. */
static void on_name(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                    void *user)
{
    struct pipeline *pipeline = user;

    (void)time_ns;
    threads_name(pipeline->threads, pid, tid, name);
    if (exec)
        processes_drop(pipeline->processes, pid);
}

static void on_end(uint64_t time_ns, uint32_t pid, uint32_t tid, void *user)
{
    struct pipeline *pipeline = user;

    (void)time_ns;
    threads_end(pipeline->threads, tid);
    if (pid == tid)
        processes_drop(pipeline->processes, pid);
}

static void write_waiting(struct pipeline *pipeline)
{
    modules_write(pipeline->modules, pipeline->writer);
    stacks_write(pipeline->stacks, pipeline->writer);
    if (pipeline->sample_count)
        trace_writer_samples(pipeline->writer, pipeline->samples, pipeline->sample_count,
                             pipeline->counts.sampler.lost);
    if (pipeline->switch_count)
        trace_writer_switches(pipeline->writer, pipeline->switches, pipeline->switch_count);
    pipeline->sample_count = 0;
    pipeline->switch_count = 0;
}

static void on_switch(const struct sampler_switch *change, void *user)
{
    struct pipeline *pipeline = user;

    if (!is_wanted(pipeline, change->time_ns))
        return;
    if (pipeline->switch_count == BATCH)
        write_waiting(pipeline);
    pipeline->switches[pipeline->switch_count++] = (struct trace_switch){
        .time_ns = change->time_ns,
        .pid = change->pid,
        .tid = change->tid,
        .cpu = change->cpu,
        .kind = !change->out        ? TRACE_SWITCH_IN
                : change->preempted ? TRACE_SWITCH_PREEMPTED
                                    : TRACE_SWITCH_BLOCKED,
    };
}

/* With capabilities, processes of other users are shown as one, which has no name but this. */
static void hide_others(struct pipeline *pipeline, struct sched_change *change)
{
    if (!change->waker_tid || !pipeline->hides_others ||
        threads_process(pipeline->threads, change->waker_tid) ||
        trace_rule_is_own((pid_t)change->waker_pid))
        return;
    change->waker_pid = change->waker_tid = OTHERS_TID;
    threads_name(pipeline->threads, OTHERS_TID, OTHERS_TID, "other users");
}

/* Of all wakeups of the machine, those of threads that are recorded. */
static void on_change(const struct sched_change *told, void *user)
{
    struct pipeline *pipeline = user;
    struct sched_change shown = *told;
    const struct sched_change *change = &shown;
    uint32_t pid = threads_process(pipeline->threads, change->tid);

    if (!pid || !is_wanted(pipeline, change->time_ns))
        return;
    hide_others(pipeline, &shown);
    if (pipeline->switch_count == BATCH)
        write_waiting(pipeline);
    pipeline->switches[pipeline->switch_count++] = (struct trace_switch){
        .time_ns = change->time_ns,
        .pid = pid,
        .tid = change->tid,
        .cpu = change->cpu,
        .kind = change->disk ? TRACE_SWITCH_DISK : TRACE_SWITCH_WOKEN,
        .other_pid = change->waker_pid,
        .other_tid = change->waker_tid,
    };
    pipeline->counts.wakes += !change->disk;
    if (change->waker_tid)
        threads_meet(pipeline->threads, change->waker_pid, change->waker_tid);
}

static uint8_t end_of(const struct unwind_frames *frames)
{
    if (frames && frames->stop == UNWIND_AT_ROOT)
        return TRACE_STACK_ROOT;
    return frames && frames->stop == UNWIND_CUT ? TRACE_STACK_CUT : TRACE_STACK_LOST;
}

static void on_sample(const struct sampler_sample *sample, void *user)
{
    struct pipeline *pipeline = user;
    const struct unwind_frames *frames;
    struct trace_sample *out;
    uint64_t begin = ifg_monotonic_ns();

    if (pipeline->python && !pipeline->took_chains) {
        python_take(pipeline->python); /* the kernel had them before the samples */
        pipeline->took_chains = true;
    }

    if (!is_wanted(pipeline, sample->time_ns)) {
        pipeline->unwanted++;
        return;
    }
    if (pipeline->sample_count == BATCH)
        write_waiting(pipeline);
    out = &pipeline->samples[pipeline->sample_count++];
    *out = (struct trace_sample){ .time_ns = sample->time_ns,
                                  .pid = sample->pid,
                                  .tid = sample->tid,
                                  .cpu = sample->cpu,
                                  .in_kernel = sample->in_kernel };
    out->stack = processes_stack(pipeline->processes, sample, &frames);
    out->end = end_of(frames);
    pipeline->counts.rooted += out->end == TRACE_STACK_ROOT;
    pipeline->counts.cut += out->end == TRACE_STACK_CUT;
    pipeline->counts.continued += frames && frames->continued;
    pipeline->counts.inferred += frames && frames->exact < frames->count;
    pipeline->walking_ns += ifg_monotonic_ns() - begin;
    /* Where new code runs, more of it is to come, and it can be read only as long as it lives. */
    if (processes_keep_jit_code(pipeline->processes, sample->time_ns))
        sampler_hurry(pipeline->sampler);
}

static bool on_coming_sample(uint32_t pid, uint64_t ip, void *user)
{
    return processes_await(((struct pipeline *)user)->processes, pid, ip);
}

/* ---- together ---- */

static void open_wakers(struct pipeline *pipeline)
{
    struct ifg_error err = { .message = "" };

    if (sched_open(&pipeline->sched, &err) != IFG_OK)
        snprintf(pipeline->wakers, sizeof pipeline->wakers, "%s", err.message);
    else
        snprintf(pipeline->wakers, sizeof pipeline->wakers, "by tracepoints of the scheduler%s",
                 sched_has_disk(pipeline->sched) ? ", disk waits told apart" : "");
}

static void open_python(struct pipeline *pipeline, const struct pipeline_options *options)
{
    struct ifg_error err = { .message = "" };

    if (!options->no_sampler && options->sampler.hz && python_open(&pipeline->python, &err))
        snprintf(pipeline->no_python, sizeof pipeline->no_python, "%s", err.message);
}

static enum ifg_status open_sampler(struct pipeline *pipeline,
                                    const struct pipeline_options *options,
                                    struct sampler_facts *out_facts, struct ifg_error *err)
{
    struct sampler_options sampler = options->sampler;

    if (pipeline->python)
        sampler.program = python_program(pipeline->python);
    return sampler_open(&sampler, &pipeline->sampler, out_facts, err);
}

/* One that is there before the first sample. */
static void meet(struct pipeline *pipeline, pid_t pid, bool has_maps)
{
    modules_meet(pipeline->modules, (uint32_t)pid);
    if (has_maps)
        processes_read_maps(pipeline->processes, (uint32_t)pid);
    threads_add_all(pipeline->threads, (uint32_t)pid);
}

enum ifg_status pipeline_open(const struct pipeline_options *options,
                              struct pipeline **out_pipeline, struct sampler_facts *out_facts,
                              struct ifg_error *err)
{
    struct pipeline *pipeline = ifg_alloc(1, sizeof *pipeline);
    enum ifg_status status;

    *out_pipeline = NULL;
    if (pipeline) {
        pipeline->writer = options->writer;
        pipeline->hides_others = trace_rule_applies();
        pipeline->modules = modules_create();
        pipeline->stacks = stacks_create();
        open_python(pipeline, options);
        pipeline->processes =
            processes_create(pipeline->modules, pipeline->stacks, pipeline->python);
        pipeline->threads = threads_create();
    }
    if (!pipeline || !pipeline->modules || !pipeline->stacks || !pipeline->processes ||
        !pipeline->threads)
        status = ifg_fail_no_memory(err, "for a profile");
    else
        status = options->no_sampler ? IFG_OK : open_sampler(pipeline, options, out_facts, err);
    if (status) {
        pipeline_close(pipeline);
        return status;
    }
    *out_pipeline = pipeline;
    if (options->no_sampler)
        return IFG_OK;
    pipeline->counts.stack_bytes = out_facts->stack_bytes;
    meet(pipeline, options->sampler.pid, !options->sampler.launched);
    for (size_t i = 0; i < options->sampler.also_count; i++)
        if (trace_rule_check(options->sampler.also[i], NULL) == IFG_OK)
            meet(pipeline, options->sampler.also[i], true);
    if (options->want_wakers)
        open_wakers(pipeline);
    if (!options->sampler.launched)
        sampler_pause(pipeline->sampler, false);
    return IFG_OK;
}

/* Larger copies of stacks, if too many are cut. If that does not work out, all stays as it is. */
static void raise_stack(struct pipeline *pipeline)
{
    struct pipeline_counts *counts = &pipeline->counts;
    uint64_t samples = counts->sampler.samples - pipeline->raise.samples;
    uint64_t cut = counts->cut - pipeline->raise.cut;
    uint32_t bytes =
        counts->stack_bytes * 2 < SAMPLER_STACK_MAX ? counts->stack_bytes * 2 : SAMPLER_STACK_MAX;
    uint32_t pids[PROCESSES_MAX];
    size_t count;

    if (pipeline->raise.begun_ns) {
        if (pipeline->drained_ns < pipeline->raise.begun_ns + RAISE_WAIT_NS)
            return;
        count = processes_list(pipeline->processes, pids, PROCESSES_MAX);
        if (sampler_raise_end(pipeline->sampler, pids, count, NULL) == IFG_OK) {
            counts->stack_bytes = bytes;
            pipeline->raise.tries = 0;
        }
        pipeline->raise.begun_ns = 0;
        pipeline->raise.ended_ns = ifg_monotonic_ns();
    } else if (sampler_told_ns(pipeline->sampler) <= pipeline->raise.ended_ns) {
        /* samples of before are still to come */
        pipeline->raise.samples = counts->sampler.samples;
        pipeline->raise.cut = counts->cut;
    } else if (samples >= RAISE_SAMPLES && cut * 100 > samples * RAISE_PERCENT &&
               bytes > counts->stack_bytes && pipeline->raise.tries < RAISE_TRIES) {
        pipeline->raise.tries++;
        count = processes_list(pipeline->processes, pids, PROCESSES_MAX);
        if (sampler_raise_begin(pipeline->sampler, pids, count, bytes, NULL) == IFG_OK)
            pipeline->raise.begun_ns = ifg_monotonic_ns();
    }
}

void pipeline_drain(struct pipeline *pipeline, bool all)
{
    const struct sampler_events events = {
        .sample = on_sample,
        .mapped = on_mapping,
        .switched = on_switch,
        .named = on_name,
        .forked = on_fork,
        .ended = on_end,
        .hurries = on_coming_sample,
        .user = pipeline,
    };

    const struct sched_events changes = { on_change, pipeline };
    uint64_t now = ifg_monotonic_ns();
    uint64_t used_ns = ifg_thread_cpu_ns();

    pipeline->took_chains = false;
    if (pipeline->sampler) {
        sampler_read(pipeline->sampler, all, &events);
        sampler_count(pipeline->sampler, &pipeline->counts.sampler);
        pipeline->counts.sampler.samples -= pipeline->unwanted;
        pipeline->counts.sampler.lost += pipeline->unmapped;
        if (pipeline->python && !pipeline->took_chains)
            python_take(pipeline->python);
        if (!all)
            raise_stack(pipeline);
    }
    /* Somebody else may have had the CPU meanwhile, and that is no cost of ours. */
    used_ns = ifg_thread_cpu_ns() - used_ns;
    pipeline->counts.unwind_ns += pipeline->walking_ns < used_ns ? pipeline->walking_ns : used_ns;
    pipeline->walking_ns = 0;
    if (pipeline->sched) {
        sched_read(pipeline->sched, all ? UINT64_MAX : pipeline->drained_ns, &changes);
        pipeline->counts.wakes_lost = sched_lost(pipeline->sched);
    }
    pipeline->drained_ns = now;
    write_waiting(pipeline);
    threads_write(pipeline->threads, pipeline->writer);
}

bool pipeline_wakers(const struct pipeline *pipeline, const char **out_words)
{
    *out_words = pipeline->wakers;
    return pipeline->sched != NULL;
}

bool pipeline_saw_python(const struct pipeline *pipeline)
{
    for (size_t i = 0; i < modules_count(pipeline->modules); i++)
        if (python_is_named(modules_at(pipeline->modules, i)->path))
            return true;
    return false;
}

bool pipeline_python(const struct pipeline *pipeline, const char **out_words)
{
    *out_words = pipeline->no_python;
    return pipeline->python != NULL;
}

struct sampler *pipeline_sampler(struct pipeline *pipeline)
{
    return pipeline->sampler;
}

void pipeline_count(const struct pipeline *pipeline, struct pipeline_counts *out_counts)
{
    size_t frames;

    *out_counts = pipeline->counts;
    stacks_frames(pipeline->stacks, &frames);
    out_counts->frames = frames;
    if (pipeline->python)
        python_count(pipeline->python, &out_counts->python);
    out_counts->modules = modules_count(pipeline->modules);
}

void pipeline_limit(struct pipeline *pipeline, uint64_t since_ns, uint64_t until_ns)
{
    pipeline->since_ns = since_ns;
    pipeline->until_ns = until_ns;
}

void pipeline_finish(struct pipeline *pipeline, const struct symbolize_options *options,
                     struct symbolize_counts *out_counts)
{
    if (pipeline->sampler)
        sampler_pause(pipeline->sampler, true);
    pipeline_drain(pipeline, true);
    sched_close(pipeline->sched); /* names may take a while, and it costs the whole machine */
    pipeline->sched = NULL;
    symbolize_frames(pipeline->modules, pipeline->stacks, pipeline->python, options,
                     pipeline->writer, out_counts);
}

void pipeline_explain(struct pipeline *pipeline, const struct symbolize_options *options,
                      struct symbolize_counts *out_counts)
{
    write_waiting(pipeline);
    symbolize_frames(pipeline->modules, pipeline->stacks, pipeline->python, options,
                     pipeline->writer, out_counts);
}

void pipeline_close(struct pipeline *pipeline)
{
    if (!pipeline)
        return;
    sampler_close(pipeline->sampler);
    processes_destroy(pipeline->processes);
    sched_close(pipeline->sched);
    threads_destroy(pipeline->threads);
    stacks_destroy(pipeline->stacks);
    python_close(pipeline->python);
    modules_destroy(pipeline->modules);
    ifg_free(pipeline);
}

/* ---- stacks that others have copied ---- */

/* Reads what is mapped if that may be news: a program of which nothing is known, an address that
 * leads nowhere, or a while without records of the kernel. */
static bool look_again(struct pipeline *pipeline, const struct pipeline_stack *stack, bool known,
                       bool miss)
{
    struct look *look = &pipeline->looks[stack->pid % LOOKS];
    uint64_t now = ifg_monotonic_ns();
    bool other = look->pid != stack->pid;
    bool exec = !other && look->program != stack->program;
    uint64_t age = now - look->read_ns;

    if (exec)
        processes_drop(pipeline->processes, stack->pid);
    if (known && !exec && !(other && !pipeline->sampler) && !(miss && age > LOOK_MISS_NS) &&
        !(!pipeline->sampler && age > LOOK_AGAIN_NS))
        return false;
    *look = (struct look){ stack->pid, stack->program, now };
    processes_read_maps(pipeline->processes, stack->pid);
    return true;
}

uint32_t pipeline_put_stack(struct pipeline *pipeline, const struct pipeline_stack *stack,
                            uint8_t *out_end)
{
    const struct sampler_sample sample = { .time_ns = stack->time_ns,
                                           .pid = stack->pid,
                                           .tid = stack->tid,
                                           .has_user = true,
                                           .ip = stack->ip,
                                           .sp = stack->sp,
                                           .fp = stack->fp,
                                           .stack = stack->bytes,
                                           .stack_size = stack->size };
    const struct unwind_frames *frames;
    uint32_t node;

    look_again(pipeline, stack, true, false);
    node = processes_stack(pipeline->processes, &sample, &frames);
    if ((!frames || frames->stop == UNWIND_NO_MAPPING) &&
        look_again(pipeline, stack, frames != NULL, true))
        node = processes_stack(pipeline->processes, &sample, &frames);
    processes_keep_jit_code(pipeline->processes, stack->time_ns);
    *out_end = (uint8_t)end_of(frames);
    return node;
}

void pipeline_flush(struct pipeline *pipeline)
{
    write_waiting(pipeline);
}
