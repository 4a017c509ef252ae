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
static void result_function(sqlite3_context *out, const struct timeline_profile *profile,
                            uint32_t frame)
{
    char text[256];
    const char *name =
        timeline_function_name(profile, profile->function_of[frame], text, sizeof text);

    sqlite3_result_text(out, name, -1, name == text ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

static void result_module(sqlite3_context *out, const struct timeline_profile *profile,
                          uint32_t frame)
{
    query_result_text(
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

static const void *sample_row(struct query *query, size_t row)
{
    return &query->samples->profile->samples[row];
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

static const char *const joins[] = { NULL, "own", "lent", "several" };

static const struct timeline_sampled_thread *sample_on(const struct query *query, const void *row)
{
    return &query->samples->profile->threads[((const struct timeline_sample *)row)->thread];
}

static void sample_process(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, sample_on(query, row)->pid);
}

static void sample_thread(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, sample_on(query, row)->tid);
}

static uint32_t sample_frame(const struct query *query, const void *row)
{
    uint32_t stack = ((const struct timeline_sample *)row)->stack;

    return stack ? query->samples->profile->trace->nodes[stack - 1].frame : 0;
}

static void sample_function(struct query *query, const void *row, sqlite3_context *out)
{
    result_function(out, query->samples->profile, sample_frame(query, row));
}

static void sample_module(struct query *query, const void *row, sqlite3_context *out)
{
    result_module(out, query->samples->profile, sample_frame(query, row));
}

static void sample_model(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, timeline_sample_model(query->timeline, row));
}

static void sample_exact(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(
        out, is_exact(query->samples->profile, ((const struct timeline_sample *)row)->stack));
}

static void sample_rooted(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_sample *sample = row;

    (void)query;
    query_result_uint(out, sample->stack && sample->end == TRACE_STACK_ROOT);
}

static const struct query_column sample_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "time_ns", "INTEGER", "when it was taken", OF_SORTED(GET_TIME, timeline_sample, ns) },
    { "process", "INTEGER", "process number", BY(sample_process) },
    { "thread", "INTEGER", "thread number; it may have no row in thread", BY(sample_thread) },
    { "cpu", "INTEGER", "where it ran", OF(GET_UINT, timeline_sample, cpu) },
    { "stack", "INTEGER", "stack of stack_frame; NULL if nothing is known",
      OF_OR_NULL(GET_UINT, timeline_sample, stack, NULL_ZERO) },
    { "function", "TEXT", "innermost function", BY(sample_function) },
    { "module", "TEXT", "program or library it is in", BY(sample_module) },
    { "slice", "INTEGER", "id of the innermost slice at that time, or NULL",
      OF_OR_NULL(GET_UINT, timeline_sample, slice, NULL_NONE) },
    { "model", "TEXT", "model whose work it is, or NULL", BY(sample_model) },
    { "operator", "TEXT", "operator around, or NULL", OF(GET_LOCATION_NAME, timeline_sample, op) },
    { "attribution", "TEXT",
      "own: the slice ran on this thread; lent: on another, this one has none; "
      "several: the same, but more than one model ran; NULL: nothing ran",
      OF_NAMES(joins, timeline_sample, join) },
    { "in_kernel", "INTEGER", "1: the kernel ran", OF(GET_UINT, timeline_sample, in_kernel) },
    { "exact", "INTEGER", "0: some frames of the stack are not certain", BY(sample_exact) },
    { "rooted", "INTEGER", "1: the stack is known to the root of the thread", BY(sample_rooted) },
};

