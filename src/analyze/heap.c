// SPDX-License-Identifier: Apache-2.0
/* Who held the heap: see heap.h. */
#include "analyze/heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "runtimes/runtimes.h"
#include "timeline/allocations.h"

#define WALK_MAX 64u /* frames that are looked at for one that is no allocator */

struct change {
    uint64_t ns;
    double bytes; /* less than 0: freed */
};

/* A row under construction: keys of rows that are the same are equal. */
struct entry {
    uint64_t key;
    struct heap_row row;
};

struct building {
    const struct ml_input *input;
    const struct timeline *timeline;
    const struct timeline_allocations *allocations;
    const struct timeline_profile *profile;
    struct heap_use *heap;
    uint32_t *site_of; /* by node: the innermost one that is no allocator; 0: not found yet */
    uint64_t from_ns;  /* the first allocation */
};

/* ---- sums ---- */

double heap_error(const struct heap_sum *sum)
{
    return sqrt(fmax(sum->variance, 0));
}

/* An allocation of b bytes was picked with the chance b / w: its part of the variance of the sum is
 * w * (w - b), and nothing if it was certain. */
static void add(struct heap_sum *sum, const struct timeline_heap_allocation *allocation)
{
    double weight = (double)allocation->weight, bytes = (double)allocation->bytes;

    sum->bytes += weight;
    sum->variance += weight * fmax(weight - bytes, 0);
    sum->count++;
}

static void add_row(struct heap_row *row, const struct timeline_heap_allocation *allocation,
                    uint64_t peak_ns)
{
    add(&row->all, allocation);
    if (allocation->ns <= peak_ns && allocation->freed_ns > peak_ns)
        add(&row->peak, allocation);
    if (allocation->freed_ns == UINT64_MAX)
        add(&row->kept, allocation);
}

static void merge(struct heap_sum *sum, const struct heap_sum *more)
{
    sum->bytes += more->bytes;
    sum->variance += more->variance;
    sum->count += more->count;
}

/* ---- functions that only hand memory on ---- */

