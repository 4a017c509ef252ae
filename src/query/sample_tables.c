// SPDX-License-Identifier: Apache-2.0
/* Samples, the frames of their stacks, and what threads were doing: from the timeline's profile. */
#include "query/query_internal.h"

#include "base/alloc.h"
#include "timeline/allocations.h"

/* Of one stack; what lies further out is not shown. */
#define DEPTH_MAX 1024u

/* A stack that samples have, and where its rows begin. */
struct sampled_stack {
    uint32_t node;
    size_t first_row;
};

struct query_samples {
    const struct timeline_profile *profile;  /* NULL: the trace has none */
    const struct timeline_allocations *heap; /* the same */
    struct sampled_stack *stacks;            /* by node */
    size_t stack_count;
    size_t frame_rows;
    size_t last_row; /* whose node is last_node */
    uint32_t last_node;
    uint32_t last_stack;
    uint32_t last_depth;
};

static bool list_stacks(struct query_samples *samples)
{
    const struct timeline_profile *profile = samples->profile;
    size_t nodes = profile->trace->node_count + 1;
    bool *used = ifg_alloc(nodes, sizeof *used);
    uint32_t *depth = ifg_alloc(nodes, sizeof *depth);
    size_t count = 0;

    for (size_t i = 0; used && i < profile->sample_count; i++) {
        count += profile->samples[i].stack && !used[profile->samples[i].stack];
        used[profile->samples[i].stack] = true;
    }
    for (size_t i = 0; used && samples->heap && i < samples->heap->count; i++) {
        count += samples->heap->items[i].stack && !used[samples->heap->items[i].stack];
        used[samples->heap->items[i].stack] = true;
    }
    samples->stacks = used && depth ? ifg_alloc(count, sizeof *samples->stacks) : NULL;
    for (size_t i = 1; samples->stacks && i < nodes; i++) {
        uint32_t outer = depth[profile->trace->nodes[i - 1].parent];

        depth[i] = outer < DEPTH_MAX ? outer + 1 : DEPTH_MAX;
        if (!used[i])
            continue;
        samples->stacks[samples->stack_count++] =
            (struct sampled_stack){ (uint32_t)i, samples->frame_rows };
        samples->frame_rows += depth[i];
    }
    ifg_free(used);
    ifg_free(depth);
    return samples->stacks != NULL;
}

/* NULL: memory is short. */
static struct query_samples *need_samples(struct query *query)
{
    struct query_samples *samples = query->samples;

    if (samples)
        return samples;
    samples = ifg_alloc(1, sizeof *samples);
    if (!samples)
        return NULL;
    samples->last_row = SIZE_MAX;
    if (timeline_profile_get(query->timeline, &samples->profile, NULL) ||
        timeline_allocations_get(query->timeline, &samples->heap, NULL) ||
        (samples->profile && !list_stacks(samples))) {
        ifg_free(samples);
        return NULL;
    }
    query->samples = samples;
    return samples;
}

void query_samples_fini(struct query *query)
{
    if (query->samples)
        ifg_free(query->samples->stacks);
    ifg_free(query->samples);
}

/* Function and module of a frame. */
static void result_routine(sqlite3_context *out, const struct timeline_profile *profile,
                           uint32_t frame)
{
    char text[256];
    const char *name =
        timeline_routine_name(profile, profile->routine_of[frame], text, sizeof text);

    sqlite3_result_text(out, name, -1, name == text ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void result_module(sqlite3_context *out, const struct timeline_profile *profile,
                          uint32_t frame)
{
    result_text(
        out, timeline_module_name(profile, frame ? profile->trace->frames[frame - 1].module : 0));
}

/* ---- sample ------------------------------------------------------------------------------ */

static size_t sample_count(struct query *query)
{
    const struct query_samples *samples = need_samples(query);

    if (!samples)
        return SIZE_MAX;
    return samples->profile ? samples->profile->sample_count : 0;
}

static int64_t sample_key(struct query *query, size_t row, int column)
{
    return column ? query_time(query, query->samples->profile->samples[row].ns) : (int64_t)row;
}

static bool is_exact(const struct timeline_profile *profile, uint32_t node)
{
    for (uint32_t i = 0; node && i < DEPTH_MAX; i++) {
        if (profile->trace->nodes[node - 1].inferred)
            return false;
        node = profile->trace->nodes[node - 1].parent;
    }
    return true;
}

static const char *join_name(enum timeline_join join)
{
    static const char *const names[] = { NULL, "own", "lent", "several" };

    return (unsigned)join < 4 ? names[join] : NULL;
}

static void sample_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_profile *profile = query->samples->profile;
    const struct timeline_sample *sample = &profile->samples[row];
    uint32_t frame = sample->stack ? profile->trace->nodes[sample->stack - 1].frame : 0;
    const char *net;

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_time(out, query, sample->ns);
        break;
    case 2:
        result_uint(out, profile->threads[sample->thread].pid);
        break;
    case 3:
        result_uint(out, profile->threads[sample->thread].tid);
        break;
    case 4:
        result_uint(out, sample->cpu);
        break;
    case 5:
        if (sample->stack)
            result_uint(out, sample->stack);
        break;
    case 6:
        result_routine(out, profile, frame);
        break;
    case 7:
        result_module(out, profile, frame);
        break;
    case 8:
        if (sample->slice != SIZE_MAX)
            result_uint(out, sample->slice);
        break;
    case 9:
        net = timeline_sample_net(query->timeline, sample);
        result_text(out, net);
        break;
    case 10:
        if (sample->op != TIMELINE_NONE)
            result_text(out, query_place_name(query, sample->op));
        break;
    case 11:
        result_text(out, join_name((enum timeline_join)sample->join));
        break;
    case 12:
        result_uint(out, sample->in_kernel);
        break;
    case 13:
        result_uint(out, is_exact(profile, sample->stack));
        break;
    default:
        result_uint(out, sample->stack && sample->end == TRACE_STACK_ROOT);
        break;
    }
}