const struct row_table sample_table = {
    .table = { "sample", "where threads were, many times a second", COLUMNS(sample_columns) },
    .count = sample_count,
    .row = sample_row,
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

/* A row is what find_row() remembers of it. */
static const void *frame_row(struct query *query, size_t row)
{
    find_row(query->samples, row);
    return query->samples;
}

static int64_t frame_stack(struct query *query, const void *row)
{
    (void)query;
    return ((const struct query_samples *)row)->last_stack;
}

static uint32_t frame_of(const void *row)
{
    const struct query_samples *samples = row;

    return samples->last_node ? samples->profile->trace->nodes[samples->last_node - 1].frame : 0;
}

static void frame_function(struct query *query, const void *row, sqlite3_context *out)
{
    result_function(out, query->samples->profile, frame_of(row));
}

static void frame_module(struct query *query, const void *row, sqlite3_context *out)
{
    result_module(out, query->samples->profile, frame_of(row));
}

static void frame_address(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t frame = frame_of(row);

    if (frame)
        query_result_uint(out, query->samples->profile->trace->frames[frame - 1].address);
}

/* The names in a frame: what is inlined there, and its line. NULL: none. */
static const struct trace_symbol *frame_symbol(struct query *query, const void *row)
{
    const struct trace_symbol *first;

    return timeline_frame_symbols(query->samples->profile, frame_of(row), &first) ? first : NULL;
}

static void frame_file(struct query *query, const void *row, sqlite3_context *out)
{
    const struct trace_symbol *symbol = frame_symbol(query, row);

    if (symbol && symbol->line)
        query_result_text(out, symbol->file);
}

static void frame_line(struct query *query, const void *row, sqlite3_context *out)
{
    const struct trace_symbol *symbol = frame_symbol(query, row);

    if (symbol && symbol->line)
        query_result_uint(out, symbol->line);
}

static void frame_inlined(struct query *query, const void *row, sqlite3_context *out)
{
    const struct trace_symbol *symbol = frame_symbol(query, row);

    if (symbol && symbol->inlined)
        query_result_text(out, symbol->function);
}

static void frame_guessed(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_profile *profile = query->samples->profile;

    query_result_uint(out, profile->functions[profile->function_of[frame_of(row)]].guessed);
}

static void frame_inferred(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t node = query->samples->last_node;

    (void)row;
    query_result_uint(out, node && query->samples->profile->trace->nodes[node - 1].inferred);
}

static const struct query_column frame_columns[] = {
    { "stack", "INTEGER", "number of the stack, as in sample",
      GETTER(.get = GET_NUMBER, .number = frame_stack, .sorted = true) },
    { "depth", "INTEGER", "0 is the innermost frame", OF(GET_UINT, query_samples, last_depth) },
    { "function", "TEXT", "function that has the code", BY(frame_function) },
    { "module", "TEXT", "program or library it is in", BY(frame_module) },
    { "address", "INTEGER", "in the module; of callers, inside the call", BY(frame_address) },
    { "file", "TEXT", "source file, or NULL", BY(frame_file) },
    { "line", "INTEGER", "line in it, or NULL", BY(frame_line) },
    { "inlined", "TEXT", "innermost function that was inlined there, or NULL", BY(frame_inlined) },
    { "guessed", "INTEGER", "1: the name was recovered, it is not in the file", BY(frame_guessed) },
    { "inferred", "INTEGER", "1: the way from here to the caller is not certain",
      BY(frame_inferred) },
};

const struct row_table stack_frame_table = {
    .table = { "stack_frame", "the frames of each stack that samples and allocations have",
               COLUMNS(frame_columns) },
    .count = frame_count,
    .row = frame_row,
};

/* ---- thread_state ------------------------------------------------------------------------ */

static size_t state_count(struct query *query)
{
    const struct query_samples *samples = need_samples(query);

    if (!samples)
        return SIZE_MAX;
    return samples->profile ? samples->profile->state_count : 0;
}

static const void *state_row(struct query *query, size_t row)
{
    return &query->samples->profile->states[row];
}

static const struct timeline_sampled_thread *state_on(const struct query *query, const void *row)
{
    return &query->samples->profile->threads[((const struct timeline_thread_state *)row)->thread];
}

static void state_process(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, state_on(query, row)->pid);
}

static void state_thread(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_uint(out, state_on(query, row)->tid);
}

static void state_name(struct query *query, const void *row, sqlite3_context *out)
{
    (void)query;
    query_result_text(out,
                      timeline_state_name(
                          (enum timeline_state)((const struct timeline_thread_state *)row)->state));
}

static void state_duration(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_thread_state *state = row;

    (void)query;
    sqlite3_result_int64(out, query_clamp(state->end_ns - state->start_ns));
}

static void state_waker_name(struct query *query, const void *row, sqlite3_context *out)
{
    uint32_t waker = ((const struct timeline_thread_state *)row)->waker;

    if (waker)
        query_result_text(out, timeline_kernel_name(query->samples->profile, waker));
}

static void state_thread_name(struct query *query, const void *row, sqlite3_context *out)
{
    query_result_text(out, state_on(query, row)->name);
}

/* Why it is in that state; NULL: nothing more is known. */
static void state_detail(struct query *query, const void *row, sqlite3_context *out)
{
    const struct timeline_thread_state *state = row;

    if (state->state == TIMELINE_RUNNABLE)
        query_result_text(out, !state->woken  ? "preempted"
                               : state->waker ? "woken"
                                              : "woken by an interrupt");
    else if (state->disk)
        query_result_text(out, "uninterruptible");
    else if (state->untold && query->samples->profile->has_wakers)
        query_result_text(out, "wakeup not reported");
}

static const struct query_column state_columns[] = {
    { "id", "INTEGER", "row number", ROW_NUMBER },
    { "process", "INTEGER", "process number", BY(state_process) },
    { "thread", "INTEGER", "thread number; it may have no row in thread", BY(state_thread) },
    { "state", "TEXT", "running, runnable (waits for a CPU), blocked", BY(state_name) },
    { "start_ns", "INTEGER", "when it began", OF(GET_TIME, timeline_thread_state, start_ns) },
    { "dur_ns", "INTEGER", "how long it took", BY(state_duration) },
    { "cpu", "INTEGER", "where it began", OF(GET_UINT, timeline_thread_state, cpu) },
    { "waker", "INTEGER", "thread number of who woke it, or NULL",
      OF_OR_NULL(GET_UINT, timeline_thread_state, waker, NULL_ZERO) },
    { "waker_name", "TEXT", "what the kernel calls the waker, or NULL", BY(state_waker_name) },
    { "thread_name", "TEXT", "name of the thread", BY(state_thread_name) },
    { "detail", "TEXT",
      "runnable: preempted, woken, woken by an interrupt (a timer, a device); blocked: "
      "uninterruptible (a disk, a page, a lock of the kernel), wakeup not reported (by this "
      "kernel), or NULL",
      BY(state_detail) },
};

const struct row_table thread_state_table = {
    .table = { "thread_state", "what threads were doing, from context switches",
               COLUMNS(state_columns) },
    .count = state_count,
    .row = state_row,
};
