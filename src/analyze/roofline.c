// SPDX-License-Identifier: Apache-2.0
/* Operators under the roofs of their device: see roofline.h. */
#include "analyze/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device_time.h"
#include "base/alloc.h"
#include "runtimes/runtimes.h"
#include "trace/keys.h"

#define NANO 1e-9

static const char no_costs[] = "is not in the model file as it ran (made or changed by the "
                               "runtime), or its shapes could not be found out";
static const char other_type[] = "ran with another type of elements than the model file has";
static const char host_only[] = "no work of the device was recorded for it";
static const char in_cpu[] = "the peaks of processors are not known";
static const char no_peak[] = "no peak is known for its type of elements";
static const char cached[] = "more bytes in a second than memory can move: caches had them";
static const char too_fast[] = "more FLOP in a second than the peak: it did fewer than its shapes "
                               "tell";
static const char depends[] = "depends on whether tensor cores were used, which is not known";
static const char nothing[] = "neither computes nor moves anything";
static const char some_unknown[] = "not all of its operators are known";
static const char mixed[] = "some of it ran on the CPU";
static const char no_time[] = "took less time than can be told";

struct execution {
    uint32_t location;
    bool on_device;
    uint64_t ns;
};

struct gathering {
    const struct timeline *timeline;
    uint32_t model;
    struct device_times *device; /* NULL: no work of devices was recorded */
    struct execution *executions;
    size_t count;
    size_t *first_slice; /* by location: one more than the first execution; 0: none */
};

/* ---- executions ---- */

/* An operator without a model is that of the inference around it. */
static bool is_of_model(const struct gathering *gathering, size_t slice)
{
    const struct timeline *timeline = gathering->timeline;
    const struct timeline_location *location = &timeline->locations[timeline->location[slice]];

    if (location->kind != TRACE_LOCATION_OP || timeline_is_unfinished(timeline, slice))
        return false;
    while (location->model == TIMELINE_NONE &&
           (slice = timeline_parent(timeline, slice)) != SIZE_MAX)
        location = &timeline->locations[timeline->location[slice]];
    return location->model == gathering->model;
}

static void gather(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;

    for (size_t i = 0; i < timeline->slice_count; i++) {
        struct execution *execution = &gathering->executions[gathering->count];
        struct device_time time = { 0 };

        if (!is_of_model(gathering, i))
            continue;
        if (gathering->device)
            device_time_of(gathering->device, i, &time);
        execution->location = timeline->location[i];
        execution->on_device = time.busy_ns > 0;
        execution->ns = time.busy_ns ? time.busy_ns : timeline_duration_ns(timeline, i);
        if (!gathering->first_slice[execution->location])
            gathering->first_slice[execution->location] = i + 1;
        gathering->count++;
    }
}

static int by_location(const void *a, const void *b)
{
    const struct execution *left = a;
    const struct execution *right = b;

    if (left->location != right->location)
        return left->location < right->location ? -1 : 1;
    if (left->on_device != right->on_device)
        return left->on_device ? -1 : 1;
    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

/* ---- one node ---- */

static const char *text_of(const struct timeline *timeline, size_t slice, const char *key)
{
    const struct timeline_attribute *found = timeline_find_attribute(timeline, slice, key);

    return found && found->type == TRACE_VALUE_STRING ? found->text : "";
}

/* The only cost of this name and type: names may be empty, or there twice. */
static const struct roofline_cost *find_cost(const struct roofline_cost *costs, size_t count,
                                             const char *name, const char *type)
{
    const struct roofline_cost *found = NULL;

    for (size_t i = 0; *name && i < count; i++) {
        if (strcmp(costs[i].name, name) != 0)
            continue;
        if (found || strcmp(costs[i].type, type) != 0)
            return NULL;
        found = &costs[i];
    }
    return found;
}

/* Of "[{"float16":[1,3]},...]", as ONNX Runtime tells the inputs; false: it did not. */
static bool ran_as(const char *shapes, enum roofline_type *out_type)
{
    static const struct {
        const char *name;
        enum roofline_type type;
    } names[] = {
        { "float", ROOFLINE_FLOAT32 },    { "float16", ROOFLINE_FLOAT16 },
        { "bfloat16", ROOFLINE_FLOAT16 }, { "double", ROOFLINE_FLOAT64 },
        { "int8", ROOFLINE_8_BITS },      { "uint8", ROOFLINE_8_BITS },
    };
    const char *begin = strchr(shapes, '"');
    size_t length = begin ? strcspn(begin + 1, "\"") : 0;

    *out_type = ROOFLINE_TYPE_OTHER;
    if (length > 6 && strncmp(begin + 1, "float8", 6) == 0)
        *out_type = ROOFLINE_8_BITS;
    for (size_t i = 0; length && i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == length && strncmp(names[i].name, begin + 1, length) == 0)
            *out_type = names[i].type;
    return length > 0;
}

/* Those that tensor cores can do. */
static bool is_product(const char *type)
{
    static const char *const parts[] = { "Conv", "Gemm", "MatMul", "Attention",
                                         "LSTM", "GRU",  "RNN",    "Einsum" };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(type, parts[i]))
            return true;
    return false;
}

