// SPDX-License-Identifier: Apache-2.0
/* What a gate found, in words. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/gate_output.h"
#include "cli/text.h"

#define DIGITS      4
#define DIGITS_MORE 8
#define MARGIN      9 /* of the rest of a sentence, if the name before it is long */
#define MARGIN_MOST 36

struct scale {
    const char *unit;
    double factor; /* of the metric's own unit */
};

static struct scale scale_of(double value, enum gate_unit unit)
{
    static const struct scale times[] = {
        { " ns", 1e6 }, { " µs", 1e3 }, { " ms", 1 }, { " s", 1e-3 }
    };
    static const struct scale sizes[] = {
        { " B", 1 }, { " kB", 1e-3 }, { " MB", 1e-6 }, { " GB", 1e-9 }
    };
    size_t i = 0;

    value = fabs(value);
    switch (unit) {
    case GATE_MS:
        while (i < 3 && value * times[i].factor >= 999.95)
            i++;
        return times[value > 0 ? i : 2];
    case GATE_BYTES:
        while (i < 3 && value * sizes[i].factor >= 999.95)
            i++;
        return sizes[i];
    case GATE_PER_SECOND:
        return (struct scale){ "/s", 1 };
    case GATE_JOULE:
        return (struct scale){ " J", 1 };
    case GATE_SHARE:
        return (struct scale){ " %", 100 };
    case GATE_NUMBER:
        break;
    }
    return (struct scale){ "", 1 };
}

static const char *value_text(double value, enum gate_unit unit, int digits, char out[48])
{
    struct scale scale = scale_of(value, unit);
    char text[32];

    if (unit == GATE_NUMBER && value >= 0 && value < 1e15 && value == floor(value))
        snprintf(out, 48, "%s", cli_count((uint64_t)value, text));
    else if (unit == GATE_PER_SECOND && value >= 1e4 && value < 1e15)
        snprintf(out, 48, "%.0f%s", value, scale.unit);
    else
        snprintf(out, 48, "%.*g%s", digits, value * scale.factor, scale.unit);
    return out;
}

const char *gate_value_text(double value, enum gate_unit unit, char out[48])
{
    return value_text(value, unit, DIGITS, out);
}

void gate_drift_text(const struct gate_drift *drift, char *out, size_t size, void *user)
{
    enum gate_unit unit = drift->series == GATE_SERIES_PEAK ? GATE_BYTES : GATE_MS;
    char before[48];
    char now[48];

    (void)user;
    snprintf(out, size, "%s %s %.1f %% since %.10s%s%s, run %zu of %zu (%s to %s)",
             gate_series_names[drift->series], drift->change > 0 ? "rose" : "fell",
             100 * fabs(drift->change), drift->since.when, *drift->since.commit ? " " : "",
             drift->since.commit, drift->number, drift->runs,
             gate_value_text(drift->before, unit, before), gate_value_text(drift->now, unit, now));
}

struct words {
    const struct gate_check *check;
    int digits;
    char *out;
    size_t size;
    size_t used;
};

static void add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
    va_list arguments;
    int length;

    if (words->used >= words->size)
        return;
    va_start(arguments, format);
    length = vsnprintf(words->out + words->used, words->size - words->used, format, arguments);
    va_end(arguments);
    words->used += length > 0 ? (size_t)length : 0;
}

static void add_value(struct words *words, double value)
{
    char text[48];

    add(words, "%s", value_text(value, words->check->budget->unit, words->digits, text));
}

/* What is not equal must not look equal. */
static int digits_for(const struct gate_check *check)
{
    const struct gate_estimate *estimate = &check->estimate;
    const double values[] = { estimate->value, estimate->low, estimate->high };
    char limit[48];
    char text[48];

    if (check->kind != GATE_BUDGET)
        return DIGITS;
    value_text(check->limit, check->budget->unit, DIGITS, limit);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i] != check->limit &&
            strcmp(value_text(values[i], check->budget->unit, DIGITS, text), limit) == 0)
            return DIGITS_MORE;
    return DIGITS;
}

static double percent(double confidence)
{
    return 100 * confidence;
}

