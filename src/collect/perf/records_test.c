// SPDX-License-Identifier: Apache-2.0
/* Records as the kernel lays them out, and such as it would never make; and numbers of stacks. */
#include "collect/perf/records.h"

#include <string.h>

#include "collect/perf/lookup.h"
#include "collect/perf/stacks.h"
#include "tap.h"

struct told {
    struct sampler_sample sample;
    uint8_t stack[64];
    struct sampler_mapping mapping;
    char path[64];
    struct sampler_switch change;
    char name[32];
    bool exec;
    unsigned samples, mappings, switches, names, forks, ends;
    uint32_t pid, tid;
};

static void on_sample(const struct sampler_sample *sample, void *user)
{
    struct told *told = user;

    told->samples++;
    told->sample = *sample;
    memcpy(told->stack, sample->stack, sample->stack_size);
}

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    struct told *told = user;

    told->mappings++;
    told->mapping = *mapping;
    strncpy(told->path, mapping->path, sizeof told->path - 1);
}

static void on_switch(const struct sampler_switch *change, void *user)
{
    struct told *told = user;

    told->switches++;
    told->change = *change;
}

static void on_name(uint64_t time_ns, uint32_t pid, uint32_t tid, const char *name, bool exec,
                    void *user)
{
    struct told *told = user;

    (void)time_ns;
    told->names++;
    told->pid = pid;
    told->tid = tid;
    told->exec = exec;
    strncpy(told->name, name, sizeof told->name - 1);
}

static void on_fork(uint64_t time_ns, uint32_t parent, uint32_t parent_tid, uint32_t pid,
                    uint32_t tid, void *user)
{
    struct told *told = user;

    (void)time_ns;
    (void)parent;
    (void)parent_tid;
    (void)tid;
    told->forks++;
    told->pid = pid;
}

static void on_end(uint64_t time_ns, uint32_t pid, uint32_t tid, void *user)
{
    struct told *told = user;

    (void)time_ns;
    (void)pid;
    told->ends++;
    told->tid = tid;
}

/* A record being put together. */
static union {
    struct perf_event_header header;
    uint8_t bytes[1024];
    uint64_t aligned;
} record;

static void begin(uint32_t type, uint16_t misc)
{
    memset(&record, 0, sizeof record);
    record.header.type = type;
    record.header.misc = misc;
    record.header.size = sizeof record.header;
}