bool heap_is_allocator(const char *function, const char *module)
{
    static const char *const names[] = { "malloc",
                                         "calloc",
                                         "realloc",
                                         "reallocarray",
                                         "memalign",
                                         "aligned_alloc",
                                         "valloc",
                                         "pvalloc",
                                         "posix_memalign",
                                         "strdup",
                                         "strndup",
                                         "__strdup",
                                         "__libc_malloc",
                                         "__libc_calloc",
                                         "__libc_memalign",
                                         "mmap",
                                         "xmalloc",
                                         "g_malloc",
                                         "g_malloc0",
                                         "default_malloc",
                                         "default_calloc",
                                         "default_realloc",
                                         "CRYPTO_malloc",
                                         "CRYPTO_zalloc",
                                         "CRYPTO_realloc",
                                         "CRYPTO_clear_realloc",
                                         "CRYPTO_strdup",
                                         "napi_create_arraybuffer",
                                         "napi_create_buffer" };
    static const char *const begins[] = {
        "operator new",
        "std::",
        "__gnu_cxx::",
        "void* std::",
        "google::protobuf::Arena",
        "google::protobuf::internal::ThreadSafeArena",
        "google::protobuf::internal::SerialArena",
        "google::protobuf::internal::RepeatedPtrFieldBase",
        "absl::container_internal",
        "v8::internal::Malloced",
        "v8::internal::AlignedAlloc",
        "v8::base::",
        "v8::internal::BackingStore",
        "v8::internal::Heap::Allocate",
        "v8::internal::Factory::New",
        "v8::ArrayBuffer::New",
        "node::NodeArrayBufferAllocator",
        "PyMem_",
        "_PyMem_",
        "PyObject_Malloc",
        "PyObject_Calloc",
        "PyObject_Realloc",
        "_PyObject_Malloc",
        "_PyObject_Realloc",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(function, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; runtimes[i]; i++)
        for (const char *const *name = runtimes[i]->allocators; name && *name; name++)
            if (strncmp(function, *name, strlen(*name)) == 0)
                return true;
    return strncmp(module, "libinferogram", 13) == 0 || strncmp(module, "libifg", 6) == 0;
}

static bool is_allocator(const struct timeline_profile *profile, uint32_t node)
{
    uint32_t function = profile->function_of[profile->trace->nodes[node - 1].frame];

    return heap_is_allocator(profile->functions[function].name,
                             timeline_module_name(profile, profile->functions[function].module));
}

/* The node of the innermost frame that is no allocator; the innermost of all if there is none. */
static uint32_t site_of(struct building *building, uint32_t node)
{
    const struct timeline_profile *profile = building->profile;
    uint32_t at = node;

    if (!node || node > profile->trace->node_count)
        return 0;
    if (building->site_of[node])
        return building->site_of[node];
    for (unsigned i = 0; at && i < WALK_MAX && is_allocator(profile, at); i++)
        at = profile->trace->nodes[at - 1].parent;
    building->site_of[node] = at ? at : node;
    return building->site_of[node];
}

size_t heap_stack(const struct timeline_profile *profile, uint32_t node,
                  uint32_t out_functions[HEAP_FRAMES])
{
    size_t count = 0;

    while (node && node <= profile->trace->node_count && count < HEAP_FRAMES) {
        out_functions[count++] = profile->function_of[profile->trace->nodes[node - 1].frame];
        node = profile->trace->nodes[node - 1].parent;
    }
    return count;
}

/* Whose work a function without a name does: the nearest caller with one, in its own module if
 * there is such a caller. */
static const char *name_above(const struct timeline_profile *profile, uint32_t node)
{
    const char *found = "";
    uint32_t module;

    if (!node)
        return found;
    module = profile->functions[profile->function_of[profile->trace->nodes[node - 1].frame]].module;
    for (unsigned i = 0; i < WALK_MAX && node; i++) {
        const struct timeline_function *function =
            &profile->functions[profile->function_of[profile->trace->nodes[node - 1].frame]];

        if (*function->name && !heap_is_allocator(function->name, "")) {
            if (function->module == module)
                return function->name;
            if (!*found)
                found = function->name;
        }
        node = profile->trace->nodes[node - 1].parent;
    }
    return found;
}

/* ---- the peak ---- */

static int by_time(const void *a, const void *b)
{
    const struct change *left = a;
    const struct change *right = b;

    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes; /* what is freed first */
}

static bool find_peak(struct building *building)
{
    const struct timeline_allocations *allocations = building->allocations;
    struct change *changes = ifg_alloc(allocations->count, 2 * sizeof *changes);
    double live = 0, most = 0;
    size_t count = 0;

    if (!changes)
        return false;
    for (size_t i = 0; i < allocations->count; i++) {
        const struct timeline_heap_allocation *item = &allocations->items[i];

        changes[count++] = (struct change){ item->ns, (double)item->weight };
        if (item->freed_ns != UINT64_MAX)
            changes[count++] = (struct change){ item->freed_ns, -(double)item->weight };
    }
    qsort(changes, count, sizeof *changes, by_time);
    for (size_t i = 0; i < count; i++) {
        live += changes[i].bytes;
        if (live > most) {
            most = live;
            building->heap->peak_ns = changes[i].ns;
        }
    }
    ifg_free(changes);
    return true;
}

/* ---- tables ---- */

static int by_key(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->row.stack < right->row.stack ? -1 : left->row.stack > right->row.stack;
}

static int by_peak(const void *a, const void *b)
{
    const struct heap_row *left = a;
    const struct heap_row *right = b;

    if (left->peak.bytes > right->peak.bytes || left->peak.bytes < right->peak.bytes)
        return left->peak.bytes > right->peak.bytes ? -1 : 1;
    if (left->all.bytes > right->all.bytes || left->all.bytes < right->all.bytes)
        return left->all.bytes > right->all.bytes ? -1 : 1;
    return left->function != right->function ? (left->function < right->function ? -1 : 1)
                                             : strcmp(left->name, right->name);
}

/* Entries of one key become a row; where most of its bytes were taken is that of the largest stack.
 */
static bool make_table(struct entry *entries, size_t count, struct heap_table *out)
{
    double best = 0, here = 0;

    qsort(entries, count, sizeof *entries, by_key);
    out->rows = ifg_alloc(count, sizeof *out->rows);
    if (!out->rows)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct heap_row *row = &entries[i].row;
        struct heap_row *into;

        if (!i || entries[i].key != entries[i - 1].key) {
            out->rows[out->count++] = *row;
            best = here = row->peak.bytes;
            continue;
        }
        into = &out->rows[out->count - 1];
        merge(&into->peak, &row->peak);
        merge(&into->all, &row->all);
        merge(&into->kept, &row->kept);
        here = (row->stack == entries[i - 1].row.stack ? here : 0) + row->peak.bytes;
        if (here > best) {
            best = here;
            into->stack = row->stack;
        }
    }
    qsort(out->rows, out->count, sizeof *out->rows, by_peak);
    return true;
}

