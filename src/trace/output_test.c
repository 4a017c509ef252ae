// SPDX-License-Identifier: Apache-2.0
/* Outputs and inputs of a trace: a memory holds what a file would, also when it is full, and the
 * writer copes with whatever an output does. */
#include "trace/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "tap.h"
#include "trace/fixture.h"
#include "trace/follow.h"
#include "trace/writer_internal.h"

#define PLENTY (UINT64_C(1) << 30)

static struct trace_memory *make_memory(uint64_t limit)
{
    struct trace_memory *memory = NULL;

    REQUIRE_INT(trace_memory_create("memory", limit, &memory, NULL), IFG_OK);
    return memory;
}

static struct trace_output *output_on(struct trace_memory *memory)
{
    struct trace_output *output = NULL;

    REQUIRE_INT(trace_output_memory(memory, &output, NULL), IFG_OK);
    return output;
}

static struct trace_writer *writer_on(struct trace_output *output)
{
    const struct trace_identity identity = { .created_realtime_ns = FIXTURE_CREATED };
    struct trace_writer *writer = NULL;

    REQUIRE_INT(trace_writer_create_as(output, &identity, &writer, NULL), IFG_OK);
    return writer;
}

static void save(const struct trace_memory *memory, const char *path)
{
    struct ifg_error err = { 0 };

    if (trace_memory_save(memory, path, false, 0600, &err))
        tap_diag("%s", err.message);
    REQUIRE(access(path, F_OK) == 0);
}

static void check_same_bytes(const char *left, const char *right)
{
    size_t left_size = 0;
    size_t right_size = 0;
    uint8_t *left_data = fixture_read(left, &left_size);
    uint8_t *right_data = fixture_read(right, &right_size);

    REQUIRE(left_data && right_data);
    CHECK(left_size > 0);
    CHECK_UINT(left_size, right_size);
    CHECK(left_size == right_size && memcmp(left_data, right_data, left_size) == 0);
    ifg_free(left_data);
    ifg_free(right_data);
}

static const char *name_file(char path[300], const char *end)
{
    snprintf(path, 300, "%s%s", fixture_path(), end);
    return path;
}

/* One of everything that the writer can write. */
static void memory_is_byte_equal_to_a_file(void)
{
    struct trace_memory *memory = make_memory(PLENTY);
    char saved[300], written[300];

    REQUIRE_INT(fixture_write(name_file(written, "-file"), NULL), IFG_OK);
    for (int again = 0; again < 2; again++) { /* the second trace takes the place of the first */
        REQUIRE_INT(fixture_write_on(output_on(memory), NULL), IFG_OK);
        save(memory, name_file(saved, "-memory"));
        check_same_bytes(saved, written);
        CHECK_UINT(trace_memory_lost(memory), 0);
        unlink(saved);
    }
    unlink(written);
    trace_memory_destroy(memory);
}

/* Blocks of every stream kind, many of them; the same calls give the same bytes. */
static void write_much(struct trace_writer *writer, uint64_t rounds, bool close)
{
    struct trace_stream *streams[3];
    const struct trace_clock_pair ends[] = { { 0, 1000, 5000 },
                                             { 1000000000, 1000001000, 1000005000 } };

    trace_writer_clock(writer, 0, TRACE_CLOCK_MONOTONIC, 1000000000, "ns");
    trace_writer_process(writer, &(struct trace_process){ .pid = 1, .program = "demo" });
    for (uint32_t i = 0; i < 3; i++) {
        trace_writer_thread(writer, i, 0, i + 1, "worker");
        streams[i] = trace_stream_create(writer, i);
        REQUIRE(streams[i] != NULL);
    }
    trace_writer_location(writer, &(struct trace_location){ .id = 1, .name = "work" });
    trace_writer_clock_pairs(writer, 0, ends, 2);
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < 3; i++) {
            for (uint64_t zone = 0; zone < 100; zone++)
                trace_stream_zone(streams[i], round * 10000 + zone * 100,
                                  (zone * 2654435761u + round * 40503u) % 99, 1);
            trace_stream_event(streams[i], TRACE_EVENT_MESSAGE, round * 10000, 2, "hello", 5);
            trace_stream_flush(streams[i], NULL, 0, 0);
        }
        if (round % 10 == 5) {
            char name[32];

            snprintf(name, sizeof name, "fact %llu", (unsigned long long)round);
            trace_writer_fact(writer, name, "so it is");
            trace_writer_flush_definitions(writer);
        }
    }
    if (close)
        REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
}

