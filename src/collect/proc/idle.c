// SPDX-License-Identifier: Apache-2.0
/* What the machine takes before anything runs that is to be measured: see proc.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/ticks.h"
#include "collect/proc/proc_internal.h"

#define SOURCES    24u
#define PIECES_MAX 120u
#define PIECE_NS   (SECOND_NS / 2) /* counters move in steps of up to a tenth of a second */
#define STEP_NS    (SECOND_NS / 10)

/* "gpu 0", "cpu": what counts energy; what tells only power has no first count. */
struct idle_source {
    char name[PROC_NAME_BYTES];
    double first_j, begin_j, last_j; /* NAN: counts none */
    uint64_t first_ns, begin_ns, last_ns;
    double sum_w, all_w; /* of this piece, and of all */
    unsigned count, all_count;
    double low_w, high_w; /* of whole pieces; NAN */
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
    *source = (struct idle_source){
        .first_j = (double)NAN, .last_j = (double)NAN, .low_w = (double)NAN, .high_w = (double)NAN
    };
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
        if (isnan(source->first_j)) {
            source->first_j = source->begin_j = value;
            source->first_ns = source->begin_ns = idle->now_ns;
        }
        source->last_j = value;
        source->last_ns = idle->now_ns;
        return;
    }
    source = find(idle, name, " power W");
    if (!source)
        return;
    source->sum_w += value;
    source->all_w += value;
    source->count++;
    source->all_count++;
}

static void end_piece(struct idle *idle)
{
    for (size_t i = 0; i < idle->count; i++) {
        struct idle_source *source = &idle->sources[i];
        double watts = (double)NAN;

        if (!isnan(source->first_j) && source->last_ns > source->begin_ns)
            watts = (source->last_j - source->begin_j) * (double)SECOND_NS /
                    (double)(source->last_ns - source->begin_ns);
        else if (isnan(source->first_j) && source->count)
            watts = source->sum_w / source->count;
        source->begin_j = source->last_j;
        source->begin_ns = source->last_ns;
        source->sum_w = 0;
        source->count = 0;
        if (isnan(watts) || watts < 0)
            continue;
        source->low_w = watts > source->low_w ? source->low_w : watts;
        source->high_w = watts < source->high_w ? source->high_w : watts;
    }
}

static bool put_sources(const struct idle *idle, double seconds, const struct proc_sink *sink)
{
    bool any = false;

    for (size_t i = 0; i < idle->count; i++) {
        const struct idle_source *source = &idle->sources[i];
        double watts = isnan(source->first_j)
                           ? source->all_w / source->all_count
                           : (source->last_j - source->first_j) * (double)SECOND_NS /
                                 (double)(source->last_ns - source->first_ns);
        char name[PROC_NAME_BYTES];

        if (!isfinite(watts) || watts < 0 || isnan(source->low_w))
            continue;
        snprintf(name, sizeof name, "%.24s idle W", source->name);
        proc_put(sink, 0, name, watts);
        snprintf(name, sizeof name, "%.24s idle low W", source->name);
        proc_put(sink, 0, name, source->low_w < watts ? source->low_w : watts);
        snprintf(name, sizeof name, "%.24s idle high W", source->name);
        proc_put(sink, 0, name, source->high_w > watts ? source->high_w : watts);
        any = true;
    }
    if (any)
        proc_put(sink, 0, "idle s", seconds);
    return any;
}

static void look(struct proc_collector *collector, struct idle *idle)
{
    const struct proc_sink sink = { take, idle, take_time };

    take_time(idle);
    proc_look_power(collector, idle->now_ns, &sink);
}

bool proc_measure_idle(struct proc_collector *collector, double seconds,
                       const struct proc_sink *sink)
{
    struct idle idle = { .count = 0 };
    uint64_t begin_ns, end_ns, piece_ns = PIECE_NS;
    uint64_t next_piece_ns;

    look(collector, &idle); /* loads the driver's library: not of the measurement */
    idle.count = 0;
    begin_ns = ifg_monotonic_ns();
    end_ns = begin_ns + (uint64_t)(seconds * (double)SECOND_NS);
    if (end_ns < begin_ns + 2 * piece_ns)
        piece_ns = (end_ns - begin_ns) / 2;
    if ((end_ns - begin_ns) / PIECES_MAX > piece_ns)
        piece_ns = (end_ns - begin_ns) / PIECES_MAX;
    next_piece_ns = begin_ns + piece_ns;
    look(collector, &idle);
    while (idle.count && ifg_monotonic_ns() < end_ns) {
        struct timespec moment = { 0, (long)(piece_ns < STEP_NS ? piece_ns : STEP_NS) };

        nanosleep(&moment, NULL);
        look(collector, &idle);
        if (idle.now_ns < next_piece_ns)
            continue;
        end_piece(&idle);
        next_piece_ns = idle.now_ns + piece_ns;
    }
    proc_begin(sink);
    return put_sources(&idle, (double)(ifg_monotonic_ns() - begin_ns) / (double)SECOND_NS, sink);
}
