// SPDX-License-Identifier: Apache-2.0
/* Operators by model and type: a table that finds them, and their times. */
#include "analyze/findings/input_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/quantile.h"

/* Of so many operators must be known how fine their clock was, and so many must be whole. */
#define WHOLE_LEAST 20u
#define WHOLE_SHARE 0.9

static uint64_t hash_operator(const void *items, size_t position)
{
    const struct ml_operator *item = (const struct ml_operator *)items + position;

    return ifg_hash_pair(item->model, ifg_hash_bytes(item->type, strlen(item->type)));
}

static bool is_same_operator(const void *items, size_t position, const void *wanted)
{
    const struct ml_operator *item = (const struct ml_operator *)items + position;
    const struct ml_operator *other = wanted;

    return item->model == other->model && strcmp(item->type, other->type) == 0;
}

enum ifg_status findings_operator_find(struct operator_table *table, uint32_t model,
                                       const char *type, uint32_t *out_index)
{
    struct ml_operator item = { .type = type, .model = model };
    uint64_t hash = hash_operator(&item, 0);
    uint32_t found = ifg_index_find(&table->index, hash, is_same_operator, table->items, &item);

    *out_index = UINT32_MAX;
    if (!found && table->count == OPERATORS_MAX)
        return IFG_OK; /* in no row, but in the counts */
    if (!found) {
        if (!IFG_ARRAY_ROOM(table->items, table->capacity, table->count + 1, OPERATORS_MAX) ||
            !ifg_index_room(&table->index, table->count, hash_operator, table->items))
            return IFG_NO_MEMORY;
        table->items[table->count] = item;
        ifg_index_put(&table->index, hash, table->count);
        found = (uint32_t)++table->count;
    }
    *out_index = found - 1;
    return IFG_OK;
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

enum ifg_status findings_finish_operators(struct building *building)
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
        model->operator_device_ns += input->operators[i].device_ns;
    }
    for (size_t i = 0; i < input->model_count; i++) {
        const struct operator_times *times = &building->operator_times[i];
        struct ml_model *model = &input->models[i];

        model->operator_events = times->count;
        model->operator_median_ns =
            times->cells ? ifg_cells_median(times->cells, CELLS, CELL_BITS) : (double)NAN;
        model->whole_microseconds = times->count >= WHOLE_LEAST &&
                                    (double)times->whole_us >= WHOLE_SHARE * (double)times->count;
    }
    return IFG_OK;
}
