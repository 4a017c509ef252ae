// SPDX-License-Identifier: Apache-2.0
/* The result of a benchmark on one screen: see bench_text.h. */
#include "cli/bench_text.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/quantile.h"
#include "cli/text.h"
#include "runtimes/runtimes.h"

#define LABEL          13 /* columns of what a line is about */
#define STEADY_LEAST   30 /* three windows of ten */
#define TOP_NODES      10
#define TOP_TYPES      6
#define LINE_MAX_BYTES 2048

/* ---- words and numbers ---- */

/* A line that is put together, and broken between words when it is too long. */
struct line {
    char text[LINE_MAX_BYTES];
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, args);
    va_end(args);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= sizeof line->text)
        line->used = sizeof line->text - 1;
}

/* Breaks at " · ", at "   " (between columns) or, failing that, at a blank. */
static size_t break_after(const char *text, size_t room)
{
    size_t best = 0;
    size_t blank = 0;

    for (size_t i = 0; text[i] && text_columns_of(text, i) <= room; i++) {
        if (strncmp(text + i, " · ", strlen(" · ")) == 0 || strncmp(text + i, "   ", 3) == 0 ||
            strncmp(text + i, ") on ", 5) == 0 || strncmp(text + i, "; ", 2) == 0)
            best = i + (text[i] != ' ');
        if (text[i] == ' ' && text[i + 1] != '%')
            blank = i;
    }
    return best > 20 ? best : blank;
}

static void put_wrapped(struct ifg_bytes *out, size_t column, size_t indent,
                        const struct line *line)
{
    char clean[LINE_MAX_BYTES];
    const char *text = cli_clean(line->text, clean, sizeof clean);
    size_t limit = text_line_columns(STDOUT_FILENO);

    while (text_columns(text) > limit - column) {
        size_t at = break_after(text, limit - column);

        if (!at)
            break;
        cli_print(out, "%.*s\n%*s", (int)at, text, (int)indent, "");
        column = indent;
        text += at;
        while (*text == ' ' || strncmp(text, "· ", strlen("· ")) == 0)
            text += *text == ' ' ? 1 : strlen("· ");
    }
    cli_print(out, "%s\n", text);
}

static void put(struct ifg_bytes *out, const char *label, const struct line *line)
{
    cli_put_name(out, label, LABEL);
    put_wrapped(out, LABEL, LABEL, line);
}

/* Three significant digits, or whole numbers. */
static const char *time_text(double ms, char out[32])
{
    return isfinite(ms) ? cli_duration(1e6 * ms, out) : "not known";
}

/* The unit that a whole block of numbers shares. */
struct unit {
    const char *name;
    double factor; /* of ms */
};

static struct unit unit_for(double ms)
{
    if (ms < 0.9995e-3)
        return (struct unit){ "ns", 1e6 };
    if (ms < 0.9995)
        return (struct unit){ "µs", 1e3 };
    return ms < 999.5 ? (struct unit){ "ms", 1 } : (struct unit){ "s", 1e-3 };
}

static void add_interval(struct line *line, const struct statistics_interval *interval,
                         double factor)
{
    char low[32];
    char high[32];

    if (interval->known)
        add(line, " [%s, %s]", bench_number(factor * interval->low, low),
            bench_number(factor * interval->high, high));
}

/* After how many inferences the times were steady: the median over processes; NAN if never. */
static double steady_after(const struct bench_row *row)
{
    double *values = ifg_alloc(row->process_count + 1, sizeof *values);
    double median = NAN;
    size_t count = 0;

    for (size_t i = 0; values && i < row->process_count; i++)
        if (row->processes[i].steady)
            values[count++] = (double)row->processes[i].steady_after;
    if (count) {
        statistics_sort(values, count);
        median = ifg_quantile_sorted(values, count, 0.5, IFG_QUANTILE_LINEAR);
    }
    ifg_free(values);
    return median;
}

#define MEDIAN_OF(row, member) bench_row_process_median(row, offsetof(struct bench_process, member))