static void a_trace_that_goes_on_is_saved_as_if_it_ended_here(void)
{
    struct trace_memory *memory = make_memory(PLENTY);
    struct trace_writer *writer = writer_on(output_on(memory));
    struct trace_output *file;
    char saved[300], written[300];

    write_much(writer, 40, false);
    save(memory, name_file(saved, "-memory"));
    REQUIRE_INT(trace_output_file(name_file(written, "-file"), false, 0, &file, NULL), IFG_OK);
    write_much(writer_on(file), 40, true);
    check_same_bytes(saved, written);
    unlink(saved);
    /* It was not harmed by that. */
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    save(memory, saved);
    check_same_bytes(saved, written);
    unlink(saved);
    unlink(written);
    trace_memory_destroy(memory);
}

struct content {
    size_t zones;
    uint64_t first; /* start of the earliest */
    uint64_t last;
};

static struct content read_content(const struct trace_reader *reader)
{
    struct content content = { .first = UINT64_MAX };
    struct trace_zones zones = { 0 };

    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        if (trace_reader_block(reader, i)->type != TRACE_BLOCK_ZONES)
            continue;
        REQUIRE_INT(trace_decode_zones(reader, i, &zones, NULL), IFG_OK);
        content.zones += zones.count;
        for (size_t zone = 0; zone < zones.count; zone++) {
            if (zones.starts[zone] < content.first)
                content.first = zones.starts[zone];
            if (zones.starts[zone] > content.last)
                content.last = zones.starts[zone];
        }
    }
    trace_zones_fini(&zones);
    return content;
}

/* Whatever is saved of a full memory is a whole trace with the latest of it, and says what went. */
static void check_full(struct trace_memory *memory, uint64_t rounds, bool finished)
{
    struct trace_reader *reader = NULL;
    const struct trace_tables *tables;
    struct content content;
    uint64_t blocks = 0;
    char saved[300];

    save(memory, name_file(saved, "-full"));
    REQUIRE_INT(trace_reader_open(saved, &reader, NULL), IFG_OK);
    tables = trace_reader_tables(reader);
    CHECK(trace_reader_file(reader)->finished);
    CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
    CHECK_UINT(tables->thread_count, 3);
    CHECK_UINT(tables->location_count, 1);
    CHECK_UINT(tables->fact_count, rounds / 10);
    REQUIRE(tables->loss_count == 1);
    CHECK_UINT(tables->losses[0].count, trace_memory_lost(memory));
    content = read_content(reader);
    CHECK(content.zones > 0);
    CHECK(content.zones < rounds * 300);
    CHECK(content.first > 0);
    CHECK_UINT(content.last, (rounds - 1) * 10000 + 9900);
    CHECK_UINT(trace_clock_to_ns(reader, 0, 500), 1500);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++)
        blocks += trace_reader_block(reader, i)->type == TRACE_BLOCK_ZONES;
    CHECK_UINT(content.zones, blocks * 100);
    trace_reader_close(reader);
    /* The index is right: without its end the file is found to be the same by scanning. */
    if (finished) {
        size_t size;
        uint8_t *data = fixture_read(saved, &size);

        REQUIRE(data != NULL);
        REQUIRE_INT(trace_reader_open_memory(data, size - 1, saved, &reader, NULL), IFG_OK);
        CHECK(!trace_reader_file(reader)->finished);
        CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
        CHECK_UINT(read_content(reader).zones, content.zones);
        trace_reader_close(reader);
        ifg_free(data);
    }
    unlink(saved);
}

static void the_oldest_makes_room(void)
{
    enum { LIMIT = 100000, ROUNDS = 1000 };
    struct trace_memory *memory = make_memory(LIMIT);
    struct trace_writer *writer = writer_on(output_on(memory));

    write_much(writer, ROUNDS, false);
    CHECK(trace_memory_lost(memory) > 1000);
    CHECK(trace_memory_bytes(memory) <= LIMIT);
    CHECK(trace_memory_bytes(memory) > LIMIT / 2);
    check_full(memory, ROUNDS, false);
    /* The footer of so many blocks is large, and makes room for itself. */
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    CHECK(trace_memory_bytes(memory) <= LIMIT);
    check_full(memory, ROUNDS, true);
    trace_memory_destroy(memory);
}

/* Blocks of zones with losses and readings of a clock, as a recording makes them: one after the
 * other for `rounds`, each aged by what came `keep` rounds before. */
