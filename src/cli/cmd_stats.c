// SPDX-License-Identifier: Apache-2.0
/* inferogram stats: counts, sums and percentiles by zone, model, category, operator, function or
 * thread; functions of the program by samples. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/csv.h"
#include "cli/name_filter.h"
#include "cli/stats_functions.h"
#include "cli/stats_memory.h"
#include "cli/stats_threads.h"

static const char help[] =
    "usage: inferogram stats FILE [--by WHAT] [OPTIONS]\n"
    "\n"
    "  --by WHAT         zone (default): everything by name; model, category, model-function: ML\n"
    "                    events; op: operators; thread: outermost zones; function: functions of\n"
    "                    the program by samples, of a trace without them the models' functions;\n"
    "                    memory: before, peak, after of each phase; allocation: who held the heap\n"
    "  --name REGEX      only names that contain a match (PCRE2, ECMAScript-like)\n"
    "  --model NAME      only events of this model\n"
    "  --op, --zone NAME only samples inside this operator, this zone (--by function)\n"
    "  --thread T        only the thread with this number or name\n"
    "  --from T, --to T  only what begins in this part of the trace (1.5s, 200ms, 15us)\n"
    "  --percentile HOW  linear (default; as numpy) or nearest (element floor(n * p))\n"
    "  --sort COLUMN     total (default), self, count, mean, p50, p99, max or name\n"
    "  --limit N         at most N rows (0 for all; default 40 in tables, all in JSON and CSV)\n"
    "  --json, --csv     for scripts; times in nanoseconds\n"
    "  --max-memory SIZE  at most so much memory (default: half of what is available)\n"
    "  --help            this text\n"
    "\n"
    "self: without what lies directly inside; sd: of the sample; share: total / time range.\n"
    "Exit status: 0; 2 if FILE cannot be read or an option is wrong.\n";

#define OUTPUT_MAX   (1u << 30)
#define TABLE_LIMIT  40
#define NAME_COLUMNS 40

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
    size_t limit;
    bool limit_given;
    bool json;
    bool csv;
};

static int choose(const char *text, const char *what, const char *const *names, size_t count,
                  int *out_index)
{
    char list[200] = "";
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_index = (int)i;
            return CLI_YES;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 !i              ? ""
                                 : i + 1 < count ? ", "
                                                 : " or ",
                                 names[i]);
    }
    return cli_usage("stats", "%s is %s, not '%s'", what, list, text);
}

static int take_option(int option, struct request *request)
{
    static const char *const groups[] = { "zone",      "model",  "category",       "op",
                                          "function",  "thread", "model-function", "memory",
                                          "allocation" };
    static const char *const columns[] = { "total", "self", "count", "mean",
                                           "p50",   "p99",  "max",   "name" };
    static const char *const ways[] = { "linear", "nearest" };
    struct ifg_error err;
    int chosen;
    char *end;

    switch (option) {
    case 'b':
        if (strcmp(optarg, "line") == 0)
            return cli_usage("stats", "lines are counted within a function: --by function shows "
                                      "the hottest of each, 'inferogram annotate' all of one");
        if (choose(optarg, "--by", groups, 9, &chosen))
            return CLI_USAGE;
        request->of_models = chosen == 6;
        request->memory = chosen >= 7;
        request->allocations = chosen == 8;
        request->options.by = chosen >= 6 ? STATS_BY_FUNCTION : (enum stats_by)chosen;
        break;
    case 's':
        if (choose(optarg, "--sort", columns, 8, &chosen))
            return CLI_USAGE;
        request->sort = (enum column)chosen;
        request->sort_given = true;
        break;
    case 'p':
        if (choose(optarg, "--percentile", ways, 2, &chosen))
            return CLI_USAGE;
        request->options.percentile = (enum stats_percentile)chosen;
        break;
    case 'n':
        if (name_filter_init(&request->filter, optarg, &err))
            return cli_usage("stats", "%s", err.message);
        request->options.filter.name_matches = name_filter_matches;
        request->options.filter.user = &request->filter;
        break;
    case 'm':
        request->options.filter.model = optarg;
        break;
    case 't':
        request->options.filter.thread = optarg;
        break;
    case 'o':
        request->op = optarg;
        break;
    case 'z':
        request->zone = optarg;
        break;
    case 'F':
    case 'T':
        if (!cli_parse_ns(optarg, option == 'F' ? &request->options.filter.from_ns
                                                : &request->options.filter.to_ns))
            return cli_usage("stats", "'%s' is not a time (1.5s, 200ms, 15us)", optarg);
        break;
    case 'l':
        request->limit = strtoul(optarg, &end, 10);
        if (!*optarg || *end || *optarg == '-')
            return cli_usage("stats", "'%s' is not a number of rows", optarg);
        request->limit_given = true;
        break;
    case 'j':
        request->json = true;
        break;
    case 'c':
        request->csv = true;
        break;
    }
    return CLI_YES;
}

static int parse(int argc, char **argv, struct request *request, bool *out_done)
{
    static const struct option options[] = {
        { "by", required_argument, NULL, 'b' },
        { "sort", required_argument, NULL, 's' },
        { "percentile", required_argument, NULL, 'p' },
        { "name", required_argument, NULL, 'n' },
        { "model", required_argument, NULL, 'm' },
        { "thread", required_argument, NULL, 't' },
        { "op", required_argument, NULL, 'o' },
        { "zone", required_argument, NULL, 'z' },
        { "from", required_argument, NULL, 'F' },
        { "to", required_argument, NULL, 'T' },
        { "limit", required_argument, NULL, 'l' },
        { "json", no_argument, NULL, 'j' },
        { "csv", no_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        int code;

        if (option == 'h') {
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        }
        if (option == '?' || option == ':')
            return cli_bad_option("stats", option, argv);
        code = take_option(option, request);
        if (code)
            return code;
    }
    if (optind == argc)
        return cli_usage("stats", "which trace? Give a file");
    if (optind + 1 < argc)
        return cli_usage("stats", "one file at a time; '%s' is too many", argv[optind + 1]);
    if (request->json && request->csv)
        return cli_usage("stats", "--json and --csv exclude each other");
    if (request->options.filter.to_ns &&
        request->options.filter.to_ns <= request->options.filter.from_ns)
        return cli_usage("stats", "--to must be later than --from");
    if ((request->op || request->zone) &&
        (request->options.by != STATS_BY_FUNCTION || request->of_models || request->memory))
        return cli_usage("stats", "--op and --zone choose samples: use them with --by function");
    request->path = argv[optind];
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

static void write_json(const struct request *request, const struct stats *stats, size_t rows,
                       const struct timeline_profile *profile, const struct waiting *waiting,
                       struct ifg_bytes *out)
{
    static const char *const keys[] = { "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns" };
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "percentile",
                        request->options.percentile == STATS_LINEAR ? "linear" : "nearest");
    ifg_json_put_uint(&json, "range_ns", stats->range_ns);
    ifg_json_put_uint(&json, "unfinished", stats->unfinished);
    ifg_json_key(&json, "rows");
    ifg_json_open(&json, '[');
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
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    if (waiting)
        threads_write_json(&json, profile, waiting, request->options.filter.thread);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static void write_csv(const struct stats *stats, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,count,total_ns,self_ns,mean_ns,sd_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,"
                   "p999_ns,max_ns,share\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct stats_row *row = &stats->rows[i];

        csv_put(out, row->name);
        cli_print(out, ",%llu,%llu,%lld,%.17g,%.17g,%llu", (unsigned long long)row->count,
                  (unsigned long long)row->total_ns, (long long)row->self_ns, row->mean_ns,
                  row->sd_ns, (unsigned long long)row->min_ns);
        for (int p = 0; p < STATS_PERCENTILES; p++)
            cli_print(out, ",%.17g", row->percentile_ns[p]);
        cli_print(out, ",%llu,%.17g\r\n", (unsigned long long)row->max_ns, row->share);
    }
}

static void write_table(const struct stats *stats, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "%-*s %11s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", NAME_COLUMNS, "name",
              "count", "total", "self", "mean", "sd", "min", "p50", "p90", "p99", "p99.9", "max",
              "share");
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
        char text[32];

        cli_put_name(out, row->name, NAME_COLUMNS);
        cli_print(out, " %11s", cli_count(row->count, text));
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
            cli_print(out, " %8s", cli_duration(values[v], text));
        cli_print(out, " %6.1f %%\n", 100 * row->share);
    }
    if (rows < stats->row_count)
        cli_print(out, "and %zu more: --limit 0 shows all\n", stats->row_count - rows);
    if (stats->unfinished)
        cli_print(out, "%llu had not ended and are in no figure\n",
                  (unsigned long long)stats->unfinished);
}

static int print_stats(const struct request *request, const struct timeline *timeline)
{
    struct stats *stats;
    struct ifg_error err;
    struct ifg_bytes out;
    enum column sort = request->sort;
    enum ifg_status status = stats_create(timeline, &request->options, &stats, &err);
    const struct timeline_profile *profile;
    struct waiting *waiting;
    size_t rows;
    int code;

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
        write_json(request, stats, rows, profile, waiting, &out);
    else if (request->csv)
        write_csv(stats, rows, &out);
    else if (stats->row_count)
        write_table(stats, rows, &out);
    if (waiting && !request->json && !request->csv)
        threads_write_table(&out, profile, waiting, request->options.filter.thread, request->limit);
    if (!out.size)
        cli_say("%s: nothing matches%s", request->path,
                timeline_has_profile(timeline)
                    ? "; --by function and --by thread show what was sampled"
                    : "");
    if (timeline->dropped && !request->json && !request->csv)
        cli_say("%llu events were dropped while recording and are in no figure",
                (unsigned long long)timeline->dropped);
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    waiting_destroy(waiting);
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
    return functions_print(&functions);
}

static int print_memory(const struct request *request, const struct timeline *timeline)
{
    const struct stats_filter *from = &request->options.filter;
    struct memory_request memory = {
        .path = request->path,
        .timeline = timeline,
        .allocations = request->allocations,
        .net = from->model,
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

static int print_any(const struct request *request, const struct timeline *timeline)
{
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

int cmd_stats(int argc, char **argv)
{
    struct request request = { 0 };
    struct trace_reader *reader = NULL;
    const struct timeline *timeline = NULL;
    bool done = false;
    int code = parse(argc, argv, &request, &done);

    if (!code && !done) {
        code = cli_load(request.path, &reader, &timeline);
        if (!code)
            code = print_any(&request, timeline);
    }
    timeline_destroy(timeline);
    trace_reader_close(reader);
    name_filter_fini(&request.filter);
    return code;
}