static const char *short_provider(const char *provider, char out[64])
{
    size_t length = strlen(provider);
    size_t end = strlen("ExecutionProvider");

    if (length > end && strcmp(provider + length - end, "ExecutionProvider") == 0)
        length -= end;
    snprintf(out, 64, "%.*s", (int)length, provider);
    return out;
}

/* ---- the parts ---- */

static const char *short_type(const char *type)
{
    return strcmp(type, "float32") == 0    ? "f32"
           : strcmp(type, "float16") == 0  ? "f16"
           : strcmp(type, "bfloat16") == 0 ? "bf16"
                                           : type;
}

static const char *many(uint64_t count, char out[32])
{
    static const char *const units[] = { "", " k", " M", " G", " T" };
    double value = (double)count;
    size_t unit = 0;

    for (; unit < 4 && value >= 999.5; unit++)
        value /= 1000;
    snprintf(out, 32, "%.*f%s",
             !unit || value >= 99.95 ? 0
             : value < 9.995         ? 2
                                     : 1,
             value, units[unit]);
    return out;
}

/* "opset 11" for the usual domain; others are named. */
static void add_opsets(struct line *line, const char *opsets)
{
    if (strncmp(opsets, "ai.onnx ", 8) == 0)
        add(line, ", opset %s", opsets + 8);
    else if (*opsets)
        add(line, ", opset %s", opsets);
}

static void write_header(const struct bench_result *result, const struct bench_row *row,
                         struct ifg_bytes *out)
{
    struct line line = { 0 };
    char size[32];
    char parameters[32];
    char provider[64];

    add(&line, "%s (%s", result->model_name, cli_size(result->model_bytes, size));
    if (result->parameters)
        add(&line, ", %s parameters%s%s", many(result->parameters, parameters),
            *result->precision ? " " : "", short_type(result->precision));
    add_opsets(&line, result->opsets);
    add(&line, ")");
    if (*result->runtime)
        add(&line, " on %s %s", result->runtime, result->runtime_version);
    for (size_t i = 0; row && i < row->placement_count; i++)
        add(&line, "%s%s", i ? "+" : " / ", short_provider(row->placements[i].provider, provider));
    if (result->threads && result->row_count < 2)
        add(&line, ", %u thread%s", result->threads, result->threads == 1 ? "" : "s");
    else if (result->row_count < 2)
        add(&line, ", threads: the runtime's choice");
    cli_print(out, "%s", cli_bold(true, STDOUT_FILENO));
    put_wrapped(out, 0, 2, &line);
    cli_print(out, "%s", cli_bold(false, STDOUT_FILENO));
}

static void write_inputs(const struct bench_options *options, const struct bench_result *result,
                         struct ifg_bytes *out)
{
    uint32_t workers = bench_workers(options, &result->host);
    struct line line = { 0 };

    if (!*result->inputs)
        return;
    add(&line, "%s", result->inputs);
    if (options->scenario == BENCH_MULTI)
        add(&line, " · %u inferences per query", options->per_query);
    if (options->scenario != BENCH_SINGLE)
        add(&line, " · scenario %s", result->scenario);
    if (workers > 1 || options->concurrency)
        add(&line, " · %u worker%s", workers, workers == 1 ? "" : "s");
    put(out, "inputs", &line);
}

static void write_cold(const struct bench_options *options, const struct bench_row *row,
                       struct ifg_bytes *out)
{
    struct line line = { 0 };
    char start[32];
    char load[32];
    char special[32];
    char first[32];
    double specialization = MEDIAN_OF(row, specialization_ms);
    double after = steady_after(row);
    bool queries = options->scenario == BENCH_MULTI;
    size_t unsteady = 0;