static const struct query_column sample_columns[] = {
    { "id", "INTEGER", "row number" },
    { "time_ns", "INTEGER", "when it was taken" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number; it may have no row in thread" },
    { "cpu", "INTEGER", "where it ran" },
    { "stack", "INTEGER", "stack of stack_frame; NULL if nothing is known" },
    { "function", "TEXT", "innermost function" },
    { "module", "TEXT", "program or library it is in" },
    { "slice", "INTEGER", "id of the innermost slice at that time, or NULL" },
    { "model", "TEXT", "model whose work it is, or NULL" },
    { "operator", "TEXT", "operator around, or NULL" },
    { "attribution", "TEXT",
      "own: the slice ran on this thread; lent: on another, this one has none; "
      "several: the same, but more than one model ran; NULL: nothing ran" },
    { "in_kernel", "INTEGER", "1: the kernel ran" },
    { "exact", "INTEGER", "0: some frames of the stack are not certain" },
    { "rooted", "INTEGER", "1: the stack is known to the root of the thread" },
};

const struct row_table sample_table = {
    .table = { "sample", "where threads were, many times a second", COLUMNS(sample_columns) },
    .count = sample_count,
    .column = sample_column,
    .key = sample_key,
    .sorted = 3,
    .unique = 1,
};

/* ---- stack_frame ------------------------------------------------------------------------- */

static size_t frame_count(struct query *query)
{
    const struct query_samples *samples = need_samples(query);

    return samples ? samples->frame_rows : SIZE_MAX;
}

/* Finds the node of a row; columns of one row are asked one after the other. */
static void find_row(struct query_samples *samples, size_t row)
{
    size_t low = 0;
    size_t high = samples->stack_count;
    uint32_t node;

    if (samples->last_row == row)
        return;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (samples->stacks[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    node = samples->stacks[low].node;
    samples->last_stack = node;
    samples->last_depth = (uint32_t)(row - samples->stacks[low].first_row);
    for (uint32_t i = 0; i < samples->last_depth; i++)
        node = samples->profile->trace->nodes[node - 1].parent;
    samples->last_node = node;
    samples->last_row = row;
}

static int64_t frame_key(struct query *query, size_t row, int column)
{
    (void)column;
    find_row(query->samples, row);
    return query->samples->last_stack;
}

/* The names in a frame: what is inlined there, and its line. */
static void frame_symbol(struct query *query, uint32_t frame, int column, sqlite3_context *out)
{
    const struct trace_symbol *first;
    size_t count = timeline_frame_symbols(query->samples->profile, frame, &first);

    if (!count)
        return;
    if (column == 5 && first->line)
        result_text(out, first->file);
    else if (column == 6 && first->line)
        result_uint(out, first->line);
    else if (column == 7 && first->inlined)
        result_text(out, first->function);
}

static void frame_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    struct query_samples *samples = query->samples;
    const struct timeline_profile *profile = samples->profile;
    uint32_t frame;

    find_row(samples, row);
    frame = samples->last_node ? profile->trace->nodes[samples->last_node - 1].frame : 0;
    switch (column) {
    case 0:
        result_uint(out, samples->last_stack);
        break;
    case 1:
        result_uint(out, samples->last_depth);
        break;
    case 2:
        result_routine(out, profile, frame);
        break;
    case 3:
        result_module(out, profile, frame);
        break;
    case 4:
        if (frame)
            result_uint(out, profile->trace->frames[frame - 1].address);
        break;
    case 5:
    case 6:
    case 7:
        frame_symbol(query, frame, column, out);
        break;
    case 8:
        result_uint(out, profile->routines[profile->routine_of[frame]].guessed);
        break;
    default:
        result_uint(out,
                    samples->last_node && profile->trace->nodes[samples->last_node - 1].inferred);
        break;
    }
}

static const struct query_column frame_columns[] = {
    { "stack", "INTEGER", "number of the stack, as in sample" },
    { "depth", "INTEGER", "0 is the innermost frame" },
    { "function", "TEXT", "function that has the code" },
    { "module", "TEXT", "program or library it is in" },
    { "address", "INTEGER", "in the module; of callers, inside the call" },
    { "file", "TEXT", "source file, or NULL" },
    { "line", "INTEGER", "line in it, or NULL" },
    { "inlined", "TEXT", "innermost function that was inlined there, or NULL" },
    { "guessed", "INTEGER", "1: the name was recovered, it is not in the file" },
    { "inferred", "INTEGER", "1: the way from here to the caller is not certain" },
};

const struct row_table stack_frame_table = {
    .table = { "stack_frame", "the frames of each stack that samples and allocations have",
               COLUMNS(frame_columns) },
    .count = frame_count,
    .column = frame_column,
    .key = frame_key,
    .sorted = 1,
};

/* ---- thread_state ------------------------------------------------------------------------ */

static size_t state_count(struct query *query)
{
    const struct query_samples *samples = need_samples(query);

    if (!samples)
        return SIZE_MAX;
    return samples->profile ? samples->profile->state_count : 0;
}

/* Why it is in that state; NULL: nothing more is known. */
static const char *state_detail(const struct timeline_profile *profile,
                                const struct timeline_thread_state *state)
{
    if (state->state == TIMELINE_RUNNABLE)
        return !state->woken ? "preempted" : state->waker ? "woken" : "woken by an interrupt";
    if (state->disk)
        return "uninterruptible";
    return state->untold && profile->has_wakers ? "wake-up not told" : NULL;
}

static void state_column(struct query *query, size_t row, int column, sqlite3_context *out)
{
    const struct timeline_profile *profile = query->samples->profile;
    const struct timeline_thread_state *state = &profile->states[row];

    switch (column) {
    case 0:
        result_uint(out, row);
        break;
    case 1:
        result_uint(out, profile->threads[state->thread].pid);
        break;
    case 2:
        result_uint(out, profile->threads[state->thread].tid);
        break;
    case 3:
        result_text(out, timeline_state_name((enum timeline_state)state->state));
        break;
    case 4:
        result_time(out, query, state->start_ns);
        break;
    case 5:
        sqlite3_result_int64(out, query_clamp(state->end_ns - state->start_ns));
        break;
    case 6:
        result_uint(out, state->cpu);
        break;
    case 7:
        if (state->waker)
            result_uint(out, state->waker);
        break;
    case 8:
        if (state->waker)
            result_text(out, timeline_kernel_name(profile, state->waker));
        break;
    case 9:
        result_text(out, profile->threads[state->thread].name);
        break;
    default:
        result_text(out, state_detail(profile, state));
        break;
    }
}

static const struct query_column state_columns[] = {
    { "id", "INTEGER", "row number" },
    { "process", "INTEGER", "process number" },
    { "thread", "INTEGER", "thread number; it may have no row in thread" },
    { "state", "TEXT", "running, runnable (waits for a CPU), blocked" },
    { "start_ns", "INTEGER", "when it began" },
    { "dur_ns", "INTEGER", "how long it took" },
    { "cpu", "INTEGER", "where it began" },
    { "waker", "INTEGER", "thread number of who woke it, or NULL" },
    { "waker_name", "TEXT", "what the kernel calls the waker, or NULL" },
    { "thread_name", "TEXT", "name of the thread" },
    { "detail", "TEXT",
      "runnable: preempted, woken, woken by an interrupt (a timer, a device); blocked: "
      "uninterruptible (a disk, a page, a lock of the kernel), wake-up not told (by this kernel), "
      "or NULL" },
};

const struct row_table thread_state_table = {
    .table = { "thread_state", "what threads were doing, from context switches",
               COLUMNS(state_columns) },
    .count = state_count,
    .column = state_column,
    .sorted = 1,
    .unique = 1,
};
