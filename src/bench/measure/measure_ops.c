// SPDX-License-Identifier: Apache-2.0
/* One more process under `inferogram record`, and the operators of a model from its trace. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "bench/measure/measure_internal.h"
#include "timeline/timeline.h"
#include "trace/keys.h"

#define MS           1e-6
#define NODES_MOST   1000000u
#define PREFIX_WORDS 10

/* ---- recording ---- */

enum ifg_status measure_make_folder(char out_path[PATH_MAX], struct ifg_error *err)
{
    const char *parent = secure_getenv("TMPDIR");

    snprintf(out_path, PATH_MAX, "%s/inferogram-bench-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(out_path))
        return ifg_fail_errno(err, "cannot make a folder %s for the trace", out_path);
    return IFG_OK;
}

void measure_remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* Loads a row, feeds it, and runs it so many times. */
static enum ifg_status run_row(const struct bench_options *options, struct runner *runner,
                               struct measure_row *row, uint32_t inferences, bool alone,
                               struct ifg_error *err)
{
    const struct runner_model model = { row->model, row->settings, row->setting_count };
    const struct runner_work work = { .kind = RUNNER_CLOSED, .queries = inferences };
    struct runner_loaded loaded;
    struct runner_samples samples = { 0 };
    enum ifg_status status = runner_load(runner, &model, &loaded, err);

    /* The file was a model when we looked, so this runtime's refusal is no fault of the file. */
    if (status == IFG_CORRUPT)
        status = IFG_INTERNAL;
    if (status)
        return alone || runner_crashed(runner) ? status : IFG_OK;
    if (inferences) {
        status = measure_make_inputs(options, row, &loaded.inputs, err);
        if (!status)
            status = runner_bind(runner, loaded.slot, row->sets->sets, row->sets->count, 1, err);
        if (!status)
            status = runner_run(runner, loaded.slot, &work, &samples, err);
        if (!status && samples.stopped)
            status = ifg_fail(err, IFG_CANCELLED, "interrupted");
    }
    if (!status)
        status = runner_unload(runner, loaded.slot, err);
    runner_samples_fini(&samples);
    runner_loaded_fini(&loaded);
    return status;
}

enum ifg_status measure_recorded(const struct bench_options *options,
                                 const struct measure_runtime *found, struct measure_row *rows,
                                 size_t row_count, uint32_t inferences, bool with_ops,
                                 const char *trace_path, struct ifg_error *err)
{
    const char *words[PREFIX_WORDS] = { options->tool, "record", "-q", "-f", "-o", trace_path };
    size_t count = 6;
    struct runner_options how = {
        .program = found->runner,
        .runtime = options->runtime,
        .library = *found->ort.path ? found->ort.path : NULL,
        .stop = options->stop,
        .pin_cpu = options->pin_cpu,
        .patience_s = options->patience_s,
    };
    struct bench_progress progress = { .row = "", .phase = "recording", .last_p50_ms = NAN };
    struct runner *runner = NULL;
    struct runner_facts facts;
    enum ifg_status status;

    if (!options->tool || !*options->tool)
        return ifg_fail(err, IFG_INTERNAL, "our own program was not found, so nothing is recorded");
    if (with_ops)
        words[count++] = "--ops=1";
    words[count] = "--";
    how.prefix = (char *const *)words;
    if (options->progress)
        options->progress(&progress, options->user);
    status = runner_start(&how, &runner, &facts, err);
    for (size_t i = 0; !status && i < row_count; i++)
        status = run_row(options, runner, &rows[i], inferences, row_count == 1, err);
    runner_stop(runner);
    return status;
}

/* ---- reading ---- */

struct node {
    const char *name;
    const char *op_type;
    const char *provider;
    size_t count;
    size_t first; /* its times lie together */
    double total_ms;
};

struct reading {
    const struct timeline *timeline;
    struct node *nodes; /* by location at first */
    size_t node_count;
    uint64_t *self_ns; /* of every slice; only operators' are used */
    double *times_ms;  /* durations by node */
    double *selves_ms;
};

static bool is_op(const struct timeline *timeline, size_t slice)
{
    return timeline->locations[timeline->location[slice]].kind == TRACE_LOCATION_OP;
}

static const char *attribute_text(const struct timeline *timeline, size_t slice, const char *key)
{
    const struct timeline_attribute *found = timeline_find_attribute(timeline, slice, key);

    return found && found->type == TRACE_VALUE_STRING ? found->text : "";
}

/* Time without the operators inside (the bodies of If and Loop). */
static void find_selves(struct reading *reading)
{
    const struct timeline *timeline = reading->timeline;

    for (size_t i = 0; i < timeline->slice_count; i++)
        reading->self_ns[i] = is_op(timeline, i) ? timeline_duration_ns(timeline, i) : 0;
    for (size_t i = 0; i < timeline->slice_count; i++) {
        size_t parent;

        if (!is_op(timeline, i) || !timeline->depth[i])
            continue;
        parent = timeline_parent(timeline, i);
        while (parent != SIZE_MAX && !is_op(timeline, parent))
            parent = timeline_parent(timeline, parent);
        if (parent != SIZE_MAX) {
            uint64_t inside = timeline_duration_ns(timeline, i);

            reading->self_ns[parent] -=
                inside < reading->self_ns[parent] ? inside : reading->self_ns[parent];
        }
    }
}

static void describe_node(struct reading *reading, struct node *node, size_t slice)
{
    const struct timeline *timeline = reading->timeline;
    const struct timeline_location *location = &timeline->locations[timeline->location[slice]];

    node->name = location->name;
    node->op_type = *location->function ? location->function
                                        : attribute_text(timeline, slice, TRACE_KEY_OP_NAME);
    node->provider = attribute_text(timeline, slice, TRACE_KEY_PROVIDER);
}

/* Nodes are locations of the trace; their times are put side by side. */
static bool gather(struct reading *reading)
{
    const struct timeline *timeline = reading->timeline;
    size_t ops = 0, at = 0;

    reading->nodes = ifg_alloc(timeline->location_count + 1, sizeof *reading->nodes);
    reading->self_ns = ifg_alloc(timeline->slice_count + 1, sizeof *reading->self_ns);
    if (!reading->nodes || !reading->self_ns)
        return false;
    find_selves(reading);
    for (size_t i = 0; i < timeline->slice_count; i++) {
        struct node *node = &reading->nodes[timeline->location[i]];

        if (!is_op(timeline, i) || timeline_is_unfinished(timeline, i))
            continue;
        if (!node->count++)
            describe_node(reading, node, i);
        ops++;
    }
    reading->times_ms = ifg_alloc(ops + 1, sizeof *reading->times_ms);
    reading->selves_ms = ifg_alloc(ops + 1, sizeof *reading->selves_ms);
    if (!reading->times_ms || !reading->selves_ms)
        return false;
    for (size_t i = 0; i < timeline->location_count; i++) {
        reading->nodes[i].first = at;
        at += reading->nodes[i].count;
        reading->nodes[i].count = 0;
    }
    for (size_t i = 0; i < timeline->slice_count; i++) {
        struct node *node = &reading->nodes[timeline->location[i]];
        double ms = MS * (double)timeline_duration_ns(timeline, i);

        if (!is_op(timeline, i) || timeline_is_unfinished(timeline, i))
            continue;
        reading->times_ms[node->first + node->count] = ms;
        reading->selves_ms[node->first + node->count++] = MS * (double)reading->self_ns[i];
        node->total_ms += ms;
    }
    reading->node_count = timeline->location_count;
    return true;
}

static int compare_share(const void *left, const void *right)
{
    const struct bench_op *a = left;
    const struct bench_op *b = right;

    return a->share > b->share ? -1 : a->share < b->share;
}

static void free_ops(struct bench_row *row)
{
    for (size_t i = 0; i < row->op_count; i++) {
        ifg_free(row->ops[i].name);
        ifg_free(row->ops[i].op_type);
        ifg_free(row->ops[i].provider);
    }
    ifg_free(row->ops);
    row->ops = NULL;
    row->op_count = 0;
}

/* Shares are of medians, so that the slow first inference does not decide them. */
static enum ifg_status store(struct reading *reading, struct bench_row *row, struct ifg_error *err)
{
    size_t count = 0;
    double sum = 0;

