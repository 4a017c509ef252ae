// SPDX-License-Identifier: Apache-2.0
/*
 * How large a trace is and how fast it is written and read.
 *
 * Four threads run inferences: setup, then run with a hundred operators that have up to three zones
 * inside. Each operator has a typical duration between 2 us and 1 ms; real ones vary by 6 %, and
 * 0.4 % are far off. In the realistic mix operators come in a fixed order, as in a model; in the
 * random mix in any. The `with_args` variants give each operator zone an unsigned attribute.
 * Everything goes through the real writer and the real reader, and what comes back is compared.
 *
 * usage: file_size [--json] [--zones N] [--dir DIRECTORY] [--keep]
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

#define THREADS   4u
#define OPERATORS 100u
#define BATCH     16000u /* zones timed at once when only the appending is measured */

enum {
    LOCATION_INFERENCE = 1,
    LOCATION_SETUP,
    LOCATION_RUN,
    LOCATION_INNER,
    LOCATION_OPERATOR = 16
};

/* A finished zone, or (is_attribute) a value given to a zone that has begun at `start`. */
struct item {
    uint64_t start;
    uint64_t amount; /* duration or value */
    uint32_t location;
    bool is_attribute;
};

struct thread_load {
    struct item *items;
    size_t count;
    size_t zones;
    uint64_t checksum;
};

struct load {
    struct thread_load threads[THREADS];
    size_t zones;
    size_t attributes;
};

struct result {
    double bytes_per_zone;
    double bytes_per_attribute;
    double append_ns;
    double encode_ns;
    double decode_mzones_s;
};

static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double random_unit(void)
{
    return (double)(random_u64() >> 11) / 9007199254740992.0;
}

static double random_gauss(void)
{
    double radius = sqrt(-2 * log(random_unit() + 1e-18));

    return radius * cos(6.283185307179586 * random_unit());
}

static uint64_t vary(double typical_ns, double deviation)
{
    double value = typical_ns * (1 + deviation * random_gauss());

    if (random_unit() < 0.004)
        value *= 1.5 + 3 * random_unit();
    return value < 20 ? 20 : (uint64_t)value;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what, const struct ifg_error *err)
{
    fprintf(stderr, "file_size: %s: %s\n", what, err ? err->message : "not enough memory");
    exit(1);
}

static uint64_t mix(uint64_t hash, uint64_t start, uint64_t duration, uint32_t location)
{
    hash = (hash ^ start) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ duration ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return (hash ^ location) + (hash >> 31);
}

static void put_zone(struct thread_load *thread, uint64_t start, uint64_t end, uint32_t location)
{
    thread->items[thread->count++] = (struct item){ start, end - start, location, false };
    thread->checksum = mix(thread->checksum, start, end - start, location);
    thread->zones++;
}

struct operator_kind {
    double typical_ns;
    unsigned inner;
    uint32_t value;
};

/* One operator; returns when it ended. */
static uint64_t run_operator(struct thread_load *thread, uint32_t which,
                             const struct operator_kind *kind, uint64_t at)
{
    uint64_t begin = at;
    double share = kind->typical_ns / (kind->inner + 1);

    thread->items[thread->count++] =
        (struct item){ begin, kind->value, LOCATION_OPERATOR + which, true };
    at += vary(150, .3);
    for (uint32_t i = 0; i < kind->inner; i++) {
        bool allocates = i == 0 && which % 4 == 0;
        uint64_t inner_begin = at;

        at += vary(share, .06);
        put_zone(thread, inner_begin, at, LOCATION_INNER + i + (allocates ? 4 : 0));
        at += vary(90, .3);
    }
    at += kind->inner ? vary(120, .3) : vary(share, .06);
    put_zone(thread, begin, at, LOCATION_OPERATOR + which);
    return at;
}

static void generate_thread(struct thread_load *thread, size_t zones, bool random_order,
                            const struct operator_kind *kinds)
{
    uint64_t at = 1000000000u + random_u64() % 1000000;

    thread->items = calloc(zones * 2 + 4096, sizeof *thread->items);
    if (!thread->items)
        die("memory", NULL);
    while (thread->zones < zones) {
        uint64_t inference = at;
        uint64_t begin = at += vary(300, .2);

        at += vary(4000, .1);
        put_zone(thread, begin, at, LOCATION_SETUP);
        at += vary(80, .3);
        begin = at;
        at += vary(200, .2);
        for (uint32_t i = 0; i < OPERATORS; i++) {
            uint32_t which = random_order ? (uint32_t)(random_u64() % OPERATORS) : i;

            at = run_operator(thread, which, &kinds[which], at);
            at += vary(110, .3);
        }
        put_zone(thread, begin, at, LOCATION_RUN);
        at += vary(150, .2);
        put_zone(thread, inference, at, LOCATION_INFERENCE);
        at += vary(200000, .5);
    }
}

