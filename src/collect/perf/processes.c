// SPDX-License-Identifier: Apache-2.0
/* The mappings of the watched processes, and walking the copied stacks of their samples. */
#include "collect/perf/processes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "collect/python/python.h"
#include "system/maps.h"

#define WALKS 256u /* threads whose last walk is remembered, more or less */

struct process {
    uint32_t pid;
    struct unwind_space *space;
    struct process *next;
};

/* The last walk of a thread, and the nodes of its frames by their distance from the root: [0] as
 * certain ones, [1] as inferred ones. Threads may share one: what does not fit is walked. */
struct last_walk {
    struct unwind_trail *trail;
    size_t node_count[2];
    uint32_t nodes[2][UNWIND_FRAMES_MAX];
};

struct processes {
    struct modules *modules;
    struct stacks *stacks;
    struct python *python;
    struct unwind_cache *cache;
    struct process *first; /* the one that was asked for last */
    size_t count;
    struct last_walk *walks[WALKS]; /* by thread */
    struct unwind_frames frames;
    struct trace_frame
        jit_frames[UNWIND_FRAMES_MAX]; /* of the last stack, new on it: made at run time */
    size_t jit_frame_count;
};

struct processes *processes_create(struct modules *modules, struct stacks *stacks,
                                   struct python *python)
{
    struct processes *processes = ifg_alloc(1, sizeof *processes);

    if (!processes)
        return NULL;
    processes->modules = modules;
    processes->stacks = stacks;
    processes->python = python;
    processes->cache = unwind_cache_create();
    if (!processes->cache) {
        ifg_free(processes);
        return NULL;
    }
    return processes;
}

void processes_destroy(struct processes *processes)
{
    if (!processes)
        return;
    while (processes->first)
        processes_drop(processes, processes->first->pid);
    for (size_t i = 0; i < WALKS; i++) {
        if (processes->walks[i])
            unwind_trail_destroy(processes->walks[i]->trail);
        ifg_free(processes->walks[i]);
    }
    unwind_cache_destroy(processes->cache);
    ifg_free(processes);
}

/* ---- what is mapped ---- */

static struct process *find(struct processes *processes, uint32_t pid)
{
    struct process **link = &processes->first;

    for (struct process *process = *link; process; link = &process->next, process = *link) {
        if (process->pid != pid)
            continue;
        *link = process->next; /* the one that was asked for last is found first */
        process->next = processes->first;
        processes->first = process;
        return process;
    }
    return NULL;
}

/* Takes the space, also if there is no memory for the process. */
static struct process *add(struct processes *processes, uint32_t pid, struct unwind_space *space)
{
    struct process *process =
        space && processes->count < PROCESSES_MAX ? ifg_alloc(1, sizeof *process) : NULL;

    if (!process) {
        unwind_space_destroy(space);
        return NULL;
    }
    *process = (struct process){ pid, space, processes->first };
    processes->first = process;
    processes->count++;
    return process;
}

void processes_drop(struct processes *processes, uint32_t pid)
{
    struct process *process = find(processes, pid);

    if (!process)
        return;
    if (processes->python)
        python_dropped(processes->python, pid);
    processes->first = process->next;
    processes->count--;
    unwind_space_destroy(process->space);
    ifg_free(process);
}

size_t processes_list(const struct processes *processes, uint32_t *out_pids, size_t room)
{
    size_t count = 0;

    for (const struct process *process = processes->first; process && count < room;
         process = process->next)
        out_pids[count++] = process->pid;
    return processes->count;
}

void processes_fork(struct processes *processes, uint32_t parent, uint32_t pid)
{
    const struct process *process;

    processes_drop(processes, pid); /* of an earlier process with this number */
    modules_forked(processes->modules, parent, pid);
    process = find(processes, parent);
    if (processes->python)
        python_forked(processes->python, parent, pid);
    if (process)
        add(processes, pid, unwind_space_copy(process->space));
    else
        processes_read_maps(processes, pid);
}

