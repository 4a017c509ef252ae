// SPDX-License-Identifier: Apache-2.0
/* A comparison for people: the answer, the table, what it rests on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/compare_output.h"
#include "runtimes/runtimes.h"

#define CELL             96
#define BASELINE_COLUMNS 20
#define TOP_OPS          5 /* of what is not certain */
#define OPS_SEEN         30

enum column { NAME, SIZE, VALUE, RATIO, LOAD, MEMORY, ACCURACY, VERDICT, COLUMNS };

struct line {
    char cells[COLUMNS][CELL];
};

static void write_method(const struct compare *compare, struct ifg_bytes *out);

/* ---- numbers ---- */

/* "18.6 ms [18.4, 18.8]": one unit, three digits. */
static void print_value(const struct compare *compare, const struct compare_row *row, char *out,
                        size_t size)
{
    static const char *const units[] = { "ns", "µs", "ms", "s" };
    double factor = 1;
    size_t unit = 2;
    int digits;
    double value = row->p50_ms;

    if (isnan(value)) {
        snprintf(out, size, "-");
        return;
    }
    if (*compare->value_unit && value > 0) {
        for (; unit > 0 && value * factor < 0.9995; unit--)
            factor *= 1000;
        for (; unit < 3 && value * factor >= 999.5; unit++)
            factor /= 1000;
    }
    value *= factor;
    digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    if (row->p50.known && (row->p50.high - row->p50.low) * factor < 2 * pow(10, -digits))
        digits++; /* else both ends look the same */
    if (row->p50.known)
        snprintf(out, size, "%.*f %s%s[%.*f, %.*f]", digits, value,
                 *compare->value_unit ? units[unit] : "", *compare->value_unit ? " " : "", digits,
                 row->p50.low * factor, digits, row->p50.high * factor);
    else
        snprintf(out, size, "%.*f %s", digits, value, *compare->value_unit ? units[unit] : "");
}

static void print_ratio(const struct compare_row *row, char *out, size_t size)
{
    if (!row->change.units)
        snprintf(out, size, "-");
    else if (row->change.known)
        snprintf(out, size, "%.3f [%.3f, %.3f]", 1 + row->change.change, 1 + row->change.low,
                 1 + row->change.high);
    else
        snprintf(out, size, "%.3f", 1 + row->change.change);
}

static bool is_equal(const struct compare_row *row)
{
    for (size_t i = 0; i < row->accuracy_count; i++)
        if (!row->accuracy[i].comparable || row->accuracy[i].max_abs > 0 ||
            row->accuracy[i].not_finite)
            return false;
    return row->accuracy_count > 0;
}

static void print_accuracy(const struct compare_row *row, char *out, size_t size)
{
    const struct accuracy *first = row->accuracy;
    int used;

    if (!row->accuracy_count) {
        snprintf(out, size, "-");
        return;
    }
    if (is_equal(row)) {
        snprintf(out, size, "equal");
        return;
    }
    if (!first->comparable) {
        snprintf(out, size, "%.60s", first->reason);
        return;
    }
    if (first->max_abs > 0)
        used = snprintf(out, size, "cosine %.6g, SQNR %.0f dB", first->cosine, first->sqnr_db);
    else
        used = snprintf(out, size, "output 0 equal");
    if (used > 0 && (size_t)used < size && !isnan(first->argmax_agreement))
        snprintf(out + used, size - (size_t)used, ", argmax %.4g %%",
                 100 * first->argmax_agreement);
}

/* ---- the table ---- */

static void fill_line(const struct compare *compare, size_t i, struct line *line)
{
    const struct compare_row *row = &compare->rows[i];
    char number[32];

    cli_clean(row->name, line->cells[NAME], CELL);
    if (row->model_bytes)
        snprintf(line->cells[SIZE], CELL, "%s", cli_size(row->model_bytes, number));
    if (!row->available) {
        snprintf(line->cells[VALUE], CELL, "unavailable");
        return;
    }
    print_value(compare, row, line->cells[VALUE], CELL);
    if (i == 0)
        snprintf(line->cells[RATIO], CELL, "baseline");
    else
        print_ratio(row, line->cells[RATIO], CELL);
    if (!isnan(row->load_ms))
        snprintf(line->cells[LOAD], CELL, "%s", cli_duration(1e6 * row->load_ms, number));
    if (row->peak_bytes)
        snprintf(line->cells[MEMORY], CELL, "%s", cli_size(row->peak_bytes, number));
    if (i == 0) {
        snprintf(line->cells[VERDICT], CELL, "-");
        return;
    }
    print_accuracy(row, line->cells[ACCURACY], CELL);
    snprintf(line->cells[VERDICT], CELL, "%s", compare_verdict_name(row));
}