enum table { TABLE_FUNCTIONS, TABLE_MODELS, TABLE_OPERATORS, TABLE_THREADS };

static struct entry entry_for(struct building *building, enum table table,
                              const struct timeline_heap_allocation *item)
{
    const struct timeline *timeline = building->timeline;
    const struct timeline_location *ml =
        item->ml < timeline->location_count ? &timeline->locations[item->ml] : NULL;
    struct entry entry = { .row = {
                               .name = "", .module = "", .under = "", .model = TIMELINE_NONE } };
    uint32_t site;

    switch (table) {
    case TABLE_FUNCTIONS:
        site = site_of(building, item->stack);
        entry.row.stack = site;
        entry.row.function =
            building->profile
                ->function_of[site ? building->profile->trace->nodes[site - 1].frame : 0];
        entry.key = entry.row.function;
        break;
    case TABLE_MODELS:
        if (ml && ml->model < timeline->model_count) {
            entry.row.model = ml->model;
            entry.row.category = ml->category;
            entry.key = ((uint64_t)ml->model + 1) << 8 | (uint64_t)ml->category;
        }
        break;
    case TABLE_OPERATORS:
        if (item->op < timeline->location_count) {
            entry.key = (uint64_t)item->op + 1;
            entry.row.model = timeline->locations[item->op].model;
            entry.row.name = item->slice != SIZE_MAX && item->slice < timeline->slice_count &&
                                     timeline->location[item->slice] == item->op
                                 ? timeline_slice_name(timeline, item->slice)
                                 : timeline->locations[item->op].name;
        }
        break;
    case TABLE_THREADS:
        entry.key = (uint64_t)item->pid << 32 | item->tid;
        entry.row.tid = item->tid;
        if (item->thread < timeline->thread_count)
            entry.row.name = timeline->threads[item->thread].name;
        break;
    }
    add_row(&entry.row, item, building->heap->peak_ns);
    return entry;
}

/* Operators of one name are one row: their locations are made per model, type and name alike. */
static void key_operators(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = entries[i].row.name;

        if (entries[i].key)
            entries[i].key = ifg_fnv(IFG_FNV_BEGIN ^ entries[i].row.model, name, strlen(name)) | 1;
    }
}

static bool make_tables(struct building *building)
{
    const struct timeline_allocations *allocations = building->allocations;
    struct heap_table *tables[] = { &building->heap->functions, &building->heap->models,
                                    &building->heap->operators, &building->heap->threads };
    struct entry *entries = ifg_alloc(allocations->count, sizeof *entries);
    bool good = entries != NULL;

    for (int t = 0; good && t < 4; t++) {
        for (size_t i = 0; i < allocations->count; i++)
            entries[i] = entry_for(building, (enum table)t, &allocations->items[i]);
        if (t == TABLE_OPERATORS)
            key_operators(entries, allocations->count);
        good = make_table(entries, allocations->count, tables[t]);
    }
    ifg_free(entries);
    return good;
}

static bool name_functions(struct building *building)
{
    const struct timeline_profile *profile = building->profile;
    struct heap_table *functions = &building->heap->functions;

    building->heap->named = true;
    for (size_t i = 0; i < functions->count; i++)
        functions->rows[i].name = NULL;
    for (size_t i = 0; i < functions->count; i++) {
        struct heap_row *row = &functions->rows[i];
        char text[256];

        row->name = ifg_strdup(timeline_function_name(profile, row->function, text, sizeof text));
        row->module = timeline_module_name(profile, profile->functions[row->function].module);
        row->guessed = profile->functions[row->function].guessed;
        if (!*profile->functions[row->function].name)
            row->under = name_above(profile, row->stack);
        if (!row->name)
            return false;
    }
    return true;
}

/* ---- churn ---- */

struct run {
    uint64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
    const struct run *left = a;
    const struct run *right = b;

    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static bool gather_runs(const struct ml_input *input, const struct ml_model *model,
                        struct run **out, size_t *out_count)
{
    size_t most = 0, count = 0;

