// SPDX-License-Identifier: Apache-2.0
/* Models and settings: each alone first (does it work, what does it need, what comes out), then
 * against the baseline, then what the numbers say. */
#include "bench/compare/compare_models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/quantile.h"

#define ALONE_RUNS 10u
#define ALONE_S    1.0
#define SLOW_MS    20.0 /* an inference: five of them are a block of 100 ms */
#define MS         1e-6

/* ---- contenders ---- */

static const char *own_setting(const struct bench_variant *variant, const char *key)
{
    for (size_t i = 0; variant && i < variant->setting_count; i++)
        if (strcmp(variant->settings[i].key, key) == 0)
            return variant->settings[i].value;
    return NULL;
}

/* "ort" and "runtime" choose the process; the runtime itself would not know them. */
static void forget_setting(struct measure_row *row, const char *key)
{
    size_t kept = 0;

    for (size_t i = 0; i < row->setting_count; i++)
        if (strcmp(row->settings[i].key, key) != 0)
            row->settings[kept++] = row->settings[i];
    row->setting_count = kept;
}

static enum ifg_status describe_model(struct contender *contender, struct ifg_error *err)
{
    struct bench_result *facts = bench_result_create();
    enum ifg_status status;

    if (!facts)
        return ifg_fail_no_memory(err, NULL);
    status = bench_check_model(contender->base.model, contender->runtime != NULL, facts, err);
    if (!status) {
        contender->row->model_bytes = facts->model_bytes;
        if (!compare_set(&contender->row->model_hash, facts->model_hash))
            status = ifg_fail_no_memory(err, NULL);
    }
    bench_result_destroy(facts);
    return status;
}

static enum ifg_status contender_init(struct model_job *job, size_t i, bool turns,
                                      struct ifg_error *err)
{
    struct bench_options bench = job->options->bench; /* its own library and runtime */
    const struct bench_variant *variant = &job->options->bench.variants[i];
    struct contender *contender = &job->contenders[i];
    enum ifg_status status;

    contender->row = &job->compare->rows[i];
    if (turns && own_setting(variant, "runtime"))
        bench.runtime = own_setting(variant, "runtime");
    if (turns && own_setting(variant, "ort"))
        bench.library = own_setting(variant, "ort");
    contender->runtime = bench.runtime;
    if (!compare_set(&contender->row->name, variant->name))
        return ifg_fail_no_memory(err, NULL);
    status = measure_row_init(&bench, variant, &contender->base, err);
    if (turns) {
        forget_setting(&contender->base, "ort");
        forget_setting(&contender->base, "runtime");
    }
    if (!status)
        status = describe_model(contender, err);
    if (status)
        return status;
    status = measure_find_runtime(&bench, &contender->found, err);
    if (status == IFG_UNSUPPORTED && i > 0 && turns) {
        compare_drop(contender->row, err ? err->message : "it is not there");
        return IFG_OK;
    }
    return status;
}

/* ---- each alone ---- */

static const struct tensor *find_tensor(const struct tensor_list *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}

static bool takes(const struct port *port, const struct tensor *tensor)
{
    bool same = port->type == tensor->type && port->rank == tensor->rank;

    for (uint32_t i = 0; i < port->rank && same; i++)
        same = port->dims[i] < 0 || port->dims[i] == tensor->dims[i];
    return same;
}

/* All get the same inputs, so all must take them. */
static enum ifg_status check_inputs(const struct model_job *job, const struct contender *contender,
                                    const struct port_list *ports, struct ifg_error *err)
{
    const struct tensor_list *set = &job->sets->sets[0];
    const char *baseline = job->compare->rows[0].name;
    char wanted[128], given[128];

    for (size_t i = 0; i < ports->count; i++) {
        const struct port *port = &ports->items[i];
        const struct tensor *tensor = find_tensor(set, port->name);

        tensor_shape_text(port->dims, port->dim_names, port->rank, wanted, sizeof wanted);
        if (!tensor)
            return ifg_fail(err, IFG_INVALID,
                            "%s takes an input '%s' (%s %s) that %s does not have; only models "
                            "with the same inputs can be compared",
                            contender->row->name, port->name, tensor_type_name(port->type), wanted,
                            baseline);
        tensor_shape_text(tensor->dims, NULL, tensor->rank, given, sizeof given);
        if (!takes(port, tensor))
            return ifg_fail(err, IFG_INVALID,
                            "input '%s' is %s %s for %s, but %s takes %s %s; only models with the "
                            "same inputs can be compared",
                            port->name, tensor_type_name(tensor->type), given, baseline,
                            contender->row->name, tensor_type_name(port->type), wanted);
    }
    if (ports->count != set->count)
        return ifg_fail(err, IFG_INVALID,
                        "%s has %zu inputs and %s %zu; only models with the same inputs can be "
                        "compared",
                        contender->row->name, ports->count, baseline, set->count);
    return IFG_OK;
}

