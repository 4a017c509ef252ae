// SPDX-License-Identifier: Apache-2.0
/* What several formats look up: unique numbers of threads, stages of requests, memory in use. */
#include "export/export_internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/index.h"
#include "trace/keys.h"

#define REUSED       10000000u /* no system has a process of this number */
#define DEVICES_FROM 5000000u  /* nor of these: Linux counts to 2^22 */

/* ---- numbers of processes and threads ---------------------------------------- */

struct numbered {
    uint64_t key; /* what must be unique, without the last number */
    uint32_t number;
    uint32_t index;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *left = a;
    const struct numbered *right = b;

    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static void make_unique(struct numbered *items, size_t count, uint32_t *out, uint64_t *changed)
{
    uint32_t repeated = 0;

    qsort(items, count, sizeof *items, by_number);
    for (size_t i = 0; i < count; i++) {
        bool same = i && items[i].key == items[i - 1].key && items[i].number == items[i - 1].number;

        repeated = same ? repeated + 1 : 0;
        out[items[i].index] = items[i].number + repeated * REUSED;
        *changed += same;
    }
}

enum ifg_status export_ids_init(struct export_ids *ids, struct export_job *job)
{
    const struct timeline *timeline = job->timeline;
    size_t processes = timeline->process_count, threads = timeline->thread_count;
    struct numbered *items = NULL;
    enum ifg_status status;

    *ids = (struct export_ids){ 0 };
    ids->homes = ifg_alloc(threads + 1, sizeof *ids->homes);
    for (size_t i = 0; ids->homes && i < threads; i++)
        ids->homes[i] = timeline->threads[i].process;
    status = ids->homes ? export_devices_find(ids, job) : export_no_memory(job);
    if (status) {
        export_ids_fini(ids);
        return status;
    }
    processes += ids->device_count;
    items = ifg_alloc((threads > processes ? threads : processes) + 1, sizeof *items);
    ids->pids = ifg_alloc(processes + 1, sizeof *ids->pids);
    ids->tids = ifg_alloc(threads + 1, sizeof *ids->tids);
    if (!items || !ids->pids || !ids->tids) {
        ifg_free(items);
        export_ids_fini(ids);
        return export_no_memory(job);
    }
    for (size_t i = 0; i < timeline->process_count; i++)
        items[i] = (struct numbered){ 0, timeline->processes[i].pid, (uint32_t)i };
    for (size_t i = timeline->process_count; i < processes; i++)
        items[i] = (struct numbered){ 0, DEVICES_FROM + (uint32_t)(i - timeline->process_count),
                                      (uint32_t)i };
    make_unique(items, processes, ids->pids, &ids->changed);
    for (size_t i = 0; i < threads; i++) {
        bool is_stream = ids->homes[i] >= timeline->process_count;

        items[i] = (struct numbered){ ids->pids[ids->homes[i]],
                                      is_stream ? (uint32_t)i + 1 : timeline->threads[i].tid,
                                      (uint32_t)i };
    }
    make_unique(items, threads, ids->tids, &ids->changed);
    ifg_free(items);
    return IFG_OK;
}

void export_ids_fini(struct export_ids *ids)
{
    ifg_free(ids->pids);
    ifg_free(ids->tids);
    ifg_free(ids->homes);
    ifg_free(ids->devices);
    *ids = (struct export_ids){ 0 };
}

/* ---- requests ---------------------------------------------------------------- */

struct stage {
    uint64_t request;
    uint64_t start_ns;
    size_t slice;
    uint32_t process;
};

static int by_request(const void *a, const void *b)
{
    const struct stage *left = a;
    const struct stage *right = b;

    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->request != right->request)
        return left->request < right->request ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return left->slice < right->slice ? -1 : left->slice > right->slice;
}

static int by_slice(const void *a, const void *b)
{
    const struct export_flow *left = a;
    const struct export_flow *right = b;

    return left->slice < right->slice ? -1 : left->slice > right->slice;
}

static bool is_request(const struct timeline *timeline, const struct timeline_attribute *attribute)
{
    /* Numbers that were imported are signed. */
    bool number = attribute->type == TRACE_VALUE_UNSIGNED ||
                  (attribute->type == TRACE_VALUE_SIGNED && attribute->signed_value >= 0);

    return number && strcmp(attribute->key, TRACE_KEY_REQUEST) == 0 &&
           timeline->locations[timeline->location[attribute->slice]].kind == TRACE_LOCATION_STAGE;
}

static size_t list_stages(const struct timeline *timeline, struct stage *out)
{
    size_t count = 0;

    for (size_t i = 0; i < timeline->attribute_count; i++) {
        const struct timeline_attribute *attribute = &timeline->attributes[i];

        if (!is_request(timeline, attribute))
            continue;
        if (out)
            out[count] =
                (struct stage){ attribute->unsigned_value, timeline->start_ns[attribute->slice],
                                attribute->slice,
                                timeline->locations[timeline->location[attribute->slice]].process };
        count++;
    }
    return count;
}

enum ifg_status export_flows_init(struct export_flows *flows, struct export_job *job)
{
    size_t count = list_stages(job->timeline, NULL);
    struct stage *stages;
    uint64_t id = 0;