/* The highest and the lowest peak that may apply, as factors of that of float32; 0: not known.
 * Smaller types may be computed with as float32. */
static void peaks_for(const struct roofline_peaks *peaks, const struct roofline_cost *cost,
                      double *out_high, double *out_low)
{
    bool product = is_product(cost->type);
    double tensor = 0;

    *out_low = 1;
    *out_high = 1;
    switch (cost->element) {
    case ROOFLINE_FLOAT64:
        *out_high = peaks->float64;
        *out_low = peaks->float64 / 2; /* tensor cores are twice as fast as others */
        return;
    case ROOFLINE_FLOAT32:
        tensor = peaks->tensor_float32;
        break;
    case ROOFLINE_FLOAT16:
        tensor = peaks->tensor_float16;
        *out_high = 4; /* two in a register, at most twice as often */
        break;
    case ROOFLINE_8_BITS:
        tensor = peaks->tensor_8_bits;
        *out_high = 4;
        break;
    case ROOFLINE_TYPE_OTHER:
        *out_high = *out_low = 0;
        return;
    }
    if (product && tensor > *out_high)
        *out_high = tensor;
}

static enum roofline_class class_of(double compute, double memory)
{
    if (compute < ROOFLINE_FAR && memory < ROOFLINE_FAR)
        return ROOFLINE_LATENCY;
    return compute >= memory ? ROOFLINE_COMPUTE : ROOFLINE_MEMORY;
}

static void classify(struct roofline_point *point)
{
    double high = point->compute_high;

    point->class = ROOFLINE_UNKNOWN;
    if (point->memory > ROOFLINE_ABOVE) {
        point->why = cached;
    } else if (point->compute_low > ROOFLINE_ABOVE) {
        point->why = too_fast;
    } else {
        if (high > ROOFLINE_ABOVE) /* not with that peak */
            high = point->compute_high = point->compute_low;
        point->class = class_of(point->compute_low, point->memory);
        if (class_of(high, point->memory) != point->class) {
            point->class = ROOFLINE_UNKNOWN;
            point->why = depends;
        }
    }
}

static void place(const struct roofline_peaks *peaks, const struct roofline_cost *cost,
                  struct roofline_point *point)
{
    double seconds = point->time_ns * NANO;
    double high, low;

    if (!(point->flops > 0) && !(point->bytes > 0)) {
        point->why = nothing;
        point->nothing = 1;
    } else if (!point->on_device) {
        point->why = in_cpu;
    } else if (*peaks->reason) {
        point->why = peaks->reason;
    } else if (!(seconds > 0)) {
        point->why = no_time;
    } else {
        peaks_for(peaks, cost, &high, &low);
        point->memory = point->bytes / peaks->bytes_per_s / seconds;
        if (!(point->flops > 0)) {
            point->compute_low = point->compute_high = 0;
        } else if (high > 0) {
            point->compute_low = point->flops / (peaks->flops_per_s * high) / seconds;
            point->compute_high = point->flops / (peaks->flops_per_s * low) / seconds;
        }
        if (isnan(point->compute_low))
            point->why = no_peak;
        else
            classify(point);
    }
}

static struct roofline_point unknown_point(const char *why)
{
    return (struct roofline_point){ .nodes = 1,
                                    .time_ns = (double)NAN,
                                    .flops = (double)NAN,
                                    .bytes = (double)NAN,
                                    .compute_low = (double)NAN,
                                    .compute_high = (double)NAN,
                                    .memory = (double)NAN,
                                    .why = why };
}

