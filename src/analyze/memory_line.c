// SPDX-License-Identifier: Apache-2.0
/* The memory of processes over time: see memory_internal.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory_internal.h"
#include "base/alloc.h"
#include "base/quantile.h"

#define BLOCK      64u
#define FINE_NAME  "resident bytes"
#define PEAK_NAME  "resident peak bytes"
#define RARE_NAME  "rss bytes"
#define SECOND_NS  1000000000ull
#define LEAST_LOOK 2u /* of the fine ones, to be taken in the place of the others */

static int by_time(const void *a, const void *b)
{
    const struct memory_look *left = a;
    const struct memory_look *right = b;

    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static size_t count_values(const struct resources *resources, uint32_t pid, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < resources->series_count; i++)
        if (resources->series[i].pid == pid && strcmp(resources->series[i].name, name) == 0)
            count += resources->series[i].count;
    return count;
}

/* A process may be told of several times, one after the other: by itself, and before. */
static void take_values(const struct resources *resources, uint32_t pid, const char *name,
                        struct memory_look *out)
{
    for (size_t i = 0; i < resources->series_count; i++) {
        const struct resource_series *series = &resources->series[i];

        if (series->pid != pid || strcmp(series->name, name) != 0)
            continue;
        for (size_t p = 0; p < series->count; p++)
            *out++ = (struct memory_look){ series->points[p].ns, series->points[p].value, 0 };
    }
}

/* Peaks belong to the look of the same moment, or to the next one. */
static enum ifg_status add_peaks(const struct resources *resources, struct memory_line *line)
{
    size_t count = count_values(resources, line->pid, PEAK_NAME), at = 0;
    struct memory_look *peaks = ifg_alloc(count + 1, sizeof *peaks);

    if (!peaks)
        return IFG_NO_MEMORY;
    take_values(resources, line->pid, PEAK_NAME, peaks);
    qsort(peaks, count, sizeof *peaks, by_time);
    for (size_t i = 0; i < line->count; i++) {
        struct memory_look *look = &line->looks[i];

        look->most = look->bytes;
        for (; at < count && peaks[at].ns <= look->ns; at++)
            look->most = fmax(look->most, peaks[at].bytes);
    }
    ifg_free(peaks);
    return IFG_OK;
}

static enum ifg_status find_resolution(struct memory_line *line)
{
    uint64_t *steps = ifg_alloc(line->count, sizeof *steps);

    if (!steps)
        return IFG_NO_MEMORY;
    line->resolution_ns = SECOND_NS;
    for (size_t i = 1; i < line->count; i++)
        steps[i - 1] = line->looks[i].ns - line->looks[i - 1].ns;
    if (line->count > 1)
        line->resolution_ns = (uint64_t)ifg_median_u64(steps, line->count - 1);
    ifg_free(steps);
    return IFG_OK;
}

static enum ifg_status make_line(const struct resources *resources, struct memory_line *line)
{
    const char *name = FINE_NAME;
    enum ifg_status status;

    line->count = count_values(resources, line->pid, FINE_NAME);
    line->fine = line->count >= LEAST_LOOK || !count_values(resources, line->pid, RARE_NAME);
    if (!line->fine) {
        name = RARE_NAME;
        line->count = count_values(resources, line->pid, name);
    }
    line->looks = ifg_alloc(line->count, sizeof *line->looks);
    line->tops = ifg_alloc(line->count / BLOCK + 1, sizeof *line->tops);
    if (!line->looks || !line->tops)
        return IFG_NO_MEMORY;
    take_values(resources, line->pid, name, line->looks);
    qsort(line->looks, line->count, sizeof *line->looks, by_time);
    status = add_peaks(resources, line);
    for (size_t i = 0; i < line->count; i++) {
        uint32_t *top = &line->tops[i / BLOCK];

        if (i % BLOCK == 0 || line->looks[i].most > line->looks[*top].most)
            *top = (uint32_t)i;
    }
    return status ? status : find_resolution(line);
}

enum ifg_status memory_lines_create(const struct resources *resources, struct memory_lines *out)
{
    enum ifg_status status = IFG_OK;
    uint64_t *pids = ifg_alloc(resources->series_count, sizeof *pids);
    size_t found = 0;