static bool has_accuracy(const struct compare *compare)
{
    for (size_t i = 0; i < compare->row_count; i++)
        if (compare->rows[i].accuracy_count)
            return true;
    return false;
}

/* What the columns are called; the buffers hold the names that are not fixed. */
struct titles {
    struct text_column columns[COLUMNS];
    char measure[60];
    char against[80];
};

static void name_columns(const struct compare *compare, struct titles *out)
{
    static const struct text_column fixed[COLUMNS] = {
        [NAME] = { "", TEXT_LEFT, 16, 0 },
        [SIZE] = { "size", TEXT_RIGHT, 0, 3 },
        [VALUE] = { "p50", TEXT_LEFT, 0, 0 },
        [RATIO] = { "", TEXT_LEFT, 0, 0 },
        [LOAD] = { "load", TEXT_RIGHT, 0, 5 },
        [MEMORY] = { "memory", TEXT_RIGHT, 0, 4 },
        [ACCURACY] = { "accuracy (out 0)", TEXT_LEFT, 12, 2 },
        [VERDICT] = { "verdict", TEXT_LEFT, 0, 1 },
    };
    char base[60];

    memcpy(out->columns, fixed, sizeof fixed);
    cli_clean(compare->rows[0].name, base, sizeof base);
    snprintf(out->against, sizeof out->against, "vs %s",
             (int)text_columns(base) > BASELINE_COLUMNS ? "the baseline" : base);
    out->columns[RATIO].title = out->against;
    if (strcmp(compare->measure, "latency") != 0)
        out->columns[VALUE].title = cli_clean(compare->measure, out->measure, sizeof out->measure);
}

static void write_table(const struct compare *compare, struct ifg_bytes *out)
{
    bool accuracy = has_accuracy(compare);
    struct text_table table;
    struct titles titles;

    name_columns(compare, &titles);
    text_table_begin(&table, titles.columns, COLUMNS, 0);
    for (size_t i = 0; i < compare->row_count; i++) {
        struct line line = { 0 };

        fill_line(compare, i, &line);
        for (int column = 0; column < COLUMNS; column++)
            text_table_put(&table, "%s", column == ACCURACY && !accuracy ? "" : line.cells[column]);
        text_table_next(&table);
    }
    text_table_end(&table, out);
}

/* Names come from command lines and files: what would end a cell, or begin a tag, is escaped. */
static void put_markdown(struct ifg_bytes *out, const char *text)
{
    for (; *text; text++)
        cli_print(out, "%s%c", strchr("|\\`*_<>[]", *text) ? "\\" : "", *text);
}

void compare_write_markdown(const struct compare *compare, struct ifg_bytes *out)
{
    bool accuracy = has_accuracy(compare);
    struct titles titles;

    name_columns(compare, &titles);
    for (size_t i = 0; i <= compare->row_count; i++) {
        struct line line = { 0 };

        if (i)
            fill_line(compare, i - 1, &line);
        for (int column = 0; column < COLUMNS; column++) {
            if (column == ACCURACY && !accuracy)
                continue;
            cli_print(out, "| ");
            put_markdown(out, i ? line.cells[column] : titles.columns[column].title);
            cli_print(out, " ");
        }
        cli_print(out, "|\n");
        for (int column = 0; !i && column < COLUMNS; column++)
            if (column != ACCURACY || accuracy)
                cli_print(out, "%s", titles.columns[column].how == TEXT_RIGHT ? "|--:" : "|---");
        cli_print(out, "%s", i ? "" : "|\n");
    }
    cli_print(out, "\n");
    write_method(compare, out);
}

/* ---- the answer ---- */

static const char *unit_words(const struct compare *compare, bool several)
{
    if (compare->unit == COMPARE_BLOCK_PAIRS)
        return several ? "block pairs" : "block pair";
    if (compare->unit == COMPARE_PROCESSES)
        return several ? "pairs of processes" : "pair of processes";
    return several ? "blocks" : "block";
}