    for (size_t i = 0; i < row->process_count; i++)
        unsteady += !row->processes[i].steady;
    add(&line, "process %s · load %s · specialization %s",
        time_text(MEDIAN_OF(row, start_ms), start), time_text(MEDIAN_OF(row, load_ms), load),
        isfinite(specialization) ? time_text(specialization, special) : "not told by this runtime");
    if (!options->load_only)
        add(&line, " · first inference %s", time_text(MEDIAN_OF(row, first_ms), first));
    if (row->process_count > 1)
        add(&line, " (medians of %zu processes)", row->process_count);
    put(out, "cold start", &line);
    if (options->load_only)
        return;
    line.used = 0;
    if (isfinite(after) && after > 0)
        add(&line, "after %.0f %s", ceil(after),
            queries      ? "queries"
            : after <= 1 ? "inference"
                         : "inferences");
    else if (isfinite(after))
        add(&line, "from the first inference on");
    if (unsteady &&
        row->sample_count / row->process_count + row->processes[0].warmup < STEADY_LEAST)
        add(&line, "not known: that takes at least %d inferences", STEADY_LEAST);
    else if (unsteady) {
        add(&line, "%sNO STEADY STATE ", line.used ? " · " : "");
        if (options->warmup < 0)
            add(&line, "within %g s", options->warmup_max_s);
        else
            add(&line, "after the %lld of -w", (long long)options->warmup);
        if (row->process_count > 1)
            add(&line, " in %zu of %zu processes", unsteady, row->process_count);
    }
    put(out, "steady", &line);
}

static void write_latency(const struct bench_options *options, const struct bench_result *result,
                          const struct bench_row *row, struct ifg_bytes *out)
{
    static const char *const names[] = { "p50", "p90", "p95", "p99", "p99.9" };
    const struct statistics_summary *summary = &row->summary;
    struct unit unit = unit_for(summary->p[STATISTICS_P50]);
    struct line line = { 0 };
    char text[4][32];
    char count[32];

    for (int i = 0; i < STATISTICS_QUANTILES; i++) {
        const struct statistics_interval *interval =
            i == STATISTICS_P50 ? &row->median : &summary->interval[i];

        add(&line, "%s%s ", i ? "   " : "", names[i]);
        if (i != STATISTICS_P50 && !interval->known && interval->needs) {
            add(&line, "needs %s samples", cli_count(interval->needs, count));
            continue;
        }
        add(&line, "%s", bench_number(unit.factor * summary->p[i], text[0]));
        if (i == STATISTICS_P50)
            add(&line, " %s", unit.name);
        add_interval(&line, interval, unit.factor);
    }
    put(out, "latency", &line);
    line.used = 0;
    add(&line, "mean %s · sd %s · min %s · max %s · n %s in %zu process%s",
        bench_number(unit.factor * summary->mean, text[0]),
        bench_number(unit.factor * summary->sd, text[1]),
        bench_number(unit.factor * summary->min, text[2]),
        bench_number(unit.factor * summary->max, text[3]), cli_count(row->sample_count, count),
        row->process_count, row->process_count == 1 ? "" : "es");
    if (row->block_count && row->process_count && row->block_count % row->process_count == 0)
        add(&line, " x %zu block%s", row->block_count / row->process_count,
            row->block_count == row->process_count ? "" : "s");
    else
        add(&line, ", %zu blocks", row->block_count);
    if (result->percentile_nearest)
        add(&line, " · percentiles: nearest");
    if (options->scenario == BENCH_MULTI)
        add(&line, " · of a query with %u inferences", options->per_query);
    put(out, "", &line);
    if (row->change_point_count) {
        line.used = 0;
        add(&line, "the level changed at block");
        for (size_t i = 0; i < row->change_point_count; i++)
            add(&line, "%s %zu", i ? "," : "", row->change_points[i]);
        add(&line, " of %zu", row->block_count);
        put(out, "", &line);
    }
}

