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

#define CELL             96
#define BASELINE_COLUMNS 20
#define TOP_OPS          5 /* of what is not certain */
#define OPS_SEEN         30

enum column { NAME, SIZE, VALUE, RATIO, LOAD, MEMORY, ACCURACY, VERDICT, COLUMNS };

struct line {
    char cells[COLUMNS][CELL];
};

/* ---- numbers ---- */

/* "18.6 ms [18.4, 18.8]": one unit, three digits. */
static void print_value(const struct compare *compare, const struct compare_row *row, char *out,
                        size_t size)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
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

static void name_columns(const struct compare *compare, struct line *line)
{
    static const char *const names[COLUMNS] = {
        "", "size", "p50", "", "load", "memory", "accuracy (out 0)", "verdict"
    };
    char clean[60];

    for (int column = 0; column < COLUMNS; column++)
        snprintf(line->cells[column], CELL, "%s", names[column]);
    if (strcmp(compare->measure, "latency") != 0)
        snprintf(line->cells[VALUE], CELL, "%s", cli_clean(compare->measure, clean, sizeof clean));
    cli_clean(compare->rows[0].name, clean, sizeof clean);
    snprintf(line->cells[RATIO], CELL, "vs %s",
             (int)text_columns(clean) > BASELINE_COLUMNS ? "the baseline" : clean);
}

static bool has_accuracy(const struct compare *compare)
{
    for (size_t i = 0; i < compare->row_count; i++)
        if (compare->rows[i].accuracy_count)
            return true;
    return false;
}

