// SPDX-License-Identifier: Apache-2.0
/* Budgets: what a user may ask for, in which units, and what is known of it in a result. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gate/gate_internal.h"

static const struct gate_metric metrics[] = {
    { "p50", GATE_MS, FROM_MEDIAN, STATISTICS_P50, true, true },
    { "p90", GATE_MS, FROM_QUANTILE, STATISTICS_P90, true, true },
    { "p95", GATE_MS, FROM_QUANTILE, STATISTICS_P95, true, true },
    { "p99", GATE_MS, FROM_QUANTILE, STATISTICS_P99, true, true },
    { "p999", GATE_MS, FROM_QUANTILE, STATISTICS_P999, true, true },
    { "mean", GATE_MS, FROM_MEAN, 0, true, true },
    { "min", GATE_MS, FROM_MIN, 0, true, true },
    { "max", GATE_MS, FROM_MAX, 0, true, true },
    { "fps", GATE_PER_SECOND, FROM_THROUGHPUT, 0, true, true },
    { "goodput", GATE_SHARE, FROM_GOODPUT, 0, true, true },
    { "first", GATE_MS, FROM_PROCESS, MEMBER_FIRST, true, false },
    { "load", GATE_MS, FROM_PROCESS, MEMBER_LOAD, true, false },
    { "specialization", GATE_MS, FROM_PROCESS, MEMBER_SPECIALIZATION, true, false },
    { "start", GATE_MS, FROM_PROCESS, MEMBER_START, true, false },
    { "peak_rss", GATE_BYTES, FROM_PROCESS, MEMBER_PEAK, false, false },
    { "memory_delta", GATE_BYTES, FROM_PROCESS, MEMBER_DELTA, false, false },
    { "after_load", GATE_BYTES, FROM_PROCESS, MEMBER_AFTER_LOAD, false, false },
    { "energy", GATE_JOULE, FROM_ENERGY, 0, true, false },
    { "size", GATE_BYTES, FROM_SIZE, 0, false, false },
    { "parameters", GATE_NUMBER, FROM_PARAMETERS, 0, false, false },
};
#define METRICS (sizeof metrics / sizeof metrics[0])

static const struct {
    const char *name, *means;
} other_names[] = {
    { "median", "p50" },      { "p99.9", "p999" },           { "throughput", "fps" },
    { "memory", "peak_rss" }, { "peak_memory", "peak_rss" }, { "first_inference", "first" },
    { "load_time", "load" },
};

static const struct gate_metric *find_metric(const char *name)
{
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (strcmp(name, other_names[i].name) == 0)
            name = other_names[i].means;
    for (size_t i = 0; i < METRICS; i++)
        if (strcmp(name, metrics[i].name) == 0)
            return &metrics[i];
    return NULL;
}

static void list_metrics(char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < METRICS && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", metrics[i].name);
}

bool gate_budget_is_timing(const struct gate_budget *budget)
{
    return budget->of && budget->of->timing;
}

bool gate_budget_is_steady(const struct gate_budget *budget)
{
    return budget->of && budget->of->steady;
}

/* ---- reading them ---- */

struct unit_name {
    const char *name;
    double factor;
};

static const struct unit_name time_units[] = { { "ns", 1e-6 }, { "us", 1e-3 }, { "µs", 1e-3 },
                                               { "ms", 1 },    { "s", 1e3 },   { "min", 6e4 },
                                               { NULL, 0 } };
static const struct unit_name byte_units[] = {
    { "", 1 },     { "B", 1 },     { "kB", 1e3 },   { "KB", 1e3 },        { "MB", 1e6 },
    { "GB", 1e9 }, { "TB", 1e12 }, { "KiB", 1024 }, { "MiB", 1048576.0 }, { "GiB", 1073741824.0 },
    { NULL, 0 }
};
static const struct unit_name rate_units[] = {
    { "", 1 }, { "fps", 1 }, { "/s", 1 }, { "Hz", 1 }, { NULL, 0 }
};
static const struct unit_name energy_units[] = {
    { "J", 1 }, { "mJ", 1e-3 }, { "uJ", 1e-6 }, { NULL, 0 }
};
static const struct unit_name share_units[] = { { "", 1 }, { "%", 0.01 }, { NULL, 0 } };
static const struct unit_name number_units[] = { { "", 1 },    { "k", 1e3 }, { "K", 1e3 },
                                                 { "M", 1e6 }, { "B", 1e9 }, { "G", 1e9 },
                                                 { NULL, 0 } };

