// SPDX-License-Identifier: Apache-2.0
/*
 * Reading samples and what explains them. Blocks are hostile: a number that leads nowhere becomes 0
 * and is counted, a block that contradicts itself is kept up to there.
 */
#include "trace/samples.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "trace/reader_internal.h"
#include "trace/samples_internal.h"

#define ENTRIES_MAX  ((size_t)64 << 20) /* frames, nodes, samples or switches of a trace */
#define CODE_ALL_MAX ((size_t)1 << 30)

struct arrays {
    size_t modules, frames, nodes, symbols, code, sources, thread_names; /* room */
};

struct memory {
    struct trace_arena arena;
    struct arrays room;
};

struct decoder {
    const struct trace_reader *reader;
    struct trace_unpacker unpacker;
    struct ifg_cursor lane[TRACE_COLUMNS_MAX];
    struct trace_profile *profile;
    struct memory *memory;
    size_t code_bytes;
    bool no_memory;
};

/* Makes room for one more in an array. */
static bool reserve(struct decoder *decoder, void *array, size_t *room, size_t count, size_t size)
{
    if (ifg_array_grow(array, room, size, count + 1, ENTRIES_MAX))
        return true;
    decoder->no_memory = true;
    return false;
}

static bool open_lanes(struct decoder *decoder, size_t block, enum trace_block_type type,
                       struct trace_block_head *out_head)
{
    struct trace_unpacker *unpacker = &decoder->unpacker;
    enum ifg_status status =
        trace_open_block(decoder->reader, block, type, unpacker, out_head, NULL);

    decoder->no_memory = decoder->no_memory || status == IFG_NO_MEMORY;
    if (status || out_head->count > TRACE_COUNT_MAX)
        return false;
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++)
        decoder->lane[i] = i < unpacker->count
                               ? ifg_cursor_over(unpacker->columns[i], unpacker->sizes[i])
                               : ifg_cursor_over("", 0);
    return true;
}

static uint64_t take(struct decoder *decoder, size_t lane)
{
    return ifg_cursor_varint(&decoder->lane[lane]);
}

static uint32_t take_u32(struct decoder *decoder, size_t lane)
{
    uint64_t value = take(decoder, lane);

    if (value > UINT32_MAX)
        decoder->lane[lane].failed = true;
    return (uint32_t)value;
}

static uint64_t take_difference(struct decoder *decoder, size_t lane, uint64_t *last)
{
    *last += (uint64_t)ifg_unzigzag(take(decoder, lane));
    return *last;
}

static const char *take_text(struct decoder *decoder, size_t lane)
{
    return trace_arena_string(&decoder->memory->arena, &decoder->lane[lane], &decoder->no_memory);
}

static bool failed(const struct decoder *decoder)
{
    for (size_t i = 0; i < TRACE_COLUMNS_MAX; i++)
        if (decoder->lane[i].failed)
            return true;
    return decoder->no_memory;
}

/* A number from 1 to count, or 0; anything else is counted and becomes 0. */
static uint32_t checked(struct decoder *decoder, uint64_t number, size_t count)
{
    if (number <= count)
        return (uint32_t)number;
    decoder->profile->damaged++;
    return 0;
}

/* ---- one block of each kind ---- */

static void read_modules(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;

    for (uint32_t i = 0; i < head->count; i++) {
        struct trace_module module = { 0 };
        uint64_t kind = take(decoder, 0);

        module.kind = kind >= TRACE_MODULE_FILE && kind <= TRACE_MODULE_VDSO
                          ? (enum trace_module_kind)kind
                          : TRACE_MODULE_RUNTIME;
        module.pid = take_u32(decoder, 0);
        module.path = take_text(decoder, 0);
        module.build_id = take_text(decoder, 0);
        module.note = take_text(decoder, 0);
        if (failed(decoder) || !reserve(decoder, &profile->modules, &decoder->memory->room.modules,
                                        profile->module_count, sizeof module))
            return;
        profile->modules[profile->module_count++] = module;
    }
}

