// SPDX-License-Identifier: Apache-2.0
/*
 * Work of devices and the calls that asked for it, gathered from the slices and tied together.
 *
 * One walk over the slices, with their attributes alongside, finds calls and work; a sweep through
 * the threads of the calls finds what was open around each; a search by (process, correlation)
 * gives work its call.
 */
#include "timeline/device.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "timeline/flows.h"
#include "timeline/timeline_internal.h"
#include "trace/keys.h"

#define CLOCK_OFF_NS 1000000000u /* more than any device's clock is off */

struct timeline_kept_devices {
    struct timeline_devices view;
    struct timeline_device_stream *streams;
    size_t stream_room;
    struct timeline_device_call *calls;
    size_t call_room;
    struct timeline_device_work *works;
    size_t work_room;
    uint32_t *by_stream;
    uint32_t *by_inference;
    uint32_t *by_op;
};

static const char *const work_names[TIMELINE_WORK_KINDS] = {
    "other",         TRACE_WORK_KERNEL, TRACE_WORK_MEMCPY, TRACE_WORK_MEMSET,
    TRACE_WORK_SYNC, TRACE_WORK_GRAPH,  TRACE_WORK_MEMORY,
};

const char *timeline_work_name(enum timeline_work kind)
{
    return (unsigned)kind < TIMELINE_WORK_KINDS ? work_names[kind] : work_names[0];
}

/* The first word of a location's function. */
static enum timeline_work kind_of(const char *function)
{
    size_t length = strcspn(function, " ");

    for (unsigned i = 1; i < TIMELINE_WORK_KINDS; i++)
        if (strlen(work_names[i]) == length && memcmp(work_names[i], function, length) == 0)
            return (enum timeline_work)i;
    return TIMELINE_WORK_OTHER;
}

const char *timeline_copy_kind(const struct timeline *timeline,
                               const struct timeline_device_work *work)
{
    const char *function = timeline->locations[work->location].function;
    const char *space = strchr(function, ' ');

    return work->kind == TIMELINE_WORK_MEMCPY && space ? space + 1 : "";
}

/* ---- gathering ---- */

/* Attributes lie in the order of slices: a walk over the slices needs no search. */
struct alongside {
    const struct timeline *timeline;
    size_t next;
};

static const struct timeline_attribute *next_of(struct alongside *alongside, size_t slice)
{
    const struct timeline *timeline = alongside->timeline;

    while (alongside->next < timeline->attribute_count &&
           timeline->attributes[alongside->next].slice < slice)
        alongside->next++;
    return alongside->next < timeline->attribute_count &&
                   timeline->attributes[alongside->next].slice == slice
               ? &timeline->attributes[alongside->next++]
               : NULL;
}

static bool is_number(const struct timeline_attribute *attribute, const char *key)
{
    return attribute->type == TRACE_VALUE_UNSIGNED && strcmp(attribute->key, key) == 0;
}

static bool add_call(struct timeline_kept_devices *kept, struct alongside *alongside,
                     uint32_t thread, size_t slice)
{
    const struct timeline *timeline = alongside->timeline;
    const struct timeline_attribute *attribute;
    struct timeline_device_call *call;

    if (kept->view.call_count >= TIMELINE_NONE ||
        !IFG_ARRAY_ROOM(kept->calls, kept->call_room, kept->view.call_count + 1, IFG_ARRAY_ANY))
        return false;
    call = &kept->calls[kept->view.call_count++];
    *call = (struct timeline_device_call){
        .slice = slice,
        .start_ns = timeline->start_ns[slice],
        .end_ns = timeline_end_ns(timeline, slice),
        .inference = SIZE_MAX,
        .ml = SIZE_MAX,
        .op = SIZE_MAX,
        .zone = SIZE_MAX,
        .thread = thread,
        .location = timeline->location[slice],
        .model = TIMELINE_NONE,
        .kind = kind_of(timeline->locations[timeline->location[slice]].function),
    };
    while ((attribute = next_of(alongside, slice)) != NULL)
        if (is_number(attribute, TRACE_KEY_CORRELATION))
            call->correlation = attribute->unsigned_value;
    return true;
}

