// SPDX-License-Identifier: Apache-2.0
/* inferogram stats: counts, sums and percentiles by zone, model, category, operator, function or
 * thread; functions of the program by samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/csv.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/model_costs.h"
#include "cli/name_filter.h"
#include "cli/stats_functions.h"
#include "cli/stats_kernels.h"
#include "cli/stats_memory.h"
#include "cli/stats_threads.h"
#include "cli/text.h"
#include "export/documents.h"
#include "runtimes/runtimes.h"
#include "trace/keys.h"

#define OUTPUT_MAX  (1u << 30)
#define TABLE_LIMIT 40

enum column {
    SORT_TOTAL,
    SORT_SELF,
    SORT_COUNT,
    SORT_MEAN,
    SORT_P50,
    SORT_P99,
    SORT_MAX,
    SORT_NAME
};

struct request {
    const char *path;
    struct stats_options options;
    struct name_filter filter;
    const char *op;   /* samples only */
    const char *zone; /* same */
    enum column sort;
    bool sort_given;
    bool of_models; /* functions of models, even if there are samples */
    bool memory;    /* phases, or allocations */
    bool allocations;
    bool kernels; /* work of devices */
    size_t limit;
    bool limit_given;
    bool json;
    bool csv;
};

/* ---- the command line ---- */

static const char *const groups[] = {
    "zone",           "model",  "category",   "op",     "function", "thread",
    "model-function", "memory", "allocation", "kernel", NULL
};
static const char *const columns[] = { "total", "self", "count", "mean", "p50",
                                       "p99",   "max",  "name",  NULL };
static const char *const ways[] = { "linear", "nearest", NULL };

enum { GROUP_MODEL_FUNCTION = STATS_BY_THREAD + 1, GROUP_MEMORY, GROUP_ALLOCATION, GROUP_KERNEL };

static int take_group(const struct option_use *use, void *user)
{
    struct request *request = user;
    size_t group;
    int code;

    if (strcmp(use->value, "line") == 0)
        return cli_usage("stats", "lines are counted within a function: --by function shows the "
                                  "hottest of each, 'inferogram annotate' all of one");
    code = options_take_choice(use, &group);
    if (code)
        return code;
    request->of_models = group == GROUP_MODEL_FUNCTION;
    request->memory = group == GROUP_MEMORY || group == GROUP_ALLOCATION;
    request->kernels = group == GROUP_KERNEL;
    request->allocations = group == GROUP_ALLOCATION;
    request->options.by = group >= GROUP_MODEL_FUNCTION ? STATS_BY_FUNCTION : (enum stats_by)group;
    return CLI_YES;
}

static int take_name(const struct option_use *use, void *user)
{
    struct request *request = user;
    struct ifg_error err;

    if (name_filter_init(&request->filter, use->value, &err))
        return cli_usage(use->command, "%s", err.message);
    request->options.filter.name_matches = name_filter_matches;
    request->options.filter.user = &request->filter;
    return CLI_YES;
}

