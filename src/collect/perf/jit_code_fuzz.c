// SPDX-License-Identifier: Apache-2.0
/*
 * Code generated at run time by a process that lies about it: this one. Strategies:
 *
 * 1. The input, but for its first byte, is that process's list in /tmp, or its dump, as the byte
 *    says: names for places, sizes that go around the end of the address space, both at once.
 * 2. Places that samples had: in memory that is there, that is not, at both ends of it.
 *
 * What is found holds the place, and code comes from inside of it.
 */
#include "collect/perf/jit_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/perf/owners.h"

#define BIT_LIST     1
#define BIT_DUMP     2
#define FUNCTION_MAX (256u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char list[64], dump[64];

static void remove_files(void)
{
    unlink(list);
    unlink(dump);
}

static void put_file(const char *path, const uint8_t *data, size_t size)
{
    int fd;

    unlink(path);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, data, size) != (ssize_t)size)
        unlink(path);
    close(fd);
}

static void look_at(const struct jit_code *jit, uint64_t address)
{
    static uint8_t bytes[FUNCTION_MAX];
    struct jit_code_function function;
    uint64_t at;
    size_t got;

    if (!jit_code_find(jit, address, &function))
        return;
    if (!function.name || address < function.start || address - function.start >= function.size)
        abort();
    if (function.size > FUNCTION_MAX || function.start + function.size < function.start)
        return; /* nobody asks for that */
    got = jit_code_code(jit, address, function.start, function.start + function.size, bytes, &at);
    if (got > function.size || at < function.start || at - function.start > function.size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t memory[2 * 4096];
    static struct owners *owners;
    struct jit_code_budget budget = { 0 };
    struct jit_code *jit;
    const uint64_t addresses[] = {
        0x1000,         0x400000,          (uintptr_t)memory, (uintptr_t)memory + 4100,
        0x7fffffffe000, UINT64_MAX - 4095, UINT64_MAX
    };

    if (!owners)
        owners = owners_create();
    if (!size || !owners)
        return 0;
    if (!list[0]) {
        snprintf(list, sizeof list, "/tmp/perf-%d.map", (int)getpid());
        snprintf(dump, sizeof dump, "/tmp/jit-%d.dump", (int)getpid());
        atexit(remove_files);
    }
    remove_files();
    if (data[0] & BIT_LIST)
        put_file(list, data + 1, size - 1);
    if (data[0] & BIT_DUMP)
        put_file(dump, data + 1, size - 1);
    jit = jit_code_create((uint32_t)getpid(), owners, &budget);
    if (!jit)
        return 0;
    if (data[0] & BIT_DUMP && jit_code_is_dump(dump))
        jit_code_take_dump(jit, dump);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        jit_code_saw(jit, addresses[i], i);
    jit_code_load(jit);
    jit_code_load_names(jit);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        look_at(jit, addresses[i]);
    for (uint64_t address = 1; address; address <<= 1)
        look_at(jit, address);
    jit_code_destroy(jit);
    if (budget.descriptors || budget.pages)
        abort();
    return 0;
}