static void generate(struct load *load, size_t zones, bool random_order)
{
    struct operator_kind kinds[OPERATORS];

    memset(load, 0, sizeof *load);
    for (size_t i = 0; i < OPERATORS; i++) {
        kinds[i].typical_ns = exp(log(2000) + random_unit() * log(500));
        kinds[i].inner = (unsigned)(random_u64() % 4);
        kinds[i].value = (uint32_t)(random_u64() % 4000000) * 4;
    }
    for (size_t i = 0; i < THREADS; i++) {
        generate_thread(&load->threads[i], zones / THREADS, random_order, kinds);
        load->zones += load->threads[i].zones;
        load->attributes += load->threads[i].count - load->threads[i].zones;
    }
}

static void load_free(struct load *load)
{
    for (size_t i = 0; i < THREADS; i++)
        free(load->threads[i].items);
}

static struct trace_writer *create(const char *path)
{
    struct trace_writer *writer;
    struct ifg_error err = { 0 };

    if (trace_writer_create(path, true, &writer, &err))
        die("create", &err);
    for (uint32_t i = 0; i < THREADS; i++)
        trace_writer_thread(writer, i, 0, 100 + i, "worker");
    return writer;
}

/* Returns the size of the whole file, footer included. */
static uint64_t finish(struct trace_writer *writer, const char *path)
{
    struct ifg_error err = { 0 };
    struct stat info;

    if (trace_writer_close(writer, &err))
        die("write", &err);
    if (stat(path, &info) < 0)
        die("stat", NULL);
    return (uint64_t)info.st_size;
}

static void append_items(struct trace_stream *stream, const struct item *items, size_t count,
                         bool with_attributes)
{
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &items[i];

        if (!item->is_attribute)
            trace_stream_zone(stream, item->start, item->amount, item->location);
        else if (with_attributes)
            trace_stream_attribute(stream, item->start, item->location, TRACE_VALUE_UNSIGNED,
                                   "value", 5, &item->amount, sizeof item->amount);
    }
}

/* The cost of trace_stream_zone alone: blocks are written between the measured stretches. */
static double measure_append(const struct load *load, const char *path)
{
    struct trace_writer *writer = create(path);
    uint64_t spent = 0;

    for (uint32_t t = 0; t < THREADS; t++) {
        struct trace_stream *stream = trace_stream_create(writer, t);
        struct item *zones = malloc(BATCH * sizeof *zones);
        size_t at = 0;

        if (!stream || !zones)
            die("memory", NULL);
        while (at < load->threads[t].count) {
            size_t count = 0;
            uint64_t begin;

            for (; at < load->threads[t].count && count < BATCH; at++)
                if (!load->threads[t].items[at].is_attribute)
                    zones[count++] = load->threads[t].items[at];
            begin = now_ns();
            for (size_t i = 0; i < count; i++)
                trace_stream_zone(stream, zones[i].start, zones[i].amount, zones[i].location);
            spent += now_ns() - begin;
            trace_stream_flush(stream, NULL, 0, 0);
        }
        free(zones);
        trace_stream_destroy(stream);
    }
    finish(writer, path);
    return (double)spent / (double)load->zones;
}

static void read_back(const struct load *load, const char *path, bool with_attributes,
                      struct result *result)
{
    struct trace_reader *reader;
    struct ifg_error err = { 0 };
    struct trace_zones zones = { 0 };
    struct trace_events events = { 0 };
    uint64_t checksums[THREADS] = { 0 };
    size_t attributes = 0;
    uint64_t spent = 0;

    if (trace_reader_open(path, &reader, &err))
        die("open", &err);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        uint64_t begin = now_ns();

        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(reader, i, &zones, &err))
                die("decode", &err);
            spent += now_ns() - begin;
            for (size_t j = 0; j < zones.count; j++)
                checksums[block->stream] = mix(checksums[block->stream], zones.starts[j],
                                               zones.durations[j], zones.locations[j]);
        } else if (block->type == TRACE_BLOCK_EVENTS) {
            if (trace_decode_events(reader, i, &events, &err))
                die("decode", &err);
            attributes += events.count;
        }
    }
    for (size_t i = 0; i < THREADS; i++)
        if (checksums[i] != load->threads[i].checksum) {
            fprintf(stderr, "file_size: thread %zu reads back differently\n", i);
            exit(1);
        }
    if (attributes != (with_attributes ? load->attributes : 0)) {
        fprintf(stderr, "file_size: %zu attributes come back\n", attributes);
        exit(1);
    }
    result->decode_mzones_s = (double)load->zones * 1e3 / (double)spent;
    trace_zones_fini(&zones);
    trace_events_fini(&events);
    trace_reader_close(reader);
}

