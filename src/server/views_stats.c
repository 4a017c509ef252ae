// SPDX-License-Identifier: Apache-2.0
/* Statistics of slices by group, or of functions by samples. */
#include <math.h>
#include <string.h>

#include "analyze/device_kernels.h"
#include "analyze/stats.h"
#include "server/routes.h"
#include "server/views_internal.h"

#define ROWS_MOST 5000u
#define BY_KERNEL (STATS_BY_THREAD + 1)

static void put_row(struct ifg_json *json, const struct stats_row *row)
{
    bool known = row->count > 0;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", row->name);
    ifg_json_put_string(json, "kind", timeline_kind_name(row->kind));
    ifg_json_put_string(json, "category", timeline_category_name(row->category));
    ifg_json_put_string(json, "model", row->model);
    ifg_json_put_int(json, "location",
                     row->first_location == TIMELINE_NONE ? -1 : (int64_t)row->first_location);
    ifg_json_put_uint(json, "count", row->count);
    ifg_json_put_uint(json, "unfinished", row->unfinished);
    ifg_json_put_uint(json, "total_ns", row->total_ns);
    ifg_json_put_int(json, "self_ns", row->self_ns);
    ifg_json_put_double(json, "mean_ns", known ? row->mean_ns : (double)NAN);
    ifg_json_put_double(json, "min_ns", known ? (double)row->min_ns : (double)NAN);
    ifg_json_put_double(json, "max_ns", known ? (double)row->max_ns : (double)NAN);
    ifg_json_put_double(json, "p50_ns", known ? row->percentile_ns[STATS_P50] : (double)NAN);
    ifg_json_put_double(json, "p90_ns", known ? row->percentile_ns[STATS_P90] : (double)NAN);
    ifg_json_put_double(json, "p99_ns", known ? row->percentile_ns[STATS_P99] : (double)NAN);
    ifg_json_put_double(json, "share", row->share);
    ifg_json_put_bool(json, "host_time", row->host_time);
    ifg_json_put_double(json, "device_ns", row->device_ns);
    ifg_json_close(json, '}');
}

static void serve_slices(const struct server_request *request, const struct views_filter *filter,
                         enum stats_by by, struct server_answer *answer)
{
    const struct timeline_model *model =
        filter->model == UINT32_MAX ? NULL : &request->timeline->models[filter->model];
    const struct stats_options options = {
        .by = by,
        .filter = {
            .from_ns = filter->from_ns,
            .to_ns = filter->to_ns,
            .model = model ? model->name : NULL,
            .thread = filter->thread,
            .name_matches = filter->text ? views_name_matches : NULL,
            .user = (void *)(uintptr_t)filter->text,
        },
    };
    struct stats *stats = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status = stats_create(request->timeline, &options, &stats, &err);
    struct ifg_json json;

    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "range_ns", stats->range_ns);
    ifg_json_put_uint(&json, "unfinished", stats->unfinished);
    ifg_json_put_uint(&json, "row_count", stats->row_count);
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < stats->row_count && i < ROWS_MOST; i++)
        put_row(&json, &stats->rows[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    stats_destroy(stats);
}

/* Rows like those of slices. */
static void serve_kernels(const struct server_request *request, const struct views_filter *filter,
                          struct server_answer *answer)
{
    const struct device_kernels_options options = {
        .from_ns = filter->from_ns,
        .to_ns = filter->to_ns,
        .one_model = filter->model == UINT32_MAX ? NULL : &request->timeline->models[filter->model],
        .op = filter->op,
        .name_matches = filter->text ? views_name_matches : NULL,
        .user = (void *)(uintptr_t)filter->text,
    };
    struct device_kernels *kernels = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status = device_kernels_create(request->timeline, &options, &kernels, &err);
    struct ifg_json json;

    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "range_ns", kernels->busy_ns);
    ifg_json_put_uint(&json, "unfinished", 0);
    ifg_json_put_uint(&json, "row_count", kernels->row_count);
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < kernels->row_count && i < ROWS_MOST; i++) {
        const struct device_kernel *from = &kernels->rows[i];
        struct stats_row row = { .name = from->name,
                                 .kind = TRACE_LOCATION_DEVICE,
                                 .model = "",
                                 .first_location = from->location,
                                 .count = from->count,
                                 .total_ns = from->total_ns,
                                 .self_ns = (int64_t)from->total_ns,
                                 .mean_ns = from->mean_ns,
                                 .min_ns = from->min_ns,
                                 .max_ns = from->max_ns,
                                 .share = from->share,
                                 .device_ns = (double)from->total_ns };

        memcpy(row.percentile_ns, from->percentile_ns, sizeof row.percentile_ns);
        put_row(&json, &row);
    }
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    device_kernels_destroy(kernels);
}

static void put_function(struct ifg_json *json, const struct hot_row *row)
{
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "function", row->function);
    ifg_json_put_string(json, "name", row->name);
    ifg_json_put_bool(json, "guessed", row->guessed);
    ifg_json_put_string(json, "under", row->under);
    ifg_json_put_string(json, "module", row->module);
    ifg_json_put_uint(json, "self", row->self);
    ifg_json_put_uint(json, "total", row->total);
    ifg_json_put_uint(json, "inferred", row->total_inferred);
    ifg_json_put_string(json, "file", row->file);
    ifg_json_put_uint(json, "line", row->line);
    ifg_json_close(json, '}');
}

static void answer_functions(const struct server_request *request,
                             const struct views_filter *filter, struct server_answer *answer)
{
    const struct hot_filter samples = views_hot_filter(filter, true);
    const struct timeline_profile *profile = request->trace->profile;
    struct hot *hot = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status = hot_create(request->timeline, &samples, &hot, &err);
    struct ifg_json json;

    if (!answer_begin(answer, status, &err, &json))
        return;
    ifg_json_put_uint(&json, "samples", hot->samples);
    ifg_json_put_double(&json, "hz", profile && profile->hz > 0 ? profile->hz : (double)NAN);
    ifg_json_put_uint(&json, "lost", profile ? profile->lost : 0);
    ifg_json_put_uint(&json, "rooted", hot->rooted);
    ifg_json_put_uint(&json, "inferred", hot->inferred);
    ifg_json_put_uint(&json, "in_kernel", hot->in_kernel);
    ifg_json_put_uint(&json, "lent", hot->lent);
    ifg_json_put_uint(&json, "row_count", hot->row_count);
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < hot->row_count && i < ROWS_MOST; i++)
        put_function(&json, &hot->rows[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    hot_destroy(hot);
}

void serve_stats(const struct server_request *request, struct server_answer *answer)
{
    static const char *const modes[] = { "instrumentation", "sampling" };
    static const char *const groups[] = { "zone",     "model",  "category", "op",
                                          "function", "thread", "kernel" };
    struct views_filter filter;
    unsigned mode, by;

    if (!views_filter(request, &filter, answer) ||
        !views_choice(request, "mode", modes, 2, &mode, answer) ||
        !views_choice(request, "by", groups, 7, &by, answer))
        return;
    if (mode == 0 && by == BY_KERNEL)
        serve_kernels(request, &filter, answer);
    else if (mode == 0)
        serve_slices(request, &filter, (enum stats_by)by, answer);
    else
        answer_functions(request, &filter, answer);
}