static const struct option_row option_rows[] = {
    { "by", 0, "WHAT", "{} [zone]", OPTION_CALL, .choices = groups, .take = take_group },
    { "sort", 0, "COLUMN", "{} [total]", OPTION_CHOICE, IFG_AT(struct request, sort),
      IFG_GIVEN(struct request, sort_given), .choices = columns },
    { "percentile", 0, "HOW", "linear, or nearest: element floor(n * p) [linear]", OPTION_CHOICE,
      IFG_AT(struct request, options.percentile), .choices = ways },
    { "limit", 0, "N", "at most N rows; 0: all [40 in tables, else all]", OPTION_COUNT,
      IFG_AT(struct request, limit), IFG_GIVEN(struct request, limit_given),
      .what = "a number of rows" },
    { "json", 0, NULL, "print one JSON document; times in nanoseconds", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { "csv", 0, NULL, "print CSV; times in nanoseconds", OPTION_FLAG, IFG_AT(struct request, csv) },
    { .kind = OPTION_HEADING, .help = "Filters" },
    { "name", 0, "REGEX", "only names that contain a match (PCRE2)", OPTION_CALL,
      .take = take_name },
    { "model", 0, "NAME", "only events of this model", OPTION_TEXT,
      IFG_AT(struct request, options.filter.model) },
    { "op", 0, "NAME", "only samples in this operator (--by function), its kernels", OPTION_TEXT,
      IFG_AT(struct request, op) },
    { "zone", 0, "NAME", "only samples inside this zone (--by function)", OPTION_TEXT,
      IFG_AT(struct request, zone) },
    { "thread", 0, "T", "only the thread with this number or name", OPTION_TEXT,
      IFG_AT(struct request, options.filter.thread) },
    { "from", 0, "T", "only what begins then or later (1.5s, 15µs)", OPTION_NS,
      IFG_AT(struct request, options.filter.from_ns), .what = "a time (1.5s, 200ms, 15µs)" },
    { "to", 0, "T", "only what begins before this time", OPTION_NS,
      IFG_AT(struct request, options.filter.to_ns), .what = "a time (1.5s, 200ms, 15µs)" },
    { 0 },
};

static int check(struct request *request)
{
    if (request->json && request->csv)
        return cli_usage("stats", "--json and --csv exclude each other");
    if (request->options.filter.to_ns &&
        request->options.filter.to_ns <= request->options.filter.from_ns)
        return cli_usage("stats", "--to must be later than --from");
    if ((request->zone || (request->op && !request->kernels)) &&
        (request->options.by != STATS_BY_FUNCTION || request->of_models || request->memory ||
         request->kernels))
        return cli_usage("stats", "--op and --zone choose samples: use them with --by function; "
                                  "--op also with --by kernel");
    if (!request->limit_given)
        request->limit = request->json || request->csv ? 0 : TABLE_LIMIT;
    return CLI_YES;
}

/* ---- output ---- */

static double sort_value(const struct stats_row *row, enum column column)
{
    switch (column) {
    case SORT_TOTAL:
        return (double)row->total_ns;
    case SORT_SELF:
        return (double)row->self_ns;
    case SORT_COUNT:
        return (double)row->count;
    case SORT_MEAN:
        return row->mean_ns;
    case SORT_P50:
        return row->percentile_ns[STATS_P50];
    case SORT_P99:
        return row->percentile_ns[STATS_P99];
    case SORT_MAX:
        return (double)row->max_ns;
    case SORT_NAME:
        break;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct stats_row *left = a;
    const struct stats_row *right = b;
    enum column column = *(const enum column *)user;
    double l = sort_value(left, column);
    double r = sort_value(right, column);

    if (column != SORT_NAME && l != r)
        return l < r ? 1 : -1;
    return strcmp(left->name, right->name);
}

/* What threads were doing beside their zones; NULL: not known, or not asked for. */
static struct waiting *states_of(const struct request *request, const struct timeline *timeline,
                                 const struct timeline_profile **out_profile)
{
    const struct stats_filter *filter = &request->options.filter;
    struct waiting *waiting = NULL;

    *out_profile = NULL;
    if (request->options.by != STATS_BY_THREAD || filter->model || filter->name_matches ||
        filter->from_ns || filter->to_ns || timeline_profile_get(timeline, out_profile, NULL) ||
        !*out_profile || waiting_create(timeline, &waiting, NULL))
        return NULL;
    return waiting;
}

/* Rows of several models that share a name have none. */
static void write_roofline(struct ifg_json *json, const struct model_costs *costs,
                           const struct stats_row *row)
{
    const struct roofline_point *point = costs ? model_costs_find(costs, row->location) : NULL;

    if (!point || !point->known)
        return;
    ifg_json_put_open(json, "roofline", '{');
    document_roofline_point(json, point);
    ifg_json_close(json, '}');
}

static void write_json(const struct request *request, const struct stats *stats, size_t rows,
                       const struct timeline_profile *profile, const struct waiting *waiting,
                       const struct model_costs *costs, struct ifg_bytes *out)
{
    static const char *const keys[] = { "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns" };
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "percentile",
                        request->options.percentile == IFG_QUANTILE_LINEAR ? "linear" : "nearest");
    ifg_json_put_uint(&json, "range_ns", stats->range_ns);
    ifg_json_put_uint(&json, "unfinished", stats->unfinished);
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < rows; i++) {
        const struct stats_row *row = &stats->rows[i];

        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "name", row->name);
        ifg_json_put_uint(&json, "count", row->count);
        ifg_json_put_uint(&json, "total_ns", row->total_ns);
        ifg_json_put_int(&json, "self_ns", row->self_ns);
        ifg_json_put_double(&json, "mean_ns", row->mean_ns);
        ifg_json_put_double(&json, "sd_ns", row->sd_ns);
        ifg_json_put_uint(&json, "min_ns", row->min_ns);
        for (int p = 0; p < STATS_PERCENTILES; p++)
            ifg_json_put_double(&json, keys[p], row->percentile_ns[p]);
        ifg_json_put_uint(&json, "max_ns", row->max_ns);
        ifg_json_put_double(&json, "share", row->share);
        ifg_json_put_bool(&json, "host_time", row->host_time);
        ifg_json_put_double(&json, "device_ns", row->device_ns);
        write_roofline(&json, costs, row);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    if (waiting)
        stats_threads_write_json(&json, profile, waiting, request->options.filter.thread);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static void write_csv(const struct stats *stats, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,count,total_ns,self_ns,mean_ns,sd_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,"
                   "p999_ns,max_ns,share,host_time,device_ns\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct stats_row *row = &stats->rows[i];

        ifg_csv_put(out, row->name, ",");
        cli_print(out, ",%llu,%llu,%lld,%.17g,%.17g,%llu", (unsigned long long)row->count,
                  (unsigned long long)row->total_ns, (long long)row->self_ns, row->mean_ns,
                  row->sd_ns, (unsigned long long)row->min_ns);
        for (int p = 0; p < STATS_PERCENTILES; p++)
            cli_print(out, ",%.17g", row->percentile_ns[p]);
        cli_print(out, ",%llu,%.17g,%d,", (unsigned long long)row->max_ns, row->share,
                  row->host_time);
        if (!isnan(row->device_ns))
            cli_print(out, "%.0f", row->device_ns);
        cli_print(out, "\r\n");
    }
}

