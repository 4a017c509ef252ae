// SPDX-License-Identifier: Apache-2.0
/* How near operators come to the roofs of their device, in the report. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

#define NANO 1e-9

/* "1.23 TFLOP/s" */
static const char *rate(double value, const char *unit, char out[32])
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t step = 0;

    while (value >= 999.5 && step + 1 < sizeof prefixes / sizeof prefixes[0]) {
        value /= 1e3;
        step++;
    }
    snprintf(out, 32, "%.*f %s%s",
             value < 9.995   ? 2
             : value < 99.95 ? 1
                             : 0,
             value, prefixes[step], unit);
    return out;
}

static const char *percent(double share, char out[32])
{
    snprintf(out, 32, "%.*f %%", share < 0.0995 ? 1 : 0, 100 * share);
    return out;
}

/* What share of which roof, and what that means. */
static void append_class(const struct roofline_point *point, char *line, size_t size)
{
    char number[32];

    switch (point->class) {
    case ROOFLINE_COMPUTE:
        report_append(line, size, ": compute-bound, %s of the peak",
                      percent(point->compute_low, number));
        break;
    case ROOFLINE_MEMORY:
        report_append(line, size, ": memory-bound, %s of the bandwidth",
                      percent(point->memory, number));
        break;
    case ROOFLINE_LATENCY:
        report_append(line, size, ": latency-bound, %s of the bandwidth",
                      percent(point->memory, number));
        report_append(line, size, " and %s of the peak", percent(point->compute_low, number));
        break;
    case ROOFLINE_UNKNOWN:
        break;
    }
}

static void append_point(const struct roofline_point *point, char *line, size_t size)
{
    double seconds = point->time_ns * NANO;
    char flops[32], bytes[32];

    if (point->flops > 0 && point->bytes > 0)
        report_append(line, size, " %.3g FLOP/byte,", point->flops / point->bytes);
    if (point->flops > 0)
        report_append(line, size, " %s,", rate(point->flops / seconds, "FLOP/s", flops));
    report_append(line, size, " %s", rate(point->bytes / seconds, "B/s", bytes));
    append_class(point, line, size);
}

static void write_peaks(const struct roofline_peaks *peaks, struct ifg_bytes *out)
{
    char line[400] = "", number[32], name[100];

    if (*peaks->reason || !*peaks->device)
        return;
    report_append(line, sizeof line, "%s: %s", cli_clean(peaks->device, name, sizeof name),
                  rate(peaks->bytes_per_s, "B/s", number));
    report_append(line, sizeof line, ", %s float32", rate(peaks->flops_per_s, "FLOP/s", number));
    if (peaks->tensor_float32 > 0)
        report_append(line, sizeof line, ", tensor cores %s TF32",
                      rate(peaks->flops_per_s * peaks->tensor_float32, "FLOP/s", number));
    if (peaks->tensor_float16 > 0)
        report_append(line, sizeof line, "%s %s float16",
                      peaks->tensor_float32 > 0 ? "," : ", tensor cores",
                      rate(peaks->flops_per_s * peaks->tensor_float16, "FLOP/s", number));
    report_append(line, sizeof line, ", at its highest clocks");
    report_wrap(out, 6, "Peaks  ", line);
}

/* Why types that are shown have no class, each reason once. */
static void append_reasons(const struct roofline *roofline, size_t limit, char *line, size_t size)
{
    for (size_t i = 0; i < roofline->type_count && i < limit; i++) {
        const struct roofline_point *point = &roofline->types[i].point;
        bool again = false;

        if (!point->known || point->known == point->nothing || !*point->why)
            continue;
        for (size_t k = 0; k < i; k++)
            again |= roofline->types[k].point.known &&
                     strcmp(roofline->types[k].point.why, point->why) == 0;
        if (again)
            continue;
        report_append(line, size, "%s%s n/a: %s", *line ? "; " : "",
                      strcmp(point->why, roofline->peaks.reason) == 0 ? "class"
                                                                      : roofline->types[i].type,
                      point->why);
    }
}

/* Of a program on processors alone the rates say something only if most operators have them; all of
 * it is in the JSON. */
static bool is_worth_a_line(const struct report_request *request, const struct roofline *roofline)
{
    size_t known = 0;

    for (size_t i = 0; i < roofline->node_count; i++)
        known += roofline->nodes[i].point.known;
    return request->report->input->device || (known && 2 * known >= roofline->node_count);
}

void report_write_roofline_of(const struct report_request *request, const struct ml_model *model,
                              size_t limit, struct ifg_bytes *out)
{
    const struct roofline *roofline = report_roofline(request->report, model);
    char line[2000] = "", reasons[1000] = "";
    size_t known = 0, shown = 0;

    if (!roofline || !is_worth_a_line(request, roofline))
        return;
    if (*roofline->reason) {
        snprintf(line, sizeof line, "n/a: %s", roofline->reason);
        report_wrap(out, 4, "Roofline  ", line);
        return;
    }
    for (size_t i = 0; i < roofline->type_count; i++) {
        const struct roofline_point *point = &roofline->types[i].point;

        known += point->known;
        if (!point->known || point->known == point->nothing || !(point->time_ns > 0) ||
            shown >= limit || strlen(line) + 300 > sizeof line)
            continue;
        report_append(line, sizeof line, "%s%.80s", shown++ ? " · " : "", roofline->types[i].type);
        append_point(point, line, sizeof line);
    }
    if (!known) {
        snprintf(line, sizeof line, "n/a: none of its %zu operators is in the model file as it ran",
                 roofline->node_count);
        report_wrap(out, 4, "Roofline  ", line);
        return;
    }
    if (known < roofline->node_count)
        report_append(reasons, sizeof reasons,
                      "%zu of %zu operators are not in the model file as "
                      "they ran",
                      roofline->node_count - known, roofline->node_count);
    append_reasons(roofline, limit, reasons, sizeof reasons);
    if (*line)
        report_wrap(out, 4, "Roofline  ", line);
    line[0] = '\0';
    if (roofline->whole.class != ROOFLINE_UNKNOWN) {
        append_point(&roofline->whole, line, sizeof line);
        report_wrap(out, 6, "All together ", line + 1);
    }
    if (*reasons)
        report_wrap(out, 6, "", reasons);
    write_peaks(&roofline->peaks, out);
}