static bool add_work(struct timeline_kept_devices *kept, struct alongside *alongside,
                     uint32_t stream, size_t slice)
{
    const struct timeline *timeline = alongside->timeline;
    const struct timeline_attribute *attribute;
    struct timeline_device_work *work;

    if (kept->view.work_count >= TIMELINE_NONE ||
        !IFG_ARRAY_ROOM(kept->works, kept->work_room, kept->view.work_count + 1, IFG_ARRAY_ANY))
        return false;
    work = &kept->works[kept->view.work_count++];
    *work = (struct timeline_device_work){
        .slice = slice,
        .start_ns = timeline->start_ns[slice],
        .end_ns = timeline_end_ns(timeline, slice),
        .bytes = UINT64_MAX,
        .stream = stream,
        .location = timeline->location[slice],
        .call = TIMELINE_NONE,
        .kind = kind_of(timeline->locations[timeline->location[slice]].function),
    };
    while ((attribute = next_of(alongside, slice)) != NULL) {
        if (is_number(attribute, TRACE_KEY_CORRELATION))
            work->correlation = attribute->unsigned_value;
        else if (is_number(attribute, TRACE_KEY_BYTES))
            work->bytes = attribute->unsigned_value;
        else if (attribute->type == TRACE_VALUE_STRING &&
                 strcmp(attribute->key, TRACE_KEY_SHAPE) == 0)
            work->shape = attribute->text;
    }
    return true;
}

static bool add_stream(struct timeline_kept_devices *kept, const struct timeline *timeline,
                       uint32_t thread)
{
    const struct trace_thread_entry *entry =
        &trace_reader_tables(timeline->reader)->threads[thread];
    struct timeline_device_stream *stream;

    if (!IFG_ARRAY_ROOM(kept->streams, kept->stream_room, kept->view.stream_count + 1,
                        IFG_ARRAY_ANY))
        return false;
    stream = &kept->streams[kept->view.stream_count++];
    *stream = (struct timeline_device_stream){
        .thread = thread,
        .process = timeline->threads[thread].process,
        .device = TIMELINE_NONE,
        .context = TIMELINE_NONE,
        .stream = TIMELINE_NONE,
        .api = "",
        .name = "",
        .device_id = "",
    };
    if (entry->is_device) {
        stream->device = entry->device.device;
        stream->context = entry->device.context;
        stream->stream = entry->device.stream;
        stream->api = entry->device.api;
        stream->name = entry->device.name;
        stream->device_id = entry->device.device_id;
    }
    return true;
}