static void write_table(const struct stats *stats, size_t rows, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "name", TEXT_LEFT, 20, 0 },  { "count", TEXT_RIGHT, 0, 0 },
        { "total", TEXT_RIGHT, 0, 0 }, { "self", TEXT_RIGHT, 0, 5 },
        { "mean", TEXT_RIGHT, 0, 3 },  { "sd", TEXT_RIGHT, 0, 9 },
        { "min", TEXT_RIGHT, 0, 7 },   { "p50", TEXT_RIGHT, 0, 0 },
        { "p90", TEXT_RIGHT, 0, 6 },   { "p99", TEXT_RIGHT, 0, 1 },
        { "p99.9", TEXT_RIGHT, 0, 8 }, { "max", TEXT_RIGHT, 0, 4 },
        { "share", TEXT_RIGHT, 0, 2 }, { "device", TEXT_RIGHT, 0, 0 },
    };
    size_t shown_count = sizeof shown / sizeof shown[0];
    struct text_table table;
    bool host_times = false;
    bool device = false;

    for (size_t i = 0; i < rows; i++)
        device |= !isnan(stats->rows[i].device_ns);
    text_table_begin(&table, shown, shown_count - !device, 0);
    for (size_t i = 0; i < rows; i++) {
        const struct stats_row *row = &stats->rows[i];
        double values[] = { (double)row->total_ns,
                            (double)row->self_ns,
                            row->mean_ns,
                            row->sd_ns,
                            (double)row->min_ns,
                            row->percentile_ns[STATS_P50],
                            row->percentile_ns[STATS_P90],
                            row->percentile_ns[STATS_P99],
                            row->percentile_ns[STATS_P999],
                            (double)row->max_ns };

        text_table_put(&table, "%s%s", row->name, row->host_time ? " *" : "");
        text_table_count(&table, row->count);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
            text_table_time(&table, values[v]);
        text_table_share(&table, row->share);
        if (device)
            text_table_time(&table, row->device_ns);
        text_table_next(&table);
        host_times |= row->host_time;
    }
    text_table_end(&table, out);
    if (rows < stats->row_count)
        cli_print(out, "and %zu more: --limit 0 shows all\n", stats->row_count - rows);
    if (host_times)
        cli_print(out, "* " PROVIDER_HOST_TIME "\n");
    if (device)
        cli_print(out, "device: how long devices were busy with it; all other times are the "
                       "host's\n");
    if (stats->unfinished)
        cli_print(out, "%llu had not ended and are in no figure\n",
                  (unsigned long long)stats->unfinished);
}

