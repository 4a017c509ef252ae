// SPDX-License-Identifier: Apache-2.0
/*
 * What `inferogram report` shows, as data: models with their timings, findings, the sentences that
 * matter most, and what watching cost. How it looks is the business of others.
 */
#ifndef IFG_ANALYZE_REPORT_H
#define IFG_ANALYZE_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/findings/findings.h"
#include "analyze/findings/input.h"
#include "analyze/hot.h"
#include "analyze/joules.h"
#include "analyze/roofline.h"
#include "analyze/waiting.h"
#include "base/status.h"
#include "timeline/timeline.h"

#define REPORT_SENTENCES  3u
#define REPORT_RUNTIMES   4u
#define REPORT_HOT_MODELS 16u /* models whose functions are counted apart */

struct report {
    struct ml_input *input;
    struct findings *findings;

    uint32_t *models; /* models with events, indices into input->models, most time first */
    size_t model_count;
    bool several_processes; /* models belong to more than one */

    const char *program; /* "" */
    char title[160];     /* the program that runs models, for people: "node ocr.js"; "" */
    const char *cpu;     /* name; "" */
    bool is_virtual;
    const char *runtimes[REPORT_RUNTIMES]; /* different ones */
    size_t runtime_count;                  /* may be more than are named */

    char sentences[REPORT_SENTENCES][360]; /* where it runs first */
    size_t sentence_count;

    struct hot *hot;                           /* of all samples; NULL: there are none */
    struct hot *hot_models[REPORT_HOT_MODELS]; /* of the first ones in models */

    struct joules *joules; /* energy; NULL: nothing is known of it */

    /* By position in models; NULL: nobody looked, since that needs the files of the models. */
    struct roofline **rooflines;

    double recorder_cpu_s;    /* NAN: not known */
    double recorder_share;    /* of one CPU */
    double operator_cost;     /* the largest of all functions; NAN */
    double operator_share_ns; /* time that recording operators added, as far as it is known */
};

enum ifg_status report_create(const struct timeline *timeline, struct report **out_report,
                              struct ifg_error *err) IFG_MUST_CHECK;
void report_destroy(struct report *report);

/* The functions that work for one model, and how long its inferences waited; NULL: not known. */
const struct hot *report_hot(const struct report *report, const struct ml_model *model);
const struct waiting_model *report_waiting(const struct report *report,
                                           const struct ml_model *model);

/* NULL: nobody looked. */
const struct roofline *report_roofline(const struct report *report, const struct ml_model *model);

/* Where one model runs, in a few words: "CPU 400/400 nodes", "CUDA 3, CPU 409 of 412 nodes"; "" if
 * that is not known. */
const char *report_placement(const struct ml_model *model, char *out, size_t size);

/* "cold", "1 cold, 13 cached", "" */
const char *report_load_states(const struct ml_model *model, char *out, size_t size);

#endif