static int by_numbers(const void *left, const void *right)
{
    const struct timeline_device_stream *a = left;
    const struct timeline_device_stream *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool has_work(const struct timeline *timeline, const struct timeline_thread *thread)
{
    for (size_t i = 0; i < thread->slice_count; i++)
        if (timeline->locations[timeline->location[thread->first_slice + i]].kind ==
            TRACE_LOCATION_DEVICE)
            return true;
    return false;
}

static bool find_streams(struct timeline_kept_devices *kept, const struct timeline *timeline)
{
    for (uint32_t t = 0; t < timeline->thread_count; t++)
        if ((trace_reader_tables(timeline->reader)->threads[t].is_device ||
             has_work(timeline, &timeline->threads[t])) &&
            !add_stream(kept, timeline, t))
            return false;
    if (kept->view.stream_count)
        qsort(kept->streams, kept->view.stream_count, sizeof *kept->streams, by_numbers);
    return true;
}

static bool gather(struct timeline_kept_devices *kept, const struct timeline *timeline)
{
    uint32_t *stream_of = ifg_alloc(timeline->thread_count, sizeof *stream_of);
    struct alongside alongside = { .timeline = timeline };
    bool good = stream_of && find_streams(kept, timeline);

    for (uint32_t i = 0; good && i < kept->view.stream_count; i++)
        stream_of[kept->streams[i].thread] = i;
    for (uint32_t t = 0; good && t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        for (size_t i = 0; good && i < thread->slice_count; i++) {
            size_t slice = thread->first_slice + i;
            enum trace_location_kind kind = timeline->locations[timeline->location[slice]].kind;

            if (kind == TRACE_LOCATION_DRIVER)
                good = add_call(kept, &alongside, t, slice);
            else if (kind == TRACE_LOCATION_DEVICE)
                good = add_work(kept, &alongside, stream_of[t], slice);
        }
    }
    ifg_free(stream_of);
    return good;
}

/* ---- what calls are part of ---- */

static void note_around(struct timeline_device_call *call, const struct timeline *timeline,
                        const struct timeline_sweep *sweep)
{
    for (size_t i = sweep->count; i-- > 0;) {
        size_t slice = sweep->open[i];
        const struct timeline_location *location = &timeline->locations[timeline->location[slice]];

        if (timeline_end_ns(timeline, slice) <= call->start_ns)
            continue; /* the one inside lasted longer */
        if (location->kind == TRACE_LOCATION_OP && call->op == SIZE_MAX)
            call->op = slice;
        else if (location->kind == TRACE_LOCATION_ML && call->ml == SIZE_MAX)
            call->ml = slice;
        else if ((location->kind == TRACE_LOCATION_ZONE ||
                  location->kind == TRACE_LOCATION_STAGE) &&
                 call->zone == SIZE_MAX)
            call->zone = slice;
        if (location->kind == TRACE_LOCATION_ML && call->inference == SIZE_MAX &&
            location->category == TRACE_CATEGORY_INFERENCE)
            call->inference = slice;
        if ((location->kind == TRACE_LOCATION_ML || location->kind == TRACE_LOCATION_OP) &&
            call->model == TIMELINE_NONE)
            call->model = location->model;
    }
}

/* By where they began: the clock of a runtime's own operators is coarse, and one may seem to end
 * inside its last call. */
static bool place_calls(struct timeline_kept_devices *kept, const struct timeline *timeline)
{
    struct timeline_sweep sweep = { .timeline = timeline, .thread = TIMELINE_NONE };

    for (size_t i = 0; i < kept->view.call_count; i++) {
        struct timeline_device_call *call = &kept->calls[i];

        timeline_sweep_at(&sweep, call->thread, call->start_ns);
        if (sweep.no_memory)
            break;
        note_around(call, timeline, &sweep);
    }
    timeline_sweep_fini(&sweep);
    return !sweep.no_memory;
}

/* ---- what work belongs to ---- */

struct keyed_call {
    uint64_t correlation;
    uint64_t start_ns;
    uint32_t process;
    uint32_t call;
};

static int by_correlation(const void *left, const void *right)
{
    const struct keyed_call *a = left;
    const struct keyed_call *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

static bool is_call_of(const struct keyed_call *call, uint32_t process,
                       const struct timeline_device_work *work)
{
    return call->process == process && call->correlation == work->correlation;
}

/* The last call of that number that began before the work ended: numbers come again after 2^32. The
 * number says which call it is, not the time: the clock of a device may be off by more than a
 * kernel takes. So if there is none before, the first one soon after is meant. */
static uint32_t find_call(const struct keyed_call *calls, size_t count, uint32_t process,
                          const struct timeline_device_work *work)
{
    const struct keyed_call wanted = { work->correlation, work->end_ns, process, TIMELINE_NONE };
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_correlation(&calls[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && is_call_of(&calls[low - 1], process, work))
        return calls[low - 1].call;
    if (low < count && is_call_of(&calls[low], process, work) &&
        calls[low].start_ns - work->end_ns < CLOCK_OFF_NS)
        return calls[low].call;
    return TIMELINE_NONE;
}

static int by_start(const void *left, const void *right)
{
    const struct timeline_device_work *a = left;
    const struct timeline_device_work *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

/* Of two clocks one is off. */
static void note_early(struct timeline_devices *view, uint64_t work_ns, uint64_t call_ns)
{
    if (work_ns >= call_ns)
        return;
    view->too_early++;
    if (call_ns - work_ns > view->early_ns)
        view->early_ns = call_ns - work_ns;
}

static bool join(struct timeline_kept_devices *kept, const struct timeline *timeline)
{
    struct keyed_call *keyed = ifg_alloc(kept->view.call_count, sizeof *keyed);
    size_t count = 0;

    if (!keyed)
        return false;
    for (uint32_t i = 0; i < kept->view.call_count; i++)
        if (kept->calls[i].correlation)
            keyed[count++] = (struct keyed_call){
                .correlation = kept->calls[i].correlation,
                .start_ns = kept->calls[i].start_ns,
                .process = timeline->threads[kept->calls[i].thread].process,
                .call = i,
            };
    if (count)
        qsort(keyed, count, sizeof *keyed, by_correlation);
    if (kept->view.work_count)
        qsort(kept->works, kept->view.work_count, sizeof *kept->works, by_start);
    for (size_t i = 0; i < kept->view.work_count; i++) {
        struct timeline_device_work *work = &kept->works[i];

        if (work->correlation)
            work->call = find_call(keyed, count, kept->streams[work->stream].process, work);
        if (!timeline_work_is_busy(work->kind))
            continue;
        kept->view.busy_count++;
        if (work->call == TIMELINE_NONE) {
            kept->view.without_call++;
            continue;
        }
        kept->view.busy_in_inferences += kept->calls[work->call].inference != SIZE_MAX;
        note_early(&kept->view, work->start_ns, kept->calls[work->call].start_ns);
        kept->calls[work->call].work_count++;
        kept->calls[work->call].busy_ns += work->end_ns - work->start_ns;
    }
    ifg_free(keyed);
    return true;
}

/* ---- orders ---- */

struct keyed_work {
    size_t key;
    uint32_t work; /* works are by start */
};

static int by_key(const void *left, const void *right)
{
    const struct keyed_work *a = left;
    const struct keyed_work *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->work < b->work ? -1 : a->work > b->work;
}

typedef size_t key_of_work(const struct timeline_devices *devices,
                           const struct timeline_device_work *work);

static size_t inference_of(const struct timeline_devices *devices,
                           const struct timeline_device_work *work)
{
    const struct timeline_device_call *call = timeline_call_of(devices, work);

    return call ? call->inference : SIZE_MAX;
}

static size_t op_of(const struct timeline_devices *devices, const struct timeline_device_work *work)
{
    const struct timeline_device_call *call = timeline_call_of(devices, work);

    return call ? call->op : SIZE_MAX;
}

static size_t stream_of(const struct timeline_devices *devices,
                        const struct timeline_device_work *work)
{
    (void)devices;
    return work->stream;
}

/* The order, and in *out_with how many have a key. */
static uint32_t *order_by(const struct timeline_devices *devices, key_of_work *key,
                          size_t *out_with)
{
    struct keyed_work *keyed = ifg_alloc(devices->work_count, sizeof *keyed);
    uint32_t *order = ifg_alloc(devices->work_count, sizeof *order);

    for (uint32_t i = 0; keyed && i < devices->work_count; i++) {
        keyed[i] = (struct keyed_work){ key(devices, &devices->works[i]), i };
        *out_with += keyed[i].key != SIZE_MAX;
    }
    if (keyed && devices->work_count)
        qsort(keyed, devices->work_count, sizeof *keyed, by_key);
    for (size_t i = 0; keyed && order && i < devices->work_count; i++)
        order[i] = keyed[i].work;
    if (!keyed) {
        ifg_free(order);
        order = NULL;
    }
    ifg_free(keyed);
    return order;
}

static bool put_in_order(struct timeline_kept_devices *kept)
{
    struct timeline_devices *view = &kept->view;
    size_t with_stream = 0;
    size_t at = 0;

    view->works = kept->works;
    view->calls = kept->calls;
    view->streams = kept->streams;
    view->by_stream = kept->by_stream = order_by(view, stream_of, &with_stream);
    view->by_inference = kept->by_inference = order_by(view, inference_of, &view->in_inferences);
    view->by_op = kept->by_op = order_by(view, op_of, &view->in_ops);
    if (!kept->by_stream || !kept->by_inference || !kept->by_op)
        return false;
    for (uint32_t i = 0; i < view->stream_count; i++) {
        kept->streams[i].first_work = at;
        while (at < view->work_count && view->works[view->by_stream[at]].stream == i)
            at++;
        kept->streams[i].work_count = at - kept->streams[i].first_work;
    }
    return true;
}

/* ---- life ---- */

static bool has_any(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->location_count; i++)
        if (timeline->locations[i].kind == TRACE_LOCATION_DEVICE ||
            timeline->locations[i].kind == TRACE_LOCATION_DRIVER)
            return true;
    return false;
}

static struct timeline_kept_devices *make(const struct timeline *timeline)
{
    struct timeline_kept_devices *kept = ifg_alloc(1, sizeof *kept);

    if (kept && has_any(timeline) &&
        (!gather(kept, timeline) || !place_calls(kept, timeline) || !join(kept, timeline) ||
         !put_in_order(kept))) {
        timeline_devices_destroy(kept);
        return NULL;
    }
    return kept;
}

void timeline_devices_destroy(struct timeline_kept_devices *kept)
{
    if (!kept)
        return;
    ifg_free(kept->streams);
    ifg_free(kept->calls);
    ifg_free(kept->works);
    ifg_free(kept->by_stream);
    ifg_free(kept->by_inference);
    ifg_free(kept->by_op);
    ifg_free(kept);
}

enum ifg_status timeline_devices_get(const struct timeline *timeline,
                                     const struct timeline_devices **out_devices,
                                     struct ifg_error *err)
{
    struct timeline_builder *builder = (struct timeline_builder *)(uintptr_t)timeline;

    pthread_mutex_lock(&builder->profile_lock);
    if (!builder->devices)
        builder->devices = make(timeline);
    *out_devices = builder->devices ? &builder->devices->view : NULL;
    pthread_mutex_unlock(&builder->profile_lock);
    return *out_devices ? IFG_OK : ifg_fail_no_memory(err, "for the work of devices");
}

/* ---- questions ---- */

/* How many of the work in an order have a key below this one. */
static size_t before(const struct timeline_devices *devices, const uint32_t *order,
                     key_of_work *key, size_t wanted)
{
    size_t low = 0;
    size_t high = devices->work_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (key(devices, &devices->works[order[middle]]) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t extent(const struct timeline_devices *devices, const uint32_t *order,
                     key_of_work *key, size_t wanted, size_t *out_first)
{
    *out_first = 0;
    if (!devices->work_count || wanted == SIZE_MAX)
        return 0;
    *out_first = before(devices, order, key, wanted);
    return before(devices, order, key, wanted + 1) - *out_first;
}

size_t timeline_work_of_inference(const struct timeline_devices *devices, size_t inference,
                                  size_t *out_first)
{
    return extent(devices, devices->by_inference, inference_of, inference, out_first);
}

size_t timeline_work_of_op(const struct timeline_devices *devices, size_t op, size_t *out_first)
{
    return extent(devices, devices->by_op, op_of, op, out_first);
}

/* How many calls lie before this moment of this thread. */
static size_t calls_before(const struct timeline_devices *devices, uint32_t thread, uint64_t ns)
{
    size_t low = 0;
    size_t high = devices->call_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct timeline_device_call *call = &devices->calls[middle];

        if (call->thread != thread ? call->thread < thread : call->start_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t timeline_calls_in(const struct timeline *timeline, const struct timeline_devices *devices,
                         size_t slice, size_t *out_first)
{
    uint32_t thread = timeline_thread_of(timeline, slice);
    size_t end;

    *out_first = calls_before(devices, thread, timeline->start_ns[slice]);
    end = calls_before(devices, thread, timeline_end_ns(timeline, slice));
    return end > *out_first ? end - *out_first : 0;
}

static bool number_of(const struct timeline *timeline, size_t slice, const char *key,
                      uint64_t *out_value)
{
    const struct timeline_attribute *attribute = timeline_find_attribute(timeline, slice, key);

    *out_value = 0;
    if (!attribute || attribute->type != TRACE_VALUE_UNSIGNED)
        return false;
    *out_value = attribute->unsigned_value;
    return true;
}

bool timeline_work_queued(const struct timeline *timeline, const struct timeline_device_work *work,
                          uint64_t *out_queued_ns, uint64_t *out_submitted_ns)
{
    bool queued = number_of(timeline, work->slice, TRACE_KEY_QUEUED_NS, out_queued_ns);
    bool submitted = number_of(timeline, work->slice, TRACE_KEY_SUBMITTED_NS, out_submitted_ns);

    return queued && submitted;
}

bool timeline_work_graph(const struct timeline *timeline, const struct timeline_device_work *work,
                         uint64_t *out_graph, uint64_t *out_node)
{
    number_of(timeline, work->slice, TRACE_KEY_GRAPH_NODE, out_node);
    return number_of(timeline, work->slice, TRACE_KEY_GRAPH, out_graph);
}