static enum ifg_status keep_output_names(struct model_job *job, struct ifg_error *err)
{
    struct compare *compare = job->compare;
    const struct tensor_list *outputs = &job->expected[0];

    compare->outputs = ifg_alloc(outputs->count + 1, sizeof *compare->outputs);
    if (!compare->outputs)
        return ifg_fail_no_memory(err, NULL);
    for (size_t i = 0; i < outputs->count; i++) {
        if (!compare_set(&compare->outputs[i], outputs->items[i].name))
            return ifg_fail_no_memory(err, NULL);
        compare->output_count++;
    }
    return IFG_OK;
}

static enum ifg_status judge_outputs(struct model_job *job, struct compare_row *row,
                                     struct ifg_error *err)
{
    char reason[200];

    for (size_t i = 0; i < row->accuracy_count; i++) {
        const struct accuracy *output = &row->accuracy[i];

        if (output->neither_finite &&
            !compare_warn(job->compare,
                          "%s: %llu of %llu elements of output '%s' are NaN or infinite, in the "
                          "baseline too; inputs like real ones (--input-data) may help",
                          row->name, (unsigned long long)output->neither_finite,
                          (unsigned long long)output->elements, output->output))
            return ifg_fail_no_memory(err, NULL);
    }
    if (accuracy_within(row->accuracy, row->accuracy_count, &job->options->limits, reason,
                        sizeof reason))
        return IFG_OK;
    row->outputs_differ = true;
    return compare_set(&row->outputs_reason, reason) ? IFG_OK : ifg_fail_no_memory(err, NULL);
}

/* The baseline's outputs are kept, the others' compared with them: set by set. */
static enum ifg_status look_at_outputs(struct model_job *job, struct contender *contender,
                                       struct ifg_error *err)
{
    struct compare_row *row = contender->row;
    bool baseline = contender == job->contenders;

    for (size_t set = 0; set < job->sets->count; set++) {
        struct tensor_list got = { 0 };
        struct accuracy *list = NULL;
        enum ifg_status status = runner_results(job->runner, contender->slot, set, &got, err);

        if (!status && baseline) {
            job->expected[set] = got;
            job->expected_count = set + 1;
            continue;
        }
        if (!status)
            status = accuracy_compare(&job->expected[set], &got, &list, err);
        tensor_list_fini(&got);
        if (status)
            return status;
        if (row->accuracy) {
            accuracy_combine(row->accuracy, list, row->accuracy_count);
            accuracy_free(list);
        } else {
            row->accuracy = list;
            row->accuracy_count = job->expected[set].count;
        }
    }
    for (size_t i = 0; i < row->accuracy_count && i < job->compare->output_count; i++)
        row->accuracy[i].output = job->compare->outputs[i];
    return baseline ? keep_output_names(job, err) : judge_outputs(job, row, err);
}

static enum ifg_status try_outputs(struct model_job *job, struct contender *contender,
                                   struct ifg_error *err)
{
    bool baseline = contender == job->contenders;
    enum ifg_status status;

    if (!job->options->accuracy)
        return compare_set(&contender->row->accuracy_reason, "not asked for (--no-accuracy)")
                   ? IFG_OK
                   : ifg_fail_no_memory(err, NULL);
    if (!baseline && job->expected_count < job->sets->count)
        return compare_set(&contender->row->accuracy_reason, "the baseline gave no outputs")
                   ? IFG_OK
                   : ifg_fail_no_memory(err, NULL);
    status = look_at_outputs(job, contender, err);
    if (status != IFG_UNSUPPORTED)
        return status;
    return compare_set(&contender->row->accuracy_reason, err ? err->message : "not told")
               ? IFG_OK
               : ifg_fail_no_memory(err, NULL);
}