bool processes_map(struct processes *processes, const struct sampler_mapping *mapping)
{
    struct process *process = find(processes, mapping->pid);
    struct unwind_mapping unwound = { .start = mapping->start,
                                      .end = mapping->start + mapping->size };
    const struct module *module;
    uint64_t address;

    if (!process)
        process = add(processes, mapping->pid, unwind_space_create(processes->cache));
    module = process ? modules_take(processes->modules, mapping) : NULL;
    if (!module)
        return false;
    unwound.number = module->number;
    unwound.probes = strcmp(mapping->path, "[uprobes]") == 0;
    if (module->elf && elf_file_address_at(module->elf, mapping->file_offset, &address)) {
        unwound.elf = module->elf;
        unwound.table = module->table;
        unwound.bias = mapping->start - address;
        if (processes->python)
            python_mapped(processes->python, mapping->pid, module->elf, mapping->path, unwound.bias,
                          module->number);
    }
    return unwind_space_map(process->space, &unwound, NULL) == IFG_OK;
}

void processes_read_maps(struct processes *processes, uint32_t pid)
{
    char path[PATH_MAX + 16];
    struct map_line map;
    struct maps maps;

    if (!maps_open((pid_t)pid, &maps))
        return;
    while (maps_next(&maps, &map)) {
        struct sampler_mapping mapping = { .pid = pid,
                                           .start = map.start,
                                           .size = map.end - map.start,
                                           .file_offset = map.offset,
                                           .device_major = (uint32_t)(map.device >> 32),
                                           .device_minor = (uint32_t)map.device,
                                           .inode = map.inode,
                                           .path = path };

        if (!map.executable)
            continue;
        /* As the kernel has it in its events. */
        snprintf(path, sizeof path, "%s%s", map.path, map.deleted ? " (deleted)" : "");
        processes_map(processes, &mapping);
    }
    maps_close(&maps);
}

/* ---- stacks ---- */

/* NULL: no memory; then all is walked. */
static struct last_walk *walk_of(struct processes *processes, uint32_t tid)
{
    struct last_walk **walk = &processes->walks[tid % WALKS];

    if (*walk)
        return *walk;
    *walk = ifg_alloc(1, sizeof **walk);
    if (*walk)
        (*walk)->trail = unwind_trail_create();
    if (*walk && !(*walk)->trail) {
        ifg_free(*walk);
        *walk = NULL;
    }
    return *walk;
}

/* From the root inwards. The frames up to `inferred` are marked so: these nodes, or if there are
 * none all of them, are kept for the next sample of the thread. */
static uint32_t put_frames(struct processes *processes, const struct unwind_space *space,
                           struct last_walk *walk)
{
    const struct unwind_frames *frames = &processes->frames;
    size_t inferred = frames->count - frames->exact;
    size_t same = inferred ? inferred : frames->count;
    size_t depth = 0;
    uint32_t *nodes = NULL;
    uint32_t node = 0;

    if (walk) {
        for (size_t i = 0; i < 2; i++)
            if (walk->node_count[i] > frames->kept)
                walk->node_count[i] = frames->kept;
        nodes = walk->nodes[inferred > 0];
        depth = walk->node_count[inferred > 0] < same ? walk->node_count[inferred > 0] : same;
        node = depth ? nodes[depth - 1] : 0;
        walk->node_count[inferred > 0] = same;
    }
    for (; depth < frames->count; depth++) {
        uint64_t address;
        const struct unwind_mapping *mapping =
            unwind_frame_code(space, frames, frames->count - 1 - depth, &address);

        if (!mapping->elf)
            processes->jit_frames[processes->jit_frame_count++] =
                (struct trace_frame){ mapping->number, address };
        node = stacks_child(processes->stacks, node, mapping->number, address, depth < inferred);
        if (nodes && depth < same)
            nodes[depth] = node;
    }
    return node;
}

/* ---- Python functions ---- */

/* Which C frames run Python code, and which calls each of them runs: calls [first, end) of the
 * chain. Those behind the last one have their C frames behind the end of the copy. */
struct places {
    size_t count;
    size_t frame[UNWIND_FRAMES_MAX];
    size_t first[UNWIND_FRAMES_MAX], end[UNWIND_FRAMES_MAX];
    size_t placed; /* so many calls have a place */
};

static uint32_t frame_module(const struct process *process, const struct unwind_frames *frames,
                             size_t index)
{
    uint64_t address;

    return unwind_frame_code(process->space, frames, index, &address)->number;
}

