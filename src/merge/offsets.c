// SPDX-License-Identifier: Apache-2.0
/*
 * How the clocks of traces relate.
 *
 * Traces of one boot have one CLOCK_MONOTONIC, so they stay together whatever is found out. For
 * every other machine, one of its traces is put beside one of the first machine: two that `capture`
 * compared with the same clock if there are such, else by their times of day.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/merge_internal.h"
#include "trace/keys.h"

static const struct {
    const char *key;
    const char *text;
} methods[MERGE_METHODS] = {
    [MERGE_FIRST] = { "first", "the others are put beside it" },
    [MERGE_SAME_CLOCK] = { "same-clock", "same clock" },
    [MERGE_MEASURED] = { "measured", "measured by capture" },
    [MERGE_GIVEN] = { "given", "given by --offset" },
    [MERGE_WALL_CLOCK] = { "wall-clock", "estimated from the time of day" },
    [MERGE_START] = { "start", "put at the same start" },
};

const char *merge_method_key(enum merge_method method)
{
    return (unsigned)method < MERGE_METHODS ? methods[method].key : "";
}

const char *merge_method_text(enum merge_method method)
{
    return (unsigned)method < MERGE_METHODS ? methods[method].text : "";
}

enum merge_method merge_method_of(const char *key)
{
    for (int i = 0; key && i < MERGE_METHODS; i++)
        if (strcmp(key, methods[i].key) == 0)
            return (enum merge_method)i;
    return MERGE_WALL_CLOCK;
}

/* The first time of anything in a trace, by what its blocks say. */
static uint64_t find_begin(const struct trace_reader *reader)
{
    const struct trace_tables *tables = trace_reader_tables(reader);
    uint64_t begin = UINT64_MAX;

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        uint64_t time = block->t0;

        if (!block->t0 || block->t0 == UINT64_MAX)
            continue;
        if (block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS)
            time = trace_clock_to_ns(reader, trace_thread_clock(tables, block->stream), block->t0);
        else if (block->type != TRACE_BLOCK_SAMPLES && block->type != TRACE_BLOCK_SWITCHES &&
                 block->type != TRACE_BLOCK_ALLOCATIONS)
            continue;
        begin = time < begin ? time : begin;
    }
    return begin;
}

static void look_at(const struct merging *merging, struct input *input)
{
    const struct part *part = &merging->parts[input->first_part];
    const char *boot = merge_fact(merging, part, TRACE_FACT_HOST_BOOT_ID);
    const char *captured_on = merge_fact(merging, part, TRACE_FACT_CAPTURE_BOOT_ID);
    int64_t error = 0;

    input->boot_id = boot ? boot : "";
    input->captured_on = captured_on ? captured_on : "";
    if (*part->prefix)
        merge_fact_number(merging, part, TRACE_MERGED_SHIFT_NS, &input->axis_ns);
    input->realtime_ns = trace_realtime_offset_ns(input->reader);
    input->has_realtime = input->realtime_ns != 0;
    input->captured =
        merge_fact_number(merging, part, TRACE_FACT_CAPTURE_OFFSET_NS, &input->ahead_ns) &&
        merge_fact_number(merging, part, TRACE_FACT_CAPTURE_ERROR_NS, &error) && error >= 0;
    input->ahead_error_ns = (uint64_t)error;
    if (!input->captured)
        input->ahead_ns = 0;
    input->begin_ns = find_begin(input->reader);
}

static bool same_machine(const struct input *a, const struct input *b)
{
    return a == b || (*a->boot_id && strcmp(a->boot_id, b->boot_id) == 0);
}

/* Were their times of day compared with that of one machine, which may be one of their own? */
static bool compared(const struct input *a, const struct input *b)
{
    const char *with_a = a->captured ? a->captured_on : a->boot_id;
    const char *with_b = b->captured ? b->captured_on : b->boot_id;

    if (!a->has_realtime || !b->has_realtime || (!a->captured && !b->captured))
        return false;
    /* What does not tell where it was captured was captured where the other was. */
    if (!*with_a || !*with_b)
        return a->captured && b->captured && !*with_a && !*with_b;
    return strcmp(with_a, with_b) == 0;
}

/* The axes of two traces: what is added to b's times to get a's. */
struct relation {
    enum merge_method method;
    int64_t offset_ns;
    uint64_t error_ns;
    int64_t shift_ns;
};

static struct relation relate(const struct input *a, const struct input *b)
{
    struct relation relation = { .method = MERGE_START };