/* The rate that --find-rate found, and what makes it believable. */
static void write_found(const struct bench_row *row, struct ifg_bytes *out)
{
    const struct bench_open_loop *open = &row->open;
    struct line line = { 0 };
    char text[3][32];
    char count[32];

    if (!isfinite(open->found_hz))
        return;
    if (!(open->found_hz > 0)) {
        add(&line, "none: at no rate that was tried the p99 stays within %s",
            time_text(row->slo_ms, text[1]));
        if (open->missed_hz > 0)
            add(&line, ", not even at %s/s", bench_number(open->missed_hz, text[0]));
        put(out, "found rate", &line);
        return;
    }
    add(&line, "%s/s is the highest rate whose p99 stays within %s",
        bench_number(open->found_hz, text[0]), time_text(row->slo_ms, text[1]));
    if (open->confirmed_s > 0) {
        add(&line, ": in %.0f s %.2f %% of %s queries took longer", open->confirmed_s,
            100 * (double)open->confirmed_too_slow / (double)open->confirmed_queries,
            cli_count(open->confirmed_queries, count));
        if (open->missed_hz > 0)
            add(&line, "; %s/s misses it", bench_number(open->missed_hz, text[2]));
    }
    put(out, "found rate", &line);
    if (row->summary.p[STATISTICS_P99] > row->slo_ms) {
        line.used = 0;
        add(&line, "afterwards, in other processes, the p99 was %s: the rate is at its limit",
            time_text(row->summary.p[STATISTICS_P99], text[0]));
        put(out, "", &line);
    }
}

/* What an open loop adds: how many were late, and what a closed loop would have shown. */
static void write_open(const struct bench_row *row, struct ifg_bytes *out)
{
    const struct bench_open_loop *open = &row->open;
    double *sorted = ifg_alloc(row->sample_count + 1, sizeof *sorted);
    struct line line = { 0 };
    char text[3][32];
    char count[32];
    char late[32];

    write_found(row, out);
    add(&line, "%s/s asked, %s/s achieved · %s scheduled · %s late · lateness p99 %s",
        bench_number(open->asked_hz, text[0]), bench_number(open->achieved_hz, text[1]),
        cli_count(row->sample_count, count), cli_count(open->late, late),
        time_text(open->lateness_p99_ms, text[2]));
    put(out, "rate", &line);
    if (sorted && open->service_ms) {
        memcpy(sorted, open->service_ms, row->sample_count * sizeof *sorted);
        statistics_sort(sorted, row->sample_count);
        line.used = 0;
        add(&line, "p50 %s",
            time_text(ifg_quantile_sorted(sorted, row->sample_count, 0.5, IFG_QUANTILE_LINEAR),
                      text[0]));
        add(&line,
            " · p99 %s · max %s (from the moment a query began; latency counts from when it "
            "was due)",
            time_text(ifg_quantile_sorted(sorted, row->sample_count, 0.99, IFG_QUANTILE_LINEAR),
                      text[1]),
            time_text(sorted[row->sample_count - 1], text[2]));
        put(out, "service time", &line);
    }
    if (open->overloaded) {
        line.used = 0;
        add(&line, "percentiles describe a growing queue, not a latency; ask for a lower --rate, "
                   "or let --find-rate --slo T find one");
        put(out, "OVERLOADED", &line);
    }
    ifg_free(sorted);
}

static void write_throughput(const struct bench_result *result, const struct bench_row *row,
                             struct ifg_bytes *out)
{
    struct line line = { 0 };
    char text[32];
    char slo[32];

    add(&line, "%s inferences/s", bench_number(row->throughput, text));
    add_interval(&line, &row->throughput_interval, 1);
    if (result->batch > 1)
        add(&line, " · %s samples/s at batch %lld",
            bench_number(row->throughput * (double)result->batch, text), (long long)result->batch);
    put(out, "throughput", &line);
    if (row->slo_ms > 0) {
        line.used = 0;
        add(&line, "%.*f %% within %s", row->goodput > 0.999 && row->goodput < 1 ? 2 : 1,
            100 * row->goodput, time_text(row->slo_ms, slo));
        put(out, "goodput", &line);
    }
}

static const char *size_text(uint64_t bytes, char out[32])
{
    return bytes ? cli_size(bytes, out) : "not known";
}