static struct result measure(const struct load *load, const char *path, bool with_attributes)
{
    struct result result = { 0 };
    struct trace_writer *writer;
    uint64_t begin;
    uint64_t bytes;

    if (!with_attributes)
        result.append_ns = measure_append(load, path);
    writer = create(path);
    begin = now_ns();
    for (uint32_t t = 0; t < THREADS; t++) {
        struct trace_stream *stream = trace_stream_create(writer, t);

        if (!stream)
            die("memory", NULL);
        append_items(stream, load->threads[t].items, load->threads[t].count, with_attributes);
        trace_stream_destroy(stream);
    }
    result.encode_ns = (double)(now_ns() - begin) / (double)load->zones;
    bytes = finish(writer, path);
    result.bytes_per_zone = (double)bytes / (double)load->zones;
    read_back(load, path, with_attributes, &result);
    return result;
}

/* The least favourable speed and the most favourable size: one location, back to back. */
static double measure_tight_loop(const char *path, size_t zones)
{
    struct trace_writer *writer = create(path);
    struct trace_stream *stream = trace_stream_create(writer, 0);
    uint64_t begin;
    uint64_t spent;

    if (!stream)
        die("memory", NULL);
    begin = now_ns();
    for (size_t i = 0; i < zones; i++)
        trace_stream_zone(stream, 1000000 + i * 40, 20 + i % 7, 1);
    trace_stream_flush(stream, NULL, 0, 0);
    spent = now_ns() - begin;
    finish(writer, path);
    return (double)spent / (double)zones;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "realistic", "random" };
    const char *directory = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    size_t zones = 5000000;
    bool json = false;
    bool keep = false;
    struct result plain[2];
    struct result with_args[2];
    double tight;
    char path[4096];
    bool good;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--keep") == 0) {
            keep = true;
        } else if (strcmp(argv[i], "--zones") == 0 && i + 1 < argc) {
            zones = strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc) {
            directory = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--json] [--zones N] [--dir DIRECTORY] [--keep]\n", argv[0]);
            return 2;
        }
    }
    if (zones < 1000)
        zones = 1000;
    snprintf(path, sizeof path, "%s/inferogram-file-size-%ld.ifg", directory, (long)getpid());
    for (size_t i = 0; i < 2; i++) {
        struct load load;

        generate(&load, zones, i == 1);
        plain[i] = measure(&load, path, false);
        with_args[i] = measure(&load, path, true);
        with_args[i].bytes_per_attribute = (with_args[i].bytes_per_zone - plain[i].bytes_per_zone) *
                                           (double)load.zones / (double)load.attributes;
        load_free(&load);
    }
    tight = measure_tight_loop(path, zones);
    if (!keep)
        unlink(path);
    good = plain[0].bytes_per_zone <= 4.0 && plain[1].bytes_per_zone <= 5.0;
    if (json) {
        printf("{\"benchmark\":\"file_size\",\"zones\":%zu", zones);
        for (size_t i = 0; i < 2; i++)
            printf(",\"%s_bytes_per_zone\":%.3f,\"%s_with_args_bytes_per_zone\":%.3f"
                   ",\"%s_bytes_per_attribute\":%.3f,\"%s_append_ns_per_zone\":%.2f"
                   ",\"%s_encode_ns_per_zone\":%.2f,\"%s_with_args_encode_ns_per_zone\":%.2f"
                   ",\"%s_decode_mzones_per_s\":%.1f",
                   names[i], plain[i].bytes_per_zone, names[i], with_args[i].bytes_per_zone,
                   names[i], with_args[i].bytes_per_attribute, names[i], plain[i].append_ns,
                   names[i], plain[i].encode_ns, names[i], with_args[i].encode_ns, names[i],
                   plain[i].decode_mzones_s);
        printf(",\"tight_loop_ns_per_zone\":%.2f,\"bars_met\":%s}\n", tight,
               good ? "true" : "false");
    } else {
        printf("%-10s %10s %10s %12s %10s %10s %14s %12s\n", "mix", "B/zone", "with args",
               "B/attribute", "append ns", "encode ns", "with args ns", "decode Mz/s");
        for (size_t i = 0; i < 2; i++)
            printf("%-10s %10.3f %10.3f %12.3f %10.2f %10.2f %14.2f %12.1f\n", names[i],
                   plain[i].bytes_per_zone, with_args[i].bytes_per_zone,
                   with_args[i].bytes_per_attribute, plain[i].append_ns, plain[i].encode_ns,
                   with_args[i].encode_ns, plain[i].decode_mzones_s);
        printf("tight loop of one location: %.2f ns per zone, all included\n", tight);
        printf("bars (<= 4.0 and <= 5.0 B/zone): %s\n", good ? "met" : "MISSED");
    }
    return good ? 0 : 1;
}