/* What no figure has. */
static void say_missing(const struct timeline *timeline)
{
    const char *not_kept =
        trace_find_fact(trace_reader_tables(timeline->reader), TRACE_FACT_FLIGHT_NOT_KEPT_S);

    if (not_kept && strtod(not_kept, NULL) > 0)
        cli_say("a flight recorder wrote this: the first %.1f s of the recording are in no figure",
                strtod(not_kept, NULL));
    if (timeline->dropped)
        cli_say("%llu events were dropped while recording and are in no figure",
                (unsigned long long)timeline->dropped);
}

static int print_stats(const struct request *request, const struct timeline *timeline)
{
    struct stats *stats;
    struct ifg_error err;
    struct ifg_bytes out;
    enum column sort = request->sort;
    enum ifg_status status = stats_create(timeline, &request->options, &stats, &err);
    const struct timeline_profile *profile;
    struct model_costs *costs = NULL;
    struct waiting *waiting;
    size_t rows;
    int code;

    if (!status && request->json && request->options.by == STATS_BY_OP) {
        status = model_costs_open(timeline, &costs, &err);
        if (status)
            stats_destroy(stats);
    }
    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    if (stats->row_count)
        qsort_r(stats->rows, stats->row_count, sizeof *stats->rows, compare_rows, &sort);
    rows = request->limit && request->limit < stats->row_count ? request->limit : stats->row_count;
    waiting = states_of(request, timeline, &profile);
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->json)
        write_json(request, stats, rows, profile, waiting, costs, &out);
    else if (request->csv)
        write_csv(stats, rows, &out);
    else if (stats->row_count)
        write_table(stats, rows, &out);
    if (waiting && !request->json && !request->csv)
        stats_threads_write_table(&out, profile, waiting, request->options.filter.thread,
                                  request->limit);
    if (!request->json && !request->csv)
        text_fit(&out);
    if (!out.size)
        cli_say("%s: nothing matches%s", request->path,
                timeline_has_profile(timeline)
                    ? "; --by function and --by thread show what was sampled"
                    : "");
    if (!request->json && !request->csv)
        say_missing(timeline);
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    waiting_destroy(waiting);
    model_costs_close(costs);
    stats_destroy(stats);
    return code;
}

/* Functions of the program, if there are samples of it. */
static int print_functions(const struct request *request, const struct timeline *timeline)
{
    const struct stats_filter *from = &request->options.filter;
    struct functions_request functions = {
        .path = request->path,
        .timeline = timeline,
        .filter = { .from_ns = from->from_ns,
                    .to_ns = from->to_ns,
                    .model = from->model,
                    .thread = from->thread,
                    .op = request->op,
                    .zone = request->zone,
                    .name_matches = from->name_matches,
                    .user = from->user },
        .form = request->json  ? FUNCTIONS_JSON
                : request->csv ? FUNCTIONS_CSV
                               : FUNCTIONS_TABLE,
        .limit = request->limit,
    };

    if (request->sort_given) {
        if (request->sort != SORT_SELF && request->sort != SORT_TOTAL && request->sort != SORT_NAME)
            return cli_usage("stats", "functions by samples are sorted by self, total or name");
        functions.sort = request->sort == SORT_SELF    ? FUNCTIONS_BY_SELF
                         : request->sort == SORT_TOTAL ? FUNCTIONS_BY_TOTAL
                                                       : FUNCTIONS_BY_NAME;
    }
    return stats_functions_print(&functions);
}

