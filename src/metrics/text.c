// SPDX-License-Identifier: Apache-2.0
/*
 * Families of metrics as text: see text.h. The two formats differ in what a counter's family is
 * called, in units, and in the last line.
 *
 * Hundreds of histograms are written once a second: labels are made once for each series, bounds
 * once for all, and numbers without printf.
 */
#include "metrics/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "timeline/timeline.h"

#define LABELS_MOST 1024u

enum family_type { FAMILY_COUNTER, FAMILY_GAUGE, FAMILY_HISTOGRAM, FAMILY_INFO };

struct family {
    const char *name; /* without _total, _info */
    enum family_type type;
    const char *unit; /* NULL: none */
    const char *help;
};

static const char *const type_names[] = {
    [FAMILY_COUNTER] = "counter",
    [FAMILY_GAUGE] = "gauge",
    [FAMILY_HISTOGRAM] = "histogram",
    [FAMILY_INFO] = "info",
};

static const char *const suffixes[] = {
    [FAMILY_COUNTER] = "_total",
    [FAMILY_GAUGE] = "",
    [FAMILY_HISTOGRAM] = "",
    [FAMILY_INFO] = "_info",
};

struct text {
    struct ifg_bytes *out;
    enum metrics_format format;
};

const char *metrics_content_type(enum metrics_format format)
{
    return format == METRICS_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

enum metrics_format metrics_format_for(const char *accept)
{
    return accept && strstr(accept, "application/openmetrics-text") ? METRICS_OPENMETRICS
                                                                    : METRICS_PROMETHEUS;
}

/* ---- pieces ---- */

static void put_text(struct text *text, const char *from)
{
    ifg_bytes_put(text->out, from, strlen(from));
}

static void put_uint(struct text *text, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    ifg_bytes_put(text->out, digits + at, sizeof digits - at);
}

static void put_number(struct text *text, double value)
{
    char number[40];

    snprintf(number, sizeof number, "%.15g", value);
    put_text(text, number);
}

static void put_seconds(struct text *text, uint64_t ns)
{
    char number[40];

    snprintf(number, sizeof number, "%llu.%09u", (unsigned long long)(ns / 1000000000u),
             (unsigned)(ns % 1000000000u));
    put_text(text, number);
}

static void put_family(struct text *text, const struct family *family)
{
    bool is_open = text->format == METRICS_OPENMETRICS;
    const char *suffix = is_open ? "" : suffixes[family->type];
    const char *type = !is_open && family->type == FAMILY_INFO ? "gauge" : type_names[family->type];
    char lines[512];

    snprintf(lines, sizeof lines, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, suffix,
             family->help, family->name, suffix, type);
    put_text(text, lines);
    if (is_open && family->unit) {
        snprintf(lines, sizeof lines, "# UNIT %s %s\n", family->name, family->unit);
        put_text(text, lines);
    }
}

/* ---- labels ---- */

struct labels {
    char text[LABELS_MOST];
    size_t length;
};

/* Names come from programs: what would end a value or a line is escaped, what no monitor shows is
 * replaced. Room is left for the quote. */
static void add_value(struct labels *labels, const char *value)
{
    for (; *value && labels->length + 8 < sizeof labels->text; value++) {
        unsigned char byte = (unsigned char)*value;
        const char *as = byte == '\\'                  ? "\\\\"
                         : byte == '"'                 ? "\\\""
                         : byte == '\n'                ? "\\n"
                         : byte < 0x20 || byte == 0x7f ? "\xef\xbf\xbd"
                                                       : NULL;

        if (!as) {
            labels->text[labels->length++] = (char)byte;
            continue;
        }
        memcpy(labels->text + labels->length, as, strlen(as));
        labels->length += strlen(as);
    }
}

static void add_label(struct labels *labels, const char *name, const char *value)
{
    int length = snprintf(labels->text + labels->length, sizeof labels->text - labels->length,
                          "%s%s=\"", labels->length ? "," : "", name);

    labels->length += (size_t)length;
    add_value(labels, value);
    labels->text[labels->length++] = '"';
    labels->text[labels->length] = '\0';
}

static void label_series(const struct tally_series *series, struct labels *out)
{
    const struct tally_labels *from = &series->labels;

    out->length = 0;
    add_label(out, "program", from->program);
    add_label(out, "model", from->model);
    add_label(out, "function", from->function);
    add_label(out, "category",
              from->category < TRACE_CATEGORIES
                  ? timeline_category_name((enum trace_category)from->category)
                  : "none");
    add_label(out, "device", from->device);
}

/* Up to the value. */
static void put_sample(struct text *text, const struct family *family, const struct labels *labels)
{
    put_text(text, family->name);
    put_text(text, suffixes[family->type]);
    if (labels) {
        ifg_bytes_put(text->out, "{", 1);
        ifg_bytes_put(text->out, labels->text, labels->length);
        ifg_bytes_put(text->out, "}", 1);
    }
    ifg_bytes_put(text->out, " ", 1);
}

static void put_count(struct text *text, const struct family *family, const struct labels *labels,
                      uint64_t value)
{
    put_sample(text, family, labels);
    put_uint(text, value);
    ifg_bytes_put(text->out, "\n", 1);
}

static void put_value(struct text *text, const struct family *family, const struct labels *labels,
                      double value)
{
    put_sample(text, family, labels);
    put_number(text, value);
    ifg_bytes_put(text->out, "\n", 1);
}

/* ---- events ---- */

static const struct family durations = { "inferogram_event_duration_seconds", FAMILY_HISTOGRAM,
                                         "seconds",
                                         "Time that inferences, loads and other ML events took." };
static const struct family failures = { "inferogram_event_failures", FAMILY_COUNTER, NULL,
                                        "ML events that ended with an error." };

/* What stands before the count of a bucket behind the labels: ',le="0.001024"} ' */
struct bound {
    char text[32];
    size_t length;
};

static void make_bounds(struct bound out[TALLY_BOUNDS + 1])
{
    for (size_t i = 0; i <= TALLY_BOUNDS; i++) {
        int length = i < TALLY_BOUNDS ? snprintf(out[i].text, sizeof out[i].text, ",le=\"%.9g\"} ",
                                                 (double)tally_bound_ns(i) * 1e-9)
                                      : snprintf(out[i].text, sizeof out[i].text, ",le=\"+Inf\"} ");

        out[i].length = (size_t)length;
    }
}

static void put_of_histogram(struct text *text, const char *suffix, const struct labels *labels)
{
    put_text(text, durations.name);
    put_text(text, suffix);
    ifg_bytes_put(text->out, labels->text, labels->length);
    ifg_bytes_put(text->out, "} ", 2);
}

static void put_histogram(struct text *text, const struct tally_series *series,
                          const struct labels *labels, const struct bound bounds[TALLY_BOUNDS + 1])
{
    static const char bucket[] = "inferogram_event_duration_seconds_bucket{";
    uint64_t count = 0;

    for (size_t i = 0; i <= TALLY_BOUNDS; i++) {
        count += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        ifg_bytes_put(text->out, bucket, sizeof bucket - 1);
        ifg_bytes_put(text->out, labels->text, labels->length);
        ifg_bytes_put(text->out, bounds[i].text, bounds[i].length);
        put_uint(text, count);
        ifg_bytes_put(text->out, "\n", 1);
    }
    put_of_histogram(text, "_sum{", labels);
    put_seconds(text, atomic_load_explicit(&series->sum_ns, memory_order_relaxed));
    ifg_bytes_put(text->out, "\n", 1);
    put_of_histogram(text, "_count{", labels);
    put_uint(text, count);
    ifg_bytes_put(text->out, "\n", 1);
}

static void put_events(struct text *text, const struct tally *tally)
{
    uint32_t count = atomic_load_explicit(&tally->count, memory_order_acquire);
    struct bound bounds[TALLY_BOUNDS + 1];
    struct labels labels;

    make_bounds(bounds);
    put_family(text, &durations);
    for (uint32_t i = 0; i < count; i++) {
        label_series(&tally->series[i], &labels);
        put_histogram(text, &tally->series[i], &labels, bounds);
    }
    put_family(text, &failures);
    for (uint32_t i = 0; i < count; i++) {
        label_series(&tally->series[i], &labels);
        put_count(text, &failures, &labels,
                  atomic_load_explicit(&tally->series[i].failures, memory_order_relaxed));
    }
}

/* ---- findings ---- */

static void put_problems(struct text *text, const struct problems *problems)
{
    static const struct family found = { "inferogram_findings", FAMILY_GAUGE, NULL,
                                         "Findings of 'inferogram report' in the last seconds." };
    static const struct family window = {
        "inferogram_findings_window_seconds", FAMILY_GAUGE, "seconds",
        "How much of the past the findings are about; absent while they are not known."
    };
    static const struct family not_kept = { "inferogram_findings_not_shown", FAMILY_GAUGE, NULL,
                                            "Findings beyond the number that is shown." };
    struct labels labels;

    if (!problems->window_count)
        return; /* not known, which is not none */
    put_family(text, &found);
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];

        labels.length = 0;
        add_label(&labels, "program", problem->program);
        add_label(&labels, "model", problem->model);
        add_label(&labels, "finding", problem->id);
        add_label(&labels, "severity",
                  finding_severity_name((enum finding_severity)problem->severity));
        put_count(text, &found, &labels, problem->count);
    }
    put_family(text, &window);
    for (uint32_t i = 0; i < problems->window_count; i++) {
        labels.length = 0;
        add_label(&labels, "program", problems->windows[i].program);
        put_value(text, &window, &labels, problems->windows[i].seconds);
    }
    put_family(text, &not_kept);
    put_count(text, &not_kept, NULL, problems->not_kept);
}