static void write_memory(const struct bench_options *options, const struct bench_row *row,
                         struct ifg_bytes *out)
{
    struct bench_memory memory;
    struct line line = { 0 };
    char text[5][32];

    bench_row_memory(row, &memory);
    add(&line, "before %s · after load %s", size_text(memory.before_bytes, text[0]),
        size_text(memory.after_load_bytes, text[1]));
    if (!options->load_only)
        add(&line, " · after runs %s", size_text(memory.after_runs_bytes, text[2]));
    add(&line, " · peak %s", size_text(memory.peak_bytes, text[3]));
    if (memory.delta_bytes > 0)
        add(&line, " · delta %s", cli_size((uint64_t)memory.delta_bytes, text[4]));
    put(out, "memory", &line);
}

static void add_placement(struct line *line, const struct bench_row *row)
{
    char provider[64];

    for (size_t i = 0; i < row->placement_count; i++)
        add(line, "%s%s %u node%s", i ? " · " : "",
            short_provider(row->placements[i].provider, provider), row->placements[i].nodes,
            row->placements[i].nodes == 1 ? "" : "s");
}

static void write_placement(const struct bench_row *row, struct ifg_bytes *out)
{
    struct line line = { 0 };

    if (row->placement_count)
        add_placement(&line, row);
    else if (row->placement_reason && *row->placement_reason)
        add(&line, "not known: %s", row->placement_reason);
    else
        return;
    put(out, "placement", &line);
}

/* Which device was asked for, and whether it was had. */
static void write_policy(const struct bench_row *row, struct ifg_bytes *out)
{
    struct line line = { 0 };
    char policy[64];

    if (!*bench_row_policy(row, policy))
        return;
    add(&line, "%s", policy);
    if (bench_row_fell_back(row))
        add(&line, ": fallback, all nodes run on the CPU; the runtime has no %s to give them to",
            strcasecmp(policy, "PREFER_NPU") == 0 ? "NPU" : "GPU");
    else if (!row->placement_count)
        add(&line, "; whether it was obeyed is not known");
    put(out, "policy", &line);
}

static void write_energy(const struct bench_row *row, struct ifg_bytes *out)
{
    struct line line = { 0 };
    char words[400];

    add(&line, "%s", bench_energy_words(row, words, sizeof words));
    if (line.used)
        put(out, "energy", &line);
}

struct type_share {
    const char *type;
    double share;
};

static int compare_types(const void *left, const void *right)
{
    const struct type_share *a = left;
    const struct type_share *b = right;

    return a->share > b->share ? -1 : a->share < b->share;
}

static void write_op_types(const struct bench_row *row, struct ifg_bytes *out)
{
    struct type_share *types = ifg_alloc(row->op_count, sizeof *types);
    struct line line = { 0 };
    size_t count = 0;

    for (size_t i = 0; types && i < row->op_count; i++) {
        size_t at = 0;

        while (at < count && strcmp(types[at].type, row->ops[i].op_type) != 0)
            at++;
        if (at == count)
            types[count++].type = row->ops[i].op_type;
        types[at].share += row->ops[i].share;
    }
    if (types)
        qsort(types, count, sizeof *types, compare_types);
    for (size_t i = 0; i < count && i < TOP_TYPES; i++)
        add(&line, "%s%s %.*f %%", i ? " · " : "", *types[i].type ? types[i].type : "?",
            types[i].share < 0.0995, 100 * types[i].share);
    if (count > TOP_TYPES)
        add(&line, " · %zu other types", count - TOP_TYPES);
    put(out, "operators", &line);
    ifg_free(types);
}