static bool is_runner(const struct processes *processes, const struct process *process,
                      size_t index)
{
    uint64_t address;
    const struct unwind_mapping *mapping =
        unwind_frame_code(process->space, &processes->frames, index, &address);

    return mapping->elf &&
           python_runs_at(processes->python, process->pid, mapping->number, address);
}

static size_t end_of_run(const struct python_stack *python, size_t from)
{
    while (from < python->count && !python->calls[from].ends)
        from++;
    return from < python->count ? from + 1 : from;
}

/* Each run of calls tells an address in the frame of its C function: that one runs them, whatever
 * the compiler has called it. Runs behind the last frame have theirs where the copy ends. */
static bool place_by_anchor(const struct processes *processes, const struct process *process,
                            const struct python_stack *python, struct places *places)
{
    const struct unwind_frames *frames = &processes->frames;
    size_t frame = 0;

    places->count = 0;
    for (size_t first = 0; first < python->count;) {
        size_t end = end_of_run(python, first);
        uint64_t anchor = python->calls[end - 1].anchor;

        if (!python->calls[end - 1].ends)
            return true; /* a chain that is not whole */
        while (frame + 1 < frames->count && frames->sp[frame + 1] <= anchor)
            frame++;
        if (frame + 1 == frames->count && !is_runner(processes, process, frame))
            return true;
        if (places->count && places->frame[places->count - 1] == frame &&
            frame + 1 == frames->count)
            return true;
        if (anchor < frames->sp[frame] ||
            !python_is_module(processes->python, process->pid,
                              frame_module(process, frames, frame)) ||
            (places->count && places->frame[places->count - 1] == frame))
            return false;
        places->frame[places->count] = frame;
        places->first[places->count] = first;
        places->end[places->count++] = end;
        places->placed = first = end;
    }
    return true;
}

/* By their order: as many runs as C functions, but for an innermost one that is about to begin or
 * to end; of a stack that is cut, those that are on it. */
static bool place_by_order(const struct processes *processes, const struct process *process,
                           const struct python_stack *python, struct places *places)
{
    const struct unwind_frames *frames = &processes->frames;
    size_t runs = 0, skipped = 0, first = 0;

    places->count = 0;
    for (size_t i = 0; i < frames->count; i++)
        if (is_runner(processes, process, i))
            places->frame[places->count++] = i;

    for (size_t at = 0; at < python->count; at = end_of_run(python, at))
        runs++;
    if (frames->stop == UNWIND_AT_ROOT) {
        if (places->count == runs + 1 && places->frame[0] == 0)
            skipped = 1;
        else if (places->count != runs)
            return false;
    } else if (frames->exact < frames->count || runs < places->count) {
        return false;
    }
    for (size_t i = 0; i < places->count; i++) {
        places->first[i] = first;
        places->end[i] = first = i < skipped ? first : end_of_run(python, first);
    }
    places->placed = first;
    return true;
}

static bool find_places(const struct processes *processes, const struct process *process,
                        const struct python_stack *python, struct places *places)
{
    const struct unwind_frames *frames = &processes->frames;
    bool rooted = frames->stop == UNWIND_AT_ROOT;

    if (!rooted && frames->stop != UNWIND_CUT && frames->stop != UNWIND_TOO_DEEP)
        return false;
    places->placed = 0;
    if (!(python->anchored ? place_by_anchor(processes, process, python, places)
                           : place_by_order(processes, process, python, places)))
        return false;
    return !rooted || places->placed == python->count;
}

static uint32_t put_calls(struct processes *processes, const struct module *module,
                          const struct python_stack *python, size_t first, size_t end,
                          uint32_t node, bool inferred)
{
    for (size_t i = end; i-- > first;)
        if (python->calls[i].code)
            node = stacks_child(
                processes->stacks, node, module->number,
                processes_python_address(python->calls[i].code, python->calls[i].line), inferred);
    return node;
}

/* From the root inwards: calls whose C frames were not copied, then C frames, and behind each one
 * that runs Python code the calls that it runs. */