static void add_order(struct words *words)
{
    const struct gate_check *check = words->check;
    const struct gate_estimate *estimate = &check->estimate;
    bool at_least = check->budget->at_least;
    double half = percent(1 - (1 - estimate->confidence) / 2); /* of the other end */

    switch (check->verdict) {
    case GATE_PASS:
        add(words, "%s ", at_least ? ">=" : "<=");
        add_value(words, at_least ? estimate->low : estimate->high);
        add(words, " with %.3g %% confidence", percent(estimate->confidence));
        break;
    case GATE_FAIL:
        add(words, "%s ", at_least ? "<=" : ">=");
        add_value(words, at_least ? estimate->high : estimate->low);
        add(words, " with %.3g %% confidence", half);
        break;
    default:
        add_value(words, estimate->value);
        if (!check->reason[0] && (at_least ? estimate->low_known : estimate->high_known)) {
            add(words, ", only %s ", at_least ? ">=" : "<=");
            add_value(words, at_least ? estimate->low : estimate->high);
            add(words, " with %.3g %% confidence", percent(estimate->confidence));
        }
    }
    if (estimate->iterations_alone)
        add(words, " (no blocks: inferences taken for independent)");
}

static void add_interval(struct words *words)
{
    const struct gate_estimate *estimate = &words->check->estimate;
    struct scale scale = scale_of(estimate->value, words->check->budget->unit);

    add_value(words, estimate->value);
    if (!estimate->low_known)
        return;
    if (estimate->high * scale.factor >= 1e4) /* per second; %g would give it an exponent */
        add(words, " [%.0f, %.0f]", estimate->low * scale.factor, estimate->high * scale.factor);
    else
        add(words, " [%.*g, %.*g]", words->digits, estimate->low * scale.factor, words->digits,
            estimate->high * scale.factor);
}

static void add_processes(struct words *words)
{
    const struct gate_estimate *estimate = &words->check->estimate;
    bool at_least = words->check->budget->at_least;
    unsigned long long count = estimate->count;

    if (words->check->verdict == GATE_PASS && !estimate->beyond && count > 1) {
        add_value(words, at_least ? estimate->low : estimate->high);
        add(words, " at %s in %llu processes", at_least ? "least" : "most", count);
    } else {
        add_value(words, estimate->value);
        if (count > 1)
            add(words, " in the median of %llu processes, %llu of them %s", count,
                (unsigned long long)estimate->beyond, at_least ? "below" : "above");
        else
            add(words, " in one process");
    }
}

static void add_change(struct words *words)
{
    const struct gate_check *check = words->check;
    const struct gate_estimate *estimate = &check->estimate;
    char against[300];

    add(words, "%+.1f %%", 100 * estimate->value);
    if (estimate->low_known)
        add(words, " [%+.1f, %+.1f]", 100 * estimate->low, 100 * estimate->high);
    add(words, " against %s", cli_clean(check->against, against, sizeof against));
    if (check->unit == COMPARE_NOT_INTERLEAVED)
        add(words, " (not interleaved)");
    add(words, ", allowed %.4g %%", 100 * check->limit);
}

static void add_needs(struct words *words)
{
    static const char *const whats[] = {
        [GATE_BY_ORDER] = "samples",
        [GATE_BY_INTERVAL] = "inferences",
        [GATE_BY_PROCESS] = "processes",
        [GATE_BY_SHARE] = "samples",
        [GATE_EXACT] = "",
        [GATE_BY_CHANGE] = "units",
    };
    const struct gate_estimate *estimate = &words->check->estimate;
    char needs[32];
    char count[32];
    const char *what = whats[estimate->rule];

    if (words->check->kind == GATE_BUDGET && !words->check->budget->of)
        what = "events";
    else if (words->check->kind == GATE_RELATIVE && words->check->unit != COMPARE_NOT_INTERLEAVED)
        what = "pairs";
    if (!estimate->low_known && !estimate->high_known && !estimate->needs)
        add(words, "; too few %s for an interval",
            estimate->rule == GATE_BY_CHANGE ? "pairs" : "blocks and processes");
    if (!estimate->needs)
        return;
    if (estimate->rule != GATE_BY_CHANGE && (!estimate->low_known || !estimate->high_known))
        add(words, "; needs %s %s, there are %s", cli_count(estimate->needs, needs), what,
            cli_count(estimate->count, count));
    else
        add(words, "; about %s %s would decide, there are %s", cli_count(estimate->needs, needs),
            what, cli_count(estimate->count, count));
    if (words->check->needs_s > 0)
        add(words, ": give it --max-time %.0fm", ceil(words->check->needs_s / 60));
    if (estimate->rule == GATE_BY_CHANGE && estimate->high_known)
        add(words, "; --threshold %.0f would pass", ceil(100 * estimate->high));
}