static uint64_t age_rounds(struct trace_writer *writer, struct trace_memory *memory,
                           uint64_t rounds, uint64_t keep)
{
    struct trace_stream *stream;
    uint64_t *written_ns = ifg_alloc(rounds, sizeof *written_ns);
    uint64_t most = 0;

    REQUIRE(written_ns != NULL);
    trace_writer_clock(writer, 0, TRACE_CLOCK_TSC, 0, "TSC");
    trace_writer_process(writer, &(struct trace_process){ .pid = 1, .program = "demo" });
    trace_writer_thread(writer, 0, 0, 1, "worker");
    trace_writer_location(writer, &(struct trace_location){ .id = 1, .name = "work" });
    stream = trace_stream_create(writer, 0);
    for (uint64_t round = 0; round < rounds; round++) {
        const struct trace_clock_pair pair = { round * 2000, round * 1000, round * 1000 };

        trace_writer_clock_pairs(writer, 0, &pair, 1);
        written_ns[round] = ifg_monotonic_ns();
        trace_stream_set_dropped(stream, round);
        trace_stream_zone(stream, round * 2000, 1000, 1);
        trace_stream_flush(stream, NULL, 0, 0);
        if (round >= keep)
            trace_memory_age(memory, written_ns[round - keep]);
        if (trace_memory_bytes(memory) > most)
            most = trace_memory_bytes(memory);
    }
    ifg_free(written_ns);
    return most;
}

/* What is old goes, and the readings of clocks with it; what is left is a trace of its own, whose
 * losses are its own as well. */
static void what_is_old_goes(void)
{
    enum { ROUNDS = 5000, KEEP = 100 };
    struct trace_memory *memory = make_memory(PLENTY);
    struct trace_writer *writer = writer_on(output_on(memory));
    struct trace_reader *reader = NULL;
    struct content content;
    char saved[300];

    trace_writer_keep_no_index(writer);
    CHECK_UINT(trace_memory_kept_since(memory), 0);
    age_rounds(writer, memory, ROUNDS, KEEP);
    CHECK_UINT(trace_memory_lost(memory), ROUNDS - KEEP - 1);
    CHECK(trace_memory_fixed_bytes(memory) > 0 && trace_memory_fixed_bytes(memory) < 1000);
    CHECK(trace_memory_kept_since(memory) > 0 && trace_memory_kept_since(memory) < UINT64_MAX);
    for (int finished = 0; finished < 2; finished++) {
        save(memory, name_file(saved, "-aged"));
        REQUIRE_INT(trace_reader_open(saved, &reader, NULL), IFG_OK);
        CHECK(trace_reader_file(reader)->finished);
        CHECK_UINT(trace_reader_file(reader)->damaged_blocks, 0);
        content = read_content(reader);
        CHECK_UINT(content.zones, KEEP + 1);
        CHECK_UINT(content.first, (ROUNDS - KEEP - 1) * 2000);
        CHECK_UINT(trace_clock_to_ns(reader, 0, content.first), (ROUNDS - KEEP - 1) * 1000);
        for (size_t i = 0; i < trace_reader_block_count(reader); i++)
            if (trace_reader_block(reader, i)->type == TRACE_BLOCK_ZONES)
                CHECK(trace_reader_block(reader, i)->dropped <= KEEP + 1);
        trace_reader_close(reader);
        unlink(saved);
        if (!finished)
            REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    }
    /* Nothing at all is young enough: a trace of definitions. */
    trace_memory_age(memory, UINT64_MAX);
    CHECK_UINT(trace_memory_kept_since(memory), UINT64_MAX);
    save(memory, name_file(saved, "-aged"));
    REQUIRE_INT(trace_reader_open(saved, &reader, NULL), IFG_OK);
    CHECK_UINT(trace_reader_tables(reader)->thread_count, 1);
    CHECK_UINT(read_content(reader).zones, 0);
    trace_reader_close(reader);
    unlink(saved);
    trace_memory_destroy(memory);
}

/* However long it goes on: no more is held than at first. */
static void a_trace_that_goes_on_does_not_grow(void)
{
    uint64_t most[2];

    for (int longer = 0; longer < 2; longer++) {
        struct trace_memory *memory = make_memory(PLENTY);
        struct trace_writer *writer = writer_on(output_on(memory));

        trace_writer_keep_no_index(writer);
        most[longer] = age_rounds(writer, memory, longer ? 40000 : 4000, 100);
        REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
        trace_memory_destroy(memory);
    }
    CHECK(most[1] < 2 * most[0]);
}

