// SPDX-License-Identifier: Apache-2.0
/* Inputs of inferences: written, read back, cut, and forged. */
#include "trace/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"
#include "trace/fixture.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define PARTS 3u

static char path[64];

static struct trace_writer *begin(void)
{
    struct trace_writer *writer = NULL;
    int fd;

    snprintf(path, sizeof path, "/tmp/inputs_test_XXXXXX");
    fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(trace_writer_create(path, true, &writer, NULL) == IFG_OK);
    return writer;
}

static struct trace_reader *reopen(struct trace_writer *writer)
{
    struct trace_reader *reader = NULL;

    REQUIRE(trace_writer_close(writer, NULL) == IFG_OK);
    REQUIRE(trace_reader_open(path, &reader, NULL) == IFG_OK);
    unlink(path);
    return reader;
}

struct sums {
    uint64_t bytes[4];
    uint64_t sum;
    size_t fail_at; /* calls until take refuses; 0: never */
};

static enum ifg_status take(size_t tensor, const void *data, size_t bytes, void *user,
                            struct ifg_error *err)
{
    struct sums *sums = user;

    if (sums->fail_at && --sums->fail_at == 0)
        return ifg_fail(err, IFG_IO, "enough");
    sums->bytes[tensor] += bytes;
    for (size_t i = 0; i < bytes; i++)
        sums->sum += ((const uint8_t *)data)[i];
    return IFG_OK;
}

/* Larger than a block. */
static void large(void)
{
    const struct trace_input_tensor tensor = { .name = "x",
                                               .type = 2,
                                               .rank = 1,
                                               .dims = { PARTS * TRACE_INPUTS_PART },
                                               .bytes = PARTS * TRACE_INPUTS_PART };
    struct trace_writer *writer = begin();
    uint8_t *data = ifg_alloc(TRACE_INPUTS_PART, 1);
    struct trace_input_list list;
    struct trace_reader *reader;
    struct sums sums = { 0 };
    uint64_t expected = 0;

    for (uint32_t i = 0; i < TRACE_INPUTS_PART; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 24);
    for (uint32_t part = 0; part < PARTS; part++)
        trace_writer_input_bytes(writer, 7, 0, part * (uint64_t)TRACE_INPUTS_PART, data,
                                 TRACE_INPUTS_PART);
    for (uint32_t i = 0; i < TRACE_INPUTS_PART; i++)
        expected += PARTS * data[i];
    trace_writer_inputs(
        writer, &(struct trace_inputs){ .number = 7, .tensors = &tensor, .tensor_count = 1 });
    reader = reopen(writer);
    REQUIRE(trace_inputs_read(reader, &list, NULL) == IFG_OK);
    REQUIRE_UINT(list.count, 1);
    CHECK_UINT(list.items[0].number, 7);
    REQUIRE(trace_inputs_each_part(reader, &list.items[0], take, &sums, NULL) == IFG_OK);
    CHECK_UINT(sums.bytes[0], tensor.bytes);
    CHECK_UINT(sums.sum, expected);
    sums.fail_at = 2;
    CHECK_INT(trace_inputs_each_part(reader, &list.items[0], take, &sums, NULL), IFG_IO);
    trace_inputs_fini(&list);
    trace_reader_close(reader);
    ifg_free(data);
}

/* One part of two is missing; a part lies beyond the end; one comes twice; a number, too. */
static void incomplete(void)
{
    static const uint8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const struct {
        uint64_t first, second;
        size_t bytes;
    } rows[] = { { 0, SIZE_MAX, 4 }, { 4, SIZE_MAX, 4 }, { 0, 5, 4 }, { 0, 0, 4 }, { 0, 4, 8 } };
    const struct trace_input_tensor tensor = { .name = "x", .type = 2, .bytes = 8 };
    struct trace_writer *writer = begin();
    struct trace_input_list list;
    struct trace_reader *reader;

    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        trace_writer_input_bytes(writer, i, 0, rows[i].first, data, 4);
        if (rows[i].second != SIZE_MAX)
            trace_writer_input_bytes(writer, i, 0, rows[i].second, data, rows[i].bytes);
        trace_writer_inputs(
            writer, &(struct trace_inputs){ .number = i, .tensors = &tensor, .tensor_count = 1 });
    }
    trace_writer_inputs(
        writer, &(struct trace_inputs){ .number = 0, .tensors = &tensor, .tensor_count = 1 });
    reader = reopen(writer);
    REQUIRE(trace_inputs_read(reader, &list, NULL) == IFG_OK);
    CHECK_UINT(list.count, sizeof rows / sizeof rows[0]);
    CHECK_UINT(list.damaged, 1);
    for (size_t i = 0; i < list.count; i++) {
        struct sums sums = { 0 };

        CHECK_INT(trace_inputs_each_part(reader, &list.items[i], take, &sums, NULL), IFG_CORRUPT);
    }
    trace_inputs_fini(&list);
    trace_reader_close(reader);
}

/* More dimensions, tensors and bytes than there can be. */
static void beyond_limits(void)
{
    static const uint8_t tensors[] = { 0, 0, 1, 1, 0, 0x81, 0x80, 1 }; /* 16385 tensors */
    static const uint8_t rank[] = { 0, 0, 1, 1, 0, 1, 1, 17 };         /* 17 dimensions */
    static const uint8_t cut[] = { 0, 0, 1, 1, 0, 2, 1, 0, 0 };        /* one of two tensors */
    static const struct {
        const uint8_t *data;
        size_t size;
    } rows[] = { { tensors, sizeof tensors }, { rank, sizeof rank }, { cut, sizeof cut } };
    static const uint8_t names[] = { 1, 'x', 1, 'y' };
    struct trace_reader *reader = NULL;
    struct trace_input_list list;
    struct forge forge;

    REQUIRE(fixture_forge_init(&forge));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        REQUIRE(fixture_forge_block(
            &forge,
            (struct trace_block_head){
                .type = TRACE_BLOCK_INPUTS, .stream = (uint32_t)i, .count = 1 },
            (struct trace_column[]){ { rows[i].data, rows[i].size }, { names, sizeof names } }, 2));
    REQUIRE(trace_reader_open_memory(forge.file.data, forge.file.size, "forged", &reader, NULL) ==
            IFG_OK);
    REQUIRE(trace_inputs_read(reader, &list, NULL) == IFG_OK);
    CHECK_UINT(list.count, 0);
    CHECK_UINT(list.damaged, 3);
    trace_inputs_fini(&list);
    trace_reader_close(reader);
    fixture_forge_fini(&forge);
}

static void none(void)
{
    struct trace_reader *reader = reopen(begin());
    struct trace_input_list list;

    REQUIRE(trace_inputs_read(reader, &list, NULL) == IFG_OK);
    CHECK_UINT(list.count, 0);
    trace_inputs_fini(&list);
    trace_reader_close(reader);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        TAP_CASE(large),
        TAP_CASE(incomplete),
        TAP_CASE(beyond_limits),
        TAP_CASE(none),
    };

    return tap_run(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