/* Executions of one location, by time, those on devices first. */
static void take_node(const struct gathering *gathering, const struct execution *first,
                      size_t count, const struct roofline_cost *costs, size_t cost_count,
                      const struct roofline_peaks *peaks, struct roofline_node *out)
{
    const struct timeline *timeline = gathering->timeline;
    const struct timeline_location *location = &timeline->locations[first->location];
    size_t slice = gathering->first_slice[first->location] - 1;
    size_t on_device = 0;
    const struct roofline_cost *cost;
    enum roofline_type type;

    out->name = location->name;
    out->type =
        *location->function ? location->function : text_of(timeline, slice, TRACE_KEY_OP_NAME);
    out->provider = text_of(timeline, slice, TRACE_KEY_PROVIDER);
    out->count = count;
    out->point = unknown_point("");
    while (on_device < count && first[on_device].on_device)
        on_device++;
    /* What ran there now and then only, such as a copy, is not what it took otherwise. */
    out->point.on_device = on_device * 2 > count;
    if (out->point.on_device)
        count = on_device;
    else
        first += on_device, count -= on_device;
    out->point.time_ns = (double)first[count / 2].ns;
    if (count % 2 == 0)
        out->point.time_ns = (out->point.time_ns + (double)first[count / 2 - 1].ns) / 2;
    cost = find_cost(costs, cost_count, out->name, out->type);
    if (!cost || cost->flops < 0 || cost->bytes < 0)
        out->point.why = no_costs;
    else if (ran_as(text_of(timeline, slice, TRACE_KEY_INPUT_TYPE_SHAPE), &type) &&
             type != cost->element)
        out->point.why = other_type;
    else if (!out->point.on_device &&
             runtime_provider_is_asynchronous(out->provider, strlen(out->provider)))
        out->point.why = host_only;
    else {
        out->point.known = 1;
        out->point.flops = cost->flops;
        out->point.bytes = cost->bytes;
        place(peaks, cost, &out->point);
    }
    if (!out->point.known)
        out->point.time_ns = (double)NAN;
}

/* ---- several nodes ---- */

/* Sums are gathered in a point whose shares are times at the roofs until settle is called. */
static void add(struct roofline_point *sum, const struct roofline_point *one)
{
    sum->nodes++;
    if (!one->known)
        return;
    if (!sum->known) {
        sum->time_ns = sum->flops = sum->bytes = 0;
        sum->compute_low = sum->compute_high = sum->memory = 0;
        sum->on_device = true;
        sum->why = "";
    }
    sum->known++;
    sum->nothing += one->nothing;
    sum->time_ns += one->time_ns;
    sum->flops += one->flops;
    sum->bytes += one->bytes;
    if (one->nothing)
        return;
    if (sum->known - sum->nothing == 1)
        sum->on_device = one->on_device;
    else if (sum->on_device != one->on_device)
        sum->why = mixed;
    sum->on_device &= one->on_device;
    sum->compute_low += one->compute_low * one->time_ns;
    sum->compute_high += one->compute_high * one->time_ns;
    sum->memory += one->memory * one->time_ns;
    if (isnan(one->memory) && !*sum->why)
        sum->why = one->why;
}

static void settle(struct roofline_point *sum, bool only_whole)
{
    const char *why = sum->why;

    if (!sum->known) {
        sum->why = no_costs;
        return;
    }
    sum->compute_low /= sum->time_ns;
    sum->compute_high /= sum->time_ns;
    sum->memory /= sum->time_ns;
    if (sum->known == sum->nothing) {
        sum->compute_low = sum->compute_high = sum->memory = (double)NAN;
        sum->why = nothing;
    } else if (only_whole && sum->known < sum->nodes) {
        sum->why = some_unknown;
    } else if (isnan(sum->memory) || isnan(sum->compute_low)) {
        sum->why = *why ? why : no_peak;
    } else {
        sum->why = "";
        classify(sum);
    }
}

static int by_type(const void *a, const void *b)
{
    const struct roofline_node *left = a;
    const struct roofline_node *right = b;
    int order = strcmp(left->type, right->type);

    if (!order)
        order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->provider, right->provider);
}

/* Every session of a model has locations of its own: of those that are the same node, the one that
 * ran most often stays. */
static void merge_same(struct roofline *roofline)
{
    size_t kept = 0;

    for (size_t i = 0; i < roofline->node_count; i++) {
        struct roofline_node *last = kept ? &roofline->nodes[kept - 1] : NULL;
        uint64_t count = last ? last->count : 0;

        if (!last || by_type(last, &roofline->nodes[i]) != 0) {
            roofline->nodes[kept++] = roofline->nodes[i];
            continue;
        }
        count += roofline->nodes[i].count;
        if (last->count < roofline->nodes[i].count)
            *last = roofline->nodes[i];
        last->count = count;
    }
    roofline->node_count = kept;
}

static int longest(const void *a, const void *b)
{
    const struct roofline_node *left = a;
    const struct roofline_node *right = b;

    if (!left->point.known != !right->point.known)
        return left->point.known ? -1 : 1;
    if (left->point.known && left->point.time_ns != right->point.time_ns)
        return left->point.time_ns > right->point.time_ns ? -1 : 1;
    return by_type(a, b);
}

