// SPDX-License-Identifier: Apache-2.0
/* Who uses a device, and for how long: see joules.h. */
#include <stdio.h>
#include <string.h>

#include "analyze/device_time.h"
#include "analyze/joules_internal.h"
#include "timeline/device.h"

/* The driver's list of processes is read once a second. */
#define LISTED_LEAST_NS 2500000000ull

/* ---- processes ---- */

/* By the driver's list of processes. */
static bool is_listed(const struct resources *resources, const char *device, uint32_t pid)
{
    char name[48];

    snprintf(name, sizeof name, "%s memory bytes", device);
    if (resource_max(resources_find(resources, pid, name)) > 0)
        return true;
    snprintf(name, sizeof name, "%s busy %%", device);
    return resource_max(resources_find(resources, pid, name)) > 0;
}

/* How many devices the list has the process on; where it was seen on one, *out_first is that. */
static size_t count_listed(const struct resources *resources, uint32_t pid, size_t *out_first)
{
    size_t count = 0;

    for (size_t i = 0; i < resources->gpu_count; i++) {
        char name[32];

        snprintf(name, sizeof name, "gpu %zu", i);
        if (is_listed(resources, name, pid) && count++ == 0)
            *out_first = i;
    }
    return count;
}

/* Whether the list was read between the first and the last inference of a process: who uses the
 * device is in it by then. */
static bool was_list_read(const struct ml_input *input, const struct joules_device *device,
                          uint32_t pid)
{
    const struct resource_series *reads = joules_find(input, device, "other processes");
    uint64_t first_ns = UINT64_MAX, last_ns = 0;

    for (size_t m = 0; m < input->model_count; m++) {
        const struct ml_model *model = &input->models[m];

        if (model->model->process >= input->timeline->process_count ||
            input->timeline->processes[model->model->process].pid != pid)
            continue;
        for (size_t f = 0; f < model->function_count; f++) {
            const struct ml_events *events = joules_inferences(input, model, f);
            const struct ml_event *items = events->items;

            if (!events->count)
                continue;
            if (items[0].start_ns + items[0].duration_ns < first_ns)
                first_ns = items[0].start_ns + items[0].duration_ns;
            if (items[events->count - 1].start_ns > last_ns)
                last_ns = items[events->count - 1].start_ns;
        }
    }
    for (size_t i = 0; reads && i < reads->count; i++)
        if (reads->points[i].ns >= first_ns && reads->points[i].ns <= last_ns)
            return true;
    return false;
}

/* Whether the list is complete enough that a process which is not in it does not use the device: it
 * has others of this recording, and was read while this one ran. A descriptor that is open is not
 * yet a use: who asks the driver for names has one, and so has a child of who uses the device. */
static bool driver_lists(const struct ml_input *input, const struct joules_device *device,
                         uint32_t pid)
{
    const struct resources *resources = input->resources;
    const struct resource_series *open = resources_find(resources, pid, "gpu descriptors");
    size_t first = 0;

    if (count_listed(resources, pid, &first))
        return true;
    if (!was_list_read(input, device, pid) &&
        (!open || !open->count ||
         open->points[open->count - 1].ns - open->points[0].ns < LISTED_LEAST_NS))
        return false;
    for (size_t i = 0; i < input->timeline->process_count; i++)
        if (is_listed(resources, device->name, input->timeline->processes[i].pid))
            return true;
    return false;
}

static bool any_engine_ran(const struct ml_input *input, uint32_t pid)
{
    for (size_t i = 0; i < input->resources->series_count; i++) {
        const struct resource_series *series = &input->resources->series[i];

        if (series->pid == pid && strncmp(series->name, "gpu engine ", 11) == 0 &&
            resource_max(series) > 0)
            return true;
    }
    return false;
}

static const struct timeline_process *find_process(const struct ml_input *input, uint32_t pid,
                                                   uint32_t *out_index)
{
    for (uint32_t i = 0; i < input->timeline->process_count; i++)
        if (input->timeline->processes[i].pid == pid) {
            *out_index = i;
            return &input->timeline->processes[i];
        }
    return NULL;
}