static uint32_t put_merged(struct processes *processes, const struct unwind_space *space,
                           const struct module *module, const struct python_stack *python,
                           const struct places *places)
{
    struct unwind_frames *frames = &processes->frames;
    bool goes_on = python->whole && places->placed < python->count;
    uint32_t node =
        !goes_on ? 0
                 : put_calls(processes, module, python, places->placed, python->count, 0, false);
    size_t runner = places->count;

    for (size_t i = frames->count; i-- > 0;) {
        bool inferred = i >= frames->exact;
        uint64_t address;
        const struct unwind_mapping *mapping = unwind_frame_code(space, frames, i, &address);

        if (!mapping->elf)
            processes->jit_frames[processes->jit_frame_count++] =
                (struct trace_frame){ mapping->number, address };
        node = stacks_child(processes->stacks, node, mapping->number, address, inferred);
        if (runner && places->frame[runner - 1] == i) {
            runner--;
            node = put_calls(processes, module, python, places->first[runner], places->end[runner],
                             node, inferred);
        }
    }
    if (goes_on) {
        frames->stop = UNWIND_AT_ROOT;
        frames->continued = true;
    }
    return node;
}

/* Whether the sample has Python functions, which are then on its stack. */
static bool merge(struct processes *processes, const struct process *process,
                  const struct sampler_sample *sample, uint32_t *out_node)
{
    uint64_t ip = !sample->in_kernel ? sample->ip : sample->kernel_count ? sample->kernel[0] : 0;
    const struct python_stack *python;
    const struct module *module = NULL;
    struct places places; /* large, and written before it is read */
    char name[32];
    bool good;

    if (!processes->python)
        return false;
    python = python_find(processes->python, sample->pid, sample->tid, sample->time_ns, ip);
    if (!python)
        return false;
    good = find_places(processes, process, python, &places);
    if (good) {
        snprintf(name, sizeof name, "Python 3.%u", python_version(processes->python, sample->pid));
        module = modules_interpreted(processes->modules, sample->pid, name);
    }
    python_merged(processes->python, good && module);
    if (good && module)
        *out_node = put_merged(processes, process->space, module, python, &places);
    return good && module;
}

/* What is kept for the next sample is only good as far as this one walked the same way. */
static void shorten(struct last_walk *walk, const struct unwind_frames *frames)
{
    for (size_t i = 0; walk && i < 2; i++)
        if (walk->node_count[i] > frames->kept)
            walk->node_count[i] = frames->kept;
}

uint32_t processes_stack(struct processes *processes, const struct sampler_sample *sample,
                         const struct unwind_frames **out_frames)
{
    struct process *process = sample->has_user ? find(processes, sample->pid) : NULL;
    uint32_t node = 0;

    *out_frames = NULL;
    processes->jit_frame_count = 0;
    if (process) {
        struct unwind_stack stack = { sample->ip, sample->sp,    sample->fp,
                                      sample->lr, sample->stack, sample->stack_size };
        struct last_walk *walk = walk_of(processes, sample->tid);

        unwind_walk(process->space, &stack, walk ? walk->trail : NULL, &processes->frames);
        if (merge(processes, process, sample, &node))
            shorten(walk, &processes->frames);
        else
            node = put_frames(processes, process->space, walk);
        *out_frames = &processes->frames;
    }
    if (sample->kernel_count) {
        const struct module *kernel = modules_kernel(processes->modules);

        for (size_t i = sample->kernel_count; i-- > 0;)
            node = stacks_child(processes->stacks, node, kernel ? kernel->number : 0,
                                sample->kernel[i], false);
    }
    return node;
}

bool processes_keep_jit_code(struct processes *processes, uint64_t time_ns)
{
    bool news = false;

    for (size_t i = 0; i < processes->jit_frame_count; i++)
        news |= modules_saw(processes->modules, processes->jit_frames[i].module,
                            processes->jit_frames[i].address, time_ns);
    processes->jit_frame_count = 0;
    return news;
}

bool processes_await(struct processes *processes, uint32_t pid, uint64_t address)
{
    const struct process *process = find(processes, pid);
    const struct unwind_mapping *mapping =
        process ? unwind_space_find(process->space, address) : NULL;

    return mapping && !mapping->elf && modules_awaits(processes->modules, mapping->number, address);
}
