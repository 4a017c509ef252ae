// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: files of any content as input data: arrays with dictionaries, shapes and texts
 * of any kind, and archives whose tables point anywhere, for models that take one input of each
 * type or several. Reading must end, stay inside its buffers, and give either tensors with as many
 * bytes as their shapes say or a sentence.
 */
#include "bench/inputs/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tensor *tensor)
{
    size_t ends = 0;
    uint64_t count;

    if (!tensor_elements(tensor->dims, tensor->rank, &count) || !tensor->data)
        abort();
    for (size_t i = 0; i < tensor->bytes; i++)
        ends += tensor->data[i] == 0; /* also reads all of it */
    if (tensor->type == IFG_BENCH_STRING
            ? ends != count || (count && tensor->data[tensor->bytes - 1] != 0)
            : tensor->bytes != count * tensor_type_bytes(tensor->type))
        abort();
}

static void load(struct port *ports, size_t count, const char *path)
{
    struct port_list list = { ports, count };
    struct inputs_options options = { .data_path = path };
    struct input_sets sets;
    struct ifg_error err = { .status = IFG_OK };
    enum ifg_status status = inputs_make(&list, &options, &sets, &err);

    if (status == IFG_OK) {
        for (size_t i = 0; i < sets.sets[0].count; i++)
            check(&sets.sets[0].items[i]);
        if (sets.count != 1 || !sets.summary[0] || strlen(sets.summary) >= sizeof sets.summary)
            abort();
    } else if (!err.message[0] || sets.count) {
        abort();
    }
    inputs_fini(&sets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int32_t types[] = { IFG_BENCH_FLOAT,  IFG_BENCH_STRING,   IFG_BENCH_INT64,
                                     IFG_BENCH_BOOL,   IFG_BENCH_BFLOAT16, IFG_BENCH_FLOAT16,
                                     IFG_BENCH_DOUBLE, IFG_BENCH_UINT8 };
    struct port ports[] = {
        { .name = (char *)"x", .type = IFG_BENCH_FLOAT, .rank = 2, .dims = { -1, -1 } },
        { .name = (char *)"words", .type = IFG_BENCH_STRING, .rank = 1, .dims = { -1 } },
        { .name = (char *)"rate", .type = IFG_BENCH_INT64 },
    };
    static int fd = -1;
    char path[64];

    if (fd < 0)
        fd = memfd_create("data", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (size >= 2 && memcmp(data, "PK", 2) == 0) {
        load(ports, 3, path);
        load(ports, 1, path);
        load(ports + 1, 1, path);
        return 0;
    }
    ports[2].name = (char *)"any"; /* no rank: every shape fits */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ports[2].type = types[i];
        load(ports + 2, 1, path);
    }
    return 0;
}
