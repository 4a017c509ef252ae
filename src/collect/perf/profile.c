// SPDX-License-Identifier: Apache-2.0
/* See profile.h. */
#include "collect/perf/profile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/perf/modules.h"
#include "collect/perf/stacks.h"

#define BATCH         4096u /* samples or switches that wait to be written */
#define PROCESSES_MAX 4096u

/* What one process has mapped. */
struct process {
    uint32_t pid;
    struct unwind_space *space;
    struct process *next;
};

struct profile {
    struct sampler *sampler;
    struct trace_writer *writer;
    struct modules *modules;
    struct stacks *stacks;
    struct process *processes;
    size_t process_count;
    struct trace_sample samples[BATCH];
    size_t sample_count;
    struct trace_switch switches[BATCH];
    size_t switch_count;
    struct profile_counts counts;
    struct unwind_frames frames;
};

/* ---- processes ---- */

static struct process *find_process(struct profile *profile, uint32_t pid)
{
    struct process **link = &profile->processes;

    for (struct process *process = *link; process; link = &process->next, process = *link) {
        if (process->pid != pid)
            continue;
        *link = process->next; /* the one that was asked for last is found first */
        process->next = profile->processes;
        profile->processes = process;
        return process;
    }
    return NULL;
}

static struct process *take_process(struct profile *profile, uint32_t pid)
{
    struct process *process = find_process(profile, pid);

    if (process || profile->process_count == PROCESSES_MAX)
        return process;
    process = ifg_alloc(1, sizeof *process);
    if (process)
        process->space = unwind_space_create();
    if (!process || !process->space) {
        ifg_free(process);
        return NULL;
    }
    process->pid = pid;
    process->next = profile->processes;
    profile->processes = process;
    profile->process_count++;
    return process;
}

static void drop_process(struct profile *profile, uint32_t pid)
{
    struct process *process = find_process(profile, pid);

    if (!process)
        return;
    profile->processes = process->next;
    profile->process_count--;
    unwind_space_destroy(process->space);
    ifg_free(process);
}

static void add_mapping(struct profile *profile, const struct sampler_mapping *mapping)
{
    struct process *process = take_process(profile, mapping->pid);
    const struct module *module = process ? modules_take(profile->modules, mapping) : NULL;
    struct unwind_mapping place = { .start = mapping->start,
                                    .end = mapping->start + mapping->size };
    uint64_t address;

    if (!module || place.end < place.start)
        return;
    place.number = module->number;
    if (module->elf && elf_file_address_at(module->elf, mapping->file_offset, &address)) {
        place.elf = module->elf;
        place.table = module->table;
        place.bias = mapping->start - address;
    }
    if (unwind_space_map(process->space, &place, NULL) != IFG_OK)
        profile->counts.sampler.lost++;
}

/* What a process had mapped before we came, or what its parent had. */
static void read_maps(struct profile *profile, uint32_t pid)
{
    char line[PATH_MAX + 256];
    char name[64];
    FILE *maps;

    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    maps = fopen(name, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        struct sampler_mapping mapping = { .pid = pid };
        char *at;

        mapping.start = strtoull(line, &at, 16);
        mapping.size = strtoull(at + (*at == '-'), &at, 16) - mapping.start;
        if (strlen(at) < 6 || at[3] != 'x')
            continue;
        mapping.file_offset = strtoull(at + 6, &at, 16);
        mapping.device_major = (uint32_t)strtoul(at, &at, 16);
        mapping.device_minor = (uint32_t)strtoul(at + (*at == ':'), &at, 16);
        mapping.inode = strtoull(at, &at, 10);
        at += strspn(at, " ");
        at[strcspn(at, "\n")] = '\0';
        mapping.path = at;
        add_mapping(profile, &mapping);
    }
    if (maps)
        fclose(maps);
}

/* ---- what the kernel tells ---- */

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    add_mapping(user, mapping);
}

static void on_fork(uint64_t time_ns, uint32_t parent_pid, uint32_t pid, uint32_t tid, void *user)
{
    (void)time_ns;
    (void)tid;
    if (pid != parent_pid)
        read_maps(user, pid);
}

/* A new program has nothing of the old one's mappings; its own are told after this. */
static void on_name(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                    void *user)
{
    (void)time_ns;
    (void)tid;
    (void)name;
    if (exec)
        drop_process(user, pid);
}

static void on_end(uint64_t time_ns, uint32_t pid, uint32_t tid, void *user)
{
    (void)time_ns;
    if (pid == tid)
        drop_process(user, pid);
}

static void write_waiting(struct profile *profile)
{
    modules_write(profile->modules, profile->writer);
    stacks_write(profile->stacks, profile->writer);
    if (profile->sample_count)
        trace_writer_samples(profile->writer, profile->samples, profile->sample_count,
                             profile->counts.sampler.lost);
    if (profile->switch_count)
        trace_writer_switches(profile->writer, profile->switches, profile->switch_count);
    profile->sample_count = 0;
    profile->switch_count = 0;
}