static enum ifg_status make_inputs(struct model_job *job, struct contender *contender,
                                   const struct port_list *ports, struct ifg_error *err)
{
    enum ifg_status status;

    if (contender != job->contenders)
        return check_inputs(job, contender, ports, err);
    status = measure_make_inputs(&job->options->bench, &contender->base, ports, err);
    if (status)
        return status;
    job->sets = contender->base.sets;
    job->expected = ifg_alloc(job->sets->count, sizeof *job->expected);
    if (!job->expected || !compare_set(&job->compare->inputs, job->sets->summary))
        return ifg_fail_no_memory(err, NULL);
    return IFG_OK;
}

/* The median without the first; of few, so no more than that. */
static double about(const struct runner_samples *samples)
{
    double times[ALONE_RUNS];
    size_t count = 0;

    for (size_t i = samples->count > 1; i < samples->count && count < ALONE_RUNS; i++)
        times[count++] = MS * (double)(samples->end_ns[i] - samples->start_ns[i]);
    statistics_sort(times, count);
    return ifg_quantile_sorted(times, count, 0.5, IFG_QUANTILE_LINEAR);
}

static enum ifg_status run_alone(struct model_job *job, struct contender *contender,
                                 struct runner_loaded *loaded, struct ifg_error *err)
{
    struct compare_row *row = contender->row;
    struct runner_samples samples = { 0 };
    struct trust_reading reading;
    enum ifg_status status;

    status = runner_bind(job->runner, contender->slot, job->sets->sets, job->sets->count, 1, err);
    if (!status)
        status = compare_process_run(job, contender, ALONE_RUNS, (uint64_t)(1e9 * ALONE_S), 0,
                                     &samples, err);
    if (!status) {
        row->first_ms = MS * (double)(samples.end_ns[0] - samples.start_ns[0]);
        contender->about_ms = about(&samples);
        row->load_ms = MS * (double)loaded->load_ns;
        row->specialization_ms =
            loaded->specialization_ns ? MS * (double)loaded->specialization_ns : NAN;
        trust_read(&host_system, job->facts.pid, &reading);
        row->peak_bytes = reading.peak_rss_bytes == UINT64_MAX ? 0 : reading.peak_rss_bytes;
    }
    runner_samples_fini(&samples);
    return status;
}

static enum ifg_status look_alone(struct model_job *job, struct contender *contender,
                                  bool *out_inputs_wrong, struct ifg_error *err)
{
    struct runner_loaded loaded = { 0 };
    const struct input_sets *sets = job->sets;
    enum ifg_status status = compare_process_start(job, contender, err);

    *out_inputs_wrong = false;
    job->sets = NULL; /* nothing is bound before it is known to fit */
    if (!status)
        status = compare_process_load(job, contender, &loaded, err);
    job->sets = sets;
    if (!status) {
        snprintf(contender->version, sizeof contender->version, "%s %s", job->facts.runtime,
                 job->facts.version);
        status = make_inputs(job, contender, &loaded.inputs, err);
        *out_inputs_wrong = status != IFG_OK;
    }
    if (!status)
        status = run_alone(job, contender, &loaded, err);
    if (!status)
        status = try_outputs(job, contender, err);
    runner_loaded_fini(&loaded);
    compare_process_end(job);
    return status;
}

static enum ifg_status look_at_each(struct model_job *job, struct ifg_error *err)
{
    for (size_t i = 0; i < job->compare->row_count; i++) {
        struct contender *contender = &job->contenders[i];
        bool inputs_wrong;
        enum ifg_status status;

        if (!contender->row->available)
            continue;
        status = look_alone(job, contender, &inputs_wrong, err);
        if (!status)
            continue;
        if (status == IFG_NOT_FOUND && !inputs_wrong) /* the library: this machine lacks it */
            status = IFG_UNSUPPORTED;
        if (status == IFG_CANCELLED || status == IFG_NO_MEMORY || inputs_wrong)
            return status;
        if (i == 0)
            return ifg_fail_context(err, status, "%s, the baseline, cannot be measured",
                                    contender->row->name);
        compare_drop(contender->row, err ? err->message : "it failed");
    }
    return IFG_OK;
}

/* Libraries are told apart by their versions rather than by where they are. */
static enum ifg_status name_by_version(struct model_job *job, struct ifg_error *err)
{
    struct compare_row *rows = job->compare->rows;