/* Every limit: it is never exceeded, and what is there can be read. */
static void small_memories(void)
{
    for (uint64_t limit = 0; limit < 9000; limit += limit < 300 ? 7 : 101) {
        struct trace_memory *memory = make_memory(limit);
        struct trace_writer *writer = NULL;
        struct trace_reader *reader = NULL;
        struct ifg_error err = { 0 };
        enum ifg_status status;
        char saved[300];

        status = trace_writer_create_on(output_on(memory), &writer, &err);
        if (limit < TRACE_FILE_HEADER_BYTES + TRACE_MEMORY_EACH) {
            CHECK_INT(status, IFG_IO);
            CHECK_INT(err.saved_errno, ENOSPC);
            CHECK_INT(trace_memory_save(memory, name_file(saved, ""), false, 0, &err), IFG_INVALID);
            CHECK(access(saved, F_OK) < 0);
            trace_memory_destroy(memory);
            continue;
        }
        REQUIRE_INT(status, IFG_OK);
        write_much(writer, 20, false);
        status = trace_writer_close(writer, &err);
        CHECK(trace_memory_bytes(memory) <= limit);
        if (status) {
            CHECK_INT(err.saved_errno, ENOSPC);
            CHECK_CONTAINS(err.message, "memory: cannot write more after ");
        }
        save(memory, name_file(saved, ""));
        REQUIRE_INT(trace_reader_open(saved, &reader, NULL), IFG_OK);
        CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
        trace_reader_close(reader);
        unlink(saved);
        trace_memory_destroy(memory);
    }
}

/* ---- following ---- */

struct sum {
    size_t zones;
    size_t restarts;
    bool finished;
};

static void take(struct trace_follow *follow, struct sum *sum)
{
    struct trace_news news;

    do {
        REQUIRE_INT(trace_follow_next(follow, &news, NULL), IFG_OK);
        sum->zones += news.kind == TRACE_NEWS_ZONES ? news.zones->count : 0;
        sum->restarts += news.kind == TRACE_NEWS_RESTARTED;
        sum->finished |= news.kind == TRACE_NEWS_FINISHED;
    } while (news.kind != TRACE_NEWS_NONE);
}

static struct trace_follow *follow_memory(struct trace_memory *memory)
{
    struct trace_follow *follow = NULL;
    struct trace_input *input = NULL;

    REQUIRE_INT(trace_input_memory(memory, &input, NULL), IFG_OK);
    REQUIRE_INT(trace_follow_open_input(input, &follow, NULL), IFG_OK);
    return follow;
}

static void a_memory_is_followed(void)
{
    struct trace_memory *memory = make_memory(PLENTY);
    struct trace_follow *follow = follow_memory(memory);
    struct sum sum = { 0 };
    struct trace_writer *writer;

    take(follow, &sum);
    CHECK(!trace_follow_info(follow)->opened);
    CHECK(!trace_follow_is_abandoned(follow));
    writer = writer_on(output_on(memory));
    write_much(writer, 10, false);
    take(follow, &sum);
    CHECK_UINT(sum.zones, 3000);
    CHECK(!sum.finished && !trace_follow_is_abandoned(follow));
    CHECK_UINT(trace_follow_ns(follow, 1, 77), 1077);
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    take(follow, &sum);
    CHECK(sum.finished && trace_follow_is_abandoned(follow));
    CHECK_UINT(trace_follow_info(follow)->damaged, 0);
    /* Another trace in the same memory. */
    write_much(writer_on(output_on(memory)), 10, true);
    take(follow, &sum);
    CHECK_UINT(sum.restarts, 1);
    CHECK_UINT(sum.zones, 6000);
    trace_follow_close(follow);
    trace_memory_destroy(memory);
}

/* Whoever is too slow steps over what has made room, and knows how much that was. */
static void a_slow_follower_misses_what_made_room(void)
{
    struct trace_memory *memory = make_memory(50000);
    struct trace_follow *follow = follow_memory(memory);
    struct trace_writer *writer = writer_on(output_on(memory));
    struct sum sum = { 0 };

    take(follow, &sum);
    write_much(writer, 1000, false);
    take(follow, &sum);
    CHECK(sum.zones > 0 && sum.zones < 300000);
    CHECK_UINT(trace_follow_info(follow)->damaged, trace_memory_lost(memory));
    CHECK_UINT(trace_follow_info(follow)->read_to, trace_writer_bytes(writer));
    CHECK_UINT(trace_follow_tables(follow)->thread_count, 3);
    REQUIRE_INT(trace_writer_close(writer, NULL), IFG_OK);
    trace_follow_close(follow);
    trace_memory_destroy(memory);
}

