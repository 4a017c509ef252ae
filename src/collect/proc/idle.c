// SPDX-License-Identifier: Apache-2.0
/* What the machine takes before anything runs that is to be measured: see proc.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/rest.h"
#include "base/ticks.h"
#include "collect/proc/proc_internal.h"

#define SOURCES    24u
#define PIECES_MAX 60u
#define PIECE_NS   (SECOND_NS / 2) /* counters move in steps of up to a tenth of a second */
#define STEP_NS    (SECOND_NS / 10)

/* "gpu 0", "cpu": what counts energy; what tells only power has no first count. */
struct idle_source {
    char name[PROC_NAME_BYTES];
    double begin_j, last_j; /* NAN: counts none */
    uint64_t begin_ns, last_ns;
    double sum_w; /* of this piece */
    unsigned count;
    double clock_mhz;                                      /* the last one; NAN */
    double watts[PIECES_MAX + 2], weights[PIECES_MAX + 2]; /* of whole pieces: time, or answers */
    size_t piece_count;
};

struct idle {
    struct idle_source sources[SOURCES];
    size_t count;
    uint64_t now_ns;
};

static void take_time(void *user)
{
    ((struct idle *)user)->now_ns = ifg_monotonic_ns();
}

/* The part of a name before this end, if it has it. */
static struct idle_source *find(struct idle *idle, const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    struct idle_source *source;

    if (length <= tail || strcmp(name + length - tail, end) != 0)
        return NULL;
    for (size_t i = 0; i < idle->count; i++)
        if (strlen(idle->sources[i].name) == length - tail &&
            strncmp(idle->sources[i].name, name, length - tail) == 0)
            return &idle->sources[i];
    if (idle->count == SOURCES)
        return NULL;
    source = &idle->sources[idle->count++];
    *source = (struct idle_source){ .begin_j = (double)NAN,
                                    .last_j = (double)NAN,
                                    .clock_mhz = (double)NAN };
    snprintf(source->name, sizeof source->name, "%.*s", (int)(length - tail), name);
    return source;
}

static void take(void *user, uint32_t pid, const char *name, double value)
{
    struct idle *idle = user;
    struct idle_source *source;

    if (pid)
        return;
    source = find(idle, name, " energy J");
    if (source) {
        if (isnan(source->begin_j)) {
            source->begin_j = value;
            source->begin_ns = idle->now_ns;
        }
        source->last_j = value;
        source->last_ns = idle->now_ns;
        return;
    }
    for (size_t i = 0; i < idle->count; i++) {
        size_t length = strlen(idle->sources[i].name);

        if (strncmp(name, idle->sources[i].name, length) == 0 &&
            strcmp(name + length, " clock MHz") == 0)
            idle->sources[i].clock_mhz = value;
    }
    source = find(idle, name, " power W");
    if (!source)
        return;
    source->sum_w += value;
    source->count++;
}

static void end_piece(struct idle *idle)
{
    for (size_t i = 0; i < idle->count; i++) {
        struct idle_source *source = &idle->sources[i];
        double weight, watts;

        if (isnan(source->begin_j)) {
            weight = source->count;
            watts = source->sum_w / weight;
        } else {
            weight = (double)(source->last_ns - source->begin_ns) / (double)SECOND_NS;
            watts = (source->last_j - source->begin_j) / weight;
        }
        source->begin_j = source->last_j;
        source->begin_ns = source->last_ns;
        source->sum_w = 0;
        source->count = 0;
        if (!isfinite(watts) || watts < 0 || source->piece_count == PIECES_MAX + 2)
            continue;
        source->watts[source->piece_count] = watts;
        source->weights[source->piece_count++] = weight;
    }
}

static void put(const struct proc_sink *sink, const struct idle_source *source, const char *what,
                double value)
{
    char name[PROC_NAME_BYTES];

    snprintf(name, sizeof name, "%.24s idle %s", source->name, what);
    proc_put(sink, 0, name, value);
}

/* Power may still be falling from work that was before: what counts is the rest of it. */
static void put_source(const struct idle_source *source, double piece_s,
                       const struct proc_sink *sink)
{
    bool counts = !isnan(source->last_j), falls = false;
    double step_s = (double)STEP_NS / (double)SECOND_NS;
    size_t from = ifg_rest_from(source->watts, source->piece_count,
                                counts && piece_s > step_s ? step_s / piece_s : 0, &falls);
    double low = source->watts[from], high = low, sum = 0, weight = 0;

    for (size_t i = from; i < source->piece_count; i++) {
        low = source->watts[i] < low ? source->watts[i] : low;
        high = source->watts[i] > high ? source->watts[i] : high;
        sum += source->watts[i] * source->weights[i];
        weight += source->weights[i];
    }
    put(sink, source, "W", sum / weight);
    put(sink, source, "low W", low);
    put(sink, source, "high W", high);
    put(sink, source, "fell", falls ? 2 : from ? 1 : 0);
    if (!isnan(source->clock_mhz))
        put(sink, source, "clock MHz", source->clock_mhz);
}

static bool put_sources(const struct idle *idle, double seconds, double piece_s,
                        const struct proc_sink *sink)
{
    bool any = false;

    for (size_t i = 0; i < idle->count; i++) {
        if (!idle->sources[i].piece_count)
            continue;
        put_source(&idle->sources[i], piece_s, sink);
        any = true;
    }
    if (any)
        proc_put(sink, 0, "idle s", seconds);
    return any;
}

static void look(struct proc_collector *collector, struct idle *idle, bool last)
{
    const struct proc_sink sink = { take, idle, take_time };

    take_time(idle);
    proc_look_power(collector, idle->now_ns, last, &sink);
}

bool proc_measure_idle(struct proc_collector *collector, double seconds,
                       const struct proc_sink *sink)
{
    struct idle idle = { .count = 0 };
    uint64_t begin_ns, end_ns, piece_ns = PIECE_NS;
    uint64_t next_piece_ns;

    look(collector, &idle, false); /* loads the driver's library: not of the measurement */
    idle.count = 0;
    begin_ns = ifg_monotonic_ns();
    end_ns = begin_ns + (uint64_t)(seconds * (double)SECOND_NS);
    if (end_ns < begin_ns + 2 * piece_ns)
        piece_ns = (end_ns - begin_ns) / 2;
    if ((end_ns - begin_ns) / PIECES_MAX > piece_ns)
        piece_ns = (end_ns - begin_ns) / PIECES_MAX;
    next_piece_ns = begin_ns + piece_ns;
    look(collector, &idle, false);
    while (idle.count && ifg_monotonic_ns() < end_ns) {
        struct timespec moment = { 0, (long)(piece_ns < STEP_NS ? piece_ns : STEP_NS) };

        nanosleep(&moment, NULL);
        look(collector, &idle, ifg_monotonic_ns() >= end_ns);
        if (idle.now_ns < next_piece_ns)
            continue;
        end_piece(&idle);
        while (next_piece_ns <= idle.now_ns)
            next_piece_ns += piece_ns;
    }
    proc_begin(sink);
    return put_sources(&idle, (double)(ifg_monotonic_ns() - begin_ns) / (double)SECOND_NS,
                       (double)piece_ns / (double)SECOND_NS, sink);
}
