// SPDX-License-Identifier: Apache-2.0
/*
 * The latency file of AIC100's tools: four lines, then a row of padded columns for each inference
 * of one model, in the order of their starts. What only the device could tell is N/A.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/latency_table.h"
#include "export/export_internal.h"

struct sample {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t trip_start_ns; /* with setup and earlier stages */
    uint64_t trip_end_ns;   /* with later stages */
    uint64_t enqueue_ns;
    uint64_t pre_ns;
    uint64_t post_ns;
    uint64_t number;
};

/* A stage of a request; by request and time. */
struct request_stage {
    uint64_t id;
    uint64_t start_ns;
    uint64_t end_ns;
};

struct latency {
    struct export_job *job;
    const struct timeline *timeline;
    uint32_t model;
    const char *name;
    struct export_flows flows;
    struct request_stage *stages;
    struct sample *samples;
    size_t count;
    size_t capacity;
    uint64_t requested;
    uint64_t written;
    uint32_t every; /* of all samples; the others count for the queue */
    uint64_t *ends; /* of all samples, sorted */
    uint32_t known; /* columns, as LATENCY_KNOWN has them */
};

size_t export_programs(const struct timeline *timeline, uint32_t *out, size_t size)
{
    size_t count = 0;

    for (uint32_t model = 0; model < timeline->model_count; model++) {
        uint64_t inferences = 0;

        for (size_t i = 0; i < timeline->function_count; i++)
            if (timeline->functions[i].model == model)
                inferences += timeline->functions[i].events[TRACE_CATEGORY_INFERENCE];
        for (size_t i = 0; i < timeline->async_count && !inferences; i++) {
            const struct timeline_location *location =
                &timeline->locations[timeline->asyncs[i].location];

            inferences +=
                location->model == model && location->category == TRACE_CATEGORY_INFERENCE;
        }
        if (!inferences)
            continue;
        if (count < size)
            out[count] = model;
        count++;
    }
    return count;
}

/* ---- requests ---------------------------------------------------------------- */