const char *gate_check_text(const struct gate_check *check, char *out, size_t size)
{
    struct words words = { check, digits_for(check), out, size, 0 };
    char reason[300];

    out[0] = '\0';
    if (check->verdict == GATE_LACKS || !check->look_count) {
        add(&words, "not known: %s", cli_clean(check->reason, reason, sizeof reason));
        return out;
    }
    if (check->kind == GATE_OUTPUTS) {
        if (check->reason[0])
            add(&words, "%s", cli_clean(check->reason, reason, sizeof reason));
        else
            add(&words, "cosine %.6g", check->estimate.value);
        add(&words, " against %s", cli_clean(check->against, reason, sizeof reason));
        if (check->verdict == GATE_FAIL)
            add(&words, " (--min-cosine, --max-diff, --no-accuracy)");
        return out;
    }
    switch (check->estimate.rule) {
    case GATE_BY_ORDER:
    case GATE_BY_SHARE:
        add_order(&words);
        break;
    case GATE_BY_INTERVAL:
        add_interval(&words);
        break;
    case GATE_BY_PROCESS:
        add_processes(&words);
        break;
    case GATE_EXACT:
        add_value(&words, check->estimate.value);
        break;
    case GATE_BY_CHANGE:
        add_change(&words);
        break;
    }
    if (check->kind == GATE_BUDGET) {
        add(&words, ", %s ", check->budget->at_least ? "required" : "allowed");
        add_value(&words, check->limit);
    }
    if (check->verdict == GATE_UNSURE && !check->reason[0])
        add_needs(&words);
    if (check->reason[0])
        add(&words, "; %s", cli_clean(check->reason, reason, sizeof reason));
    return out;
}

/* ---- the formula ---- */

static const char *formula(const struct gate_check *check)
{
    bool at_least = check->kind == GATE_BUDGET && check->budget->at_least;

    switch (check->estimate.rule) {
    case GATE_BY_ORDER:
        return at_least ? "high = x(u), low = x(l) of the sorted samples: l the largest rank with "
                          "P[B < l] <= alpha, u the smallest with P[B >= u] <= alpha/2, B "
                          "binomial(n, q)"
                        : "high = x(u), low = x(l) of the sorted samples: u the smallest rank with "
                          "P[B >= u] <= alpha, l the largest with P[B < l] <= alpha/2, B "
                          "binomial(n, q)";
    case GATE_BY_INTERVAL:
        return "low, high = alpha/2 and 1 - alpha/2 of 2000 bootstrap draws: processes, then "
               "blocks within them";
    case GATE_BY_PROCESS:
        return at_least ? "low = the least of all processes, or the median's bound at 1 - alpha if "
                          "that is higher; high = the median"
                        : "high = the most of all processes, or the median's bound at 1 - alpha if "
                          "that is lower; low = the median";
    case GATE_BY_SHARE:
        return "Clopper-Pearson, one-sided: alpha for the side that passes, alpha/2 for the one "
               "that fails";
    case GATE_EXACT:
        return "a plain number: low = high = value";
    case GATE_BY_CHANGE:
        return "change = exp(median ln(candidate/baseline)) - 1 over the units; low, high by "
               "bootstrap over the units, kept apart by process";
    }
    return "";
}

void gate_explain(const struct gate_report *report, const struct gate_check *check,
                  struct ifg_bytes *out)
{
    const struct gate_estimate *estimate = &check->estimate;
    bool at_least = check->kind == GATE_BUDGET && check->budget->at_least;

    if (estimate->missing || !check->look_count || check->kind == GATE_OUTPUTS)
        return;
    cli_print(out, "      %s\n", formula(check));
    cli_print(out, "      value %.9g", estimate->value);
    if (estimate->low_known)
        cli_print(out, ", low %.9g", estimate->low);
    if (estimate->high_known)
        cli_print(out, ", high %.9g", estimate->high);
    cli_print(out, ", limit %.9g (%s)", check->limit,
              check->kind == GATE_BUDGET ? gate_unit_name(check->budget->unit) : "relative");
    if (estimate->rule == GATE_BY_ORDER)
        cli_print(out, ", q %.4g, n %llu, %llu beyond the limit", estimate->quantile,
                  (unsigned long long)estimate->count, (unsigned long long)estimate->beyond);
    else if (estimate->rule == GATE_BY_INTERVAL)
        cli_print(out, ", n %llu in %llu blocks", (unsigned long long)estimate->count,
                  (unsigned long long)estimate->groups);
    else if (estimate->rule == GATE_BY_SHARE)
        cli_print(out, ", %llu of %llu", (unsigned long long)estimate->groups,
                  (unsigned long long)estimate->count);
    else if (estimate->rule != GATE_EXACT)
        cli_print(out, ", n %llu", (unsigned long long)estimate->count);
    cli_print(out, "\n      PASS if %s limit, FAIL if %s limit, else UNSURE",
              at_least ? "low >=" : "high <=", at_least ? "high <" : "low >");
    if (estimate->rule == GATE_BY_CHANGE)
        cli_print(out, "; confidence %.5g", estimate->confidence);
    else if (estimate->rule != GATE_EXACT)
        cli_print(out, "; alpha %.4g", report->alpha);
    if (check->look_count > 1) {
        cli_print(out, "; looks:");
        for (uint32_t i = 0; i < check->look_count; i++)
            cli_print(out, " %s", gate_verdict_name(check->looks[i]));
    }
    cli_print(out, "\n");
}