/* ---- ourselves ---- */

static void put_plain(struct text *text, const struct family *family, double value)
{
    if (isnan(value))
        return;
    put_family(text, family);
    put_value(text, family, NULL, value);
}

const char *const metrics_program_states[PROGRAM_STATES] = {
    [PROGRAM_WATCHED] = "watched",
    [PROGRAM_ELSEWHERE] = "elsewhere",
    [PROGRAM_REFUSED] = "refused",
};

static void put_programs(struct text *text, const struct metrics_view *view)
{
    static const struct family programs = { "inferogram_programs", FAMILY_GAUGE, NULL,
                                            "Programs that could be watched, by what is done." };
    struct labels labels;

    put_family(text, &programs);
    for (size_t i = 0; i < PROGRAM_STATES; i++) {
        labels.length = 0;
        add_label(&labels, "state", metrics_program_states[i]);
        put_count(text, &programs, &labels, view->programs[i]);
    }
}

static void put_own(struct text *text, const struct metrics_view *view)
{
    static const struct family build = { "inferogram_build", FAMILY_INFO, NULL,
                                         "The version of Inferogram." };
    static const struct family recorded = { "inferogram_recorded_events", FAMILY_COUNTER, NULL,
                                            "Events of all kinds that were recorded." };
    static const struct family dropped = {
        "inferogram_dropped_events", FAMILY_COUNTER, NULL,
        "Events that are in no other number, because buffers were full."
    };
    static const struct family damaged = { "inferogram_unread_blocks", FAMILY_COUNTER, NULL,
                                           "Blocks of recorded events that could not be read." };
    static const struct family series = { "inferogram_series", FAMILY_GAUGE, NULL,
                                          "Different sets of labels of ML events." };
    static const struct family full = {
        "inferogram_series_limit_reached", FAMILY_GAUGE, NULL,
        "1: there were more sets of labels than are kept; the rest is model=other."
    };
    static const struct family cpu = { "inferogram_cpu_seconds", FAMILY_COUNTER, "seconds",
                                       "CPU time of Inferogram itself." };
    static const struct family memory = { "inferogram_resident_memory_bytes", FAMILY_GAUGE, "bytes",
                                          "Resident memory of Inferogram itself." };
    static const struct family scrapes = { "inferogram_scrapes", FAMILY_COUNTER, NULL,
                                           "Scrapes before this one." };
    const struct tally *tally = view->tally;
    struct labels labels = { .length = 0 };

    put_family(text, &build);
    add_label(&labels, "version", view->version);
    put_count(text, &build, &labels, 1);
    put_plain(text, &recorded, (double)atomic_load(&tally->events));
    put_plain(text, &dropped, (double)atomic_load(&tally->dropped));
    put_plain(text, &damaged, (double)atomic_load(&tally->damaged));
    put_plain(text, &series, (double)atomic_load(&tally->count));
    put_plain(text, &full, (double)atomic_load(&tally->is_full));
    put_plain(text, &cpu, view->cpu_s);
    put_plain(text, &memory, view->memory_bytes);
    put_plain(text, &scrapes, (double)view->scrapes);
}

void metrics_text_put(struct ifg_bytes *out, enum metrics_format format,
                      const struct metrics_view *view)
{
    struct text text = { out, format };

    put_events(&text, view->tally);
    put_problems(&text, view->problems);
    put_programs(&text, view);
    put_own(&text, view);
    if (format == METRICS_OPENMETRICS)
        put_text(&text, "# EOF\n");
}
