// SPDX-License-Identifier: Apache-2.0
/* See stats_threads.h. */
#include "cli/stats_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define NAME_COLUMNS 28

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

static void put_row(struct ifg_bytes *out, const struct timeline_profile *profile,
                    const struct waiting_thread *from, bool has_wakers)
{
    const struct timeline_sampled_thread *thread = &profile->threads[from->thread];
    char name[160];
    char text[128];

    snprintf(name, sizeof name, "%.100s%s%u%s", thread->name, *thread->name ? " (" : "",
             thread->tid, *thread->name ? ")" : "");
    cli_put_name(out, name, NAME_COLUMNS);
    for (int s = 0; s < TIMELINE_STATES; s++)
        cli_print(out, " %9s", cli_duration((double)from->ns[s], text));
    if (has_wakers) /* the same rights: without them nobody told */
        cli_print(out, " %9s", cli_duration((double)from->disk_ns, text));
    cli_print(out, " %9s", cli_count(from->times, text));
    if (has_wakers && from->wakes) {
        cli_print(out, " %9s", cli_count(from->wakes, text));
        cli_print(out, " %9s", cli_duration((double)from->wake_ns / (double)from->wakes, text));
        cli_print(out, "  %s %.0f %%", waker_words(profile, from->waker, text, sizeof text),
                  100 * (double)from->waker_times / (double)from->wakes);
    }
    cli_print(out, "\n");
}

size_t threads_write_table(struct ifg_bytes *out, const struct timeline_profile *profile,
                           const struct waiting *waiting, const char *thread, size_t limit)
{
    char untold[32];
    char all[32];
    size_t rows = 0;

    for (size_t i = 0; i < waiting->thread_count; i++) {
        if (!is_wanted(&profile->threads[waiting->threads[i].thread], thread))
            continue;
        if (!rows++) {
            cli_print(out, "%sBy context switches, longest wait for a CPU first\n",
                      out->size ? "\n" : "");
            cli_print(out, "%-*s %9s %9s %9s", NAME_COLUMNS, "thread", "running", "runnable",
                      "blocked");
            if (waiting->has_wakers)
                cli_print(out, " %9s", "of it D");
            cli_print(out, " %9s", "waits");
            if (waiting->has_wakers)
                cli_print(out, " %9s %9s  %s", "wake-ups", "till run", "woken most by");
            cli_print(out, "\n");
        }
        if (!limit || rows <= limit)
            put_row(out, profile, &waiting->threads[i], waiting->has_wakers);
    }
    if (limit && rows > limit)
        cli_print(out, "and %zu more: --limit 0 shows all\n", rows - limit);
    if (rows && !waiting->has_wakers)
        cli_print(out, "Wake-ups were not recorded: the wait from a wake-up to running counts as "
                       "blocked.\n");
    if (rows && waiting->untold)
        cli_print(
            out,
            "%s of %s wake-ups were not told by the kernel (those by interrupts of idle CPUs, "
            "on some):\nthe wait after them counts as blocked.\n",
            cli_count(waiting->untold, untold), cli_count(waiting->untold + waiting->wakes, all));
    return rows;
}

void threads_write_json(struct ifg_json *json, const struct timeline_profile *profile,
                        const struct waiting *waiting, const char *thread)
{
    ifg_json_put_bool(json, "has_wakers", waiting->has_wakers);
    ifg_json_key(json, "thread_states");
    ifg_json_open(json, '[');
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
        threads_json_values(json, profile, from, waiting->has_wakers);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}