static int by_id_and_start(const void *a, const void *b)
{
    const struct request_stage *left = a;
    const struct request_stage *right = b;

    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static enum ifg_status list_stages(struct latency *l)
{
    enum ifg_status status = export_flows_init(&l->flows, l->job);

    if (status || l->flows.count == 0)
        return status;
    l->stages = ifg_alloc(l->flows.count, sizeof *l->stages);
    if (!l->stages)
        return export_no_memory(l->job);
    for (size_t i = 0; i < l->flows.count; i++) {
        size_t slice = l->flows.items[i].slice;

        l->stages[i] = (struct request_stage){ l->flows.items[i].id, l->timeline->start_ns[slice],
                                               timeline_end_ns(l->timeline, slice) };
    }
    qsort(l->stages, l->flows.count, sizeof *l->stages, by_id_and_start);
    return IFG_OK;
}

static void add_request(struct latency *l, struct sample *sample, uint64_t id)
{
    size_t low = 0;
    size_t high = l->flows.count;
    uint64_t setup_ns = sample->pre_ns;
    uint64_t setup_start_ns = sample->trip_start_ns;
    uint64_t waited_since = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->stages[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < l->flows.count && l->stages[low].id == id; low++) {
        const struct request_stage *stage = &l->stages[low];

        if (stage->start_ns < sample->trip_start_ns)
            sample->trip_start_ns = stage->start_ns;
        if (stage->end_ns > sample->trip_end_ns)
            sample->trip_end_ns = stage->end_ns;
        if (stage->end_ns <= sample->start_ns) {
            sample->pre_ns += stage->end_ns - stage->start_ns;
            waited_since = stage->end_ns;
            l->known |= LATENCY_KNOWN(LATENCY_PRE);
        } else if (stage->start_ns >= sample->end_ns) {
            sample->post_ns += stage->end_ns - stage->start_ns;
            l->known |= LATENCY_KNOWN(LATENCY_POST);
        } else if (waited_since && stage->start_ns >= waited_since) {
            sample->enqueue_ns = stage->start_ns - waited_since;
            l->known |= LATENCY_KNOWN(LATENCY_ENQUEUE);
        }
    }
    if (waited_since > setup_start_ns)
        sample->pre_ns -= setup_ns; /* the setup lies in one of the stages */
}

/* ---- inferences -------------------------------------------------------------- */

static struct sample *add_sample(struct latency *l, uint64_t start_ns, uint64_t end_ns)
{
    if (!IFG_ARRAY_ROOM(l->samples, l->capacity, l->count + 1, IFG_ARRAY_ANY))
        return NULL;
    l->samples[l->count] = (struct sample){ start_ns, end_ns, start_ns, end_ns, 0, 0, 0, 0 };
    return &l->samples[l->count++];
}

/* What is known on a thread when the next slice comes. */
struct before {
    uint64_t setup_start_ns; /* of setups since the last inference */
    uint64_t setup_ns;
    bool setup;
    size_t current; /* the sample whose inference is open */
    uint64_t stage_end_ns;
    uint64_t request; /* of the stage that is open, or 0 */
};

static void take_setup(struct latency *l, struct before *before, const struct export_slice *slice)
{
    uint64_t ns = slice->end_ns - slice->start_ns;

    l->known |= LATENCY_KNOWN(LATENCY_PRE);
    if (before->current < l->count && slice->end_ns <= l->samples[before->current].end_ns) {
        l->samples[before->current].pre_ns += ns; /* inside the inference */
        return;
    }
    if (!before->setup)
        before->setup_start_ns = slice->start_ns;
    before->setup = true;
    before->setup_ns += ns;
}

static bool take_inference(struct latency *l, struct before *before,
                           const struct export_slice *slice)
{
    struct sample *sample;

    l->requested++;
    if (slice->unfinished)
        return true;
    sample = add_sample(l, slice->start_ns, slice->end_ns);
    if (!sample)
        return false;
    before->current = l->count - 1;
    if (before->setup) {
        sample->trip_start_ns = before->setup_start_ns;
        sample->pre_ns = before->setup_ns;
    }
    before->setup = false;
    before->setup_ns = 0;
    if (before->request && slice->start_ns < before->stage_end_ns)
        add_request(l, sample, before->request);
    return true;
}

static bool take_thread(struct latency *l, uint32_t thread)
{
    struct before before = { .current = SIZE_MAX };
    struct export_cursor cursor;
    struct export_slice slice;

    if (!export_cursor_init(&cursor, l->job, thread))
        return true;
    while (export_next(&cursor, &slice)) {
        const struct timeline_location *location = &l->timeline->locations[slice.location];

        if (location->kind == TRACE_LOCATION_STAGE) {
            const struct export_flow *flow = export_flow_of(&l->flows, slice.index);

            before.request = flow ? flow->id : 0;
            before.stage_end_ns = slice.end_ns;
        }
        if (location->kind != TRACE_LOCATION_ML || location->model != l->model)
            continue;
        if (location->category == TRACE_CATEGORY_SETUP)
            take_setup(l, &before, &slice);
        else if (location->category == TRACE_CATEGORY_INFERENCE &&
                 !take_inference(l, &before, &slice))
            return false;
    }
    return true;
}

static bool take_spans(struct latency *l)
{
    for (size_t i = 0; i < l->timeline->async_count; i++) {
        const struct timeline_async *span = &l->timeline->asyncs[i];
        const struct timeline_location *location = &l->timeline->locations[span->location];

        if (location->model != l->model || location->category != TRACE_CATEGORY_INFERENCE ||
            !export_wants_span(l->job, span))
            continue;
        l->requested++;
        if (span->end_thread != TIMELINE_NONE && !add_sample(l, span->start_ns, span->end_ns))
            return false;
    }
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct sample *left = a;
    const struct sample *right = b;

    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;

    return *left < *right ? -1 : *left > *right;
}

static bool sort_samples(struct latency *l)
{
    l->ends = ifg_alloc(l->count + 1, sizeof *l->ends);
    if (!l->ends)
        return false;
    if (l->count)
        qsort(l->samples, l->count, sizeof *l->samples, by_start);
    for (size_t i = 0; i < l->count; i++) {
        l->ends[i] = l->samples[i].end_ns;
        l->samples[i].number = i;
    }
    qsort(l->ends, l->count, sizeof *l->ends, by_value);
    return true;
}

/* ---- the file ---------------------------------------------------------------- */

/* At the beginning and at the end each: what --keep-middle does not want. */
static size_t left_out(const struct latency *l)
{
    double percent = l->job->options->keep_middle;

    return percent > 0 ? (size_t)((double)l->count * (100 - percent) / 200) : 0;
}

static enum ifg_status write_head(struct latency *l)
{
    char *head = ifg_alloc(LATENCY_HEAD_BYTES + strlen(l->name), 1);

    if (!head)
        return export_no_memory(l->job);
    export_put(
        l->job->sink, head,
        latency_write_head(head, l->job->options->program + 1, l->name, l->written, l->requested));
    ifg_free(head);
    return IFG_OK;
}

static void write_samples(struct latency *l)
{
    size_t started = 0;
    size_t ended = 0;

    l->known |= LATENCY_KNOWN(LATENCY_SAMPLE) | LATENCY_KNOWN(LATENCY_HOST_ROUND_TRIP) |
                LATENCY_KNOWN(LATENCY_EXEC_TOTAL) | LATENCY_KNOWN(LATENCY_TOTAL) |
                LATENCY_KNOWN(LATENCY_QUEUE_DEPTH);
    for (size_t i = 0; i < l->count; i++) {
        const struct sample *sample = &l->samples[i];
        struct latency_row row = { .known = l->known };
        char *out;

        while (started < l->count && l->samples[started].start_ns <= sample->start_ns)
            started++;
        while (ended < l->count && l->ends[ended] <= sample->start_ns)
            ended++;
        row.values[LATENCY_SAMPLE] = sample->number;
        row.values[LATENCY_HOST_ROUND_TRIP] = sample->end_ns - sample->start_ns;
        row.values[LATENCY_EXEC_TOTAL] = row.values[LATENCY_HOST_ROUND_TRIP];
        row.values[LATENCY_ENQUEUE] = sample->enqueue_ns;
        row.values[LATENCY_PRE] = sample->pre_ns;
        row.values[LATENCY_POST] = sample->post_ns;
        row.values[LATENCY_TOTAL] = sample->trip_end_ns - sample->trip_start_ns;
        row.values[LATENCY_QUEUE_DEPTH] = started > ended ? started - ended : 1;
        if (sample->number % l->every || i < left_out(l) || i >= l->count - left_out(l))
            continue;
        out = export_room(l->job->sink, LATENCY_ROW_BYTES);
        export_advance(l->job->sink, out + latency_write_row(out, &row));
    }
}

static void explain(struct latency *l)
{
    export_note(
        l->job,
        "dev*, submitTimeUs, exectoVcUs, execToCompleteUs and numInfInQueue are N/A: nothing "
        "in this trace was measured on the device");
    if (!(l->known & LATENCY_KNOWN(LATENCY_ENQUEUE)))
        export_note(l->job, "enqTimeUs is N/A: no request has a stage before its inference");
    if (!(l->known & LATENCY_KNOWN(LATENCY_PRE)))
        export_note(l->job, "preProcTimeUs is N/A: there are neither setup events nor stages "
                            "before an inference");
    if (!(l->known & LATENCY_KNOWN(LATENCY_POST)))
        export_note(l->job, "postProcUs is N/A: no request has a stage after its inference");
}

static enum ifg_status write_aic_latency(struct export_job *job)
{
    struct latency l = { .job = job, .timeline = job->timeline, .every = 1 };
    uint32_t *programs = ifg_alloc(job->timeline->model_count + 1, sizeof *programs);
    size_t program_count = 0;
    enum ifg_status status = IFG_OK;

    if (programs)
        program_count = export_programs(job->timeline, programs, job->timeline->model_count);
    else
        status = export_no_memory(job);
    if (!status && job->options->program >= program_count)
        status = ifg_fail(job->err, IFG_NOT_FOUND,
                          "the trace has no inferences of a model, and the file is about those");
    if (!status) {
        l.model = programs[job->options->program];
        l.name = job->timeline->models[l.model].name;
        status = list_stages(&l);
    }
    for (uint32_t i = 0; i < job->timeline->thread_count && !status; i++)
        if (!take_thread(&l, i))
            status = export_no_memory(job);
    if (!status && (!take_spans(&l) || !sort_samples(&l)))
        status = export_no_memory(job);
    if (!status) {
        job->result->slices = l.written = l.count - 2 * left_out(&l);
        status = write_head(&l);
    }
    if (!status) {
        write_samples(&l);
        explain(&l);
    }
    ifg_free(programs);
    ifg_free(l.stages);
    ifg_free(l.samples);
    ifg_free(l.ends);
    export_flows_fini(&l.flows);
    return status;
}

const struct export_format export_format_aic_latency = {
    .name = "aic-latency",
    .extension = "-latency.txt",
    .summary = "the latency file of AIC100's tools",
    .takes = EXPORT_TAKES_KEEP_MIDDLE,
    .per_program = true,
    .write = write_aic_latency,
};

enum ifg_status export_latency_of(const struct export_inferences *inferences,
                                  struct export_sink *sink, struct ifg_error *err)
{
    struct export_options options = { .program = inferences->program };
    struct export_job job = { .options = &options, .sink = sink, .err = err };
    struct latency l = { .job = &job,
                         .name = inferences->name,
                         .requested = inferences->count,
                         .every = inferences->every };
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < inferences->count && !status; i++) {
        const struct export_inference *from = &inferences->items[i];
        struct sample *sample = add_sample(&l, from->start_ns, from->end_ns);

        if (!sample) {
            status = export_no_memory(&job);
            break;
        }
        sample->trip_start_ns = from->due_ns;
        sample->enqueue_ns = from->start_ns - from->due_ns;
        if (sample->enqueue_ns > 0)
            l.known |= LATENCY_KNOWN(LATENCY_ENQUEUE);
        l.written += from->number % l.every == 0;
    }
    if (!status && !sort_samples(&l))
        status = export_no_memory(&job);
    /* They came in the order of their starts; numbers go on from the report before. */
    for (size_t i = 0; i < l.count && !status; i++)
        l.samples[i].number = inferences->items[i].number;
    if (!status)
        status = write_head(&l);
    if (!status)
        write_samples(&l);
    ifg_free(l.samples);
    ifg_free(l.ends);
    return status;
}