    for (size_t i = 0; i < job->compare->row_count; i++)
        for (size_t j = 0; j < i; j++)
            if (rows[i].available && rows[j].available &&
                strcmp(job->contenders[i].version, job->contenders[j].version) == 0)
                return IFG_OK;
    for (size_t i = 0; i < job->compare->row_count; i++)
        if (rows[i].available && !compare_set(&rows[i].name, job->contenders[i].version))
            return ifg_fail_no_memory(err, NULL);
    return IFG_OK;
}

/* ---- interleaved ---- */

/* Beginning a process costs as much as some blocks: four pairs in each make good use of it, unless
 * they take long. */
static uint32_t choose_pairs(const struct model_job *job)
{
    double slowest = 0;

    for (size_t i = 0; i < job->compare->row_count; i++)
        slowest = fmax(slowest, job->contenders[i].about_ms);
    return slowest > SLOW_MS ? 2 : 4;
}

static enum ifg_status measure(struct model_job *job, bool turns, struct ifg_error *err)
{
    const struct compare_options *options = job->options;
    struct compare_plan plan;
    uint32_t first = options->pairs;
    uint32_t last = options->pairs_max;

    compare_make_plan(options, turns, &plan);
    if (turns) {
        first = plan.processes;
        last = plan.processes_most;
    } else if (!first) {
        first = COMPARE_PROCESSES_SHARED * choose_pairs(job);
    }
    if (last && first > last)
        first = last;
    job->compare->few_processes =
        !turns && plan.processes < statistics_needed(0.5, job->compare->confidence);
    if (job->compare->few_processes &&
        !compare_warn(job->compare,
                      "few processes, as asked for: pairs are taken for independent, and what one "
                      "process's memory does to a side is not averaged out"))
        return ifg_fail_no_memory(err, NULL);
    job->pairs_per_process = (first + plan.processes - 1) / plan.processes;
    job->pairs_per_process += job->pairs_per_process % 2; /* four blocks are two pairs */
    /* Pairs are cheap, and a few more minutes find what is small. */
    if (!last)
        last = 16 * first;
    return compare_in_looks(job->compare, first, last,
                            turns ? compare_pairs_of_processes : compare_pairs_in_process, job,
                            &job->out_of_time, err);
}

/* ---- what the numbers say ---- */

static enum ifg_status finish_row(struct contender *contender, uint64_t seed, struct ifg_error *err)
{
    struct compare_row *row = contender->row;
    double *sorted;
    enum ifg_status status;

    if (!contender->sample_count)
        return IFG_OK;
    status = statistics_summarize(contender->samples_ms, contender->sample_count,
                                  IFG_QUANTILE_LINEAR, STATISTICS_CONFIDENCE, &row->summary, err);
    if (!status)
        status = statistics_median_interval(contender->samples_ms, contender->sample_count,
                                            contender->blocks, contender->block_count,
                                            STATISTICS_CONFIDENCE, seed, &row->p50, err);
    if (status)
        return status;
    row->p50_ms = row->summary.p[STATISTICS_P50];
    row->throughput = 1e3 / row->p50_ms;
    sorted = ifg_alloc(contender->sample_count, sizeof *sorted);
    if (!sorted)
        return ifg_fail_no_memory(err, NULL);
    memcpy(sorted, contender->samples_ms, contender->sample_count * sizeof *sorted);
    statistics_sort(sorted, contender->sample_count);
    row->p99 =
        statistics_quantile_bound(sorted, contender->sample_count, 0.99, STATISTICS_CONFIDENCE);
    ifg_free(sorted);
    return IFG_OK;
}

static enum ifg_status judge_machine(struct model_job *job, struct ifg_error *err)
{
    struct trust_reading before = { 0 }, after = { 0 };
    struct trust_work work = { .blocks = job->seen_count, .threads = 1 };
    uint64_t *references = ifg_alloc(job->seen_count + 1, sizeof *references);
    double *sorted = ifg_alloc(job->seen_count + 1, sizeof *sorted);
    double usual;