/* ---- outputs that fail ---- */

struct fault {
    size_t most;      /* bytes that a call takes; 0: all */
    unsigned signals; /* every so many calls are interrupted; 0: none */
    uint64_t room;    /* then: */
    int error;        /* 0: a write of no bytes */
    int close_error;
    unsigned removed;
    unsigned closed;
    unsigned calls;
    struct ifg_bytes bytes; /* what has arrived */
};

struct faulty_output {
    struct trace_output output;
    struct fault *fault;
};

static ssize_t faulty_write(struct trace_output *output, const void *data, size_t size)
{
    struct fault *fault = ((struct faulty_output *)output)->fault;

    fault->calls++;
    if (fault->signals && fault->calls % fault->signals == 0) {
        errno = EINTR;
        return -1;
    }
    if (fault->most && size > fault->most)
        size = fault->most;
    if (size > fault->room - fault->bytes.size)
        size = fault->room - fault->bytes.size;
    if (size == 0) {
        errno = fault->error;
        return fault->error ? -1 : 0;
    }
    ifg_bytes_put(&fault->bytes, data, size);
    return (ssize_t)size;
}

static void faulty_cut(struct trace_output *output, uint64_t bytes)
{
    ((struct faulty_output *)output)->fault->bytes.size = bytes;
}

static void faulty_remove(struct trace_output *output)
{
    ((struct faulty_output *)output)->fault->removed++;
}

static int faulty_close(struct trace_output *output)
{
    struct fault *fault = ((struct faulty_output *)output)->fault;

    fault->closed++;
    errno = fault->close_error;
    return fault->close_error ? -1 : 0;
}

static struct trace_output *faulty_output(struct fault *fault)
{
    static const struct trace_output_functions functions = {
        .write = faulty_write, .cut = faulty_cut, .remove = faulty_remove, .close = faulty_close
    };
    struct faulty_output *own = ifg_alloc(1, sizeof *own);

    REQUIRE(own != NULL);
    own->output.functions = &functions;
    own->output.name = ifg_strdup("far away");
    own->fault = fault;
    ifg_bytes_init(&fault->bytes, 1u << 20);
    return &own->output;
}

static void short_and_interrupted_writes_change_nothing(void)
{
    size_t size;
    uint8_t *expected = fixture_bytes(&size);

    REQUIRE(expected != NULL);
    for (size_t most = 1; most < 400; most += 13) {
        struct fault fault = { .most = most, .signals = 3, .room = PLENTY };

        REQUIRE_INT(fixture_write_on(faulty_output(&fault), NULL), IFG_OK);
        CHECK_UINT(fault.bytes.size, size);
        CHECK(fault.bytes.size == size && memcmp(fault.bytes.data, expected, size) == 0);
        CHECK_UINT(fault.closed, 1);
        CHECK_UINT(fault.removed, 0);
        ifg_bytes_fini(&fault.bytes);
    }
    ifg_free(expected);
}

static void whatever_fails_leaves_whole_blocks(void)
{
    static const int errors[] = { ENOSPC, EIO, EPIPE, 0 };

    for (uint64_t room = 0; room < 1800; room += 23) {
        int error = errors[room % 4];
        struct fault fault = { .most = 100, .room = room, .error = error };
        struct trace_reader *reader = NULL;
        struct ifg_error err = { 0 };
        char expected[128];

        REQUIRE(fixture_write_on(faulty_output(&fault), &err) != IFG_OK);
        CHECK_INT(err.saved_errno, error ? error : ENOSPC);
        CHECK_UINT(fault.closed, 1);
        CHECK_UINT(fault.removed, room < TRACE_FILE_HEADER_BYTES);
        if (room < TRACE_FILE_HEADER_BYTES) {
            CHECK_CONTAINS(err.message, "cannot write to far away: ");
        } else {
            snprintf(expected, sizeof expected,
                     "far away: cannot write more after %zu bytes (what is there can be read): ",
                     fault.bytes.size);
            CHECK_CONTAINS(err.message, expected);
            REQUIRE_INT(
                trace_reader_open_memory(fault.bytes.data, fault.bytes.size, "it", &reader, NULL),
                IFG_OK);
            CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
            trace_reader_close(reader);
        }
        ifg_bytes_fini(&fault.bytes);
    }
}

