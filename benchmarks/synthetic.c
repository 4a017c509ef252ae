// SPDX-License-Identifier: Apache-2.0
/* A load like that of a model: see synthetic.h. */
#include "synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/writer.h"

#define OPERATORS 100u

enum {
    LOCATION_INFERENCE = 1,
    LOCATION_SETUP,
    LOCATION_RUN,
    LOCATION_INNER,
    LOCATION_OPERATOR = 16
};

struct operator_kind {
    double typical_ns;
    unsigned inner;
    uint32_t value;
};

struct generator {
    uint64_t random;
    struct operator_kind kinds[OPERATORS];
    size_t zones;
    synthetic_zone *zone;
    synthetic_value *value;
    void *user;
};

static uint64_t random_u64(struct generator *g)
{
    g->random ^= g->random << 13;
    g->random ^= g->random >> 7;
    g->random ^= g->random << 17;
    return g->random;
}

static double random_unit(struct generator *g)
{
    return (double)(random_u64(g) >> 11) / 9007199254740992.0;
}

static double random_gauss(struct generator *g)
{
    double radius = sqrt(-2 * log(random_unit(g) + 1e-18));

    return radius * cos(6.283185307179586 * random_unit(g));
}

static uint64_t vary(struct generator *g, double typical_ns, double deviation)
{
    double value = typical_ns * (1 + deviation * random_gauss(g));

    if (random_unit(g) < 0.004)
        value *= 1.5 + 3 * random_unit(g);
    return value < 20 ? 20 : (uint64_t)value;
}

static void put_zone(struct generator *g, uint64_t start, uint64_t end, uint32_t location)
{
    g->zone(g->user, start, end, location);
    g->zones++;
}

/* One operator; returns when it ended. */
static uint64_t run_operator(struct generator *g, uint32_t which, uint64_t at)
{
    const struct operator_kind *kind = &g->kinds[which];
    double share = kind->typical_ns / (kind->inner + 1);
    uint64_t begin = at;

    if (g->value)
        g->value(g->user, begin, LOCATION_OPERATOR + which, kind->value);
    at += vary(g, 150, .3);
    for (uint32_t i = 0; i < kind->inner; i++) {
        bool allocates = i == 0 && which % 4 == 0;
        uint64_t inner_begin = at;

        at += vary(g, share, .06);
        put_zone(g, inner_begin, at, LOCATION_INNER + i + (allocates ? 4 : 0));
        at += vary(g, 90, .3);
    }
    at += kind->inner ? vary(g, 120, .3) : vary(g, share, .06);
    put_zone(g, begin, at, LOCATION_OPERATOR + which);
    return at;
}

static void choose_operators(struct generator *g)
{
    g->random = 88172645463325252u;
    for (size_t i = 0; i < OPERATORS; i++) {
        g->kinds[i].typical_ns = exp(log(2000) + random_unit(g) * log(500));
        g->kinds[i].inner = (unsigned)(random_u64(g) % 4);
        g->kinds[i].value = (uint32_t)(random_u64(g) % 4000000) * 4;
    }
}

void synthetic_thread(uint32_t thread, size_t zones, bool random_order, synthetic_zone *zone,
                      synthetic_value *value, void *user)
{
    struct generator g = { .zone = zone, .value = value, .user = user };
    uint64_t at;

    choose_operators(&g); /* the same for all threads: they run the same model */
    g.random ^= (thread + 1) * 0x9e3779b97f4a7c15u;
    at = 1000000000u + random_u64(&g) % 1000000;
    while (g.zones < zones) {
        uint64_t inference = at;
        uint64_t begin = at += vary(&g, 300, .2);

        at += vary(&g, 4000, .1);
        put_zone(&g, begin, at, LOCATION_SETUP);
        at += vary(&g, 80, .3);
        begin = at;
        at += vary(&g, 200, .2);
        for (uint32_t i = 0; i < OPERATORS; i++) {
            at = run_operator(&g, random_order ? (uint32_t)(random_u64(&g) % OPERATORS) : i, at);
            at += vary(&g, 110, .3);
        }
        put_zone(&g, begin, at, LOCATION_RUN);
        at += vary(&g, 150, .2);
        put_zone(&g, inference, at, LOCATION_INFERENCE);
        at += vary(&g, 200000, .5);
    }
}

static void define(struct trace_writer *writer)
{
    static const char *const names[] = {
        [LOCATION_INFERENCE] = "inference", [LOCATION_SETUP] = "setup", [LOCATION_RUN] = "run"
    };
    const struct trace_process process = { .pid = 4711, .program = "/opt/synthetic/server" };

    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, 1000000000u, "TSC");
    trace_writer_process(writer, &process);
    for (uint32_t id = LOCATION_INFERENCE; id < LOCATION_OPERATOR + OPERATORS; id++) {
        char name[32];
        struct trace_location location = {
            .id = id,
            .kind = TRACE_LOCATION_ZONE,
            .name = name,
            .function = "execute",
            .file = "server.c",
            .line = id,
        };

        if (id <= LOCATION_RUN)
            snprintf(name, sizeof name, "%s", names[id]);
        else if (id < LOCATION_OPERATOR)
            snprintf(name, sizeof name, "inner %u", id - LOCATION_INNER);
        else
            snprintf(name, sizeof name, "Conv_%u", id - LOCATION_OPERATOR);
        trace_writer_location(writer, &location);
    }
}

/* Pairs as a recorder takes them: two a second, of a counter that is 20 ppm too slow. */
static void write_clock(struct trace_writer *writer, uint64_t until)
{
    for (uint64_t ticks = 500000000u; ticks < until + 1000000000u; ticks += 500000000u) {
        uint64_t ns = ticks + ticks / 50000;
        const struct trace_clock_pair pair = { ticks, ns, 1700000000000000000u + ns };

        trace_writer_clock_pairs(writer, 0, &pair, 1);
    }
}

struct writing {
    struct trace_stream *stream;
    uint64_t zones;
    uint64_t last_end;
};

static void write_zone(void *user, uint64_t start, uint64_t end, uint32_t location)
{
    struct writing *writing = user;

    trace_stream_zone(writing->stream, start, end - start, location);
    writing->zones++;
    if (end > writing->last_end)
        writing->last_end = end;
}

uint64_t synthetic_trace(const char *path, size_t zones, bool random_order)
{
    struct trace_writer *writer;
    struct ifg_error err = { 0 };
    struct writing writing = { 0 };

    if (trace_writer_create(path, true, &writer, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    define(writer);
    for (uint32_t t = 0; t < SYNTHETIC_THREADS; t++) {
        char name[32];

        snprintf(name, sizeof name, "worker %u", t);
        trace_writer_thread(writer, t, 0, 4711 + t, name);
        writing.stream = trace_stream_create(writer, t);
        if (!writing.stream)
            exit(1);
        synthetic_thread(t, zones / SYNTHETIC_THREADS, random_order, write_zone, NULL, &writing);
        trace_stream_destroy(writing.stream);
    }
    write_clock(writer, writing.last_end);
    if (trace_writer_close(writer, &err)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return writing.zones;
}
