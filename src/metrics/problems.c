// SPDX-License-Identifier: Apache-2.0
/* Findings of a trace, in short: see problems.h. */
#include "metrics/problems.h"

#include <string.h>

#include "analyze/findings/findings.h"
#include "metrics/tally.h"
#include "timeline/timeline.h"
#include "trace/reader.h"

void problems_add(struct problems *problems, const struct problem *problem)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        struct problem *known = &problems->items[i];

        if (strcmp(known->id, problem->id) == 0 && known->severity == problem->severity &&
            strcmp(known->model, problem->model) == 0 &&
            strcmp(known->program, problem->program) == 0) {
            known->count += problem->count;
            return;
        }
    }
    if (problems->count == PROBLEMS_MOST)
        problems->not_kept += problem->count;
    else
        problems->items[problems->count++] = *problem;
}

static void add_window(struct problems *problems, const struct problems_window *window)
{
    for (uint32_t i = 0; i < problems->window_count; i++) {
        struct problems_window *known = &problems->windows[i];

        if (strcmp(known->program, window->program) == 0) {
            if (window->seconds > known->seconds)
                known->seconds = window->seconds;
            return;
        }
    }
    if (problems->window_count < PROBLEMS_PROGRAMS_MOST)
        problems->windows[problems->window_count++] = *window;
}

void problems_merge(struct problems *problems, const struct problems *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        problems_add(problems, &other->items[i]);
    for (uint32_t i = 0; i < other->window_count; i++)
        add_window(problems, &other->windows[i]);
    problems->not_kept += other->not_kept;
}

static void take(const struct timeline *timeline, const struct findings *findings,
                 const char *program, struct problems *out)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct problem problem = { .severity = finding->severity, .count = 1 };

        tally_set_text(problem.program, sizeof problem.program, program);
        tally_set_text(problem.id, sizeof problem.id, finding->id);
        if (finding->model < timeline->model_count) {
            const struct timeline_model *model = &timeline->models[finding->model];

            tally_set_model(problem.model, sizeof problem.model, model->given_name, model->path,
                            model->id);
        }
        problems_add(out, &problem);
    }
}

enum ifg_status problems_find(const struct trace_reader *reader, const char *program,
                              struct problems *out_problems, struct ifg_error *err)
{
    const struct timeline_options options = { .threads = 1 };
    const struct timeline *timeline = NULL;
    struct ml_input *input = NULL;
    struct findings *findings = NULL;
    struct problems_window window;
    enum ifg_status status = timeline_create(reader, &options, &timeline, err);

    memset(out_problems, 0, sizeof *out_problems);
    if (!status)
        status = findings_input_create(timeline, &input, err);
    if (!status)
        status = findings_create(input, &findings, err);
    if (!status) {
        take(timeline, findings, program, out_problems);
        window.seconds = (double)timeline_length_ns(timeline) * 1e-9;
        tally_set_text(window.program, sizeof window.program, program);
        add_window(out_problems, &window);
    }
    findings_destroy(findings);
    findings_input_destroy(input);
    timeline_destroy(timeline);
    return status;
}
