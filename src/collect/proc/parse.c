// SPDX-License-Identifier: Apache-2.0
/* The texts of /proc: see proc_internal.h. Nothing in them is believed. */
#include <string.h>

#include "collect/proc/proc_internal.h"

static void add(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX - 1;
}

/* ---- uevent ---- */

void proc_parse_driver(const char *text, char *out, size_t size)
{
    const char *at = strncmp(text, "DRIVER=", 7) == 0 ? text : strstr(text, "\nDRIVER=");

    out[0] = '\0';
    if (!at)
        return;
    at = strchr(at, '=') + 1;
    proc_copy_word(out, size, at, strcspn(at, "\n"));
}

/* ---- fdinfo of DRM (the kernel's Documentation/gpu/drm-usage-stats.rst) ---- */

/* Names go into names of counters: letters, digits and a few signs. */
void proc_copy_word(char *out, size_t size, const char *from, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used + 1 < size; i++) {
        char c = from[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == ':' || c == '.';

        out[used++] = good ? c : '_';
    }
    out[used] = '\0';
}

static struct drm_engine *take_engine(struct drm_client *client, const char *name, size_t length)
{
    struct drm_engine *engine;
    char word[sizeof engine->name];

    proc_copy_word(word, sizeof word, name, length);
    for (size_t i = 0; i < client->engine_count; i++)
        if (strcmp(client->engines[i].name, word) == 0)
            return &client->engines[i];
    if (client->engine_count == DRM_ENGINES || !*word)
        return NULL;
    engine = &client->engines[client->engine_count++];
    memcpy(engine->name, word, sizeof word);
    engine->busy_ns = engine->cycles = engine->total_cycles = MISSING;
    return engine;
}

static uint64_t parse_size(const char *text)
{
    uint64_t value;

    if (!ifg_parse_number(text, &text, &value))
        return 0;
    text += strspn(text, " \t");
    if (strncmp(text, "KiB", 3) == 0)
        value = value < UINT64_MAX >> 10 ? value << 10 : 0;
    else if (strncmp(text, "MiB", 3) == 0)
        value = value < UINT64_MAX >> 20 ? value << 20 : 0;
    return value;
}

struct drm_sums {
    uint64_t resident, memory, total;
    bool has_resident, has_memory;
};

static void take_field(struct drm_client *client, struct drm_sums *sums, const char *key,
                       size_t length, const char *value)
{
    static const struct {
        const char *prefix;
        size_t length;
    } engines[] = { { "drm-engine-capacity-", 20 }, /* before its own prefix */
                    { "drm-engine-", 11 },
                    { "drm-total-cycles-", 17 }, /* likewise */
                    { "drm-cycles-", 11 } };
    struct drm_engine *engine;

    for (size_t i = 0; i < 4; i++) {
        uint64_t number;

        if (length <= engines[i].length || strncmp(key, engines[i].prefix, engines[i].length) != 0)
            continue;
        if (!ifg_parse_number(value, NULL, &number))
            return;
        engine = take_engine(client, key + engines[i].length, length - engines[i].length);
        if (engine && i == 0)
            engine->capacity = number < UINT32_MAX ? (uint32_t)number : 0;
        else if (engine)
            *(i == 1   ? &engine->busy_ns
              : i == 2 ? &engine->total_cycles
                       : &engine->cycles) = number;
        return;
    }
    if (strncmp(key, "drm-resident-", 13) == 0) {
        add(&sums->resident, parse_size(value));
        sums->has_resident = true;
    } else if (strncmp(key, "drm-memory-", 11) == 0) {
        add(&sums->memory, parse_size(value));
        sums->has_memory = true;
    } else if (strncmp(key, "drm-total-", 10) == 0) {
        add(&sums->total, parse_size(value));
    }
}

bool proc_parse_fdinfo(const char *text, struct drm_client *out)
{
    struct drm_sums sums = { 0 };

    memset(out, 0, sizeof *out);
    while (*text) {
        size_t length = strcspn(text, "\n");
        size_t key = strcspn(text, ":\n");
        const char *value = text + key + 1;

        if (key < length && strncmp(text, "drm-", 4) == 0) {
            size_t bytes;

            value += strspn(value, " \t");
            bytes = value < text + length ? (size_t)(text + length - value) : 0;
            if (key == 10 && strncmp(text, "drm-driver", key) == 0)
                proc_copy_word(out->driver, sizeof out->driver, value, bytes);
            else if (key == 8 && strncmp(text, "drm-pdev", key) == 0)
                proc_copy_word(out->device, sizeof out->device, value, bytes);
            else if (key == 13 && strncmp(text, "drm-client-id", key) == 0)
                (void)ifg_parse_number(value, NULL, &out->id);
            else if (bytes)
                take_field(out, &sums, text, key, value);
        }
        text += length + (text[length] == '\n');
    }
    out->memory_bytes = sums.has_resident ? sums.resident
                        : sums.has_memory ? sums.memory
                                          : sums.total;
    return out->driver[0] != '\0';
}