static void write_table(const struct compare *compare, struct ifg_bytes *out)
{
    struct line *lines = ifg_alloc(compare->row_count + 1, sizeof *lines);
    int widths[COLUMNS] = { 0 };
    bool used[COLUMNS] = { 0 };

    if (!lines) {
        out->failed = true;
        return;
    }
    name_columns(compare, &lines[0]);
    for (size_t i = 0; i < compare->row_count; i++)
        fill_line(compare, i, &lines[i + 1]);
    if (!has_accuracy(compare))
        for (size_t i = 0; i <= compare->row_count; i++)
            lines[i].cells[ACCURACY][0] = '\0';
    for (size_t i = 0; i <= compare->row_count; i++)
        for (int column = 0; column < COLUMNS; column++) {
            int columns = (int)text_columns(lines[i].cells[column]);

            widths[column] = columns > widths[column] ? columns : widths[column];
            used[column] = used[column] || (i > 0 && columns > 0);
        }
    for (size_t i = 0; i <= compare->row_count; i++) {
        bool last_bold = i > 1 && (compare->rows[i - 1].verdict == STATISTICS_REGRESSED ||
                                   compare->rows[i - 1].outputs_differ);

        for (int column = 0; column < COLUMNS; column++) {
            const char *text = lines[i].cells[column];
            int pad = widths[column] - (int)text_columns(text);
            bool right = column == SIZE || column == LOAD || column == MEMORY;

            if (!used[column])
                continue;
            if (column == VERDICT)
                cli_print(out, "%s%s%s\n", cli_bold(last_bold, STDOUT_FILENO), text,
                          last_bold ? cli_bold(false, STDOUT_FILENO) : "");
            else
                cli_print(out, "%*s%s%*s   ", right ? pad : 0, "", text, right ? 0 : pad, "");
        }
    }
    ifg_free(lines);
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

static void write_accuracy(const struct compare *compare, struct ifg_bytes *out)
{
    char name[100];
    char output_name[100];
    char base[100];
    char sqnr[32];
    char argmax[32];
    bool begun = false;

    for (size_t i = 1; i < compare->row_count; i++) {
        const struct compare_row *row = &compare->rows[i];

        for (size_t j = 0; j < row->accuracy_count && !is_equal(row); j++) {
            const struct accuracy *output = &row->accuracy[j];

            if (!begun)
                cli_print(out, "\nOutputs against %s\n  %-24s %-24s %10s %10s %10s %9s %9s\n",
                          cli_clean(compare->rows[0].name, base, sizeof base), "", "output",
                          "max abs", "mean abs", "cosine", "SQNR", "argmax");
            begun = true;
            cli_print(out, "  ");
            cli_put_name(out, cli_clean(row->name, name, sizeof name), 24);
            cli_print(out, " ");
            cli_put_name(out, cli_clean(output->output ? output->output : "", output_name, 100),
                         24);
            if (!output->comparable) {
                cli_print(out, " not comparable: %s\n", output->reason);
                continue;
            }
            snprintf(sqnr, sizeof sqnr, "%.1f dB", output->sqnr_db);
            snprintf(argmax, sizeof argmax, "%.4g %%", 100 * output->argmax_agreement);
            cli_print(out, " %10.3g %10.3g %10.7f %9s %9s", output->max_abs, output->mean_abs,
                      output->cosine, isinf(output->sqnr_db) ? "equal" : sqnr,
                      isnan(output->argmax_agreement) ? "-" : argmax);
            if (output->not_finite)
                cli_print(out, "  %llu NaN or infinite on one side",
                          (unsigned long long)output->not_finite);
            if (output->neither_finite)
                cli_print(out, "  %llu NaN or infinite on both sides",
                          (unsigned long long)output->neither_finite);
            cli_print(out, "\n");
        }
    }
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

static void write_op(const struct compare_op *op, struct ifg_bytes *out)
{
    char a[32];
    char b[32];

    cli_print(out, "%c ", op->significant || !is_on_both(op) ? ' ' : '~');
    cli_put_name(out, op->op_type, 20);
    cli_print(out, " ");
    cli_put_name(out, op->name, 44);
    cli_print(out, " %10s %10s %6.1f %%", isnan(op->a_ms) ? "-" : cli_duration(1e6 * op->a_ms, a),
              isnan(op->b_ms) ? "-" : cli_duration(1e6 * op->b_ms, b), 100 * op->share);
    if (!is_on_both(op))
        cli_print(out, "  %s", isnan(op->a_ms) ? "new" : "gone");
    else
        cli_print(out, " %+8.1f %%", 100 * op->change.change);
    if (op->change.known)
        cli_print(out, "  %+.1f to %+.1f %%", 100 * op->change.low, 100 * op->change.high);
    cli_print(out, "\n");
}

static void write_row_ops(const struct compare_row *row, const char *base, struct ifg_bytes *out)
{
    const struct compare_op **sorted = ifg_alloc(row->op_count + 1, sizeof *sorted);
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
    cli_print(out, "  %-20s %-44s %10s %10s %8s %10s  %s\n", "type", "node", "before", "after",
              "share", "change", "95 % interval");
    for (size_t i = 0; i < row->op_count; i++)
        if (i < significant ? i < OPS_SEEN : i < significant + TOP_OPS)
            write_op(sorted[i], out);
    if (significant > OPS_SEEN)
        cli_print(out, "  ... and %zu more that changed; --json has all\n", significant - OPS_SEEN);
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
        cli_print(out, "%zu pairs of processes that took turns (ABBA), one value each", most);
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
                  "side's processes, then\n  their blocks, are drawn anew %u times\n",
                  STATISTICS_RESAMPLES);
    else
        cli_print(out,
                  "  change = exp(median of ln(b / a)) - 1 over the processes (block pairs of one "
                  "process are\n  averaged); interval: order statistics, and %u times drawn anew, "
                  "the wider one\n",
                  STATISTICS_RESAMPLES);
    cli_print(out,
              "  each interval holds with %.2f %% (1 - %g / %u looks)\n"
              "  REGRESSED if low > +%g %%, IMPROVED if high < -%g %%, SAME if all of it lies "
              "between, else UNSURE\n",
              100 * compare->confidence, compare->alpha, compare->looks, threshold, threshold);
    cli_print(out,
              "  DIFFERS, whatever the time, if the cosine of an output is below %g or its "
              "difference longer than %.3g %%\n  of it",
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
    if (output->quiet)
        return;
    cli_print(out, "\n");
    write_table(compare, out);
    write_method(compare, out);
    write_context(compare, out);
    write_accuracy(compare, out);
    write_ops(compare, out);
    if (!output->explain)
        return;
    explain_rule(compare, out);
    for (size_t i = 1; i < compare->row_count; i++)
        explain_row(compare, &compare->rows[i], out);
}