    if (a->has_realtime && b->has_realtime) {
        relation.method = MERGE_WALL_CLOCK;
        relation.shift_ns = b->realtime_ns - a->realtime_ns;
        if (compared(a, b)) {
            relation.method = MERGE_MEASURED;
            relation.offset_ns = a->ahead_ns - b->ahead_ns;
            relation.error_ns = a->ahead_error_ns + b->ahead_error_ns;
            relation.shift_ns += relation.offset_ns;
        }
    } else if (a->begin_ns != UINT64_MAX && b->begin_ns != UINT64_MAX) {
        relation.shift_ns = (int64_t)(a->begin_ns - b->begin_ns);
    }
    return relation;
}

static bool is_surer(const struct relation *a, const struct relation *b)
{
    return a->method != b->method ? a->method < b->method : a->error_ns < b->error_ns;
}

/* The machine of this input beside the first one, by the best pair of their traces. */
static void place_machine(struct merging *merging, struct input *input)
{
    struct input *first = &merging->inputs[0];
    struct relation best = { .method = MERGE_METHODS };

    for (size_t b = 0; b < merging->input_count; b++) {
        const struct input *of_it = &merging->inputs[b];

        for (size_t a = 0; a < merging->input_count && same_machine(of_it, input); a++) {
            const struct input *of_first = &merging->inputs[a];
            struct relation relation;

            if (!same_machine(of_first, first))
                continue;
            relation = relate(of_first, of_it);
            /* From these two axes to those of the input and of the first one. */
            relation.shift_ns +=
                of_it->axis_ns - input->axis_ns + first->axis_ns - of_first->axis_ns;
            if (is_surer(&relation, &best))
                best = relation;
        }
    }
    input->method = best.method;
    input->offset_ns = best.offset_ns;
    input->shift_ns = best.shift_ns;
    input->has_error = best.method == MERGE_MEASURED;
    input->error_ns = best.error_ns;
}

static void place(struct merging *merging, struct input *input)
{
    const struct input *first = &merging->inputs[0];

    if (input == first || same_machine(input, first)) {
        input->method = input == first ? MERGE_FIRST : MERGE_SAME_CLOCK;
        input->has_error = true;
        input->shift_ns = first->axis_ns - input->axis_ns;
    } else {
        place_machine(merging, input);
    }
    if (!input->has_offset)
        return;
    /* By hand means instead of what was measured. */
    input->shift_ns += input->given_ns - input->offset_ns;
    input->offset_ns = input->given_ns;
    input->method = MERGE_GIVEN;
    input->has_error = false;
}

/* A time before the first machine was started would be negative: then all move. */
static void avoid_negative_times(struct merging *merging)
{
    int64_t least = 0;

    for (size_t i = 0; i < merging->input_count; i++) {
        const struct input *input = &merging->inputs[i];

        if (input->begin_ns <= INT64_MAX && (int64_t)input->begin_ns + input->shift_ns < least)
            least = (int64_t)input->begin_ns + input->shift_ns;
    }
    for (size_t i = 0; i < merging->input_count; i++)
        merging->inputs[i].shift_ns -= least;
}

/* What a trace that was merged before says of this part, and where its input goes now. */
static void place_part(struct merging *merging, size_t index)
{
    const struct part *part = &merging->parts[index];
    const struct input *input = &merging->inputs[part->input];
    struct merge_part *out = &merging->result->parts[index];
    int64_t number;

    out->method = input->method;
    out->offset_ns = input->offset_ns;
    out->shift_ns = input->shift_ns;
    out->has_error = input->has_error;
    out->error_ns = input->error_ns;
    if (!*part->prefix)
        return;
    if (merge_fact_number(merging, part, TRACE_MERGED_SHIFT_NS, &number))
        out->shift_ns += number;
    if (merge_fact_number(merging, part, TRACE_MERGED_OFFSET_NS, &number))
        out->offset_ns += number;
    if (merge_fact_number(merging, part, TRACE_MERGED_ERROR_NS, &number) && number >= 0)
        out->error_ns += (uint64_t)number;
    else
        out->has_error = false;
    if (merge_method_of(merge_fact(merging, part, TRACE_MERGED_METHOD)) > out->method)
        out->method = merge_method_of(merge_fact(merging, part, TRACE_MERGED_METHOD));
}

void merge_find_offsets(struct merging *merging)
{
    for (size_t i = 0; i < merging->input_count; i++)
        look_at(merging, &merging->inputs[i]);
    for (size_t i = 0; i < merging->input_count; i++)
        place(merging, &merging->inputs[i]);
    avoid_negative_times(merging);
    for (size_t i = 0; i < merging->result->part_count; i++)
        place_part(merging, i);
}