static const struct {
    const struct unit_name *units;
    const char *example;
} units_of[] = {
    [GATE_MS] = { time_units, "a time with its unit: 50ms, 1.5s, 800us" },
    [GATE_BYTES] = { byte_units, "a size: 500MB (1 000 000 bytes each), 512MiB, 123456" },
    [GATE_PER_SECOND] = { rate_units, "a number per second: 30" },
    [GATE_JOULE] = { energy_units, "an energy with its unit: 1.2J, 300mJ" },
    [GATE_SHARE] = { share_units, "a share from 0 to 1: 99%, 0.99" },
    [GATE_NUMBER] = { number_units, "a number: 1000, 25M" },
};

enum ifg_status gate_parse_value(const char *text, enum gate_unit unit, double *out_value,
                                 struct ifg_error *err)
{
    char *end;
    double value;

    *out_value = 0;
    /* strtod would also take blanks, signs, "inf" and hexadecimal numbers. */
    if ((*text < '0' || *text > '9') && *text != '.')
        goto wrong;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        goto wrong;
    errno = 0;
    value = strtod(text, &end);
    if (end == text || errno == ERANGE || !isfinite(value))
        goto wrong;
    if (*end == ' ')
        end++;
    for (const struct unit_name *known = units_of[unit].units; known->name; known++) {
        if (strcmp(end, known->name) != 0)
            continue;
        value *= known->factor;
        if (!isfinite(value) || (unit == GATE_SHARE && value > 1))
            goto wrong;
        *out_value = value;
        return IFG_OK;
    }
wrong:
    return ifg_fail(err, IFG_INVALID, "'%.64s' is not %s", text, units_of[unit].example);
}

enum ifg_status gate_budget_parse(const char *text, bool at_least, bool on_trace,
                                  struct gate_budget *out_budget, struct ifg_error *err)
{
    /* Names of zones may have '=' in them, values have not. */
    const char *equals = strrchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    enum ifg_status status = IFG_OK;
    char list[320];

    memset(out_budget, 0, sizeof *out_budget);
    if (!length || length >= sizeof out_budget->metric || !equals[1])
        return ifg_fail(err, IFG_INVALID, "'%.128s' is not of the form METRIC=VALUE, such as %s",
                        text, on_trace ? "inference.p99=50ms" : "p99=50ms");
    memcpy(out_budget->metric, text, length);
    out_budget->at_least = at_least;
    if (on_trace) {
        status = gate_parse_trace_metric(out_budget, err);
    } else {
        out_budget->of = find_metric(out_budget->metric);
        if (!out_budget->of) {
            list_metrics(list, sizeof list);
            return ifg_fail(err, IFG_INVALID, "there is no metric '%.64s'; there are: %s%s",
                            out_budget->metric, list,
                            strchr(out_budget->metric, '.') || strchr(out_budget->metric, ':')
                                ? " (locations such as inference.p99 are for --trace)"
                                : "");
        }
        snprintf(out_budget->metric, sizeof out_budget->metric, "%s", out_budget->of->name);
        out_budget->unit = out_budget->of->unit;
    }
    if (!status)
        status = gate_parse_value(equals + 1, out_budget->unit, &out_budget->limit, err);
    return status ? ifg_fail_context(err, status, "%s %.128s", at_least ? "--min" : "--max", text)
                  : IFG_OK;
}

uint64_t gate_samples_needed(const struct gate_budget *budgets, size_t count, double alpha)
{
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t needed = 0;

        if (budgets[i].of && budgets[i].of->source == FROM_QUANTILE)
            needed = statistics_needed_bound(statistics_quantiles[budgets[i].of->which], 1 - alpha);
        most = needed > most ? needed : most;
    }
    return most;
}
