// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries in the memory of a process that lies. Strategies:
 *
 * 1. The input is that memory, from address 0 on, and a library begins there: program headers,
 *    dynamic sections, hash tables with buckets and chains, symbols and names that lead anywhere.
 * 2. The loader's list of libraries: entries that lead back to themselves, names without an end.
 * 3. Words from the end of the input as bases and dynamic sections.
 *
 * No list may be followed for ever; what is visited has a path that ends.
 */
#include "record/ptrace_elf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ptrace *remote;
static unsigned visited;

static bool visit(const struct ptrace_library *library, const char *path, void *user)
{
    (void)user;
    if (strnlen(path, PATH_MAX) == PATH_MAX)
        abort();
    ptrace_symbol(remote, library, "dlopen");
    return ++visited < 8;
}

static void try_world(const struct ptrace_library *library)
{
    struct ptrace_world world = {
        .libc = *library, .loader = *library, .libc_code = library->base, .libc_code_bytes = 4096
    };

    visited = 0;
    ptrace_symbol(remote, library, "_r_debug");
    ptrace_symbol(remote, library, "");
    ptrace_each_library(remote, &world, visit, NULL);
    ptrace_restorer(remote, &world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int memory = -1;
    struct ptrace process = PTRACE_NONE;
    struct ptrace_library library = { 0 };

    if (memory < 0)
        memory = memfd_create("fuzz", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, 0) || pwrite(memory, data, size, 0) != (ssize_t)size)
        return 0;
    process.pid = getpid();
    process.memory = memory;
    remote = &process;
    if (ptrace_library_read(remote, 0, &library))
        try_world(&library);
    if (size >= sizeof library) {
        memcpy(&library, data + size - sizeof library, sizeof library);
        try_world(&library);
    }
    return 0;
}