static void put(const void *bytes, size_t size)
{
    memcpy(record.bytes + record.header.size, bytes, size);
    record.header.size = (uint16_t)(record.header.size + size);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_id(uint64_t time_ns)
{
    put_u32(11);
    put_u32(12);
    put_u64(time_ns);
    put_u32(3);
    put_u32(0);
}

static void tell(struct told *told, struct sampler_counts *counts)
{
    const struct sampler_events events = { .sample = on_sample,
                                           .mapped = on_mapping,
                                           .switched = on_switch,
                                           .named = on_name,
                                           .forked = on_fork,
                                           .ended = on_end,
                                           .user = told };

    memset(told, 0, sizeof *told);
    record_tell(&record.header, &events, counts);
}

static void put_sample(uint64_t room, uint64_t used)
{
    begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    put_u64(0xffffffff81000001);
    put_u32(21);
    put_u32(22);
    put_u64(777);
    put_u32(5);
    put_u32(0);
    put_u64(3); /* a call chain with its context */
    put_u64((uint64_t)PERF_CONTEXT_KERNEL);
    put_u64(0xffffffff81000001);
    put_u64(0xffffffff81000002);
    put_u64(PERF_SAMPLE_REGS_ABI_64);
    for (unsigned i = 0; i < RECORDS_REGISTERS; i++)
        put_u64(100 + i);
    put_u64(room);
    for (uint64_t i = 0; i < room; i += 8)
        put_u64(i);
    if (room)
        put_u64(used);
}

static void samples(void)
{
    struct sampler_counts counts = { 0 };
    struct told told;

    put_sample(32, 16);
    tell(&told, &counts);
    REQUIRE(told.samples == 1);
    CHECK_UINT(record_time(&record.header), 777);
    CHECK_UINT(told.sample.pid, 21);
    CHECK_UINT(told.sample.tid, 22);
    CHECK_UINT(told.sample.cpu, 5);
    CHECK(told.sample.in_kernel && told.sample.has_user);
    CHECK_UINT(told.sample.kernel_count, 2);
    CHECK_UINT(told.sample.kernel[1], 0xffffffff81000002);
    CHECK_UINT(told.sample.fp, 100);
    CHECK_UINT(told.sample.stack_size, 16);
    CHECK_UINT(told.stack[8], 8);
    CHECK_UINT(counts.cut, 0);
    put_sample(32, 32);
    tell(&told, &counts);
    CHECK_UINT(counts.cut, 1);
    CHECK_UINT(counts.samples, 2);
    for (uint16_t size = sizeof record.header; size < record.header.size; size++) {
        uint16_t whole = record.header.size;

        record.header.size = size; /* cut anywhere: nothing is told that is not there */
        tell(&told, &counts);
        CHECK_UINT(told.samples, 0);
        record.header.size = whole;
    }
    CHECK_UINT(counts.samples, 2);
}

static void side_records(void)
{
    struct sampler_counts counts = { 0 };
    struct told told;

    begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    put_u32(11);
    put_u32(12);
    put_u64(0x7000);
    put_u64(0x1000);
    put_u64(0x2000);
    put("\x03\0\0\0\xab\xcd\xef\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
    put_u64(0);
    put("/lib/x.so\0\0\0\0\0\0\0", 16);
    put_id(99);
    tell(&told, &counts);
    REQUIRE(told.mappings == 1);
    CHECK_STR(told.mapping.build_id, "abcdef");
    CHECK_STR(told.path, "/lib/x.so");
    CHECK_UINT(told.mapping.file_offset, 0x2000);
    CHECK_UINT(told.mapping.time_ns, 99);

    begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put_u32(31);
    put_u32(32);
    put("node\0\0\0\0", 8);
    put_id(100);
    tell(&told, &counts);
    CHECK(told.names == 1 && told.exec && told.tid == 32);
    CHECK_STR(told.name, "node");

    begin(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    put_id(101);
    tell(&told, &counts);
    CHECK(told.switches == 1 && told.change.out && told.change.preempted);
    CHECK_UINT(told.change.tid, 12);
    CHECK_UINT(told.change.cpu, 3);

    begin(PERF_RECORD_EXIT, 0);
    put_u32(41);
    put_u32(1);
    put_u32(42);
    put_u32(1);
    put_u64(5);
    put_id(102);
    tell(&told, &counts);
    CHECK(told.ends == 1 && told.tid == 42);

    begin(PERF_RECORD_LOST, 0);
    put_u64(1);
    put_u64(17);
    put_id(103);
    tell(&told, &counts);
    CHECK_UINT(counts.lost, 17);
    CHECK_UINT(counts.switches, 1);
}

static bool changes_code(uint32_t type, uint16_t misc, uint32_t pid, uint32_t second, uint32_t tid)
{
    begin(type, misc);
    put_u32(pid);
    put_u32(second);
    put_u32(tid);
    put_u32(0);
    put_id(1);
    return record_changes_code(&record.header);
}

static void what_samples_must_precede(void)
{
    uint32_t pid;
    uint64_t ip;

    CHECK(changes_code(PERF_RECORD_MMAP2, 0, 7, 7, 0));
    CHECK(changes_code(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 7, 7, 0));
    CHECK(!changes_code(PERF_RECORD_COMM, 0, 7, 7, 0));
    CHECK(changes_code(PERF_RECORD_FORK, 0, 8, 7, 8));
    CHECK(!changes_code(PERF_RECORD_FORK, 0, 7, 7, 8)); /* a thread */
    CHECK(changes_code(PERF_RECORD_EXIT, 0, 7, 1, 7));
    CHECK(!changes_code(PERF_RECORD_EXIT, 0, 7, 1, 8));
    CHECK(!changes_code(PERF_RECORD_SWITCH, 0, 7, 7, 7));

    put_sample(32, 16);
    CHECK(record_instruction(&record.header, &pid, &ip));
    CHECK_UINT(pid, 21);
    CHECK_UINT(ip, 0xffffffff81000001);
    record.header.size = sizeof record.header + 11;
    CHECK(!record_instruction(&record.header, &pid, &ip));
    record.header.size = sizeof record.header;
    CHECK(!record_changes_code(&record.header));
}

static void equal_ways_are_one(void)
{
    struct stacks *stacks = stacks_create();
    uint32_t root, inner;
    size_t count;

    REQUIRE(stacks != NULL);
    root = stacks_node(stacks, 0, stacks_frame(stacks, 1, 0x10), false);
    inner = stacks_node(stacks, root, stacks_frame(stacks, 2, 0x10), false);
    CHECK(root == 1 && inner == 2);
    CHECK_UINT(stacks_node(stacks, root, stacks_frame(stacks, 2, 0x10), false), inner);
    CHECK(stacks_node(stacks, root, stacks_frame(stacks, 2, 0x10), true) != inner);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t frame = stacks_frame(stacks, i % 3, i);

        REQUIRE(frame != 0);
        if (stacks_frame(stacks, i % 3, i) != frame ||
            stacks_node(stacks, i % 50, frame, false) !=
                stacks_node(stacks, i % 50, frame, false)) {
            CHECK_UINT(i, 100000);
            break;
        }
    }
    stacks_frames(stacks, &count);
    CHECK_UINT(count, 100001); /* (1, 0x10) is one of the hundred thousand, (2, 0x10) is not */
    stacks_destroy(stacks);
}

static void lists_of_names(void)
{
    static const char map[] = "7f00 40 ~main /x.js:1\n"
                              "7f40 10 Add\nnonsense\n7f80 0 empty\n7f00 20 replaced\n";
    static const char kernel[] = "ffffffff81000000 T _text\nffffffff81000100 d data\n"
                                 "ffffffff81000200 t helper\t[mod]\n0000000000000000 T hidden\n";
    struct name_list *list = name_list_parse(map, sizeof map - 1, NAME_LIST_PERF_MAP);
    const char *name;
    uint64_t start, size;

    REQUIRE(list != NULL);
    REQUIRE(name_list_find(list, 0x7f1f, &name, &start, &size));
    CHECK_STR(name, "replaced");
    CHECK(!name_list_find(list, 0x7f20, &name, &start, &size));
    REQUIRE(name_list_find(list, 0x7f4f, &name, &start, &size));
    CHECK_STR(name, "Add");
    CHECK_UINT(start, 0x7f40);
    CHECK(!name_list_find(list, 0x7f50, &name, &start, &size));
    name_list_destroy(list);
    list = name_list_parse(kernel, sizeof kernel - 1, NAME_LIST_KALLSYMS);
    REQUIRE(list != NULL);
    REQUIRE(name_list_find(list, 0xffffffff810001ff, &name, &start, &size));
    CHECK_STR(name, "_text");
    CHECK(!name_list_find(list, 0x1000, &name, &start, &size));
    name_list_destroy(list);
    CHECK(name_list_parse("", 0, NAME_LIST_KALLSYMS) == NULL);
    CHECK(name_list_read("/no/such/file", NAME_LIST_PERF_MAP) == NULL);
}

TAP_MAIN(TAP_CASE(samples), TAP_CASE(side_records), TAP_CASE(what_samples_must_precede),
         TAP_CASE(equal_ways_are_one), TAP_CASE(lists_of_names))
