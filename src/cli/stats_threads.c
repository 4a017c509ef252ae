// SPDX-License-Identifier: Apache-2.0
/* stats --by thread: what each thread ran and waited for, as a table and as JSON. */
#include "cli/stats_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

static bool is_wanted(const struct timeline_sampled_thread *thread, const char *wanted)
{
    char *end;

    if (!wanted || strcmp(thread->name, wanted) == 0)
        return true;
    return strtoul(wanted, &end, 10) == thread->tid && !*end && *wanted;
}

/* "worker (1234)", "interrupts", "1234" */
static const char *waker_words(const struct timeline_profile *profile, uint32_t waker, char *out,
                               size_t size)
{
    const char *name = timeline_kernel_name(profile, waker);
    char clean[80];

    if (!waker)
        snprintf(out, size, "interrupts");
    else if (*name)
        snprintf(out, size, "%s (%u)", cli_clean(name, clean, sizeof clean), waker);
    else
        snprintf(out, size, "%u", waker);
    return out;
}

static void put_row(struct text_table *table, const struct timeline_profile *profile,
                    const struct waiting_thread *from, bool has_wakers)
{
    const struct timeline_sampled_thread *thread = &profile->threads[from->thread];
    char text[128];

    text_table_put(table, "%s%s%u%s", thread->name, *thread->name ? " (" : "", thread->tid,
                   *thread->name ? ")" : "");
    for (int s = 0; s < TIMELINE_STATES; s++)
        text_table_time(table, (double)from->ns[s]);
    /* The same rights: without them nobody told. */
    text_table_put(table, "%s", has_wakers ? cli_duration((double)from->disk_ns, text) : "");
    text_table_count(table, from->times);
    if (has_wakers && from->wakes) {
        text_table_count(table, from->wakes);
        text_table_time(table, (double)from->wake_ns / (double)from->wakes);
        text_table_put(table, "%s %.0f %%", waker_words(profile, from->waker, text, sizeof text),
                       100 * (double)from->waker_times / (double)from->wakes);
    }
    text_table_next(table);
}

size_t stats_threads_write_table(struct ifg_bytes *out, const struct timeline_profile *profile,
                                 const struct waiting *waiting, const char *thread, size_t limit)
{
    static const struct text_column shown[] = {
        { "thread", TEXT_LEFT, 16, 0 },        { "running", TEXT_RIGHT, 0, 0 },
        { "runnable", TEXT_RIGHT, 0, 0 },      { "blocked", TEXT_RIGHT, 0, 0 },
        { "of it D", TEXT_RIGHT, 0, 4 },       { "waits", TEXT_RIGHT, 0, 3 },
        { "wakeups", TEXT_RIGHT, 0, 2 },       { "till run", TEXT_RIGHT, 0, 1 },
        { "woken most by", TEXT_LEFT, 14, 5 },
    };
    struct text_table table;
    char untold[32];
    char all[32];
    size_t rows = 0;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < waiting->thread_count; i++) {
        if (!is_wanted(&profile->threads[waiting->threads[i].thread], thread))
            continue;
        if (!rows++)
            cli_print(out, "%sBy context switches, longest wait for a CPU first\n",
                      out->size ? "\n" : "");
        if (!limit || rows <= limit)
            put_row(&table, profile, &waiting->threads[i], waiting->has_wakers);
    }
    text_table_end(&table, out);
    if (limit && rows > limit)
        cli_print(out, "and %zu more: --limit 0 shows all\n", rows - limit);
    if (rows && !waiting->has_wakers)
        cli_print(out, "Wakeups were not recorded: the wait from a wakeup to running counts as "
                       "blocked.\n");
    if (rows && waiting->untold)
        cli_print(out,
                  "%s of %s wakeups were not reported by the kernel (on some, those by interrupts "
                  "of idle "
                  "CPUs): the wait after them counts as blocked.\n",
                  cli_count(waiting->untold, untold),
                  cli_count(waiting->untold + waiting->wakes, all));
    return rows;
}

void stats_threads_write_json(struct ifg_json *json, const struct timeline_profile *profile,
                              const struct waiting *waiting, const char *thread)
{
    ifg_json_put_bool(json, "has_wakers", waiting->has_wakers);
    ifg_json_put_open(json, "thread_states", '[');
    for (size_t i = 0; i < waiting->thread_count; i++) {
        const struct waiting_thread *from = &waiting->threads[i];
        const struct timeline_sampled_thread *about = &profile->threads[from->thread];

        if (!is_wanted(about, thread))
            continue;
        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "pid", about->pid);
        ifg_json_put_uint(json, "tid", about->tid);
        ifg_json_put_string(json, "name", about->name);
        for (int s = 0; s < TIMELINE_STATES; s++) {
            char key[32];

            snprintf(key, sizeof key, "%s_ns", timeline_state_name((enum timeline_state)s));
            ifg_json_put_uint(json, key, from->ns[s]);
        }
        document_thread_values(json, profile, from, waiting->has_wakers);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}
