// SPDX-License-Identifier: Apache-2.0
/*
 * The finished tables: a definition with the same identity replaces the earlier one, locations and
 * models are sorted so that they can be found, the others stay in the order of their first
 * definition.
 */
#include "trace/reader_internal.h"

#include <stdlib.h>

#include "base/alloc.h"

typedef int compare_entries(const void *left, const void *right);

static int compare_u32(uint32_t left, uint32_t right)
{
    return left < right ? -1 : left > right;
}

static int compare_locations(const void *left, const void *right)
{
    const struct trace_location *a = left;
    const struct trace_location *b = right;
    int order = compare_u32(a->process, b->process);

    return order ? order : compare_u32(a->id, b->id);
}

static int compare_models(const void *left, const void *right)
{
    const struct trace_model *a = left;
    const struct trace_model *b = right;
    int order = compare_u32(a->process, b->process);

    return order ? order : compare_u32(a->id, b->id);
}

static int compare_properties(const void *left, const void *right)
{
    const struct trace_property_entry *a = left;
    const struct trace_property_entry *b = right;
    int order = compare_u32(a->process, b->process);

    if (!order)
        order = compare_u32(a->model, b->model);
    return order ? order : strcmp(a->key, b->key);
}

static int compare_instruments(const void *left, const void *right)
{
    return strcmp(((const struct trace_instrument_entry *)left)->name,
                  ((const struct trace_instrument_entry *)right)->name);
}

static int compare_facts(const void *left, const void *right)
{
    return strcmp(((const struct trace_fact_entry *)left)->key,
                  ((const struct trace_fact_entry *)right)->key);
}

static int compare_losses(const void *left, const void *right)
{
    const struct trace_loss_entry *a = left;
    const struct trace_loss_entry *b = right;
    int order = compare_u32(a->process, b->process);

    return order ? order : strcmp(a->what, b->what);
}

struct entries {
    char *data;
    size_t entry_bytes;
    compare_entries *compare;
};

/* By identity, then by position: the last of a group is the one that counts. */
static int compare_positions(const void *left, const void *right, void *context)
{
    const struct entries *entries = context;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    int order = entries->compare(entries->data + a * entries->entry_bytes,
                                 entries->data + b * entries->entry_bytes);

    if (order)
        return order;
    return a < b ? -1 : a > b;
}

/* Moves the latest entry of every identity to the place of the earliest and closes the holes. */
static enum ifg_status keep_latest(void *data, size_t *count, size_t entry_bytes,
                                   compare_entries *compare)
{
    struct entries entries = { data, entry_bytes, compare };
    size_t *positions;
    bool *replaced;
    size_t kept = 0;
    enum ifg_status status = IFG_OK;

    if (*count < 2)
        return IFG_OK;
    positions = ifg_alloc(*count, sizeof *positions);
    replaced = ifg_alloc(*count, sizeof *replaced);
    if (!positions || !replaced) {
        status = IFG_NO_MEMORY;
        goto out;
    }
    for (size_t i = 0; i < *count; i++)
        positions[i] = i;
    qsort_r(positions, *count, sizeof *positions, compare_positions, &entries);
    for (size_t first = 0; first < *count;) {
        char *location = entries.data + positions[first] * entry_bytes;
        size_t next = first + 1;

        while (next < *count &&
               compare(location, entries.data + positions[next] * entry_bytes) == 0)
            replaced[positions[next++]] = true;
        if (next - first > 1)
            memcpy(location, entries.data + positions[next - 1] * entry_bytes, entry_bytes);
        first = next;
    }
    for (size_t i = 0; i < *count; i++) {
        if (replaced[i])
            continue;
        if (kept != i)
            memcpy(entries.data + kept * entry_bytes, entries.data + i * entry_bytes, entry_bytes);
        kept++;
    }
    *count = kept;
out:
    ifg_free(positions);
    ifg_free(replaced);
    return status;
}

enum ifg_status trace_tables_keep_latest(struct trace_table_set *set)
{
    struct trace_tables *view = &set->view;

    if (keep_latest(set->locations, &view->location_count, sizeof *set->locations,
                    compare_locations) ||
        keep_latest(set->models, &view->model_count, sizeof *set->models, compare_models) ||
        keep_latest(set->properties, &view->property_count, sizeof *set->properties,
                    compare_properties) ||
        keep_latest(set->instruments, &view->instrument_count, sizeof *set->instruments,
                    compare_instruments) ||
        keep_latest(set->facts, &view->fact_count, sizeof *set->facts, compare_facts) ||
        keep_latest(set->losses, &view->loss_count, sizeof *set->losses, compare_losses))
        return IFG_NO_MEMORY;
    return IFG_OK;
}

enum ifg_status trace_tables_finish(struct trace_table_set *set)
{
    struct trace_tables *view = &set->view;
    enum ifg_status status = trace_tables_keep_latest(set);

    if (status)
        return status;
    if (view->location_count)
        qsort(set->locations, view->location_count, sizeof *set->locations, compare_locations);
    if (view->model_count)
        qsort(set->models, view->model_count, sizeof *set->models, compare_models);
    view->processes = set->processes;
    view->threads = set->threads;
    view->locations = set->locations;
    view->models = set->models;
    view->properties = set->properties;
    view->clocks = set->clocks;
    view->instruments = set->instruments;
    view->facts = set->facts;
    view->losses = set->losses;
    return IFG_OK;
}

const struct trace_location *trace_find_location(const struct trace_tables *tables,
                                                 uint32_t process, uint32_t id)
{
    struct trace_location wanted = { .process = process, .id = id };

    if (tables->location_count == 0)
        return NULL;
    return bsearch(&wanted, tables->locations, tables->location_count, sizeof wanted,
                   compare_locations);
}

const struct trace_model *trace_find_model(const struct trace_tables *tables, uint32_t process,
                                           uint32_t id)
{
    struct trace_model wanted = { .process = process, .id = id };

    if (tables->model_count == 0)
        return NULL;
    return bsearch(&wanted, tables->models, tables->model_count, sizeof wanted, compare_models);
}

uint32_t trace_thread_clock(const struct trace_tables *tables, uint32_t thread)
{
    const struct trace_thread_entry *entry;

    if (thread >= tables->thread_count)
        return UINT32_MAX;
    entry = &tables->threads[thread];
    return entry->has_clock ? entry->clock : tables->processes[entry->process].clock;
}

const char *trace_find_fact(const struct trace_tables *tables, const char *key)
{
    for (size_t i = 0; i < tables->fact_count; i++)
        if (strcmp(tables->facts[i].key, key) == 0)
            return tables->facts[i].value;
    return NULL;
}
