// SPDX-License-Identifier: Apache-2.0
/*
 * How large a trace is and how fast it is written and read.
 *
 * The load is that of synthetic.h: the realistic mix has its operators in a fixed order, as in a
 * model; the random mix in any. The `with_args` variants give each operator zone an unsigned
 * attribute. Everything goes through the real writer and the real reader, and what comes back is
 * compared.
 *
 * usage: file_size [--json] [--zones N] [--dir DIRECTORY] [--keep]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

#include "synthetic.h"

#define BATCH 16000u /* zones timed at once when only the appending is measured */

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
    struct thread_load threads[SYNTHETIC_THREADS];
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

static void keep_zone(void *user, uint64_t start, uint64_t end, uint32_t location)
{
    struct thread_load *thread = user;

    thread->items[thread->count++] = (struct item){ start, end - start, location, false };
    thread->checksum = mix(thread->checksum, start, end - start, location);
    thread->zones++;
}

static void keep_value(void *user, uint64_t start, uint32_t location, uint64_t value)
{
    struct thread_load *thread = user;

    thread->items[thread->count++] = (struct item){ start, value, location, true };
}

static void generate(struct load *load, size_t zones, bool random_order)
{
    memset(load, 0, sizeof *load);
    for (uint32_t i = 0; i < SYNTHETIC_THREADS; i++) {
        struct thread_load *thread = &load->threads[i];

        thread->items = calloc(zones / SYNTHETIC_THREADS * 2 + 4096, sizeof *thread->items);
        if (!thread->items)
            die("memory", NULL);
        synthetic_thread(i, zones / SYNTHETIC_THREADS, random_order, keep_zone, keep_value, thread);
        load->zones += thread->zones;
        load->attributes += thread->count - thread->zones;
    }
}

static void load_free(struct load *load)
{
    for (size_t i = 0; i < SYNTHETIC_THREADS; i++)
        free(load->threads[i].items);
}

static struct trace_writer *create(const char *path)
{
    struct trace_writer *writer;
    struct ifg_error err = { 0 };

    if (trace_writer_create(path, true, &writer, &err))
        die("create", &err);
    for (uint32_t i = 0; i < SYNTHETIC_THREADS; i++)
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

    for (uint32_t t = 0; t < SYNTHETIC_THREADS; t++) {
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
    uint64_t checksums[SYNTHETIC_THREADS] = { 0 };
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
    for (size_t i = 0; i < SYNTHETIC_THREADS; i++)
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
    for (uint32_t t = 0; t < SYNTHETIC_THREADS; t++) {
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
