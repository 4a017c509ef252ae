// SPDX-License-Identifier: Apache-2.0
/*
 * Process and thread numbers that mean one process or thread in the whole trace.
 *
 * Samples, context switches and allocations name threads by the numbers of the system, which two
 * machines both use. Numbers are divided into ranges of MERGE_NUMBERS_EACH; every machine has one
 * of its own, the first one that from 0. Traces of one boot share it, so that wakeups lead from one
 * to the other, unless both recorded a process of the same number: that may be another one by then.
 */
#include <string.h>

#include "merge/merge_internal.h"
#include "trace/keys.h"

struct process_key {
    uint32_t range;
    uint32_t pid;
};

static bool is_taken(const struct merging *merging, uint32_t range, uint32_t pid)
{
    struct process_key key = { range, pid };

    return ifg_strings_find(&merging->taken, &key, sizeof key) != IFG_STRINGS_NONE;
}

/* Would its processes be mistaken for those that are there? */
static bool collides(const struct merging *merging, const struct trace_tables *tables,
                     uint32_t range)
{
    for (size_t i = 0; i < tables->process_count; i++)
        if (tables->processes[i].pid && is_taken(merging, range, tables->processes[i].pid))
            return true;
    return false;
}

/* The range of an earlier trace of the same machine in which there is room for this one. */
static uint32_t shared_range(const struct merging *merging, size_t index)
{
    const struct input *input = &merging->inputs[index];

    for (size_t i = 0; i < index && *input->boot_id; i++) {
        const struct input *other = &merging->inputs[i];

        if (other->part_count == 1 && strcmp(other->boot_id, input->boot_id) == 0 &&
            !collides(merging, trace_reader_tables(input->reader), other->ranges[0] - 1u))
            return other->ranges[0] - 1u;
    }
    return merging->next_range;
}

static void give_range(struct merging *merging, struct input *input, uint32_t own, uint32_t range)
{
    if (range >= MERGE_RANGES) {
        merging->numbers_failed = true;
        range = 0;
    }
    input->ranges[own] = (uint16_t)(range + 1);
    if (range >= merging->next_range)
        merging->next_range = range + 1;
}

uint32_t merge_number(struct merging *merging, struct input *input, uint32_t number)
{
    uint32_t own = number / MERGE_NUMBERS_EACH;

    if (own > MERGE_RANGES) {
        merging->numbers_failed = true;
        return number;
    }
    if (!input->ranges[own])
        give_range(merging, input, own, input == merging->inputs ? own : merging->next_range);
    return (input->ranges[own] - 1u) * MERGE_NUMBERS_EACH + number % MERGE_NUMBERS_EACH;
}

enum ifg_status merge_begin_numbers(struct merging *merging, size_t index, struct ifg_error *err)
{
    struct input *input = &merging->inputs[index];
    const struct trace_tables *tables = trace_reader_tables(input->reader);
    int64_t from;

    give_range(merging, input, 0,
               index && input->part_count == 1 ? shared_range(merging, index)
                                               : (index ? merging->next_range : 0));
    for (size_t i = 0; i < tables->process_count; i++) {
        uint32_t pid = tables->processes[i].pid;
        struct process_key key;

        if (!pid)
            continue;
        pid = merge_number(merging, input, pid);
        key = (struct process_key){ pid / MERGE_NUMBERS_EACH, pid % MERGE_NUMBERS_EACH };
        if (ifg_strings_add(&merging->taken, &key, sizeof key) == IFG_STRINGS_NONE)
            return ifg_fail_no_memory(err, "to merge %s", input->path);
    }
    for (size_t i = input->first_part; i < input->first_part + input->part_count; i++) {
        const struct part *part = &merging->parts[i];

        from = 0;
        if (*part->prefix)
            merge_fact_number(merging, part, TRACE_MERGED_NUMBERS_FROM, &from);
        merging->result->parts[i].numbers_from =
            from >= 0 && from <= UINT32_MAX ? merge_number(merging, input, (uint32_t)from) : 0;
    }
    return IFG_OK;
}