    *flows = (struct export_flows){ 0 };
    if (count == 0)
        return IFG_OK;
    stages = ifg_alloc(count, sizeof *stages);
    flows->items = ifg_alloc(count, sizeof *flows->items);
    if (!stages || !flows->items) {
        ifg_free(stages);
        export_flows_fini(flows);
        return export_no_memory(job);
    }
    list_stages(job->timeline, stages);
    qsort(stages, count, sizeof *stages, by_request);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && stages[next].process == stages[first].process &&
                               stages[next].request == stages[first].request;)
            next++;
        if (next == first + 1)
            continue;
        id++;
        for (size_t i = first; i < next; i++)
            flows->items[flows->count++] =
                (struct export_flow){ stages[i].slice, id,
                                      i == first      ? EXPORT_FLOW_FIRST
                                      : i + 1 == next ? EXPORT_FLOW_LAST
                                                      : EXPORT_FLOW_MIDDLE };
    }
    ifg_free(stages);
    qsort(flows->items, flows->count, sizeof *flows->items, by_slice);
    return IFG_OK;
}

void export_flows_fini(struct export_flows *flows)
{
    ifg_free(flows->items);
    *flows = (struct export_flows){ 0 };
}

const struct export_flow *export_flow_of(const struct export_flows *flows, size_t slice)
{
    struct export_flow key = { .slice = slice };

    if (flows->count == 0)
        return NULL;
    return bsearch(&key, flows->items, flows->count, sizeof key, by_slice);
}

/* ---- memory in use ----------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *context)
{
    const struct timeline_location *locations = context;
    const uint32_t *left = a;
    const uint32_t *right = b;
    int order;

    if (locations[*left].process != locations[*right].process)
        return locations[*left].process < locations[*right].process ? -1 : 1;
    if (locations[*left].kind != locations[*right].kind)
        return locations[*left].kind < locations[*right].kind ? -1 : 1;
    order = strcmp(locations[*left].name, locations[*right].name);
    if (order)
        return order;
    return *left < *right ? -1 : *left > *right;
}

uint32_t *export_same_names(const struct timeline *timeline)
{
    size_t count = timeline->location_count;
    uint32_t *sorted = ifg_alloc(count + 1, sizeof *sorted);
    uint32_t *first = ifg_alloc(count + 1, sizeof *first);

    if (!sorted || !first) {
        ifg_free(sorted);
        ifg_free(first);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, count, sizeof *sorted, by_name, (void *)timeline->locations);
    for (size_t i = 0; i < count; i++) {
        const struct timeline_location *location = &timeline->locations[sorted[i]];
        const struct timeline_location *before = i ? &timeline->locations[sorted[i - 1]] : NULL;
        bool same = before && before->process == location->process &&
                    before->kind == location->kind && strcmp(before->name, location->name) == 0;

        first[sorted[i]] = same ? first[sorted[i - 1]] : sorted[i];
    }
    ifg_free(sorted);
    return first;
}

struct live {
    uint64_t address;
    uint64_t bytes;
    uint32_t location;
};

struct export_memory {
    struct live *items;
    size_t count, capacity;
    struct ifg_index index;
    uint64_t *in_use; /* per location */
    const uint32_t *same_names;
};

struct export_memory *export_memory_create(const struct timeline *timeline,
                                           const uint32_t *same_names)
{
    struct export_memory *memory = ifg_alloc(1, sizeof *memory);

    if (!memory)
        return NULL;
    memory->same_names = same_names;
    memory->in_use = ifg_alloc(timeline->location_count + 1, sizeof *memory->in_use);
    if (!memory->in_use) {
        export_memory_destroy(memory);
        return NULL;
    }
    return memory;
}

void export_memory_destroy(struct export_memory *memory)
{
    if (!memory)
        return;
    ifg_free(memory->items);
    ifg_index_fini(&memory->index);
    ifg_free(memory->in_use);
    ifg_free(memory);
}

static uint64_t hash_live(const void *items, size_t position)
{
    const struct live *live = (const struct live *)items + position;

    return ifg_hash_pair(live->address, live->location);
}

static bool is_same_live(const void *items, size_t position, const void *wanted)
{
    const struct live *live = (const struct live *)items + position;
    const struct live *other = wanted;

    return live->address == other->address && live->location == other->location;
}

uint64_t export_memory_next(struct export_memory *memory, const struct timeline_allocation *event)
{
    uint32_t pool = memory->same_names[event->location];
    uint64_t *in_use = &memory->in_use[pool];
    struct live live = { event->address, event->bytes, pool };
    uint64_t hash = hash_live(&live, 0);
    uint32_t found = ifg_index_find(&memory->index, hash, is_same_live, memory->items, &live);

    if (found) {
        *in_use -= memory->items[found - 1].bytes;
        ifg_index_remove(&memory->index, found - 1, memory->count--, hash_live, memory->items,
                         sizeof live);
    }
    if (event->is_free)
        return *in_use;
    if (!IFG_ARRAY_ROOM(memory->items, memory->capacity, memory->count + 1, IFG_ARRAY_ANY) ||
        !ifg_index_room(&memory->index, memory->count, hash_live, memory->items))
        return *in_use; /* short of memory: this one is not followed */
    memory->items[memory->count] = live;
    ifg_index_put(&memory->index, hash, memory->count++);
    *in_use += event->bytes;
    return *in_use;
}
