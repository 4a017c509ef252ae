// SPDX-License-Identifier: Apache-2.0
/* What samples and context switches add to the report: functions, waits, threads. */
#include <stdio.h>
#include <string.h>

#include "export/documents.h"
#include "export/documents_internal.h"

#define JSON_FUNCTIONS 20u
#define JSON_DETAILS   3u
#define MS             1e6

static double share_of(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

void document_function_row(struct ifg_json *json, const struct hot_row *row, uint64_t samples,
                           size_t details)
{
    char text[32];

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", row->name);
    ifg_json_put_bool(json, "guessed", row->guessed);
    ifg_json_put_string(json, "under", row->under);
    ifg_json_put_string(json, "module", row->module);
    ifg_json_put_string(json, "file", row->file);
    ifg_json_put_uint(json, "line", row->line);
    ifg_json_put_uint(json, "self", row->self);
    ifg_json_put_uint(json, "total", row->total);
    ifg_json_put_double(json, "self_share", share_of(row->self, samples));
    ifg_json_put_double(json, "total_share", share_of(row->total, samples));
    ifg_json_put_uint(json, "total_inferred", row->total_inferred);
    ifg_json_put_open(json, "lines", '[');
    for (size_t i = 0; i < row->line_count && i < details; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "function", row->lines[i].innermost);
        ifg_json_put_string(json, "file", row->lines[i].file);
        ifg_json_put_uint(json, "line", row->lines[i].line);
        ifg_json_put_uint(json, "self", row->lines[i].self);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "addresses", '[');
    for (size_t i = 0; i < row->address_count && i < details; i++) {
        ifg_json_open(json, '{');
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)row->addresses[i].address);
        ifg_json_put_string(json, "address", text);
        ifg_json_put_uint(json, "self", row->addresses[i].self);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

void document_thread_values(struct ifg_json *json, const struct timeline_profile *profile,
                            const struct waiting_thread *from, bool has_wakers)
{
    ifg_json_put_uint(json, "disk_ns", from->disk_ns);
    ifg_json_put_uint(json, "waits", from->times);
    if (!has_wakers)
        return;
    ifg_json_put_uint(json, "wakes", from->wakes);
    ifg_json_put_uint(json, "wake_ns", from->wake_ns);
    ifg_json_put_uint(json, "wakes_untold", from->untold);
    if (!from->wakes)
        return;
    ifg_json_put_uint(json, "waker", from->waker);
    ifg_json_put_string(json, "waker_name",
                        from->waker ? timeline_kernel_name(profile, from->waker) : "interrupts");
    ifg_json_put_uint(json, "waker_times", from->waker_times);
}

static void json_functions(struct ifg_json *json, const struct hot *hot)
{
    ifg_json_put_open(json, "functions", '[');
    for (size_t i = 0; hot && i < hot->row_count && i < JSON_FUNCTIONS && hot->rows[i].self; i++)
        document_function_row(json, &hot->rows[i], hot->samples, JSON_DETAILS);
    ifg_json_close(json, ']');
}

static void json_waiting(struct ifg_json *json, const struct waiting_model *model)
{
    double count = (double)model->inferences;

    ifg_json_put_open(json, "waiting", '{');
    ifg_json_put_uint(json, "inferences", model->inferences);
    ifg_json_put_double(json, "mean_ms", (double)model->total_ns / count / MS);
    ifg_json_put_double(json, "run_queue_ms", (double)model->ns[TIMELINE_RUNNABLE] / count / MS);
    ifg_json_put_double(json, "run_queue_share", waiting_share(model));
    ifg_json_put_double(json, "blocked_ms", (double)model->ns[TIMELINE_BLOCKED] / count / MS);
    ifg_json_put_double(json, "longest_run_queue_ms", (double)model->longest_wait_ns / MS);
    ifg_json_close(json, '}');
}

void document_samples_of(struct ifg_json *json, const struct report *report,
                         const struct ml_model *model)
{
    const struct hot *hot = report_hot(report, model);
    const struct waiting_model *waiting = report_waiting(report, model);

    if (waiting)
        json_waiting(json, waiting);
    if (!hot)
        return;
    ifg_json_put_open(json, "sampled", '{');
    ifg_json_put_uint(json, "samples", hot->samples);
    ifg_json_put_uint(json, "lent", hot->lent);
    json_functions(json, hot);
    ifg_json_close(json, '}');
}

static void json_threads(struct ifg_json *json, const struct report *report)
{
    const struct waiting *waiting = report->input->waiting;
    const struct timeline_profile *profile = report->input->profile;

    ifg_json_put_open(json, "threads", '[');
    for (size_t i = 0; waiting && i < waiting->thread_count; i++) {
        const struct waiting_thread *from = &waiting->threads[i];
        const struct timeline_sampled_thread *thread = &profile->threads[from->thread];

        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "pid", thread->pid);
        ifg_json_put_uint(json, "tid", thread->tid);
        ifg_json_put_string(json, "name", thread->name);
        ifg_json_put_uint(json, "samples", thread->sample_count);
        for (int s = 0; s < TIMELINE_STATES; s++) {
            char key[32];

            snprintf(key, sizeof key, "%s_ms", timeline_state_name((enum timeline_state)s));
            ifg_json_put_double(json, key, (double)from->ns[s] / MS);
        }
        document_thread_values(json, profile, from, waiting->has_wakers);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void document_samples(struct ifg_json *json, const struct report *report)
{
    const struct hot *hot = report->hot;

    if (!report->input->profile)
        return;
    ifg_json_put_open(json, "sampled", '{');
    ifg_json_put_uint(json, "samples", hot ? hot->samples : 0);
    ifg_json_put_open(json, "modules", '[');
    for (size_t i = 0; hot && i < hot->module_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", hot->modules[i].name);
        ifg_json_put_uint(json, "self", hot->modules[i].self);
        ifg_json_put_double(json, "share", share_of(hot->modules[i].self, hot->samples));
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    json_functions(json, hot);
    ifg_json_put_bool(json, "has_wakers", report->input->profile->has_wakers);
    json_threads(json, report);
    ifg_json_close(json, '}');
}