static int print_memory(const struct request *request, const struct timeline *timeline)
{
    const struct stats_filter *from = &request->options.filter;
    struct memory_request memory = {
        .path = request->path,
        .timeline = timeline,
        .allocations = request->allocations,
        .model = from->model,
        .name_matches = from->name_matches,
        .user = from->user,
        .form = request->json  ? MEMORY_JSON
                : request->csv ? MEMORY_CSV
                               : MEMORY_TABLE,
        .limit = request->limit,
    };

    if (from->thread || from->from_ns || from->to_ns || (request->allocations && from->model))
        return cli_usage("stats", "--by %s can be narrowed by --name%s only",
                         request->allocations ? "allocation" : "memory",
                         request->allocations ? "" : " and --model");
    if (request->sort_given) {
        if (request->sort != SORT_TOTAL && request->sort != SORT_MAX &&
            request->sort != SORT_COUNT && request->sort != SORT_NAME)
            return cli_usage("stats", "memory is sorted by max (of one), total, count or name");
        memory.sort = request->sort == SORT_TOTAL   ? MEMORY_BY_TOTAL
                      : request->sort == SORT_COUNT ? MEMORY_BY_COUNT
                      : request->sort == SORT_NAME  ? MEMORY_BY_NAME
                                                    : MEMORY_BY_MOST;
    }
    return memory_print(&memory);
}

static int print_kernels(const struct request *request, const struct timeline *timeline)
{
    const struct stats_filter *from = &request->options.filter;
    struct kernels_request kernels = {
        .path = request->path,
        .timeline = timeline,
        .options = { .percentile = request->options.percentile,
                     .from_ns = from->from_ns,
                     .to_ns = from->to_ns,
                     .model = from->model,
                     .op = request->op,
                     .thread = from->thread,
                     .name_matches = from->name_matches,
                     .user = from->user },
        .form = request->json  ? KERNELS_JSON
                : request->csv ? KERNELS_CSV
                               : KERNELS_TABLE,
        .limit = request->limit,
    };

    if (request->sort_given && request->sort == SORT_SELF)
        return cli_usage("stats", "kernels have nothing inside: sort by total");
    kernels.sort = request->sort == SORT_COUNT  ? KERNELS_BY_COUNT
                   : request->sort == SORT_MEAN ? KERNELS_BY_MEAN
                   : request->sort == SORT_P50  ? KERNELS_BY_P50
                   : request->sort == SORT_P99  ? KERNELS_BY_P99
                   : request->sort == SORT_MAX  ? KERNELS_BY_MAX
                   : request->sort == SORT_NAME ? KERNELS_BY_NAME
                                                : KERNELS_BY_TOTAL;
    return stats_kernels_print(&kernels);
}

static int print_any(const struct request *request, const struct timeline *timeline)
{
    if (request->kernels)
        return print_kernels(request, timeline);
    if (request->memory)
        return print_memory(request, timeline);
    if (request->options.by == STATS_BY_FUNCTION && !request->of_models &&
        timeline_has_profile(timeline))
        return print_functions(request, timeline);
    if (request->op || request->zone)
        return cli_usage("stats", "%s has no samples: --op and --zone choose among them",
                         request->path);
    return print_stats(request, timeline);
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    int code = options_parse(&stats_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_trace(&stats_command, &words, &request.path);
    if (!code)
        code = check(&request);
    if (!code)
        code = cli_load(request.path, &reader, &timeline);
    if (!code)
        code = print_any(&request, timeline);
    timeline_destroy(timeline);
    trace_reader_close(reader);
    name_filter_fini(&request.filter);
    return code;
}

const struct cli_command stats_command = {
    .name = "stats",
    .summary = "show counts, totals and percentiles by zone, model, op, ...",
    .usage = "[FILE] [--by WHAT] [OPTIONS]",
    .about = "Shows counts, totals and percentiles. By zone: everything by name; by model, "
             "category and model-function: ML events; by op: operators; by thread: outermost "
             "zones; by function: functions of the program by samples, or, without samples, the "
             "models' functions; by memory: before, peak and after each phase; by allocation: "
             "what held the heap; by kernel: what devices did.",
    .tables = { option_rows },
    .notes = "self: without what is directly inside; sd: sample standard deviation; share: total "
             "/ time range; by kernel: / the time that devices were busy.",
    .examples = "inferogram stats run.ifg --by op\n"
                "inferogram stats run.ifg --by function --model detector.onnx\n"
                "inferogram stats run.ifg --by thread --from 2s --to 5s --csv",
    .exits = "0 success, 1 cannot write the output, 2 usage error or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
