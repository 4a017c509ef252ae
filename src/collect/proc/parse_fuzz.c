// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: the texts of /proc/stat, pressure, fdinfo and uevent, and labels of sensors, cut
 * anywhere and with anything in them. The first byte chooses the parser. Names must stay inside
 * their buffers, and hold nothing that a terminal obeys where they are shown; counts must stay
 * below their limits.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/proc/proc_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good)
{
    if (!good)
        abort();
}

static void is_word(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    must(length < size);
    for (size_t i = 0; i < length; i++)
        must(text[i] > ' ' && text[i] < 0x7f);
}

static void try_cpus(const char *text)
{
    struct cpu_ticks all, each[8];
    size_t count = host_parse_cpus(text, &all, each, 8);

    must(count <= 8);
    for (size_t i = 0; i < count; i++)
        must(each[i].total >= each[i].idle);
}

static void try_fdinfo(const char *text)
{
    struct drm_client client;

    if (!proc_parse_fdinfo(text, &client))
        return;
    must(client.engine_count <= DRM_ENGINES);
    is_word(client.driver, sizeof client.driver);
    is_word(client.device, sizeof client.device);
    for (size_t i = 0; i < client.engine_count; i++)
        is_word(client.engines[i].name, sizeof client.engines[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char word[24];

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    switch (text[0]) {
    case 's':
        try_cpus(text + 1);
        break;
    case 'p':
        (void)host_parse_pressure(text + 1, "some");
        (void)host_parse_pressure(text + 1, "full");
        (void)ifg_find_number(text + 1, "MemTotal");
        break;
    case 'f':
        try_fdinfo(text + 1);
        break;
    case 'u':
        proc_parse_driver(text + 1, word, sizeof word);
        is_word(word, sizeof word);
        break;
    case 'l':
        proc_copy_word(word, sizeof word, text + 1, strlen(text + 1));
        is_word(word, sizeof word);
        break;
    }
    free(text);
    return 0;
}