static void write_ops(const struct bench_options *options, const struct bench_row *row,
                      struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "node", TEXT_KEEP_END, 20, 0 }, { "type", TEXT_LEFT, 10, 0 },
        { "median", TEXT_RIGHT, 0, 0 },   { "share", TEXT_RIGHT, 0, 0 },
        { "runs on", TEXT_LEFT, 0, 1 },
    };
    struct text_table table;
    struct line line = { 0 };

    if (!options->ops || options->load_only)
        return;
    if (!row->op_count) {
        add(&line, "not known: %s", row->ops_reason && *row->ops_reason ? row->ops_reason : "?");
        put(out, "operators", &line);
        return;
    }
    write_op_types(row, out);
    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], LABEL);
    for (size_t i = 0; i < row->op_count && i < TOP_NODES; i++) {
        const struct bench_op *op = &row->ops[i];
        char provider[64];

        text_table_put(&table, "%s", op->name);
        text_table_put(&table, "%s", op->op_type);
        text_table_time(&table, 1e6 * op->p50_ms);
        text_table_share(&table, op->share);
        text_table_put(&table, "%s", short_provider(op->provider, provider));
        text_table_next(&table);
    }
    text_table_end(&table, out);
    if (row->op_count > TOP_NODES)
        cli_print(out, "%*s%zu more nodes: --json\n", LABEL, "", row->op_count - TOP_NODES);
    cli_print(out, "%*swatching every operator takes time itself: go by the shares\n", LABEL, "");
    if (bench_row_has_host_times(row))
        cli_print(out, "%*s" PROVIDER_HOST_TIME "\n", LABEL, "");
}

static void write_trust(const struct bench_row *row, struct ifg_bytes *out)
{
    struct line line = { 0 };
    char summary[1024];

    if (!row->trust.count)
        return;
    trust_summary(&row->trust, summary, sizeof summary);
    add(&line, "%s", summary);
    put(out, "trust", &line);
}

static void write_details(const struct bench_options *options, const struct bench_result *result,
                          const struct bench_row *row, struct ifg_bytes *out)
{
    struct line line = { 0 };

    write_cold(options, row, out);
    if (row->sample_count) {
        write_latency(options, result, row, out);
        if (row->open.used)
            write_open(row, out);
        write_throughput(result, row, out);
    }
    write_memory(options, row, out);
    write_policy(row, out);
    write_placement(row, out);
    write_ops(options, row, out);
    write_energy(row, out);
    write_trust(row, out);
    if (*row->reason) {
        add(&line, "%s", row->reason);
        put(out, row->crashed ? "CRASHED" : "ended early", &line);
    }
}

/* ---- several rows ---- */

static void put_row(const struct bench_row *row, struct text_table *table)
{
    struct line line = { 0 };
    char text[32];
    char policy[64];
    double p50 = row->summary.p[STATISTICS_P50];
    struct unit unit = unit_for(p50);
    struct bench_memory memory;

    text_table_put(table, "%s", row->name);
    if (!row->available) {
        while (table->at + 1 < table->count)
            text_table_put(table, "%s", "");
        text_table_put(table, "%s: %s",
                       row->status == IFG_UNSUPPORTED ? "unavailable"
                       : row->crashed                 ? "crashed"
                                                      : "failed",
                       row->reason);
        text_table_next(table);
        return;
    }
    if (row->sample_count) {
        add(&line, "%s %s", bench_number(unit.factor * p50, text), unit.name);
        add_interval(&line, &row->median, unit.factor);
    }
    text_table_put(table, "%s", line.text);
    text_table_put(table, "%s",
                   !row->sample_count ? ""
                   : !row->summary.interval[STATISTICS_P99].known
                       ? "-"
                       : time_text(row->summary.p[STATISTICS_P99], text));
    text_table_put(table, "%s%s", row->sample_count ? bench_number(row->throughput, text) : "",
                   row->sample_count ? "/s" : "");
    text_table_put(table, "%s", time_text(MEDIAN_OF(row, load_ms), text));
    bench_row_memory(row, &memory);
    text_table_put(table, "%s", size_text(memory.peak_bytes, text));
    line.used = 0;
    line.text[0] = '\0';
    add_placement(&line, row);
    if (*bench_row_policy(row, policy))
        add(&line, " · %s%s", policy, bench_row_fell_back(row) ? ": fallback" : "");
    text_table_put(table, "%s%s", line.text, *row->reason ? " · ended early" : "");
    text_table_next(table);
}