static void on_switch(const struct sampler_switch *change, void *user)
{
    struct profile *profile = user;

    if (profile->switch_count == BATCH)
        write_waiting(profile);
    profile->switches[profile->switch_count++] = (struct trace_switch){
        .time_ns = change->time_ns,
        .pid = change->pid,
        .tid = change->tid,
        .cpu = change->cpu,
        .kind = !change->out        ? TRACE_SWITCH_IN
                : change->preempted ? TRACE_SWITCH_PREEMPTED
                                    : TRACE_SWITCH_BLOCKED,
    };
}

/* The tree of stacks, from the root inwards: the program's frames, then the kernel's. */
static uint32_t put_stack(struct profile *profile, const struct process *process,
                          const struct sampler_sample *sample)
{
    const struct unwind_frames *frames = &profile->frames;
    uint32_t node = 0;

    for (size_t i = process ? frames->count : 0; i-- > 0;) {
        /* Return addresses may lie behind the call: the byte before is in the calling function. */
        uint64_t address = i ? frames->address[i] - 1 : frames->address[i];
        const struct unwind_mapping *mapping = unwind_space_find(process->space, address);
        uint32_t frame = stacks_frame(profile->stacks, mapping ? mapping->number : 0,
                                      mapping && mapping->elf ? address - mapping->bias : address);

        node = stacks_node(profile->stacks, node, frame, i >= frames->exact);
    }
    for (size_t i = sample->kernel_count; i-- > 0;) {
        const struct module *kernel = modules_kernel(profile->modules);
        uint32_t frame =
            stacks_frame(profile->stacks, kernel ? kernel->number : 0, sample->kernel[i]);

        node = stacks_node(profile->stacks, node, frame, false);
    }
    return node;
}

static void on_sample(const struct sampler_sample *sample, void *user)
{
    struct profile *profile = user;
    struct process *process = sample->has_user ? find_process(profile, sample->pid) : NULL;
    struct trace_sample *out;
    uint64_t begin = ifg_monotonic_ns();

    if (profile->sample_count == BATCH)
        write_waiting(profile);
    out = &profile->samples[profile->sample_count++];
    *out = (struct trace_sample){ .time_ns = sample->time_ns,
                                  .pid = sample->pid,
                                  .tid = sample->tid,
                                  .cpu = sample->cpu,
                                  .in_kernel = sample->in_kernel,
                                  .end = TRACE_STACK_LOST };
    if (process) {
        struct unwind_stack stack = { sample->ip, sample->sp,    sample->fp,
                                      sample->lr, sample->stack, sample->stack_size };

        unwind_walk(process->space, &stack, &profile->frames);
        out->end = profile->frames.stop == UNWIND_AT_ROOT ? TRACE_STACK_ROOT
                   : profile->frames.stop == UNWIND_CUT   ? TRACE_STACK_CUT
                                                          : TRACE_STACK_LOST;
        profile->counts.rooted += out->end == TRACE_STACK_ROOT;
        profile->counts.inferred += profile->frames.exact < profile->frames.count;
    }
    out->stack = put_stack(profile, process, sample);
    profile->counts.unwind_ns += ifg_monotonic_ns() - begin;
}

/* ---- together ---- */

enum ifg_status profile_open(const struct profile_options *options, struct profile **out_profile,
                             struct sampler_facts *out_facts, struct ifg_error *err)
{
    struct profile *profile = ifg_alloc(1, sizeof *profile);
    enum ifg_status status;

    *out_profile = NULL;
    if (profile) {
        profile->writer = options->writer;
        profile->modules = modules_create();
        profile->stacks = stacks_create();
    }
    if (!profile || !profile->modules || !profile->stacks)
        status = ifg_fail(err, IFG_NO_MEMORY, "no memory for a profile");
    else
        status = sampler_open(&options->sampler, &profile->sampler, out_facts, err);
    if (status) {
        profile_close(profile);
        return status;
    }
    if (!options->sampler.launched)
        read_maps(profile, (uint32_t)options->sampler.pid);
    *out_profile = profile;
    return IFG_OK;
}

void profile_drain(struct profile *profile, bool all)
{
    const struct sampler_events events = {
        .sample = on_sample,
        .mapped = on_mapping,
        .switched = on_switch,
        .named = on_name,
        .forked = on_fork,
        .ended = on_end,
        .user = profile,
    };

    sampler_read(profile->sampler, all, &events);
    sampler_count(profile->sampler, &profile->counts.sampler);
    write_waiting(profile);
}

struct sampler *profile_sampler(struct profile *profile)
{
    return profile->sampler;
}

void profile_count(const struct profile *profile, struct profile_counts *out_counts)
{
    size_t frames;

    *out_counts = profile->counts;
    stacks_frames(profile->stacks, &frames);
    out_counts->frames = frames;
    out_counts->modules = modules_count(profile->modules);
}

void profile_finish(struct profile *profile, const struct explain_options *options,
                    struct explain_counts *out_counts)
{
    sampler_pause(profile->sampler, true);
    profile_drain(profile, true);
    explain_frames(profile->modules, profile->stacks, options, profile->writer, out_counts);
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    sampler_close(profile->sampler);
    while (profile->processes)
        drop_process(profile, profile->processes->pid);
    stacks_destroy(profile->stacks);
    modules_destroy(profile->modules);
    ifg_free(profile);
}