/* Whether its descriptors may be those of its parent, which uses the device. */
static bool may_have_inherited(const struct ml_input *input, const struct joules_device *device,
                               uint32_t pid)
{
    uint32_t index;
    const struct timeline_process *process = find_process(input, pid, &index);
    const struct timeline_process *parent =
        process && process->parent_pid ? find_process(input, process->parent_pid, &index) : NULL;

    return parent && (is_listed(input->resources, device->name, parent->pid) ||
                      device_is_recorded(input->timeline, index));
}

/* Whether it is a fork of a process whose work was recorded, and has none itself: a driver that was
 * started before a fork does not work after it, and one that is started later is recorded, too. */
static bool is_idle_fork(const struct ml_input *input, uint32_t pid)
{
    uint32_t index, parent_index;
    const struct timeline_process *process = find_process(input, pid, &index);
    const struct timeline_process *parent =
        process && process->parent_pid ? find_process(input, process->parent_pid, &parent_index)
                                       : NULL;

    return parent && *process->program && strcmp(process->program, parent->program) == 0 &&
           device_is_recorded(input->timeline, parent_index) &&
           !device_is_recorded(input->timeline, index);
}

/* By what the driver says of the process; where that says nothing, by its open descriptors. */
static enum uses process_uses(const struct ml_input *input, const struct joules_device *device,
                              uint32_t pid)
{
    const struct resources *resources = input->resources;
    bool single = resources->gpu_count == 1;
    const struct resource_series *open = resources_find(resources, pid, "gpu descriptors");

    if (is_listed(resources, device->name, pid))
        return USES;
    if (driver_lists(input, device, pid))
        return USES_NOT;
    if (is_idle_fork(input, pid))
        return USES_NOT;
    if (single && any_engine_ran(input, pid))
        return USES;
    if (single && resource_max(open) > 0)
        return may_have_inherited(input, device, pid) ? USES_UNKNOWN : USES;
    if (open && resource_max(open) <= 0 && !resources_find(resources, pid, "gpu memory bytes"))
        return USES_NOT;
    if (!open && joules_find(input, device, "other processes") &&
        resource_max(joules_find(input, device, "other processes")) <= 0)
        return USES_NOT; /* the driver lists all, and this one never was among them */
    if (resources_find(resources, pid, "gpu memory bytes") && single)
        return USES_NOT; /* it has a picture to draw */
    return USES_UNKNOWN;
}

/* ---- recorded work ---- */

static bool is_cpu(const struct joules_device *device)
{
    return strcmp(device->name, "cpu") == 0;
}

/* NULL: there is none. */
static const struct timeline_devices *recorded_work(const struct ml_input *input)
{
    const struct timeline_devices *devices = NULL;

    if (timeline_devices_get(input->timeline, &devices, NULL) != IFG_OK || !devices->work_count)
        return NULL;
    return devices;
}

/* Whether the work of that process is this device's. Programs number devices as they like: of
 * several, it must be the only one that the driver has the process on. */
static bool is_here(const struct ml_input *input, const struct joules_device *device,
                    uint32_t process)
{
    char name[32];
    size_t number = 0;

    if (is_cpu(device))
        return false;
    if (input->resources->gpu_count == 1)
        return true;
    if (process >= input->timeline->process_count ||
        count_listed(input->resources, input->timeline->processes[process].pid, &number) != 1)
        return false;
    snprintf(name, sizeof name, "gpu %zu", number);
    return strcmp(name, device->name) == 0;
}

/* What keeps the device busy; waits and reservations of memory do not. */
static bool is_busy(const struct timeline_device_work *work)
{
    return work->kind != TIMELINE_WORK_SYNC && work->kind != TIMELINE_WORK_MEMORY;
}

static bool is_recorded(const struct ml_input *input, const struct joules_device *device,
                        const struct timeline_devices *devices, uint32_t process)
{
    if (!devices || !is_here(input, device, process))
        return false;
    for (size_t i = 0; i < devices->stream_count; i++)
        if (devices->streams[i].work_count > 0 && devices->streams[i].process == process)
            return true;
    return false;
}

static bool launched_any(const struct ml_input *input, const struct timeline_devices *devices,
                         const struct ml_model *model)
{
    size_t first;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events = joules_inferences(input, model, f);

        for (size_t i = 0; i < events->count; i++)
            if (events->items[i].slice != SIZE_MAX &&
                timeline_work_of_inference(devices, events->items[i].slice, &first))
                return true;
    }
    return false;
}