static void sum_up(struct roofline *roofline)
{
    struct roofline_node *type = NULL;

    roofline->whole = unknown_point("");
    roofline->whole.nodes = 0;
    if (roofline->node_count)
        qsort(roofline->nodes, roofline->node_count, sizeof *roofline->nodes, by_type);
    merge_same(roofline);
    for (size_t i = 0; i < roofline->node_count; i++) {
        const struct roofline_node *node = &roofline->nodes[i];

        if (!type || strcmp(type->type, node->type) != 0) {
            type = &roofline->types[roofline->type_count++];
            *type = (struct roofline_node){ .name = "", .type = node->type, .provider = "" };
            type->point = unknown_point("");
            type->point.nodes = 0;
        }
        type->count += node->count;
        add(&type->point, &node->point);
        add(&roofline->whole, &node->point);
    }
    for (size_t i = 0; i < roofline->type_count; i++)
        settle(&roofline->types[i].point, false);
    settle(&roofline->whole, true);
    if (roofline->node_count) {
        qsort(roofline->nodes, roofline->node_count, sizeof *roofline->nodes, longest);
        qsort(roofline->types, roofline->type_count, sizeof *roofline->types, longest);
    }
}

/* ---- all ---- */

static bool fill(struct gathering *gathering, const struct roofline_cost *costs, size_t cost_count,
                 struct roofline *roofline)
{
    size_t kinds = 0;

    gather(gathering);
    if (!gathering->count) {
        snprintf(roofline->reason, sizeof roofline->reason, "no operators were recorded");
        return true;
    }
    qsort(gathering->executions, gathering->count, sizeof *gathering->executions, by_location);
    for (size_t i = 0; i < gathering->timeline->location_count; i++)
        kinds += gathering->first_slice[i] > 0;
    roofline->nodes = ifg_alloc(kinds, sizeof *roofline->nodes);
    roofline->types = ifg_alloc(kinds, sizeof *roofline->types);
    if (!roofline->nodes || !roofline->types)
        return false;
    for (size_t i = 0, end; i < gathering->count; i = end) {
        for (end = i; end < gathering->count &&
                      gathering->executions[end].location == gathering->executions[i].location;)
            end++;
        take_node(gathering, &gathering->executions[i], end - i, costs, cost_count,
                  &roofline->peaks, &roofline->nodes[roofline->node_count++]);
    }
    sum_up(roofline);
    return true;
}

enum ifg_status roofline_create_empty(const char *reason, struct roofline **out_roofline,
                                      struct ifg_error *err)
{
    struct roofline *roofline = ifg_alloc(1, sizeof *roofline);

    *out_roofline = roofline;
    if (!roofline)
        return ifg_fail_no_memory(err, "for the roofline of a model");
    snprintf(roofline->reason, sizeof roofline->reason, "%s", reason);
    roofline->whole = unknown_point("");
    roofline->whole.nodes = 0;
    return IFG_OK;
}

enum ifg_status roofline_create(const struct timeline *timeline, uint32_t model,
                                const struct roofline_cost *costs, size_t cost_count,
                                struct roofline **out_roofline, struct ifg_error *err)
{
    struct gathering gathering = { .timeline = timeline, .model = model };
    struct roofline *roofline = NULL;
    enum ifg_status status = roofline_create_empty("", &roofline, err);
    bool good;

    *out_roofline = NULL;
    if (status)
        return status;
    gathering.executions = ifg_alloc(timeline->slice_count + 1, sizeof *gathering.executions);
    gathering.first_slice = ifg_alloc(timeline->location_count + 1, sizeof *gathering.first_slice);
    good = gathering.executions && gathering.first_slice &&
           device_times_create(timeline, &gathering.device, NULL) == IFG_OK;
    if (good && model < timeline->model_count)
        roofline_peaks_of(timeline, timeline->models[model].process, &roofline->peaks);
    good = good && fill(&gathering, costs, cost_count, roofline);
    device_times_destroy(gathering.device);
    ifg_free(gathering.executions);
    ifg_free(gathering.first_slice);
    if (!good) {
        roofline_destroy(roofline);
        return ifg_fail_no_memory(err, "for the roofline of a model");
    }
    *out_roofline = roofline;
    return IFG_OK;
}

void roofline_destroy(struct roofline *roofline)
{
    if (!roofline)
        return;
    ifg_free(roofline->nodes);
    ifg_free(roofline->types);
    ifg_free(roofline);
}

const char *roofline_class_name(enum roofline_class class)
{
    static const char *const names[] = { "", "compute-bound", "memory-bound", "latency-bound" };

    return (unsigned)class < sizeof names / sizeof names[0] ? names[class] : "";
}
