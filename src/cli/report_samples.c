// SPDX-License-Identifier: Apache-2.0
/* What samples and context switches add to a report: hot functions, run-queue wait, threads. */
#include "cli/report_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/module_name.h"
#include "cli/stats_functions.h"

#define FUNCTIONS_SHOWN 5u
#define MODULES_SHOWN   5u

static double share_of(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

static void write_functions(const struct hot *hot, struct ifg_bytes *out, int indent)
{
    static const struct text_column shown[] = { { "", TEXT_RIGHT, 0, 0 },
                                                { "", TEXT_LEFT, 30, 0 },
                                                { "", TEXT_LEFT, 16, 1 } };
    struct text_table table;
    char number[32];

    if (!hot || !hot->samples)
        return;
    cli_print(out, "%*sHot functions (%s samples)\n", indent, "", cli_count(hot->samples, number));
    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], (size_t)indent + 2);
    for (size_t i = 0; i < hot->row_count && i < FUNCTIONS_SHOWN && hot->rows[i].self; i++) {
        const struct hot_row *row = &hot->rows[i];
        bool named = *row->under || module_names(row->module, row->name);
        char whole[300];

        text_table_share(&table, share_of(row->self, hot->samples));
        text_table_put(&table, "%s%s%s%.250s", row->guessed ? "? " : "",
                       module_name_short(row->name, whole, sizeof whole), *row->under ? " < " : "",
                       row->under);
        text_table_put(&table, "%s", named ? "" : row->module);
        text_table_next(&table);
    }
    text_table_end(&table, out);
}

void report_write_samples_of(const struct report_request *request, size_t position,
                             struct ifg_bytes *out)
{
    const struct report *report = request->report;
    const struct ml_model *model = &report->input->models[report->models[position]];
    const struct waiting_model *waiting = report_waiting(report, model);
    char wait[32];
    char length[32];

    if (waiting) {
        double count = (double)waiting->inferences;

        cli_print(out, "    Waiting  run queue %s of %s per inference (%.*f %%)%s\n",
                  cli_duration((double)waiting->ns[TIMELINE_RUNNABLE] / count, wait),
                  cli_duration((double)waiting->total_ns / count, length),
                  waiting_share(waiting) < 0.0995 ? 1 : 0, 100 * waiting_share(waiting),
                  report->input->waiting->has_wakers ? "" : "; waits after wakeups not recorded");
    }
    if (report->hot)
        write_functions(report_hot(report, model), out, 4);
}

void report_write_samples(const struct report_request *request, struct ifg_bytes *out)
{
    const struct hot *hot = request->report->hot;
    char line[1000] = "";
    char lead[80];
    char number[32];

    if (!hot || !hot->samples)
        return;
    if (!request->report->model_count) {
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
