// SPDX-License-Identifier: Apache-2.0
/*
 * Names from the memory of a process that lies. Strategies:
 *
 * 1. The input is memory at a known address, and a session object at its beginning: words that
 *    point into it, out of it and around the end of the address space, strings of all lengths.
 * 2. The same memory as a model: tags, lengths and graphs that reach beyond it.
 * 3. The same bytes as a path.
 *
 * What is found is a text that ends, without control characters where that is promised.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ort_attach/names.h"
#include "fixed_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void try_graph(uint64_t bytes)
{
    char name[128];
    bool found = names_session_graph_name(getpid(), FIXED_MEMORY_BASE, bytes, name, sizeof name);

    require(strnlen(name, sizeof name) < sizeof name);
    for (const char *at = name; found && *at; at++)
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void try_path(const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    char name[64];
    char absolute[256];
    size_t length = size < sizeof path - 1 ? size : sizeof path - 1;

    if (length)
        memcpy(path, data, length);
    path[length] = '\0';
    model_name_of(path, name, sizeof name);
    require(strnlen(name, sizeof name) < sizeof name);
    if (names_process_absolute(getpid(), path, absolute, sizeof absolute))
        require(absolute[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    char text[100];

    fixed_memory_fill(data, size);
    if (names_session_object_path(getpid(), FIXED_MEMORY_BASE, path, sizeof path))
        require(path[0] == '/' && strnlen(path, sizeof path) < sizeof path);
    try_graph(size);
    try_graph(FIXED_MEMORY_BYTES + 1000);
    try_graph(UINT64_MAX);
    if (names_process_text(getpid(), FIXED_MEMORY_BASE, text, sizeof text))
        require(strlen(text) < sizeof text);
    else
        require(!text[0]);
    names_process_text(getpid(), FIXED_MEMORY_BASE + FIXED_MEMORY_BYTES - 10, text, sizeof text);
    try_path(data, size);
    return 0;
}