/* Whether work that no inference launched ran in the time of the model's: of another thread that
 * works for it, say. */
static bool may_have_launched(const struct ml_input *input, const struct timeline_devices *devices,
                              const struct ml_model *model)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events = joules_inferences(input, model, f);

        for (size_t i = 0; i < events->count; i++) {
            const struct ml_event *event = &events->items[i];

            begin_ns = event->start_ns < begin_ns ? event->start_ns : begin_ns;
            if (event->start_ns + event->duration_ns > end_ns)
                end_ns = event->start_ns + event->duration_ns;
        }
    }
    for (size_t i = devices->in_inferences; i < devices->work_count; i++) {
        const struct timeline_device_work *work = &devices->works[devices->by_inference[i]];

        if (is_busy(work) && devices->streams[work->stream].process == model->model->process &&
            work->end_ns > begin_ns && work->start_ns < end_ns)
            return true;
    }
    return false;
}

/* ---- models ---- */

static size_t count_inferences(const struct ml_input *input, const struct ml_model *model)
{
    size_t count = 0;

    for (size_t f = 0; f < model->function_count; f++)
        count += joules_inferences(input, model, f)->count;
    return count;
}

/* By who runs its nodes: a model that runs on the CPU alone uses nothing else. */
static bool is_on_cpu(const struct ml_model *model)
{
    bool any = false;

    for (size_t i = 0; i < model->ep_count; i++) {
        const struct ml_ep *ep = &model->eps[i];

        if (!ep->actual || (ep->nodes_known && !ep->nodes))
            continue;
        if (!findings_is_cpu(ep))
            return false;
        any = true;
    }
    return any && model->placement_known;
}

/* Whether no other model of the process can have used the device. */
static bool is_only_one(const struct ml_input *input, const struct ml_model *model)
{
    for (size_t m = 0; m < input->model_count; m++) {
        const struct ml_model *other = &input->models[m];

        if (other != model && other->model->process == model->model->process &&
            count_inferences(input, other) && !is_on_cpu(other))
            return false;
    }
    return true;
}

enum uses joules_uses(const struct ml_input *input, const struct joules_device *device,
                      const struct ml_model *model)
{
    const struct timeline *timeline = input->timeline;
    const struct timeline_devices *devices = recorded_work(input);
    enum uses uses;

    if (!count_inferences(input, model))
        return USES_NOT;
    if (is_cpu(device))
        return USES;
    if (is_recorded(input, device, devices, model->model->process)) {
        if (launched_any(input, devices, model))
            return USES_RECORDED;
        return may_have_launched(input, devices, model) && !is_on_cpu(model) ? USES_LOST : USES_NOT;
    }
    if (is_on_cpu(model))
        return USES_NOT;
    if (model->model->process >= timeline->process_count)
        return USES_UNKNOWN;
    uses = process_uses(input, device, timeline->processes[model->model->process].pid);
    if (uses == USES && !model->placement_known && !is_only_one(input, model))
        return USES_ONE_OF;
    return uses;
}

/* ---- their time ---- */

enum part { PART_WALL, PART_LOAD, PART_UNSURE, PART_OWN_WALL, PART_OWN };

