// SPDX-License-Identifier: Apache-2.0
/* Reports of single inferences: see bench_report.h. */
#include "cli/bench_report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "cli/bench_options.h"
#include "cli/cli.h"
#include "export/export.h"

#define RATE_LEAST_MS 50u
#define RATE_MOST_MS  3600000u
#define REPORTS_MAX   10000u /* of a row; the last one has the rest */
#define NUMBERS_MAX   100000u

struct bench_report_row {
    char *name;
    struct export_inference *items; /* since the last report */
    size_t count;
    size_t capacity;
    uint64_t next_number;    /* of an inference */
    uint64_t boundary_ns;    /* of CLOCK_MONOTONIC; the report ends there */
    uint32_t reports;        /* so far */
    uint32_t file_number[2]; /* the last one that was used, by type */
};

const char *const bench_report_types[] = { "latency", "trace", NULL };
const char *const bench_report_samplings[] = {
    "full", "half", "fourth", "eighth", "sixteenth", NULL
};

bool bench_report_parse_rate(const char *text, uint32_t *out_ms)
{
    uint64_t ms = 0;
    double seconds;

    if (!bench_parse_count(text, RATE_LEAST_MS, RATE_MOST_MS, &ms) &&
        text[strspn(text, "0123456789")] && cli_parse_seconds(text, &seconds) &&
        seconds <= 1e-3 * RATE_MOST_MS)
        ms = (uint64_t)llround(1e3 * seconds);
    *out_ms = (uint32_t)ms;
    return ms >= RATE_LEAST_MS && ms <= RATE_MOST_MS;
}

bool bench_report_wanted(const struct bench_report *report)
{
    return report->types[BENCH_REPORT_LATENCY] || report->types[BENCH_REPORT_TRACE] ||
           report->sampling || report->rate_ms || report->directory;
}

int bench_report_begin(struct bench_report *report)
{
    struct stat info = { 0 };

    if (!report->types[BENCH_REPORT_TRACE])
        report->types[BENCH_REPORT_LATENCY] = true;
    if (!report->sampling)
        report->sampling = 1;
    if (!report->directory)
        report->directory = ".";
    if (mkdir(report->directory, 0777) != 0 && errno != EEXIST) {
        cli_say("cannot make the directory %s: %s", report->directory, strerror(errno));
        return CLI_USAGE;
    }
    if (stat(report->directory, &info) != 0 || !S_ISDIR(info.st_mode) ||
        access(report->directory, W_OK) != 0) {
        cli_say("reports cannot be written into %s: %s", report->directory,
                S_ISDIR(info.st_mode) ? strerror(errno) : "it is not a directory");
        return CLI_USAGE;
    }
    return CLI_YES;
}

/* ---- files ---- */

/* AIC100's name. Older files stay: the next one gets a number, and those of a rate all have one. */
static void name_file(const struct bench_report *report, struct bench_report_row *row, bool trace,
                      char *out, size_t size)
{
    size_t program = (size_t)(row - report->rows) + 1;
    const char *what = trace ? "trace" : "latency";
    const char *end = trace ? "json" : "txt";
    uint32_t *number = &row->file_number[trace];

    do {
        ++*number;
        if (!report->rate_ms && *number == 1)
            snprintf(out, size, "%s/aic-profiling-program-%zu-%s.%s", report->directory, program,
                     what, end);
        else
            snprintf(out, size,
                     report->rate_ms ? "%s/aic-profiling-program-%zu-%s-%04u.%s"
                                     : "%s/aic-profiling-program-%zu-%s-%u.%s",
                     report->directory, program, what, *number, end);
    } while (!report->overwrite && access(out, F_OK) == 0 && *number < NUMBERS_MAX);
}

