// SPDX-License-Identifier: Apache-2.0
/* Operators by model and type: a table that finds them, and their times. */
#include "analyze/findings/input_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define SLOTS_FIRST 256u

/* Of so many operators must be known how fine their clock was, and so many must be whole. */
#define WHOLE_LEAST 20u
#define WHOLE_SHARE 0.9

static uint64_t hash_of(uint32_t model, const char *type)
{
    uint64_t hash = 1469598103934665603u ^ model;

    for (; *type; type++)
        hash = (hash ^ (unsigned char)*type) * 1099511628211u;
    return hash ^ hash >> 29;
}

static uint32_t *slot_of(const struct operator_table *table, uint32_t model, const char *type)
{
    size_t at = hash_of(model, type) & (table->slot_count - 1);

    while (table->slots[at]) {
        const struct ml_operator *item = &table->items[table->slots[at] - 1];

        if (item->model == model && strcmp(item->type, type) == 0)
            break;
        at = (at + 1) & (table->slot_count - 1);
    }
    return &table->slots[at];
}

static enum ifg_status make_room(struct operator_table *table)
{
    size_t capacity = table->slot_count ? table->slot_count * 2 : SLOTS_FIRST;
    uint32_t *slots = ifg_alloc(capacity, sizeof *slots);
    struct ml_operator *items = ifg_realloc(table->items, capacity / 2, sizeof *items);

    if (items)
        table->items = items;
    if (!slots || !items) {
        ifg_free(slots);
        return IFG_NO_MEMORY;
    }
    table->capacity = capacity / 2;
    ifg_free(table->slots);
    table->slots = slots;
    table->slot_count = capacity;
    for (size_t i = 0; i < table->count; i++)
        *slot_of(table, items[i].model, items[i].type) = (uint32_t)i + 1;
    return IFG_OK;
}

enum ifg_status ml_operator_find(struct operator_table *table, uint32_t model, const char *type,
                                 uint32_t *out_index)
{
    uint32_t *slot;

    *out_index = UINT32_MAX;
    if (table->count == table->capacity) {
        enum ifg_status status = make_room(table);

        if (status)
            return status;
    }
    slot = slot_of(table, model, type);
    if (!*slot) {
        if (table->count == OPERATORS_MAX)
            return IFG_OK; /* in no row, but in the counts */
        table->items[table->count] = (struct ml_operator){ .type = type, .model = model };
        *slot = (uint32_t)++table->count;
    }
    *out_index = *slot - 1;
    return IFG_OK;
}

uint32_t ml_cell_of(uint64_t value)
{
    unsigned exponent;

    if (value < (1u << CELL_BITS))
        return (uint32_t)value;
    exponent = 63u - (unsigned)__builtin_clzll(value);
    return ((exponent - CELL_BITS + 1) << CELL_BITS) |
           (uint32_t)((value >> (exponent - CELL_BITS)) & ((1u << CELL_BITS) - 1));
}

/* The middle of the cell in which the median lies. */
double ml_cells_median(const uint32_t *cells, uint64_t count)
{
    uint64_t seen = 0;

    if (!count)
        return NAN;
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        unsigned exponent = cell >> CELL_BITS;

        seen += cells[cell];
        if (seen * 2 < count)
            continue;
        if (!exponent)
            return cell;
        return ldexp((1u << CELL_BITS) + (cell & ((1u << CELL_BITS) - 1)) + 0.5, (int)exponent - 1);
    }
    return NAN;
}

static int by_model_and_time(const void *a, const void *b)
{
    const struct ml_operator *left = a;
    const struct ml_operator *right = b;

    if (left->model != right->model)
        return left->model < right->model ? -1 : 1;
    if (left->self_ns != right->self_ns)
        return left->self_ns > right->self_ns ? -1 : 1;
    return strcmp(left->type, right->type);
}

enum ifg_status ml_finish_operators(struct building *building)
{
    struct ml_input *input = building->input;
    struct operator_table *table = &building->operators;

    for (size_t i = 0; i < table->count; i++) {
        uint64_t inside = table->items[i].self_ns;

        table->items[i].self_ns =
            table->items[i].total_ns > inside ? table->items[i].total_ns - inside : 0;
    }
    if (table->count)
        qsort(table->items, table->count, sizeof *table->items, by_model_and_time);
    input->operators = table->items;
    input->operator_count = table->count;
    table->items = NULL;
    for (size_t i = 0; i < input->operator_count; i++) {
        struct ml_model *model = &input->models[input->operators[i].model];

        if (!model->operator_count++)
            model->first_operator = i;
        model->operator_self_ns += input->operators[i].self_ns;
    }
    for (size_t i = 0; i < input->model_count; i++) {
        const struct operator_times *times = &building->operator_times[i];
        struct ml_model *model = &input->models[i];

        model->operator_events = times->count;
        model->operator_median_ns =
            times->cells ? ml_cells_median(times->cells, times->count) : (double)NAN;
        model->whole_microseconds = times->count >= WHOLE_LEAST &&
                                    (double)times->whole_us >= WHOLE_SHARE * (double)times->count;
    }
    return IFG_OK;
}