static void a_close_that_fails_is_told(void)
{
    struct fault fault = { .room = PLENTY, .close_error = EDQUOT };
    struct ifg_error err = { 0 };

    CHECK_INT(fixture_write_on(faulty_output(&fault), &err), IFG_IO);
    CHECK_INT(err.saved_errno, EDQUOT);
    CHECK_CONTAINS(err.message, "far away: cannot close the file: ");
    ifg_bytes_fini(&fault.bytes);
}

static void saving_to_a_full_disk(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct trace_memory *memory = make_memory(PLENTY);

    REQUIRE(sigaction(SIGXFSZ, &ignore, NULL) == 0);
    write_much(writer_on(output_on(memory)), 20, true);
    for (rlim_t limit = 0; limit < trace_memory_bytes(memory); limit += limit < 200 ? 13 : 401) {
        struct rlimit small = { limit, RLIM_INFINITY };
        struct trace_reader *reader = NULL;
        struct ifg_error err = { 0 };
        char path[300];

        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
        CHECK_INT(trace_memory_save(memory, name_file(path, ""), false, 0, &err), IFG_IO);
        CHECK_CONTAINS(err.message, path);
        if (limit < TRACE_FILE_HEADER_BYTES) {
            CHECK(access(path, F_OK) < 0);
            continue;
        }
        REQUIRE_INT(trace_reader_open(path, &reader, NULL), IFG_OK);
        CHECK_UINT(trace_reader_file(reader)->skipped_bytes, 0);
        trace_reader_close(reader);
        unlink(path);
    }
    trace_memory_destroy(memory);
}

/* Every allocation fails once: no crash, nothing leaks (the sanitizer looks). */
static void allocation_failures(void)
{
    for (long n = 0; n < 300; n++) {
        struct trace_memory *memory = NULL;
        struct trace_output *output = NULL;
        struct trace_input *input = NULL;
        struct trace_follow *follow = NULL;
        struct sum sum = { 0 };
        char path[300];

        name_file(path, "");
        ifg_alloc_fail_after(n);
        if (trace_memory_create("memory", 1500, &memory, NULL) == IFG_OK &&
            trace_output_memory(memory, &output, NULL) == IFG_OK &&
            fixture_write_on(output, NULL) == IFG_OK &&
            trace_memory_save(memory, path, false, 0, NULL) == IFG_OK &&
            trace_input_memory(memory, &input, NULL) == IFG_OK &&
            trace_follow_open_input(input, &follow, NULL) == IFG_OK) {
            ifg_alloc_fail_after(-1);
            take(follow, &sum);
        }
        ifg_alloc_fail_after(-1);
        trace_follow_close(follow);
        trace_memory_destroy(memory);
        unlink(path);
    }
}

static void one_output_at_a_time(void)
{
    struct trace_memory *memory = make_memory(PLENTY);
    struct trace_output *output = output_on(memory);
    struct trace_output *other = NULL;
    struct ifg_error err = { 0 };

    CHECK_INT(trace_output_memory(memory, &other, &err), IFG_BUSY);
    CHECK(other == NULL);
    CHECK_INT(trace_output_close(output, NULL), IFG_OK);
    CHECK_INT(trace_output_close(NULL, NULL), IFG_OK);
    trace_input_close(NULL);
    CHECK_INT(trace_memory_copy(memory, NULL, &err), IFG_INVALID);
    trace_memory_destroy(memory);
    trace_memory_destroy(NULL);
}

TAP_MAIN(TAP_CASE(memory_is_byte_equal_to_a_file),
         TAP_CASE(a_trace_that_goes_on_is_saved_as_if_it_ended_here),
         TAP_CASE(the_oldest_makes_room), TAP_CASE(what_is_old_goes),
         TAP_CASE(a_trace_that_goes_on_does_not_grow), TAP_CASE(small_memories),
         TAP_CASE(a_memory_is_followed), TAP_CASE(a_slow_follower_misses_what_made_room),
         TAP_CASE(short_and_interrupted_writes_change_nothing),
         TAP_CASE(whatever_fails_leaves_whole_blocks), TAP_CASE(a_close_that_fails_is_told),
         TAP_CASE(saving_to_a_full_disk), TAP_CASE(allocation_failures),
         TAP_CASE(one_output_at_a_time))