static void write_one(struct bench_report *report, struct bench_report_row *row, bool trace)
{
    struct export_inferences inferences = { .name = row->name,
                                            .program = (size_t)(row - report->rows),
                                            .every = 1u << (report->sampling - 1),
                                            .items = row->items,
                                            .count = row->count };
    struct ifg_error err = { 0 };
    struct export_sink sink;
    enum ifg_status status;
    enum ifg_status closed;
    char path[PATH_MAX];

    name_file(report, row, trace, path, sizeof path);
    status = export_sink_open(&sink, path, report->overwrite, &err);
    if (!status) {
        status = trace ? export_chrome_of(&inferences, &sink, &err)
                       : export_latency_of(&inferences, &sink, &err);
        closed = export_sink_close(&sink, !status, status ? NULL : &err);
        status = status ? status : closed;
    }
    if (status) {
        bench_clear_progress(report->arguments);
        cli_say("%s; there are no further reports", err.message);
        report->failed = true;
        return;
    }
    report->written++;
}

static void end_report(struct bench_report *report, struct bench_report_row *row)
{
    if (row->count && report->types[BENCH_REPORT_LATENCY] && !report->failed)
        write_one(report, row, false);
    if (row->count && report->types[BENCH_REPORT_TRACE] && !report->failed)
        write_one(report, row, true);
    row->reports += row->count > 0;
    row->count = 0;
}

/* ---- inferences ---- */

static void no_memory(struct bench_report *report)
{
    bench_clear_progress(report->arguments);
    cli_say("not enough memory; there are no further reports");
    report->failed = true;
}

static struct bench_report_row *find_row(struct bench_report *report,
                                         const struct bench_batch *batch)
{
    if (!IFG_ARRAY_ROOM_ZEROED(report->rows, report->row_count, batch->row + 1, IFG_ARRAY_ANY))
        return NULL;
    if (!report->rows[batch->row].name) {
        const char *slash = strrchr(report->model, '/');
        char name[512];

        snprintf(name, sizeof name, "%.300s%s%.200s", slash && slash[1] ? slash + 1 : report->model,
                 *batch->name ? ", " : "", batch->name);
        report->rows[batch->row].name = ifg_strdup(name);
    }
    return report->rows[batch->row].name ? &report->rows[batch->row] : NULL;
}

/* Reports end at multiples of the rate on the clock of the day, as AIC100's do, so that those of
 * several processes are of the same time. */
static void pass_boundary(struct bench_report *report, struct bench_report_row *row,
                          uint64_t start_ns)
{
    uint64_t rate_ns = 1000000u * (uint64_t)report->rate_ms;
    uint64_t day_ns = ifg_realtime_ns() - ifg_monotonic_ns() + start_ns;

    if (!report->rate_ms || start_ns < row->boundary_ns || row->reports + 1 >= REPORTS_MAX)
        return;
    end_report(report, row);
    row->boundary_ns = start_ns + rate_ns - day_ns % rate_ns;
}

void bench_report_take(const struct bench_batch *batch, void *user)
{
    struct bench_report *report = user;
    struct bench_report_row *row = report->failed ? NULL : find_row(report, batch);

    if (!row && !report->failed)
        no_memory(report);
    for (size_t i = 0; i < batch->count && !report->failed; i++) {
        uint64_t start_ns = batch->epoch_ns + batch->start_ns[i];

        pass_boundary(report, row, start_ns);
        if (!IFG_ARRAY_ROOM(row->items, row->capacity, row->count + 1, IFG_ARRAY_ANY)) {
            no_memory(report);
            return;
        }
        row->items[row->count++] = (struct export_inference){
            .due_ns =
                batch->epoch_ns +
                (batch->due_ns[i] < batch->start_ns[i] ? batch->due_ns[i] : batch->start_ns[i]),
            .start_ns = start_ns,
            .end_ns = batch->epoch_ns + batch->end_ns[i],
            .number = row->next_number++,
            .process = batch->process,
        };
    }
}

int bench_report_end(struct bench_report *report)
{
    for (size_t i = 0; i < report->row_count; i++) {
        end_report(report, &report->rows[i]);
        ifg_free(report->rows[i].items);
        ifg_free(report->rows[i].name);
    }
    ifg_free(report->rows);
    report->rows = NULL;
    report->row_count = 0;
    return report->failed ? CLI_NO : CLI_YES;
}