/* ---- the table ---- */

static const char *colour_of(enum gate_verdict verdict, int fd)
{
    if (!*cli_bold(true, fd))
        return "";
    switch (verdict) {
    case GATE_PASS:
        return "\033[32m";
    case GATE_FAIL:
        return "\033[1;31m";
    default:
        return "\033[33m";
    }
}

static void write_summary(const struct gate_report *report, struct ifg_bytes *out)
{
    size_t seen[GATE_LACKS + 1] = { 0 };
    bool first = true;

    for (size_t i = 0; i < report->check_count; i++)
        seen[report->checks[i].verdict]++;
    cli_print(out, "%s:",
              report->status == GATE_STATUS_FAIL ? "FAIL" : gate_verdict_name(report->verdict));
    for (int v = GATE_PASS; v <= GATE_LACKS; v++) {
        static const char *const words[] = { "passed", "failed", "unsure", "unfit", "not known" };

        if (!seen[v])
            continue;
        cli_print(out, "%s %zu %s", first ? "" : ",", seen[v], words[v]);
        first = false;
    }
    if (!report->check_count)
        cli_print(out, " nothing was to be judged");
    if (report->measured[0])
        cli_print(out, " · %s", report->measured);
    if (report->planned && gate_plan_looks(&report->plan) > 1)
        cli_print(out, " · alpha %.3g, %.3g at each of up to %u looks", report->plan.alpha,
                  report->alpha, gate_plan_looks(&report->plan));
    else
        cli_print(out, " · alpha %.3g", report->alpha);
    cli_print(out, "\n");
}

void gate_write_text(const struct gate_report *report, bool explain, int fd, struct ifg_bytes *out)
{
    char clean[GATE_MESSAGE];
    int columns = 4;

    for (size_t i = 0; i < report->check_count; i++) {
        int length = (int)strlen(report->checks[i].metric);

        columns = length > columns && length <= 40 ? length : columns;
    }
    for (size_t i = 0; i < report->check_count; i++) {
        const struct gate_check *check = &report->checks[i];
        const char *colour = colour_of(check->verdict, fd);
        size_t left =
            9 + (text_columns(check->metric) > (size_t)columns ? text_columns(check->metric)
                                                               : (size_t)columns);
        struct text_frame frame = { left, left > MARGIN_MOST ? MARGIN : left,
                                    text_table_columns() };
        char text[GATE_MESSAGE];

        cli_print(out, "%s%-6s%s ", colour, gate_verdict_name(check->verdict),
                  *colour ? "\033[0m" : "");
        cli_put_name(out, check->metric, columns);
        cli_print(out, "  ");
        text_wrap(out, frame, gate_check_text(check, text, sizeof text));
        cli_print(out, "\n");
        if (explain)
            gate_explain(report, check, out);
    }
    for (size_t i = 0; i < report->warning_count; i++) {
        cli_print(out, "%-6s %s\n", report->warnings[i].drift ? "DRIFT" : "NOTE",
                  cli_clean(report->warnings[i].text, clean, sizeof clean));
    }
    if (report->history_runs)
        cli_print(
            out, "history: %zu run%s of this kind in %s%s\n", report->history_runs,
            report->history_runs == 1 ? "" : "s", cli_clean(report->history, clean, sizeof clean),
            report->history_runs < GATE_HISTORY_LEAST ? "; a change needs 10 to be seen" : "");
    if (report->trust[0])
        cli_print(out, "machine: %s\n", cli_clean(report->trust, clean, sizeof clean));
    write_summary(report, out);
    text_fit(out);
}
