// SPDX-License-Identifier: Apache-2.0
/*
 * Where functions of a library are in its file, both ways: read from the file, and loaded.
 *
 *   static LIBRARY            ONNX Runtime's functions: "NUMBER OFFSET" on stdout; on stderr
 *                             version, count, method, build-id, probes past a landing pad
 *   live LIBRARY              the same offsets, by executing it
 *   exported LIBRARY PATTERN  "NAME OFFSET" of exported functions
 *   dlsym LIBRARY NAME        the same, by executing it
 *   time LIBRARY              microseconds that `static` takes, median of 21
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "symbol/exported.h"
#include "symbol/ort_table.h"

#include "ort_min.h"

#define TIMES 21

static struct ort_table table;
static struct ifg_error err;

static int failed(void)
{
    fprintf(stderr, "%s: %s\n", ifg_status_name(err.status), err.message);
    return 1;
}

/* Where a loaded address is in the file that it was mapped from. */
static uint64_t file_offset_of(const void *address)
{
    uint64_t wanted = (uint64_t)(uintptr_t)address;
    uint64_t found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];

    while (maps && fgets(line, sizeof line, maps)) {
        char *at = line;
        uint64_t start = strtoull(at, &at, 16);
        uint64_t end = strtoull(at + 1, &at, 16);

        if (wanted < start || wanted >= end || strlen(at) < 7)
            continue;
        found = wanted - start + strtoull(at + 6, NULL, 16); /* " r-xp " */
    }
    if (maps)
        fclose(maps);
    return found;
}

static int print_static(struct elf_file *elf)
{
    unsigned landings = 0;

    if (ort_table_find(elf, &table, &err))
        return failed();
    for (unsigned i = 0; i < table.slot_count; i++) {
        printf("%u 0x%" PRIx64 "\n", i, table.slots[i].file_offset);
        landings += table.slots[i].probe_offset != table.slots[i].file_offset;
    }
    fprintf(stderr, "%s %u %s %s %u\n", table.version, table.slot_count,
            table.method == ORT_TABLE_DECODED ? "decoded" : "only-run", elf_file_build_id(elf),
            landings);
    return 0;
}

static int print_live(void *library)
{
    void *symbol = dlsym(library, "OrtGetApiBase");
    const struct ort_base *(*get_base)(void);
    const struct ort_base *base;
    unsigned minor, slots;
    ort_table api;

    if (!symbol)
        return 1;
    memcpy(&get_base, &symbol, sizeof get_base);
    base = get_base();
    minor = (unsigned)strtoul(base->get_version() + 2, NULL, 10);
    slots = ort_abi_slots_of(minor);
    api = base->get_api(minor);
    for (unsigned i = 0; api && i < slots; i++)
        printf("%u 0x%" PRIx64 "\n", i, file_offset_of((const void *)(uintptr_t)api[i]));
    return api ? 0 : 1;
}

static int print_exported(struct elf_file *elf, const char *pattern)
{
    struct exported_functions found;

    if (exported_find(elf, pattern, &found, &err))
        return failed();
    for (size_t i = 0; i < found.count; i++)
        printf("%s 0x%" PRIx64 "\n", found.items[i].name, found.items[i].file_offset);
    exported_fini(&found);
    return 0;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int print_time(const char *path)
{
    uint64_t took_ns[TIMES];

    for (int i = 0; i < TIMES; i++) {
        uint64_t start_ns = ifg_monotonic_ns();
        struct elf_file *elf;

        if (elf_file_open(path, &elf, &err) || ort_table_find(elf, &table, &err))
            return failed();
        elf_file_close(elf);
        took_ns[i] = ifg_monotonic_ns() - start_ns;
    }
    qsort(took_ns, TIMES, sizeof *took_ns, by_value);
    printf("%" PRIu64 "\n", took_ns[TIMES / 2] / 1000);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    struct elf_file *elf = NULL;
    void *library;
    int result = 2;

    if (strcmp(mode, "time") == 0)
        return print_time(argv[2]);
    if (strcmp(mode, "static") == 0 || (strcmp(mode, "exported") == 0 && argc > 3)) {
        if (elf_file_open(argv[2], &elf, &err))
            return failed();
        result = mode[0] == 's' ? print_static(elf) : print_exported(elf, argv[3]);
        elf_file_close(elf);
        return result;
    }
    library = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "usage: see the top of ort_offsets.c");
        return result;
    }
    if (strcmp(mode, "live") == 0)
        result = print_live(library);
    else if (argc > 3)
        result = printf("%s 0x%" PRIx64 "\n", argv[3], file_offset_of(dlsym(library, argv[3]))) < 0;
    dlclose(library);
    return result;
}