    for (size_t f = 0; f < model->function_count; f++)
        most += input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE].count;
    *out_count = 0;
    *out = ifg_alloc(most, sizeof **out);
    if (!*out)
        return false;
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *runs =
            &input->functions[model->first_function + f].events[TRACE_CATEGORY_INFERENCE];

        for (size_t i = 0; i < runs->count; i++)
            if (!(runs->items[i].flags & ML_NESTED))
                (*out)[count++] =
                    (struct run){ runs->items[i].start_ns,
                                  runs->items[i].start_ns + runs->items[i].duration_ns };
    }
    qsort(*out, count, sizeof **out, by_start);
    *out_count = count;
    return true;
}

/* Allocations of inferences are by time, and so are inferences: both are walked once. */
static bool add_churn(struct building *building, uint32_t index)
{
    const struct timeline *timeline = building->timeline;
    const struct timeline_allocations *allocations = building->allocations;
    struct heap_churn churn = { .model = index };
    struct run *runs;
    size_t count, at = 0;

    if (!gather_runs(building->input, &building->input->models[index], &runs, &count))
        return false;
    for (size_t i = 1; i < count; i++)
        churn.inferences += runs[i].start_ns >= building->from_ns;
    for (size_t i = 0; churn.inferences && i < allocations->count; i++) {
        const struct timeline_heap_allocation *item = &allocations->items[i];

        if (item->ml >= timeline->location_count || timeline->locations[item->ml].model != index ||
            timeline->locations[item->ml].category != TRACE_CATEGORY_INFERENCE)
            continue;
        while (at + 1 < count && runs[at + 1].start_ns <= item->ns)
            at++;
        if (!at)
            continue; /* the first one fills arenas and caches */
        add(&churn.allocated, item);
        if (item->freed_ns != UINT64_MAX &&
            (at + 2 >= count || item->freed_ns < runs[at + 2].start_ns))
            add(&churn.freed, item);
    }
    ifg_free(runs);
    if (churn.inferences)
        building->heap->churns[building->heap->churn_count++] = churn;
    return true;
}

/* ---- all together ---- */

static void sum_up(struct building *building)
{
    struct heap_use *heap = building->heap;

    for (size_t i = 0; i < building->allocations->count; i++) {
        struct heap_row row = { 0 };

        add_row(&row, &building->allocations->items[i], heap->peak_ns);
        merge(&heap->all, &row.all);
        merge(&heap->peak, &row.peak);
        merge(&heap->kept, &row.kept);
    }
    heap->lost = building->allocations->lost;
    building->from_ns = building->allocations->count ? building->allocations->items[0].ns : 0;
}

enum ifg_status heap_use_create(const struct ml_input *input, struct heap_use **out_heap,
                                struct ifg_error *err)
{
    struct building building = { .input = input, .timeline = input->timeline };
    enum ifg_status status = IFG_OK;
    bool good;

    *out_heap = NULL;
    if (!timeline_has_allocations(input->timeline))
        return IFG_OK;
    status = timeline_allocations_get(input->timeline, &building.allocations, err);
    if (!status)
        status = timeline_profile_get(input->timeline, &building.profile, err);
    if (status || !building.allocations || !building.profile)
        return status;
    building.heap = ifg_alloc(1, sizeof *building.heap);
    building.site_of = ifg_alloc(building.profile->trace->node_count + 1, sizeof *building.site_of);
    good = building.heap && building.site_of && find_peak(&building);
    if (good) {
        sum_up(&building);
        building.heap->churns = ifg_alloc(input->model_count, sizeof *building.heap->churns);
        good = building.heap->churns && make_tables(&building);
    }
    for (uint32_t n = 0; good && n < input->model_count; n++)
        good = add_churn(&building, n);
    ifg_free(building.site_of);
    if (good)
        good = name_functions(&building);
    if (!good) {
        heap_use_destroy(building.heap);
        return ifg_fail_no_memory(err, "for the allocations");
    }
    *out_heap = building.heap;
    return IFG_OK;
}

void heap_use_destroy(struct heap_use *heap)
{
    if (!heap)
        return;
    for (size_t i = 0; heap->named && i < heap->functions.count; i++)
        ifg_free((void *)(uintptr_t)heap->functions.rows[i].name);
    ifg_free(heap->functions.rows);
    ifg_free(heap->models.rows);
    ifg_free(heap->operators.rows);
    ifg_free(heap->threads.rows);
    ifg_free(heap->churns);
    ifg_free(heap);
}