    *out = (struct memory_lines){ 0 };
    for (size_t i = 0; pids && i < resources->series_count; i++)
        if (resources->series[i].pid && (strcmp(resources->series[i].name, FINE_NAME) == 0 ||
                                         strcmp(resources->series[i].name, RARE_NAME) == 0))
            pids[found++] = resources->series[i].pid;
    if (pids)
        qsort(pids, found, sizeof *pids, by_number);
    out->items = pids ? ifg_alloc(found, sizeof *out->items) : NULL;
    if (!out->items)
        status = IFG_NO_MEMORY;
    for (size_t i = 0; !status && i < found; i++) {
        if (i && pids[i] == pids[i - 1])
            continue;
        out->items[out->count].pid = (uint32_t)pids[i];
        status = make_line(resources, &out->items[out->count++]);
    }
    ifg_free(pids);
    return status;
}

void memory_lines_destroy(struct memory_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        ifg_free(lines->items[i].looks);
        ifg_free(lines->items[i].tops);
    }
    ifg_free(lines->items);
    *lines = (struct memory_lines){ 0 };
}

const struct memory_line *memory_line_of(const struct memory_lines *lines, uint32_t pid)
{
    size_t low = 0, high = lines->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lines->items[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < lines->count && lines->items[low].pid == pid ? &lines->items[low] : NULL;
}

void memory_first(const struct memory_line *line, double bytes, uint64_t *out_from_ns,
                  uint64_t *out_ns)
{
    size_t at = 0;

    while (at + 1 < line->count && line->looks[at].most < bytes)
        at++;
    *out_ns = line->looks[at].ns;
    *out_from_ns = at && line->looks[at].bytes < bytes ? line->looks[at - 1].ns : *out_ns;
}

/* The first look at or after a time; count if there is none. */
static size_t first_from(const struct memory_line *line, uint64_t ns)
{
    size_t low = 0, high = line->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (line->looks[middle].ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The look with the most in [first, end); there is one. */
static size_t find_top(const struct memory_line *line, size_t first, size_t end)
{
    size_t top = first;

    for (size_t i = first; i < end;) {
        if (i % BLOCK == 0 && i + BLOCK <= end) {
            if (line->looks[line->tops[i / BLOCK]].most > line->looks[top].most)
                top = line->tops[i / BLOCK];
            i += BLOCK;
        } else {
            if (line->looks[i].most > line->looks[top].most)
                top = i;
            i++;
        }
    }
    return top;
}

/* Whether what is known of the phase explains the peak, but for a tenth of what it is above:
 * before, after, and all between looks inside. What the kernel saw between two looks of which one
 * is outside may have been outside, too. */
static bool is_inside(const struct memory_line *line, size_t first, size_t last, uint64_t start_ns,
                      uint64_t end_ns, const struct memory_span *span)
{
    const struct memory_look *looks = line->looks;
    size_t begin = first + 1, end = last + 1;
    double inside = fmax(span->before, span->after);

    if (looks[first].ns < start_ns) {
        inside = fmax(inside, looks[begin].bytes);
        begin++;
    }
    if (looks[last].ns > end_ns)
        end--;
    if (begin < end)
        inside = fmax(inside, looks[find_top(line, begin, end)].most);
    return span->peak - inside <= MEMORY_OUTSIDE_SHARE * (span->peak - span->before);
}

bool memory_ask(const struct memory_line *line, uint64_t start_ns, uint64_t end_ns,
                struct memory_span *out)
{
    const struct memory_look *looks = line->looks;
    size_t first = first_from(line, start_ns), last = first_from(line, end_ns);
    size_t top;

    *out = (struct memory_span){ .before = (double)NAN, .peak = (double)NAN, .after = (double)NAN };
    if (first == line->count)
        return false; /* it is later than all that is known */
    if (looks[first].ns > start_ns) {
        if (!first)
            return false; /* it began before all that is known */
        first--;
    }
    if (last == line->count)
        last--; /* it ended with the program */
    out->first = (uint32_t)first;
    out->last = (uint32_t)last;
    out->before = out->peak = looks[first].bytes;
    out->after = looks[last].bytes;
    out->peak_from_ns = out->peak_ns = looks[first].ns;
    out->is_short = out->coarse =
        end_ns - start_ns < line->resolution_ns ||
        (first + 1 == last && looks[first].ns < start_ns && looks[last].ns > end_ns);
    if (last == first)
        return true;
    if (out->is_short) {
        out->peak = (double)NAN;
        return true;
    }
    top = find_top(line, first + 1, last + 1);
    if (looks[top].most > out->peak) {
        out->peak = looks[top].most;
        out->peak_ns = looks[top].ns;
        out->peak_from_ns = looks[top].most > looks[top].bytes ? looks[top - 1].ns : looks[top].ns;
        out->coarse |= !is_inside(line, first, last, start_ns, end_ns, out);
    }
    return true;
}