static void read_frames(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;
    uint64_t address = 0;

    for (uint32_t i = 0; i < head->count; i++) {
        uint64_t module = take(decoder, FRAME_MODULE);
        struct trace_frame frame = { .address = take_difference(decoder, FRAME_ADDRESS, &address) };

        if (failed(decoder) || !reserve(decoder, &profile->frames, &decoder->memory->room.frames,
                                        profile->frame_count, sizeof frame))
            return;
        frame.module = checked(decoder, module, profile->module_count);
        profile->frames[profile->frame_count++] = frame;
    }
}

static void read_stacks(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;
    uint64_t parent = 0, frame = 0;

    for (uint32_t i = 0; i < head->count; i++) {
        struct trace_stack_node node = { 0 };

        take_difference(decoder, STACK_PARENT, &parent);
        take_difference(decoder, STACK_FRAME, &frame);
        node.inferred = take(decoder, STACK_FLAGS) & 1;
        if (failed(decoder) || !reserve(decoder, &profile->nodes, &decoder->memory->room.nodes,
                                        profile->node_count, sizeof node))
            return;
        node.parent = checked(decoder, parent, profile->node_count); /* only those before it */
        node.frame = checked(decoder, frame, profile->frame_count);
        profile->nodes[profile->node_count++] = node;
    }
}

static void read_symbols(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;
    uint64_t frame = 0, start = 0;

    for (uint32_t i = 0; i < head->count; i++) {
        struct trace_symbol symbol = { 0 };
        uint64_t flags;

        take_difference(decoder, SYMBOL_NUMBERS, &frame);
        flags = take(decoder, SYMBOL_NUMBERS);
        symbol.start = take_difference(decoder, SYMBOL_NUMBERS, &start);
        symbol.size = take(decoder, SYMBOL_NUMBERS);
        symbol.line = take_u32(decoder, SYMBOL_NUMBERS);
        symbol.guessed = flags & 1;
        symbol.inlined = flags >> 1 & 1;
        symbol.function = take_text(decoder, SYMBOL_NAMES);
        symbol.file = take_text(decoder, SYMBOL_NAMES);
        if (failed(decoder) || !reserve(decoder, &profile->symbols, &decoder->memory->room.symbols,
                                        profile->symbol_count, sizeof symbol))
            return;
        symbol.frame = checked(decoder, frame, profile->frame_count);
        if (symbol.frame)
            profile->symbols[profile->symbol_count++] = symbol;
    }
}

static void read_code(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;

    for (uint32_t i = 0; i < head->count; i++) {
        struct trace_code code = { 0 };
        uint64_t module = take(decoder, CODE_NUMBERS);
        const uint8_t *bytes;
        char *copy;

        code.address = take(decoder, CODE_NUMBERS);
        code.size = (size_t)take(decoder, CODE_NUMBERS);
        bytes = ifg_cursor_take(&decoder->lane[CODE_BYTES], code.size);
        if (failed(decoder) || decoder->code_bytes + code.size > CODE_ALL_MAX ||
            !reserve(decoder, &profile->code, &decoder->memory->room.code, profile->code_count,
                     sizeof code))
            return;
        copy = trace_arena_alloc(&decoder->memory->arena, code.size + 1);
        if (!copy) {
            decoder->no_memory = true;
            return;
        }
        if (code.size)
            memcpy(copy, bytes, code.size);
        decoder->code_bytes += code.size;
        code.bytes = (const uint8_t *)copy;
        code.module = checked(decoder, module, profile->module_count);
        if (code.module)
            profile->code[profile->code_count++] = code;
    }
}

static void read_source(struct decoder *decoder)
{
    struct trace_profile *profile = decoder->profile;
    struct trace_source source = { 0 };

    source.path = take_text(decoder, SOURCE_NAMES);
    source.sha256 = take_text(decoder, SOURCE_NAMES);
    source.text = take_text(decoder, SOURCE_TEXT);
    source.size = strlen(source.text);
    if (failed(decoder) || !reserve(decoder, &profile->sources, &decoder->memory->room.sources,
                                    profile->source_count, sizeof source))
        return;
    profile->sources[profile->source_count++] = source;
}