static void write_answer(const struct compare *compare, struct ifg_bytes *out)
{
    char base[100];
    char name[100];
    char number[32];
    char reason[768];

    cli_clean(compare->rows[0].name, base, sizeof base);
    for (size_t i = 1; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];
        const struct statistics_change *change = &row->change;

        cli_clean(row->name, name, sizeof name);
        cli_print(out, "%s", cli_bold(true, STDOUT_FILENO));
        if (!row->available)
            cli_print(out, "unavailable %s", name);
        else if (!change->units)
            cli_print(out, "%-9s  %s: nothing was measured", compare_verdict_name(row), name);
        else if (!change->known)
            cli_print(out, "%-9s  %s: %zu %s are too few for an interval",
                      compare_verdict_name(row), name, change->units,
                      row->by_process ? "processes" : unit_words(compare, true));
        else
            cli_print(out, "%-9s  %s: %+.1f %% [%+.1f, %+.1f] against %s",
                      compare_verdict_name(row), name, 100 * change->change, 100 * change->low,
                      100 * change->high, base);
        cli_print(out, "%s", cli_bold(false, STDOUT_FILENO));
        if (row->available && row->outputs_differ)
            cli_print(out, "; but %s (--min-cosine, --max-diff, --no-accuracy)",
                      cli_clean(row->outputs_reason, reason, sizeof reason));
        if (!row->available)
            cli_print(out, ": %s",
                      cli_clean(row->reason ? row->reason : "", reason, sizeof reason));
        else if (row->verdict == STATISTICS_UNSURE && row->more)
            cli_print(out, "; about %s more %s would decide", cli_count(row->more, number),
                      unit_words(compare, row->more > 1));
        else if (row->verdict == STATISTICS_UNSURE && change->known)
            cli_print(out, "; too near to the threshold to be decided");
        cli_print(out, "\n");
    }
}

/* ---- accuracy ---- */

static void put_accuracy(const struct accuracy *output, struct text_table *table)
{
    if (!output->comparable) {
        for (int i = 0; i < 5; i++)
            text_table_put(table, "%s", "");
        text_table_put(table, "not comparable: %s", output->reason);
        return;
    }
    text_table_put(table, "%.3g", output->max_abs);
    text_table_put(table, "%.3g", output->mean_abs);
    text_table_put(table, "%.7f", output->cosine);
    if (isinf(output->sqnr_db))
        text_table_put(table, "equal");
    else
        text_table_put(table, "%.1f dB", output->sqnr_db);
    if (isnan(output->argmax_agreement))
        text_table_put(table, "-");
    else
        text_table_put(table, "%.4g %%", 100 * output->argmax_agreement);
    if (output->not_finite || output->neither_finite)
        text_table_put(table, "%llu NaN or infinite on one side, %llu on both sides",
                       (unsigned long long)output->not_finite,
                       (unsigned long long)output->neither_finite);
}

static void write_accuracy(const struct compare *compare, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "", TEXT_LEFT, 12, 0 },        { "output", TEXT_LEFT, 10, 0 },
        { "max abs", TEXT_RIGHT, 0, 0 }, { "mean abs", TEXT_RIGHT, 0, 1 },
        { "cosine", TEXT_RIGHT, 0, 0 },  { "SQNR", TEXT_RIGHT, 0, 2 },
        { "argmax", TEXT_RIGHT, 0, 0 },  { "", TEXT_WRAP, 0, 0 },
    };
    struct text_table table;
    char base[100];
    bool begun = false;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 2);
    for (size_t i = 1; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];

        for (size_t j = 0; j < row->accuracy_count && !is_equal(row); j++) {
            if (!begun)
                cli_print(out, "\nOutputs against %s\n",
                          cli_clean(compare->rows[0].name, base, sizeof base));
            begun = true;
            text_table_put(&table, "%s", row->name);
            text_table_put(&table, "%s", row->accuracy[j].output ? row->accuracy[j].output : "");
            put_accuracy(&row->accuracy[j], &table);
            text_table_next(&table);
        }
    }
    text_table_end(&table, out);
}

/* ---- operators ---- */

static double weight(const struct compare_op *op)
{
    double value = fabs(op->change.change * op->share);

    return isnan(value) ? op->share : value; /* gone or new: all of it */
}

static int by_weight(const void *left, const void *right)
{
    const struct compare_op *const *a = left;
    const struct compare_op *const *b = right;

    if ((*a)->significant != (*b)->significant)
        return (*a)->significant ? -1 : 1;
    return weight(*a) > weight(*b) ? -1 : weight(*a) < weight(*b);
}

static bool is_on_both(const struct compare_op *op)
{
    return !isnan(op->a_ms) && !isnan(op->b_ms);
}

