// SPDX-License-Identifier: Apache-2.0
/*
 * Records that no kernel makes. Strategies:
 *
 * 1. The input is one record; its size is set to that of the input.
 * 2. The first byte chooses the kind, so that every kind is reached soon.
 */
#include "collect/perf/records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void on_sample(const struct sampler_sample *sample, void *user)
{
    (void)user;
    for (size_t i = 0; i < sample->stack_size; i++)
        sink += sample->stack[i];
    if (sample->kernel_count > SAMPLER_KERNEL_FRAMES)
        abort();
}

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    (void)user;
    sink += strlen(mapping->path) + strlen(mapping->build_id);
}

static void on_name(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                    void *user)
{
    (void)user;
    sink += time_ns + pid + tid + exec + strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t kinds[] = { PERF_RECORD_SAMPLE, PERF_RECORD_MMAP2,
                                      PERF_RECORD_COMM,   PERF_RECORD_FORK,
                                      PERF_RECORD_EXIT,   PERF_RECORD_SWITCH,
                                      PERF_RECORD_LOST,   12345 };
    const struct sampler_events events = { .sample = on_sample,
                                           .mapped = on_mapping,
                                           .named = on_name };
    struct sampler_counts counts = { 0 };
    struct perf_event_header *record;
    uint32_t pid;
    uint64_t ip;

    if (size < sizeof *record || size > UINT16_MAX)
        return 0;
    record = malloc(size);
    if (!record)
        return 0;
    memcpy(record, data, size);
    record->type = kinds[data[0] % (sizeof kinds / sizeof kinds[0])];
    record->size = (uint16_t)size;
    sink += record_time(record) + record_changes_code(record);
    if (record_instruction(record, &pid, &ip))
        sink += pid + ip;
    record_tell(record, &events, &counts);
    free(record);
    return 0;
}