static void write_table(const struct bench_result *result, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "row", TEXT_LEFT, 12, 0 },       { "p50", TEXT_LEFT, 0, 0 },
        { "p99", TEXT_RIGHT, 0, 0 },       { "throughput", TEXT_RIGHT, 0, 1 },
        { "load", TEXT_RIGHT, 0, 3 },      { "peak", TEXT_RIGHT, 0, 2 },
        { "placement", TEXT_LEFT, 10, 4 }, { "", TEXT_WRAP, 0, 0 },
    };
    struct text_table table;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 2);
    for (size_t i = 0; i < result->row_count; i++)
        put_row(&result->rows[i], &table);
    text_table_end(&table, out);
}

/* ---- what to do next ---- */

static void write_hints(const struct bench_options *options, const struct bench_result *result,
                        const struct bench_row *row, struct ifg_bytes *out)
{
    const struct statistics_interval *p99 = &row->summary.interval[STATISTICS_P99];
    const char *label = "next";
    struct line line = { 0 };

    if (!row->sample_count)
        return;
    if (!row->median.known && row->sample_count > 1) {
        add(&line, "for an interval of the p50: more processes (--processes), or more iterations "
                   "(-n), at least 5 blocks");
        put(out, label, &line);
        line.used = 0;
        label = "";
    }
    if (!p99->known && p99->needs && !result->interrupted && row->process_count) {
        add(&line, "for the p99: -n %llu",
            (unsigned long long)((p99->needs + row->process_count - 1) / row->process_count));
        put(out, label, &line);
        line.used = 0;
        label = "";
    }
    if (!row->steady && options->warmup < 0) {
        add(&line,
            "the times did not settle: quiet the machine, or allow more than --warmup-max "
            "%gs",
            options->warmup_max_s);
        put(out, label, &line);
        line.used = 0;
        label = "";
    } else if (!row->steady && row->sample_count >= STEADY_LEAST) {
        add(&line,
            "the times had not settled: leave out -w, and the warm-up goes on until they do");
        put(out, label, &line);
        line.used = 0;
        label = "";
    }
    if (row->trust.level == TRUST_BAD) {
        add(&line, "do not rely on these numbers: stop what else runs here, or repeat on another "
                   "machine; to compare two models, 'inferogram compare' copes with noise");
        put(out, label, &line);
    }
}

void bench_write_text(const struct bench_options *options, const struct bench_result *result,
                      struct ifg_bytes *out)
{
    const struct bench_row *main_row = bench_result_main(result);
    char done[32];
    char wanted[32];

    for (size_t i = 0; !main_row && options->load_only && i < result->row_count; i++)
        if (result->rows[i].available)
            main_row = &result->rows[i];
    if (result->interrupted) {
        uint64_t count = 0;

        for (size_t i = 0; i < result->row_count; i++)
            count += result->rows[i].sample_count;
        cli_print(out, "%sinterrupted: %s", cli_bold(true, STDOUT_FILENO), cli_count(count, done));
        if (options->duration_s > 0 || options->load_only)
            cli_print(out, " iterations by then\n");
        else
            cli_print(
                out, " of %s iterations\n",
                cli_count((uint64_t)options->iterations * options->processes * result->row_count,
                          wanted));
        cli_print(out, "%s", cli_bold(false, STDOUT_FILENO));
    }
    if (!main_row && result->row_count < 2)
        return;
    write_header(result, result->row_count > 1 ? NULL : main_row, out);
    write_inputs(options, result, out);
    if (result->row_count > 1)
        write_table(result, out);
    if (!main_row)
        return;
    if (result->row_count > 1)
        cli_print(out, "\n%s\n", main_row->name);
    write_details(options, result, main_row, out);
    if (*result->trace) {
        struct line line = { 0 };

        add(&line, "%s · inferogram report %s", result->trace, result->trace);
        put(out, "trace", &line);
    }
    write_hints(options, result, main_row, out);
    text_fit(out);
}