    for (size_t i = 0; i < reading->node_count; i++)
        count += reading->nodes[i].count > 0;
    free_ops(row);
    if (!count)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "the trace has no operators; 'inferogram bench --trace FILE' and "
                        "'inferogram info FILE' tell why");
    if (count > NODES_MOST)
        return ifg_fail(err, IFG_UNSUPPORTED, "the model has more than %u nodes", NODES_MOST);
    row->ops = ifg_alloc(count, sizeof *row->ops);
    if (!row->ops)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < reading->node_count; i++) {
        const struct node *node = &reading->nodes[i];
        struct bench_op *op = &row->ops[row->op_count];

        if (!node->count)
            continue;
        row->op_count++;
        op->name = ifg_strdup(node->name);
        op->op_type = ifg_strdup(node->op_type);
        op->provider = ifg_strdup(node->provider);
        if (!op->name || !op->op_type || !op->provider)
            return ifg_fail_no_memory(err, NULL);
        op->count = node->count;
        op->total_ms = node->total_ms;
        op->p50_ms = ifg_median(reading->times_ms + node->first, node->count);
        op->share = ifg_median(reading->selves_ms + node->first, node->count) * (double)node->count;
        sum += op->share;
    }
    for (size_t i = 0; i < row->op_count; i++)
        row->ops[i].share = sum > 0 ? row->ops[i].share / sum : 0;
    qsort(row->ops, row->op_count, sizeof *row->ops, compare_share);
    return IFG_OK;
}

enum ifg_status measure_read_ops(const char *trace_path, struct bench_row *row,
                                 struct ifg_error *err)
{
    const struct timeline_options all_cpus = { 0 };
    struct trace_reader *reader = NULL;
    struct reading reading = { 0 };
    enum ifg_status status = trace_reader_open(trace_path, &reader, err);

    if (!status)
        status = timeline_create(reader, &all_cpus, &reading.timeline, err);
    if (!status && !gather(&reading))
        status = ifg_fail_no_memory(err, NULL);
    if (!status)
        status = store(&reading, row, err);
    ifg_free(reading.selves_ms);
    ifg_free(reading.times_ms);
    ifg_free(reading.self_ns);
    ifg_free(reading.nodes);
    timeline_destroy(reading.timeline);
    trace_reader_close(reader);
    return status;
}

enum ifg_status bench_measure_ops(const struct bench_options *options,
                                  const struct bench_variant *variant, uint32_t inferences,
                                  struct bench_row *row, struct ifg_error *err)
{
    struct measure_row from = { 0 };
    struct measure_runtime found;
    char folder[PATH_MAX];
    char trace[PATH_MAX + 16];
    enum ifg_status status = measure_make_folder(folder, err);

    if (status)
        return status;
    snprintf(trace, sizeof trace, "%s/ops.ifg", folder);
    status = measure_find_runtime(options, &found, err);
    if (!status)
        status = measure_row_init(options, variant, &from, err);
    if (!status)
        status = measure_recorded(options, &found, &from, 1, inferences, true, trace, err);
    if (!status)
        status = measure_read_ops(trace, row, err);
    measure_row_fini(&from);
    measure_remove_folder(folder);
    return status;
}
