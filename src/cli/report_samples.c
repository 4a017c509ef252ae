// SPDX-License-Identifier: Apache-2.0
/* What samples and context switches add to a report: hot functions, run-queue wait, threads. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/stats_functions.h"

#define FUNCTIONS_SHOWN 5u
#define MODULES_SHOWN   5u
#define NAME_COLUMNS    58
#define JSON_FUNCTIONS  20u
#define JSON_DETAILS    3u
#define MS              1e6

static double share_of(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

static const struct hot *hot_of(const struct report *report, const struct ml_net *net)
{
    for (size_t i = 0; i < report->net_count && i < REPORT_HOT_NETS; i++)
        if (&report->input->nets[report->nets[i]] == net)
            return report->hot_nets[i];
    return NULL;
}

static const struct waiting_net *waiting_of(const struct report *report, const struct ml_net *net)
{
    const struct waiting *waiting = report->input->waiting;
    const struct waiting_net *found = waiting ? &waiting->nets[net - report->input->nets] : NULL;

    return found && found->inferences ? found : NULL;
}

static void write_functions(const struct hot *hot, struct ifg_bytes *out, int indent)
{
    char number[32];

    if (!hot || !hot->samples)
        return;
    cli_print(out, "%*sHot functions (%s samples)\n", indent, "", cli_count(hot->samples, number));
    for (size_t i = 0; i < hot->row_count && i < FUNCTIONS_SHOWN && hot->rows[i].self; i++) {
        const struct hot_row *row = &hot->rows[i];
        char name[600], module[100], whole[88];

        snprintf(name, sizeof name, "%s%.590s", row->guessed ? "? " : "", row->name);
        cli_print(out, "%*s%5.1f %%  ", indent + 2, "", 100 * share_of(row->self, hot->samples));
        if (*row->under) {
            size_t used = strlen(name);

            snprintf(name + used, sizeof name - used, " < %s", row->under);
            cli_print(out, "%s\n", cli_clean(name, whole, sizeof whole));
            continue; /* the name has the module in it */
        }
        functions_put_cell(out, name, NAME_COLUMNS);
        cli_print(out, "  %s\n", cli_clean(row->module, module, sizeof module));
    }
}

void report_write_samples_of(const struct report_request *request, size_t position,
                             struct ifg_bytes *out)
{
    const struct report *report = request->report;
    const struct ml_net *net = &report->input->nets[report->nets[position]];
    const struct waiting_net *waiting = waiting_of(report, net);
    char wait[32], length[32];

    if (waiting) {
        double count = (double)waiting->inferences;

        cli_print(out, "    Waiting  run queue %s of %s per inference (%.*f %%)\n",
                  cli_duration((double)waiting->ns[MODEL_RUNNABLE] / count, wait),
                  cli_duration((double)waiting->total_ns / count, length),
                  waiting_share(waiting) < 0.0995 ? 1 : 0, 100 * waiting_share(waiting));
    }
    if (report->hot)
        write_functions(hot_of(report, net), out, 4);
}

void report_write_samples(const struct report_request *request, struct ifg_bytes *out)
{
    const struct hot *hot = request->report->hot;
    char line[1000] = "";
    char lead[80], number[32];

    if (!hot || !hot->samples)
        return;
    if (!request->report->net_count) {
        cli_print(out, "\n");
        write_functions(hot, out, 2);
    }
    for (size_t i = 0; i < hot->module_count && i < MODULES_SHOWN; i++)
        report_append(line, sizeof line, "%s%.80s %.1f %%", i ? " · " : "", hot->modules[i].name,
                      100 * share_of(hot->modules[i].self, hot->samples));
    if (hot->module_count > MODULES_SHOWN)
        report_append(line, sizeof line, " · %zu more", hot->module_count - MODULES_SHOWN);
    snprintf(lead, sizeof lead, "CPU time goes to (%s samples)  ", cli_count(hot->samples, number));
    cli_print(out, "\n");
    report_wrap(out, 2, lead, line);
}

/* ---- for scripts ---- */

static void json_functions(struct ifg_json *json, const struct hot *hot)
{
    ifg_json_key(json, "functions");
    ifg_json_open(json, '[');
    for (size_t i = 0; hot && i < hot->row_count && i < JSON_FUNCTIONS && hot->rows[i].self; i++)
        functions_json_row(json, &hot->rows[i], hot->samples, JSON_DETAILS);
    ifg_json_close(json, ']');
}

static void json_waiting(struct ifg_json *json, const struct waiting_net *net)
{
    double count = (double)net->inferences;

    ifg_json_key(json, "waiting");
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "inferences", net->inferences);
    ifg_json_put_double(json, "mean_ms", (double)net->total_ns / count / MS);
    ifg_json_put_double(json, "run_queue_ms", (double)net->ns[MODEL_RUNNABLE] / count / MS);
    ifg_json_put_double(json, "run_queue_share", waiting_share(net));
    ifg_json_put_double(json, "blocked_ms", (double)net->ns[MODEL_BLOCKED] / count / MS);
    ifg_json_put_double(json, "longest_run_queue_ms", (double)net->longest_wait_ns / MS);
    ifg_json_close(json, '}');
}

void report_json_samples_of(const struct report_request *request, const struct ml_net *net,
                            struct ifg_json *json)
{
    const struct hot *hot = hot_of(request->report, net);
    const struct waiting_net *waiting = waiting_of(request->report, net);

    if (waiting)
        json_waiting(json, waiting);
    if (!hot)
        return;
    ifg_json_key(json, "sampled");
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "samples", hot->samples);
    ifg_json_put_uint(json, "lent", hot->lent);
    json_functions(json, hot);
    ifg_json_close(json, '}');
}

static void json_threads(struct ifg_json *json, const struct report *report)
{
    const struct waiting *waiting = report->input->waiting;
    const struct model_profile *profile = report->input->profile;

    ifg_json_key(json, "threads");
    ifg_json_open(json, '[');
    for (size_t i = 0; waiting && i < waiting->thread_count; i++) {
        const struct waiting_thread *from = &waiting->threads[i];
        const struct model_sampled_thread *thread = &profile->threads[from->thread];

        ifg_json_open(json, '{');
        ifg_json_put_uint(json, "pid", thread->pid);
        ifg_json_put_uint(json, "tid", thread->tid);
        ifg_json_put_string(json, "name", thread->name);
        ifg_json_put_uint(json, "samples", thread->sample_count);
        for (int s = 0; s < MODEL_STATES; s++) {
            char key[32];

            snprintf(key, sizeof key, "%s_ms", model_state_name((enum model_state)s));
            ifg_json_put_double(json, key, (double)from->ns[s] / MS);
        }
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void report_json_samples(const struct report_request *request, struct ifg_json *json)
{
    const struct report *report = request->report;
    const struct hot *hot = report->hot;

    if (!report->input->profile)
        return;
    ifg_json_key(json, "sampled");
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "samples", hot ? hot->samples : 0);
    ifg_json_key(json, "modules");
    ifg_json_open(json, '[');
    for (size_t i = 0; hot && i < hot->module_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", hot->modules[i].name);
        ifg_json_put_uint(json, "self", hot->modules[i].self);
        ifg_json_put_double(json, "share", share_of(hot->modules[i].self, hot->samples));
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    json_functions(json, hot);
    json_threads(json, report);
    ifg_json_close(json, '}');
}