/* ---- all of them ---- */

/* By frame; those of one frame stay in the order in which they were written. */
static bool sort_symbols(struct trace_profile *profile)
{
    struct trace_symbol *sorted = ifg_alloc(profile->symbol_count + 1, sizeof *sorted);
    size_t *location = ifg_alloc(profile->frame_count + 2, sizeof *location);

    if (!sorted || !location) {
        ifg_free(sorted);
        ifg_free(location);
        return false;
    }
    for (size_t i = 0; i < profile->symbol_count; i++)
        location[profile->symbols[i].frame + 1]++;
    for (size_t i = 1; i < profile->frame_count + 2; i++)
        location[i] += location[i - 1];
    for (size_t i = 0; i < profile->symbol_count; i++)
        sorted[location[profile->symbols[i].frame]++] = profile->symbols[i];
    ifg_free(profile->symbols);
    ifg_free(location);
    profile->symbols = sorted;
    return true;
}

static int compare_code(const void *left, const void *right)
{
    const struct trace_code *a = left;
    const struct trace_code *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_sources(const void *left, const void *right)
{
    const struct trace_source *a = left;
    const struct trace_source *b = right;

    return strcmp(a->path, b->path);
}

static void read_thread_names(struct decoder *decoder, const struct trace_block_head *head)
{
    struct trace_profile *profile = decoder->profile;

    for (uint32_t i = 0; i < head->count; i++) {
        struct trace_thread_name name = { 0 };

        name.pid = take_u32(decoder, 0);
        name.tid = take_u32(decoder, 0);
        name.name = take_text(decoder, 0);
        if (failed(decoder) ||
            !reserve(decoder, &profile->thread_names, &decoder->memory->room.thread_names,
                     profile->thread_name_count, sizeof name))
            return;
        profile->thread_names[profile->thread_name_count++] = name;
    }
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* By thread, and of each the name that stands last in the file. */
static bool sort_thread_names(struct trace_profile *profile)
{
    size_t count = profile->thread_name_count;
    uint64_t *order = ifg_alloc(count + 1, sizeof *order);
    struct trace_thread_name *sorted = ifg_alloc(count + 1, sizeof *sorted);
    bool good = order && sorted;
    size_t kept = 0;

    for (size_t i = 0; good && i < count; i++)
        order[i] = (uint64_t)profile->thread_names[i].tid << 32 | i;
    if (good)
        qsort(order, count, sizeof *order, compare_numbers);
    for (size_t i = 0; good && i < count; i++)
        if (i + 1 == count || order[i] >> 32 != order[i + 1] >> 32)
            sorted[kept++] = profile->thread_names[(uint32_t)order[i]];
    ifg_free(order);
    if (!good) {
        ifg_free(sorted);
        return false;
    }
    ifg_free(profile->thread_names);
    profile->thread_names = sorted;
    profile->thread_name_count = kept;
    return true;
}

static void read_block(struct decoder *decoder, size_t index)
{
    enum trace_block_type type = trace_reader_block(decoder->reader, index)->type;
    struct trace_block_head head;

    if (type != TRACE_BLOCK_THREAD_NAMES &&
        (type < TRACE_BLOCK_MODULES || type > TRACE_BLOCK_SOURCE || type == TRACE_BLOCK_SAMPLES ||
         type == TRACE_BLOCK_SWITCHES))
        return;
    if (!open_lanes(decoder, index, type, &head)) {
        decoder->profile->damaged++;
        return;
    }
    if (type == TRACE_BLOCK_MODULES)
        read_modules(decoder, &head);
    else if (type == TRACE_BLOCK_FRAMES)
        read_frames(decoder, &head);
    else if (type == TRACE_BLOCK_STACKS)
        read_stacks(decoder, &head);
    else if (type == TRACE_BLOCK_SYMBOLS)
        read_symbols(decoder, &head);
    else if (type == TRACE_BLOCK_CODE)
        read_code(decoder, &head);
    else if (type == TRACE_BLOCK_THREAD_NAMES)
        read_thread_names(decoder, &head);
    else
        read_source(decoder);
    decoder->profile->damaged += failed(decoder) && !decoder->no_memory;
}

enum ifg_status trace_profile_read(const struct trace_reader *reader,
                                   struct trace_profile *out_profile, struct ifg_error *err)
{
    struct decoder decoder = { .reader = reader, .profile = out_profile };

    memset(out_profile, 0, sizeof *out_profile);
    out_profile->memory = decoder.memory = ifg_alloc(1, sizeof *decoder.memory);
    decoder.no_memory = !decoder.memory;
    for (size_t i = 0; i < trace_reader_block_count(reader) && !decoder.no_memory; i++)
        read_block(&decoder, i);
    trace_unpacker_fini(&decoder.unpacker);
    if (!decoder.no_memory && (!sort_symbols(out_profile) || !sort_thread_names(out_profile)))
        decoder.no_memory = true;
    if (decoder.no_memory) {
        trace_profile_fini(out_profile);
        return ifg_fail_no_memory(err, "for the samples of %s", reader->name);
    }
    if (out_profile->code_count)
        qsort(out_profile->code, out_profile->code_count, sizeof *out_profile->code, compare_code);
    if (out_profile->source_count)
        qsort(out_profile->sources, out_profile->source_count, sizeof *out_profile->sources,
              compare_sources);
    return IFG_OK;
}

void trace_profile_fini(struct trace_profile *profile)
{
    struct memory *memory = profile->memory;

    if (memory)
        trace_arena_fini(&memory->arena);
    ifg_free(memory);
    ifg_free(profile->modules);
    ifg_free(profile->frames);
    ifg_free(profile->nodes);
    ifg_free(profile->symbols);
    ifg_free(profile->code);
    ifg_free(profile->sources);
    ifg_free(profile->thread_names);
    memset(profile, 0, sizeof *profile);
}

/* ---- samples and switches ---- */

/* Into the order of time; entries of one time stay in theirs. By numbers, because the library's own
 * way would need as much memory again as the entries take. */
struct sorting {
    const char *items;
    size_t size;
    int (*compare)(const void *left, const void *right);
};

static int compare_by_number(const void *left, const void *right, void *context)
{
    const struct sorting *sorting = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    int order =
        sorting->compare(sorting->items + a * sorting->size, sorting->items + b * sorting->size);

    return order ? order : a < b ? -1 : 1;
}

/* Puts item order[i] at i, along the circles that this makes. `spare` has room for one item. */
static void rearrange(char *items, uint32_t *order, size_t count, size_t size, char *spare)
{
    for (size_t i = 0; i < count; i++) {
        size_t to = i;

        if (order[i] == i)
            continue;
        memcpy(spare, items + i * size, size);
        while (order[to] != i) {
            size_t from = order[to];

            memcpy(items + to * size, items + from * size, size);
            order[to] = (uint32_t)to;
            to = from;
        }
        memcpy(items + to * size, spare, size);
        order[to] = (uint32_t)to;
    }
}

/* False: no memory. */
static bool sort_in_place(void *items, size_t count, size_t size,
                          int (*compare)(const void *left, const void *right))
{
    struct sorting sorting = { items, size, compare };
    char spare[64];
    uint32_t *order;
    size_t sorted = 1;

    while (sorted < count &&
           compare((char *)items + (sorted - 1) * size, (char *)items + sorted * size) <= 0)
        sorted++;
    if (sorted >= count)
        return true;
    order = size <= sizeof spare && count <= UINT32_MAX ? ifg_alloc(count, sizeof *order) : NULL;
    if (!order)
        return false;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, compare_by_number, &sorting);
    rearrange(items, order, count, size, spare);
    ifg_free(order);
    return true;
}

static int compare_sample_times(const void *left, const void *right)
{
    const struct trace_sample *a = left;
    const struct trace_sample *b = right;

    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static int compare_switch_times(const void *left, const void *right)
{
    const struct trace_switch *a = left;
    const struct trace_switch *b = right;

    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Where one block ends and the next begins at the same address, the end comes first. */
static int compare_allocation_times(const void *left, const void *right)
{
    const struct trace_allocation *a = left;
    const struct trace_allocation *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->freed == b->freed ? 0 : a->freed ? -1 : 1;
}

static bool take_sample(struct decoder *decoder, uint64_t last[4], struct trace_sample *out)
{
    uint64_t pid, tid, stack, flags;

    out->time_ns = take_difference(decoder, SAMPLE_TIME, &last[0]);
    pid = take_difference(decoder, SAMPLE_PID, &last[1]);
    tid = take_difference(decoder, SAMPLE_TID, &last[2]);
    out->cpu = take_u32(decoder, SAMPLE_CPU);
    stack = take_difference(decoder, SAMPLE_STACK, &last[3]);
    flags = take(decoder, SAMPLE_FLAGS);
    if (failed(decoder) || pid > UINT32_MAX || tid > UINT32_MAX)
        return false;
    out->pid = (uint32_t)pid;
    out->tid = (uint32_t)tid;
    out->stack = stack <= decoder->profile->node_count ? (uint32_t)stack : 0;
    out->in_kernel = flags & 1;
    out->end = (uint8_t)(flags >> 1 <= TRACE_STACK_LOST ? flags >> 1 : TRACE_STACK_LOST);
    return true;
}

enum ifg_status trace_samples_read(const struct trace_reader *reader,
                                   const struct trace_profile *profile,
                                   struct trace_sample **out_samples, size_t *out_count,
                                   uint64_t *out_lost, struct ifg_error *err)
{
    struct trace_profile view = *profile;
    struct decoder decoder = { .reader = reader, .profile = &view };
    struct trace_sample *samples = NULL;
    size_t count = 0, room = 0;

    *out_samples = NULL;
    *out_count = 0;
    *out_lost = 0;
    for (size_t i = 0; i < trace_reader_block_count(reader) && !decoder.no_memory; i++) {
        struct trace_block_head head;
        uint64_t last[4] = { 0 };

        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_SAMPLES ||
            !open_lanes(&decoder, i, TRACE_BLOCK_SAMPLES, &head))
            continue;
        *out_lost = head.dropped > *out_lost ? head.dropped : *out_lost;
        for (uint32_t entry = 0; entry < head.count; entry++)
            if (!reserve(&decoder, &samples, &room, count, sizeof *samples) ||
                !take_sample(&decoder, last, &samples[count]))
                break;
            else
                count++;
    }
    trace_unpacker_fini(&decoder.unpacker);
    if (decoder.no_memory ||
        !sort_in_place(samples, count, sizeof *samples, compare_sample_times)) {
        ifg_free(samples);
        return ifg_fail_no_memory(err, "for the samples of %s", reader->name);
    }
    *out_samples = samples;
    *out_count = count;
    return IFG_OK;
}

static bool take_switch(struct decoder *decoder, uint64_t last[3], struct trace_switch *out)
{
    uint64_t pid, tid, kind;

    out->time_ns = take_difference(decoder, SWITCH_TIME, &last[0]);
    pid = take_difference(decoder, SWITCH_PID, &last[1]);
    tid = take_difference(decoder, SWITCH_TID, &last[2]);
    out->cpu = take_u32(decoder, SWITCH_CPU);
    kind = take(decoder, SWITCH_KIND);
    out->other_pid = take_u32(decoder, SWITCH_OTHER_PID);
    out->other_tid = take_u32(decoder, SWITCH_OTHER_TID);
    if (failed(decoder) || pid > UINT32_MAX || tid > UINT32_MAX || kind > TRACE_SWITCH_DISK)
        return false;
    out->pid = (uint32_t)pid;
    out->tid = (uint32_t)tid;
    out->kind = (uint8_t)kind;
    return true;
}

enum ifg_status trace_switches_read(const struct trace_reader *reader,
                                    struct trace_switch **out_switches, size_t *out_count,
                                    struct ifg_error *err)
{
    struct trace_profile none = { 0 };
    struct decoder decoder = { .reader = reader, .profile = &none };
    struct trace_switch *switches = NULL;
    size_t count = 0, room = 0;

    *out_switches = NULL;
    *out_count = 0;
    for (size_t i = 0; i < trace_reader_block_count(reader) && !decoder.no_memory; i++) {
        struct trace_block_head head;
        uint64_t last[3] = { 0 };

        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_SWITCHES ||
            !open_lanes(&decoder, i, TRACE_BLOCK_SWITCHES, &head))
            continue;
        for (uint32_t entry = 0; entry < head.count; entry++)
            if (!reserve(&decoder, &switches, &room, count, sizeof *switches) ||
                !take_switch(&decoder, last, &switches[count]))
                break;
            else
                count++;
    }
    trace_unpacker_fini(&decoder.unpacker);
    if (decoder.no_memory ||
        !sort_in_place(switches, count, sizeof *switches, compare_switch_times)) {
        ifg_free(switches);
        return ifg_fail_no_memory(err, "for the switches of %s", reader->name);
    }
    *out_switches = switches;
    *out_count = count;
    return IFG_OK;
}

static bool take_allocation(struct decoder *decoder, uint64_t last[5], struct trace_allocation *out)
{
    uint64_t pid, tid, flags, stack = 0;

    memset(out, 0, sizeof *out);
    out->time_ns = take_difference(decoder, ALLOCATION_TIME, &last[0]);
    pid = take_difference(decoder, ALLOCATION_PID, &last[1]);
    tid = take_difference(decoder, ALLOCATION_TID, &last[2]);
    out->address = take_difference(decoder, ALLOCATION_ADDRESS, &last[3]);
    flags = take(decoder, ALLOCATION_FLAGS);
    out->freed = flags & 1;
    if (!out->freed) {
        out->bytes = take(decoder, ALLOCATION_BYTES);
        out->weight = take(decoder, ALLOCATION_WEIGHT);
        stack = take_difference(decoder, ALLOCATION_STACK, &last[4]);
    }
    if (failed(decoder) || pid > UINT32_MAX || tid > UINT32_MAX)
        return false;
    out->pid = (uint32_t)pid;
    out->tid = (uint32_t)tid;
    out->stack = stack <= decoder->profile->node_count ? (uint32_t)stack : 0;
    return true;
}

enum ifg_status trace_allocations_read(const struct trace_reader *reader,
                                       const struct trace_profile *profile,
                                       struct trace_allocation **out_allocations, size_t *out_count,
                                       uint64_t *out_lost, struct ifg_error *err)
{
    struct trace_profile view = *profile;
    struct decoder decoder = { .reader = reader, .profile = &view };
    struct trace_allocation *all = NULL;
    size_t count = 0, room = 0;

    *out_allocations = NULL;
    *out_count = 0;
    *out_lost = 0;
    for (size_t i = 0; i < trace_reader_block_count(reader) && !decoder.no_memory; i++) {
        struct trace_block_head head;
        uint64_t last[5] = { 0 };

        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_ALLOCATIONS ||
            !open_lanes(&decoder, i, TRACE_BLOCK_ALLOCATIONS, &head))
            continue;
        *out_lost = head.dropped > *out_lost ? head.dropped : *out_lost;
        for (uint32_t entry = 0; entry < head.count; entry++)
            if (!reserve(&decoder, &all, &room, count, sizeof *all) ||
                !take_allocation(&decoder, last, &all[count]))
                break;
            else
                count++;
    }
    trace_unpacker_fini(&decoder.unpacker);
    if (decoder.no_memory || !sort_in_place(all, count, sizeof *all, compare_allocation_times)) {
        ifg_free(all);
        return ifg_fail_no_memory(err, "for the allocations of %s", reader->name);
    }
    *out_allocations = all;
    *out_count = count;
    return IFG_OK;
}
