// SPDX-License-Identifier: Apache-2.0
/*
 * What a probe adds to a call that takes about a microsecond: entry and return by BPF, the same on
 * a landing pad, the entry alone, and without BPF; in blocks between blocks without probes. And
 * that nothing stays behind.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "collect/uprobe/uprobe.h"
#include "probe_work.h"

#define ROUNDS 15
#define CALLS  3000

enum variant {
    BPF_PAIR,
    BPF_AT_START,
    BPF_ENTRY,
    PERF_PAIR,
    VARIANTS,
};

static const struct {
    const char *key;
    enum uprobe_way way;
    uint32_t flags;
} variants[VARIANTS] = {
    [BPF_PAIR] = { "bpf_pair_us", UPROBE_BPF, UPROBE_RETURN },
    [BPF_AT_START] = { "bpf_pair_on_endbr64_us", UPROBE_BPF, UPROBE_RETURN | UPROBE_EXACT },
    [BPF_ENTRY] = { "bpf_entry_us", UPROBE_BPF, 0 },
    [PERF_PAIR] = { "perf_pair_us", UPROBE_PERF, UPROBE_RETURN },
};

static __typeof__(&work_tiny) tiny;
static struct uprobe_spec spec = { .file = PROBE_WORK, .id = 1 };
static uint64_t seen_calls;

static void see(const struct uprobe_event *event, void *user)
{
    (void)event;
    (void)user;
    seen_calls++;
}

/* Microseconds of processor time per call, the median of short stretches: others work here too. */
static double block_us(void)
{
    enum { STRETCHES = 30 };
    double times[STRETCHES];
    uint64_t value = 1;

    for (int i = 0; i < STRETCHES; i++) {
        double begin = bench_cpu_seconds();

        for (int k = 0; k < CALLS / STRETCHES; k++)
            value = tiny(value);
        times[i] = (bench_cpu_seconds() - begin) * 1e6 / (CALLS / STRETCHES);
    }
    for (int i = 1; i < STRETCHES; i++)
        for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
            double swap = times[k];

            times[k] = times[k - 1];
            times[k - 1] = swap;
        }
    return times[STRETCHES / 2];
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

static bool find_function(void)
{
    void *library = dlopen(PROBE_WORK, RTLD_NOW);
    uintptr_t address;
    char line[4400];
    FILE *maps;

    if (!library)
        return false;
    tiny = (__typeof__(tiny))(uintptr_t)dlsym(library, "work_tiny");
    address = (uintptr_t)tiny;
    maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        char *at = line;
        uint64_t begin = strtoull(at, &at, 16);
        uint64_t end = *at == '-' ? strtoull(at + 1, &at, 16) : 0;

        if (address >= begin && address < end)
            spec.offset = address - begin + strtoull(at + 6, NULL, 16);
    }
    if (maps)
        fclose(maps);
    return spec.offset != 0;
}

static bool has_landing_pad(void)
{
    static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

    return memcmp((const void *)(uintptr_t)tiny, endbr64, sizeof endbr64) == 0;
}

/* One block with probes; negative when that way does not work here. */
static double watched_us(enum variant variant, bool first)
{
    struct uprobe_options options = { .way = variants[variant].way, .ring_bytes = 16u << 20 };
    struct uprobe *engine = NULL;
    struct ifg_error err;
    double us = -1;

    options.wake_bytes = options.ring_bytes / 2;
    spec.flags = variants[variant].flags;
    if (uprobe_open(&options, &engine, &err) || uprobe_add(engine, getpid(), &spec, 1, &err)) {
        if (first)
            fprintf(stderr, "%s: %s\n", variants[variant].key, err.message);
    } else {
        us = block_us();
        uprobe_stop(engine);
        uprobe_read(engine, see, NULL);
    }
    uprobe_close(engine);
    return us;
}

int main(int argc, char **argv)
{
    static double added[VARIANTS][ROUNDS];
    static double plain[ROUNDS];
    static double after_ratio[ROUNDS];
    bool works[VARIANTS];
    uint64_t expected = 0;

    bench_begin("probe_cost", argc, argv);
    if (!find_function()) {
        fprintf(stderr, "cannot load " PROBE_WORK "\n");
        return 1;
    }
    for (int i = 0; i < VARIANTS; i++)
        works[i] = i != BPF_AT_START || has_landing_pad();
    for (int round = 0; round < ROUNDS; round++) {
        double before = block_us();
        double last_before = before;

        plain[round] = before;
        for (int i = 0; i < VARIANTS; i++) {
            double us = works[i] ? watched_us((enum variant)i, round == 0) : -1;
            double after = block_us();

            works[i] = us >= 0;
            expected += works[i] ? CALLS : 0;
            added[i][round] = us - (last_before + after) / 2;
            last_before = after;
        }
        after_ratio[round] = last_before / before;
    }
    bench_result("call_us", median(plain), "us");
    for (int i = 0; i < VARIANTS; i++) {
        if (works[i] && i == BPF_PAIR)
            bench_bar(variants[i].key, median(added[i]), 3, "us");
        else if (works[i])
            bench_result(variants[i].key, median(added[i]), "us");
    }
    bench_bar("after_ratio", median(after_ratio), 1.01, "");
    bench_bar("calls_not_seen", (double)(expected - seen_calls), 0, "");
    return bench_end();
}