    if (!references || !sorted) {
        ifg_free(references);
        ifg_free(sorted);
        return ifg_fail_no_memory(err, NULL);
    }
    for (size_t i = 0; i < job->seen_count; i++) {
        references[i] = job->seen[i].reference_ns;
        sorted[i] = (double)references[i];
    }
    statistics_sort(sorted, job->seen_count);
    usual = job->seen_count ? ifg_quantile_sorted(sorted, job->seen_count, 0.5, IFG_QUANTILE_LINEAR)
                            : 0;
    for (size_t i = 0; i < job->seen_count; i++) {
        const struct seen_block *seen = &job->seen[i];

        work.inferences += seen->inferences;
        work.disturbed += trust_disturbed(&seen->before, &seen->after, seen->inferences,
                                          seen->reference_ns, (uint64_t)usual);
        trust_add(&before, &after, &seen->before, &seen->after);
    }
    work.reference_ns = references;
    work.reference_count = job->seen_count;
    if (job->seen_count)
        trust_judge(&host_system, &before, &after, &work, &job->compare->trust);
    ifg_free(references);
    ifg_free(sorted);
    return IFG_OK;
}

static enum ifg_status finish(struct model_job *job, struct ifg_error *err)
{
    struct compare *compare = job->compare;
    enum ifg_status status = judge_machine(job, err);

    compare->iterations_per_block = compare->rows[0].block_iterations;
    for (size_t i = 0; i < compare->row_count && !status; i++)
        status = finish_row(&job->contenders[i], compare->seed, err);
    if (!status && (!compare_set(&compare->runtime, job->contenders[0].version) ||
                    !compare_set(&compare->library, job->contenders[0].found.ort.path)))
        status = ifg_fail_no_memory(err, NULL);
    if (!status && job->out_of_time &&
        !compare_warn(compare, "stopped after %.0f s (--max-time)",
                      compare_now() - job->deadline +
                          (job->options->max_s > 0 ? job->options->max_s : COMPARE_MAX_S)))
        status = ifg_fail_no_memory(err, NULL);
    return status;
}

static void job_fini(struct model_job *job)
{
    compare_process_end(job);
    for (size_t i = 0; i < job->expected_count; i++)
        tensor_list_fini(&job->expected[i]);
    ifg_free(job->expected);
    for (size_t i = 0; job->compare && i < job->compare->row_count && job->contenders; i++) {
        measure_row_fini(&job->contenders[i].base);
        ifg_free(job->contenders[i].samples_ms);
        ifg_free(job->contenders[i].blocks);
    }
    ifg_free(job->contenders);
    ifg_free(job->order);
    ifg_free(job->seen);
}

bool compare_needs_turns(const struct bench_options *bench)
{
    for (size_t i = 0; i < bench->variant_count; i++)
        if (own_setting(&bench->variants[i], "ort") || own_setting(&bench->variants[i], "runtime"))
            return true;
    return false;
}

static enum ifg_status run_job(struct model_job *job, bool turns, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < job->compare->row_count && !status; i++)
        status = contender_init(job, i, turns, err);
    if (!status)
        status = look_at_each(job, err);
    if (!status && turns)
        status = name_by_version(job, err);
    if (!status)
        status = measure(job, turns, err);
    if (!status)
        status = finish(job, err);
    if (!status && job->options->ops && !job->compare->interrupted)
        status = compare_measure_ops(job->options, job->compare, err);
    return status;
}

enum ifg_status compare_models(const struct compare_options *options, struct compare **out_compare,
                               struct ifg_error *err)
{
    size_t count = options->bench.variant_count;
    bool turns = compare_needs_turns(&options->bench);
    struct model_job job = { .options = options, .random = options->bench.inputs.seed };
    double start = compare_now();
    enum ifg_status status;

    if (count < 2)
        return ifg_fail(err, IFG_INVALID, "a comparison needs two models or settings");
    status = compare_create(turns ? COMPARE_PROCESSES : COMPARE_BLOCK_PAIRS, options, count,
                            &job.compare, err);
    if (status)
        return status;
    job.deadline = start + (options->max_s > 0 ? options->max_s : COMPARE_MAX_S);
    job.contenders = ifg_alloc(count, sizeof *job.contenders);
    job.order = ifg_alloc(count, sizeof *job.order);
    status =
        job.contenders && job.order ? run_job(&job, turns, err) : ifg_fail_no_memory(err, NULL);
    job.compare->elapsed_s = compare_now() - start;
    job_fini(&job);
    if (status) {
        compare_destroy(job.compare);
        return status;
    }
    *out_compare = job.compare;
    return IFG_OK;
}