static void put_op(const struct compare_op *op, struct text_table *table)
{
    text_table_put(table, "%c %s", op->significant || !is_on_both(op) ? ' ' : '~', op->op_type);
    text_table_put(table, "%s", op->name);
    text_table_time(table, 1e6 * op->a_ms);
    text_table_time(table, 1e6 * op->b_ms);
    text_table_share(table, op->share);
    if (!is_on_both(op))
        text_table_put(table, "%s", isnan(op->a_ms) ? "new" : "gone");
    else
        text_table_put(table, "%+.1f %%", 100 * op->change.change);
    if (op->change.known)
        text_table_put(table, "%+.1f to %+.1f %%", 100 * op->change.low, 100 * op->change.high);
    text_table_next(table);
}

static void write_row_ops(const struct compare_row *row, const char *base, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "  type", TEXT_LEFT, 12, 0 },       { "node", TEXT_KEEP_END, 12, 0 },
        { "before", TEXT_RIGHT, 0, 1 },       { "after", TEXT_RIGHT, 0, 0 },
        { "share", TEXT_RIGHT, 0, 0 },        { "change", TEXT_RIGHT, 0, 0 },
        { "95 % interval", TEXT_LEFT, 0, 2 },
    };
    const struct compare_op **sorted = ifg_alloc(row->op_count + 1, sizeof *sorted);
    struct text_table table;
    size_t significant = 0;
    size_t missing = 0;
    char name[100];

    if (!sorted) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < row->op_count; i++) {
        sorted[i] = &row->ops[i];
        significant += row->ops[i].significant;
        missing += !is_on_both(&row->ops[i]);
    }
    qsort(sorted, row->op_count, sizeof *sorted, by_weight);
    cli_print(out,
              "\nOperators of %s against %s: %zu of %zu changed for certain (Benjamini-Hochberg, "
              "5 %%), %zu are on one side only; ~ may be chance\n",
              cli_clean(row->name, name, sizeof name), base, significant, row->op_count - missing,
              missing);
    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < row->op_count; i++)
        if (i < significant ? i < OPS_SEEN : i < significant + TOP_OPS)
            put_op(sorted[i], &table);
    text_table_end(&table, out);
    if (significant > OPS_SEEN)
        cli_print(out, "  ... and %zu more that changed; --json has all\n", significant - OPS_SEEN);
    if (row->ops_host_time)
        cli_print(out, "  " PROVIDER_HOST_TIME "\n");
    ifg_free(sorted);
}

static void write_ops(const struct compare *compare, struct ifg_bytes *out)
{
    char base[100];
    char name[100];

    cli_clean(compare->rows[0].name, base, sizeof base);
    for (size_t i = 1; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];

        if (row->op_count)
            write_row_ops(row, base, out);
        else if (row->ops_reason)
            cli_print(out, "\nNo operators of %s: %s\n", cli_clean(row->name, name, sizeof name),
                      row->ops_reason);
    }
}

/* ---- what it rests on ---- */

static void write_method(const struct compare *compare, struct ifg_bytes *out)
{
    size_t least = 0;
    size_t most = 0;

    for (size_t i = 1; i < compare->row_count; i++) {
        size_t units = compare->rows[i].unit_count;

        if (!compare->rows[i].available || !units)
            continue;
        least = !least || units < least ? units : least;
        most = units > most ? units : most;
    }
    if (least != most)
        cli_print(out, "%zu to ", least);
    switch (compare->unit) {
    case COMPARE_BLOCK_PAIRS:
        cli_print(out, "%zu interleaved block pairs (ABBA) in %u processes", most,
                  compare->processes);
        break;
    case COMPARE_PROCESSES:
        cli_print(out, "%zu pairs of interleaved processes (ABBA), one value each", most);
        break;
    case COMPARE_NOT_INTERLEAVED:
        cli_print(out, "%zu blocks, not interleaved: measured at different times", most);
        break;
    }
    cli_print(out, "; alpha %g", compare->alpha);
    if (compare->looks > 1)
        cli_print(out, " over %u looks (%u taken; intervals %.1f %%)", compare->looks,
                  compare->looks_taken, 100 * compare->confidence);
    cli_print(out, ", threshold %g %%", 100 * compare->threshold);
    if (compare->unit != COMPARE_NOT_INTERLEAVED)
        cli_print(out, ", seed %llu", (unsigned long long)compare->seed);
    cli_print(out, "\n");
}

