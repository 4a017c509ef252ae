// SPDX-License-Identifier: Apache-2.0
/* The texts of /proc: see proc_internal.h. Nothing in them is believed. */
#include <stdio.h>
#include <string.h>

#include "collect/proc/proc_internal.h"

static void add(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX - 1;
}

/* user nice system idle iowait irq softirq steal; guests are in user */
static bool parse_ticks(const char *text, struct cpu_ticks *out)
{
    uint64_t ticks[8] = { 0 };

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < 8; i++) {
        if (!ifg_parse_number(text, &text, &ticks[i]) && i < 4)
            return false; /* older kernels have fewer */
        add(&out->total, ticks[i]);
    }
    out->user = ticks[0];
    add(&out->user, ticks[1]);
    out->system = ticks[2];
    add(&out->system, ticks[5]);
    add(&out->system, ticks[6]);
    out->idle = ticks[3];
    out->iowait = ticks[4];
    out->steal = ticks[7];
    return true;
}

size_t proc_parse_cpus(const char *text, struct cpu_ticks *out_all, struct cpu_ticks *out_each,
                       size_t most)
{
    size_t count = 0;

    memset(out_all, 0, sizeof *out_all);
    memset(out_each, 0, most * sizeof *out_each);
    if (strncmp(text, "cpu ", 4) != 0 || !parse_ticks(text + 4, out_all))
        return 0;
    while ((text = strchr(text, '\n')) != NULL && strncmp(++text, "cpu", 3) == 0) {
        uint64_t number;
        const char *end;

        if (text[3] < '0' || text[3] > '9' || !ifg_parse_number(text + 3, &end, &number) ||
            number >= most || *end != ' ' || !strchr(end, '\n') ||
            !parse_ticks(end, &out_each[number]))
            continue;
        if (number >= count)
            count = (size_t)number + 1;
    }
    return count;
}

uint64_t proc_parse_pressure(const char *text, const char *kind)
{
    size_t length = strlen(kind);
    uint64_t value;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        const char *end, *total;

        if (*line == '\n')
            line++;
        if (strncmp(line, kind, length) != 0 || line[length] != ' ')
            continue;
        end = strchrnul(line, '\n');
        total = strstr(line, " total=");
        if (!total || total > end || !ifg_parse_number(total + 7, NULL, &value))
            return MISSING;
        return value;
    }
    return MISSING;
}

bool proc_parse_process(const char *text, struct process_stat *out)
{
    const char *open = strchr(text, '(');
    const char *at = strrchr(text, ')'); /* a name may have anything in it, but not behind it */
    uint64_t fields[25] = { 0 };

    memset(out, 0, sizeof *out);
    if (!open || !at || at < open || at[1] != ' ' || !at[2])
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", at - open - 1 < 63 ? (int)(at - open - 1) : 63,
             open + 1);
    out->state = at[2];
    at += 2;
    for (unsigned field = 3; field <= 24; field++) {
        if (field > 3 && *at != '-' && !ifg_parse_number(at, NULL, &fields[field]))
            return false;
        at = strchr(at, ' ');
        if (!at && field < 24)
            return false;
        if (at)
            at++;
    }
    out->minor_faults = fields[10];
    out->major_faults = fields[12];
    out->ticks = fields[14];
    add(&out->ticks, fields[15]);
    out->threads = fields[20];
    out->start_ticks = fields[22];
    out->rss_pages = fields[24];
    return true;
}

static bool has_word(const char *list, const char *word)
{
    size_t wanted = strlen(word);

    for (;;) {
        size_t here = strcspn(list, ",");

        if (here == wanted && memcmp(list, word, wanted) == 0)
            return true;
        if (!list[here])
            return false;
        list += here + 1;
    }
}

static uint64_t find_kilobytes(const char *text, const char *key)
{
    uint64_t kilobytes = ifg_find_number(text, key);

    return kilobytes > UINT64_MAX / 2048 ? MISSING : 1024 * kilobytes;
}

bool proc_parse_memory(const char *text, struct proc_memory *out)
{
    size_t length = 0;

    memset(out, 0, sizeof *out);
    out->bytes = find_kilobytes(text, "VmRSS");
    out->anon_bytes = find_kilobytes(text, "RssAnon");
    out->peak_bytes = find_kilobytes(text, "VmHWM");
    if (strncmp(text, "Name:\t", 6) == 0) {
        length = strcspn(text + 6, "\n");
        length = length < sizeof out->name ? length : sizeof out->name - 1;
        memcpy(out->name, text + 6, length);
    }
    return out->bytes != MISSING;
}

bool proc_parse_cgroup(char *text, bool *out_unified, char *out_controllers, size_t controllers,
                       char *out_group, size_t group_size)
{
    bool found = false;

    for (char *line = text, *next; line && *line; line = next) {
        char *names, *group;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        names = strchr(line, ':');
        group = names ? strchr(++names, ':') : NULL;
        if (!group || group[1] != '/' || strstr(group, "/..") || strlen(group + 1) >= group_size)
            continue;
        *group++ = '\0';
        if (strlen(names) >= controllers)
            continue;
        if (!*names && !found) /* "0::/path": unified, unless cpu is mounted apart */
            *out_unified = true;
        else if (has_word(names, "cpu"))
            *out_unified = false;
        else
            continue;
        snprintf(out_controllers, controllers, "%s", names);
        snprintf(out_group, group_size, "%s", group);
        found = true;
    }
    return found;
}

/* ---- fdinfo of DRM (the kernel's Documentation/gpu/drm-usage-stats.rst) ---- */

/* Names go into names of counters: letters, digits and a few signs. */
static void copy_word(char *out, size_t size, const char *from, size_t length)
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

    copy_word(word, sizeof word, name, length);
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
        if (i == 0 || !ifg_parse_number(value, NULL, &number))
            return;
        engine = take_engine(client, key + engines[i].length, length - engines[i].length);
        if (engine)
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
                copy_word(out->driver, sizeof out->driver, value, bytes);
            else if (key == 8 && strncmp(text, "drm-pdev", key) == 0)
                copy_word(out->device, sizeof out->device, value, bytes);
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