/* The first reading that ends after that time. */
static size_t reading_at(const struct readings *readings, uint64_t ns)
{
    size_t low = 0, high = readings->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (readings->items[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds a time to the readings that it falls into. Returns how much of it did. */
static double add_time(struct readings *readings, enum part part, uint64_t start_ns,
                       uint64_t end_ns)
{
    double inside = 0;

    for (size_t r = reading_at(readings, start_ns);
         r < readings->count && readings->items[r].begin_ns < end_ns; r++) {
        struct reading *reading = &readings->items[r];
        uint64_t from = start_ns > reading->begin_ns ? start_ns : reading->begin_ns;
        uint64_t to = end_ns < reading->end_ns ? end_ns : reading->end_ns;
        double ns = (double)(to - from);

        inside += ns;
        if (part == PART_OWN_WALL) {
            reading->own_wall_ns += ns;
            continue;
        }
        if (part == PART_OWN) {
            reading->own_ns += ns;
            continue;
        }
        if (!reading->last_ns || from < reading->first_ns)
            reading->first_ns = from;
        if (to > reading->last_ns)
            reading->last_ns = to;
        reading->wall_ns += part == PART_WALL ? ns : 0;
        reading->load_ns += part != PART_WALL ? ns : 0;
        reading->unsure_ns += part == PART_UNSURE ? ns : 0;
    }
    return inside;
}

/* The time of a model's inferences. Returns how many of them fall into the readings. */
static double add_wall(const struct ml_input *input, const struct ml_model *model,
                       struct readings *readings, enum part part)
{
    double count = 0;

    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events = joules_inferences(input, model, f);

        for (size_t i = 0; i < events->count; i++) {
            const struct ml_event *event = &events->items[i];

            if ((event->flags & ML_NESTED) || !event->duration_ns)
                continue;
            count +=
                add_time(readings, part, event->start_ns, event->start_ns + event->duration_ns) /
                (double)event->duration_ns;
        }
    }
    return count;
}

/* The time of work that stands together, by its start: what overlaps counts once. */
static void add_work(const struct timeline_devices *devices, const uint32_t *order, size_t count,
                     struct readings *readings, enum part part)
{
    uint64_t until_ns = 0;

    for (size_t i = 0; i < count; i++) {
        const struct timeline_device_work *work = &devices->works[order[i]];
        uint64_t from_ns = work->start_ns > until_ns ? work->start_ns : until_ns;

        if (!is_busy(work) || work->end_ns <= from_ns)
            continue;
        add_time(readings, part, from_ns, work->end_ns);
        until_ns = work->end_ns;
    }
}

static size_t inference_at(const struct timeline_devices *devices, size_t i)
{
    return timeline_call_of(devices, &devices->works[devices->by_inference[i]])->inference;
}

static void add_all_work(const struct ml_input *input, const struct joules_device *device,
                         const struct timeline_devices *devices, struct readings *readings)
{
    for (size_t i = 0; i < devices->in_inferences;) {
        const struct timeline_device_work *work = &devices->works[devices->by_inference[i]];
        size_t next = i + 1;

        while (next < devices->in_inferences &&
               inference_at(devices, next) == inference_at(devices, i))
            next++;
        if (is_here(input, device, devices->streams[work->stream].process))
            add_work(devices, &devices->by_inference[i], next - i, readings, PART_LOAD);
        i = next;
    }
    for (size_t i = devices->in_inferences; i < devices->work_count; i++)
        if (is_here(input, device,
                    devices->streams[devices->works[devices->by_inference[i]].stream].process))
            add_work(devices, &devices->by_inference[i], 1, readings, PART_UNSURE);
}

void joules_load_all(const struct ml_input *input, const struct joules_device *device,
                     struct readings *readings)
{
    const struct timeline_devices *devices = recorded_work(input);

    if (devices && !is_cpu(device))
        add_all_work(input, device, devices, readings);
    for (size_t m = 0; m < input->model_count; m++) {
        enum uses uses = joules_uses(input, device, &input->models[m]);

        if (uses == USES_NOT)
            continue;
        add_wall(input, &input->models[m], readings, PART_WALL);
        if (uses != USES_RECORDED && uses != USES_LOST)
            add_wall(input, &input->models[m], readings, PART_UNSURE);
    }
}

double joules_load_own(const struct ml_input *input, const struct ml_model *model, enum uses uses,
                       struct readings *readings)
{
    const struct timeline_devices *devices = recorded_work(input);
    double count;

    for (size_t i = 0; i < readings->count; i++)
        readings->items[i].own_wall_ns = readings->items[i].own_ns = 0;
    count = add_wall(input, model, readings, PART_OWN_WALL);
    if (uses != USES_RECORDED || !devices) {
        add_wall(input, model, readings, PART_OWN);
        return count;
    }
    for (size_t f = 0; f < model->function_count; f++) {
        const struct ml_events *events = joules_inferences(input, model, f);

        for (size_t i = 0; i < events->count; i++) {
            size_t first = 0, works;

            if (events->items[i].slice == SIZE_MAX)
                continue;
            works = timeline_work_of_inference(devices, events->items[i].slice, &first);
            add_work(devices, &devices->by_inference[first], works, readings, PART_OWN);
        }
    }
    return count;
}