static void write_context(const struct compare *compare, struct ifg_bytes *out)
{
    char text[600];

    if (compare->runtime && *compare->runtime)
        cli_print(out, "%s", cli_clean(compare->runtime, text, sizeof text));
    if (compare->inputs && *compare->inputs)
        cli_print(out, "%s%s", compare->runtime && *compare->runtime ? "; inputs " : "inputs ",
                  cli_clean(compare->inputs, text, sizeof text));
    if ((compare->runtime && *compare->runtime) || (compare->inputs && *compare->inputs))
        cli_print(out, "\n");
    if (compare->trust.count) {
        trust_summary(&compare->trust, text, sizeof text);
        cli_print(out, "trust %s\n", text);
    }
    for (size_t i = 0; i < compare->warning_count; i++)
        cli_print(out, "! %s\n", cli_clean(compare->warnings[i], text, sizeof text));
    if (compare->interrupted)
        cli_print(out, "! interrupted: this is what was measured until then\n");
}

/* ---- --explain ---- */

static void explain_rule(const struct compare *compare, struct ifg_bytes *out)
{
    double threshold = 100 * compare->threshold;

    cli_print(out, "\nHow a verdict comes about (docs/statistics.md)\n");
    if (compare->unit == COMPARE_NOT_INTERLEAVED)
        cli_print(out,
                  "  change = median of B's block medians / median of A's - 1; interval: each "
                  "side's processes, then their blocks, are drawn anew %u times\n",
                  STATISTICS_RESAMPLES);
    else
        cli_print(out,
                  "  change = exp(median of ln(b / a)) - 1 over the processes (block pairs of one "
                  "process are averaged); interval: order statistics, and %u times drawn anew, "
                  "the wider one\n",
                  STATISTICS_RESAMPLES);
    cli_print(out,
              "  each interval holds with %.2f %% (1 - %g / %u looks)\n"
              "  REGRESSED if low > +%g %%, IMPROVED if high < -%g %%, SAME if all of it lies "
              "between, else UNSURE\n",
              100 * compare->confidence, compare->alpha, compare->looks, threshold, threshold);
    cli_print(out,
              "  DIFFERS, whatever the time, if the cosine of an output is below %g or its "
              "difference longer than %.3g %% of it",
              compare->limits.min_cosine, 100 * sqrt(2 * (1 - compare->limits.min_cosine)));
    if (isfinite(compare->limits.max_abs))
        cli_print(out, ", or an element off by more than %g", compare->limits.max_abs);
    cli_print(out, ", or if its shape or what is NaN differs\n");
}

static void explain_row(const struct compare *compare, const struct compare_row *row,
                        struct ifg_bytes *out)
{
    const struct statistics_change *change = &row->change;
    char name[100];
    char duration[32];

    cli_print(out, "%s\n", cli_clean(row->name, name, sizeof name));
    if (!row->available || !change->units) {
        cli_print(out, "  not measured\n");
        return;
    }
    cli_print(out, "  %zu %s", row->unit_count, unit_words(compare, true));
    if (row->by_process)
        cli_print(out, " in %zu processes, one value each", change->units);
    if (row->block_iterations)
        cli_print(out, ", %u inferences a block", row->block_iterations);
    cli_print(out, ": change %+.3f %%", 100 * change->change);
    if (change->known)
        cli_print(out, ", low %+.3f %%, high %+.3f %%, half width %.3f %%, p %.4g",
                  100 * change->low, 100 * change->high, 100 * change->half_width, change->p);
    cli_print(out, " -> %s", statistics_verdict_name(row->verdict));
    if (row->look && compare->looks > 1)
        cli_print(out, " at look %u", row->look);
    cli_print(out, "\n");
    if (row->drift > 0)
        cli_print(
            out,
            "  wider by %.2f %% on both sides: so far were the runs' reference kernels apart\n",
            100 * row->drift);
    cli_print(out,
              "  second opinion: Hodges-Lehmann shift %+.3g %s, Mann-Whitney p %.3g, Cliff's "
              "delta %+.2f\n",
              row->second.shift, compare->value_unit, row->second.u_p, row->second.cliffs_delta);
    if (row->p99.known)
        cli_print(out, "  p99 <= %s with 95 %% confidence, %zu inferences (no verdict on tails)\n",
                  cli_duration(1e6 * row->p99.high, duration), row->summary.count);
}

void compare_write_text(const struct compare *compare, const struct compare_output *output,
                        struct ifg_bytes *out)
{
    write_answer(compare, out);
    if (!output->quiet) {
        cli_print(out, "\n");
        write_table(compare, out);
        write_method(compare, out);
        write_context(compare, out);
        write_accuracy(compare, out);
        write_ops(compare, out);
    }
    if (output->explain && !output->quiet) {
        explain_rule(compare, out);
        for (size_t i = 1; i < compare->row_count; i++)
            explain_row(compare, &compare->rows[i], out);
    }
    text_fit(out);
}
