// SPDX-License-Identifier: Apache-2.0
/* Memory before, at most and after, and who held the heap: parts of several documents. */
#include <math.h>
#include <stdio.h>

#include "analyze/heap.h"
#include "export/documents.h"
#include "export/documents_internal.h"
#include "timeline/samples.h"

#define PHASES_SHOWN 1000u
#define ROWS_IN_JSON 50u

static const char *const parts[] = { "", "first", "rest" };

const char *memory_phase_label(const struct ml_input *input, const struct memory_phase *phase,
                               char *out, size_t size)
{
    if (phase->whole)
        snprintf(out, size, "process %.200s (%u)", phase->name, phase->pid);
    else if (phase->model >= input->model_count)
        snprintf(out, size, "zone %.200s", phase->name);
    else
        snprintf(out, size, "%.200s %s%s%s%s", input->models[phase->model].model->name, phase->name,
                 phase->part ? " (" : "", parts[phase->part], phase->part ? ")" : "");
    return out;
}

const char *memory_unknown(const struct memory_phase *phase, double value, char out[48])
{
    double ms = (double)phase->resolution_ns / 1e6;

    if (!isnan(value))
        return NULL;
    if (ms < 999.5)
        snprintf(out, 48, "polled every %.3g ms", ms);
    else
        snprintf(out, 48, "polled every %.3g s", ms / 1e3);
    return out;
}

static void put_unknown(struct ifg_json *json, const char *key, const struct memory_phase *phase,
                        double value)
{
    char text[48];
    const char *why = memory_unknown(phase, value, text);

    if (why)
        ifg_json_put_string(json, key, why);
    else
        ifg_json_put_double(json, key, (double)NAN);
}

void memory_json_span(struct ifg_json *json, const struct memory_span *span, uint64_t begin_ns)
{
    ifg_json_put_double(json, "before_bytes", span->before);
    ifg_json_put_double(json, "peak_bytes", span->peak);
    ifg_json_put_double(json, "after_bytes", span->after);
    ifg_json_put_double(json, "delta_bytes", memory_delta(span));
    ifg_json_put_double(json, "peak_ns",
                        isnan(span->peak)           ? (double)NAN
                        : span->peak_ns >= begin_ns ? (double)(span->peak_ns - begin_ns)
                                                    : 0);
    ifg_json_put_double(json, "peak_within_ns",
                        isnan(span->peak) ? (double)NAN
                                          : (double)(span->peak_ns - span->peak_from_ns));
    ifg_json_put_bool(json, "coarse", span->coarse);
}

void memory_json_looks(struct ifg_json *json, const struct memory *memory)
{
    ifg_json_put_bool(json, "fine", memory->fine);
    ifg_json_put_double(json, "resolution_ms", (double)memory->resolution_ns / 1e6);
    ifg_json_put_double(json, "gaps", memory->gaps);
    ifg_json_put_double(json, "longest_gap_ms", memory->longest_gap_ms);
    ifg_json_put_double(json, "cpu_s", memory->cpu_seconds);
}

void memory_json_phase(struct ifg_json *json, const struct ml_input *input,
                       const struct memory_phase *phase)
{
    char label[300];

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", memory_phase_label(input, phase, label, sizeof label));
    ifg_json_put_uint(json, "pid", phase->pid);
    ifg_json_put_string(json, "model",
                        phase->model < input->model_count ? input->models[phase->model].model->name
                                                          : "");
    ifg_json_put_string(json, "category", phase->model < input->model_count ? phase->name : "");
    ifg_json_put_string(json, "part", parts[phase->part]);
    ifg_json_put_string(json, "zone",
                        phase->model < input->model_count || phase->whole ? "" : phase->name);
    ifg_json_put_string(json, "process", phase->whole ? phase->name : "");
    ifg_json_put_uint(json, "count", phase->count + phase->unpolled);
    ifg_json_put_uint(json, "unpolled_count", phase->unpolled);
    ifg_json_put_uint(json, "coarse_count", phase->coarse);
    memory_json_span(json, &phase->most, input->timeline->begin_ns);
    put_unknown(json, "delta_unknown", phase, memory_delta(&phase->most));
    ifg_json_put_double(json, "growth_bytes", phase->growth);
    put_unknown(json, "growth_unknown", phase, phase->growth);
    if (phase->most_slice != SIZE_MAX)
        ifg_json_put_uint(json, "slice", phase->most_slice);
    else
        ifg_json_put_double(json, "slice", (double)NAN);
    ifg_json_close(json, '}');
}

static void put_sum(struct ifg_json *json, const char *key, const struct heap_sum *sum)
{
    ifg_json_put_open(json, key, '{');
    ifg_json_put_double(json, "bytes", sum->bytes);
    ifg_json_put_double(json, "error_bytes", heap_error(sum));
    ifg_json_put_uint(json, "count", sum->count);
    ifg_json_close(json, '}');
}

void memory_json_holder(struct ifg_json *json, const struct ml_input *input,
                        const struct heap_row *row, bool function)
{
    const struct timeline_profile *profile = input->profile;
    uint32_t functions[HEAP_FRAMES];
    size_t frames = function && profile ? heap_stack(profile, row->stack, functions) : 0;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", row->name);
    if (function) {
        ifg_json_put_bool(json, "guessed", row->guessed);
        ifg_json_put_string(json, "under", row->under);
        ifg_json_put_string(json, "module", row->module);
        ifg_json_put_open(json, "stack", '[');
        for (size_t i = 0; i < frames; i++) {
            char text[256];

            ifg_json_string(json, timeline_function_name(profile, functions[i], text, sizeof text));
        }
        ifg_json_close(json, ']');
    } else {
        ifg_json_put_string(json, "model",
                            row->model < input->model_count ? input->models[row->model].model->name
                                                            : "");
        ifg_json_put_string(json, "category",
                            row->category ? timeline_category_name(row->category) : "");
        if (row->tid)
            ifg_json_put_uint(json, "tid", row->tid);
    }
    put_sum(json, "peak", &row->peak);
    put_sum(json, "all", &row->all);
    put_sum(json, "not_freed", &row->kept);
    ifg_json_close(json, '}');
}

static void put_table(struct ifg_json *json, const struct ml_input *input, const char *key,
                      const struct heap_table *table, size_t rows, bool functions)
{
    ifg_json_put_open(json, key, '[');
    for (size_t i = 0; i < table->count && i < rows; i++)
        memory_json_holder(json, input, &table->rows[i], functions);
    ifg_json_close(json, ']');
}

void memory_json_sums(struct ifg_json *json, const struct ml_input *input)
{
    const struct heap_use *heap = input->heap;
    uint64_t begin_ns = input->timeline->begin_ns;

    ifg_json_put_double(json, "peak_ns",
                        heap->peak_ns >= begin_ns ? (double)(heap->peak_ns - begin_ns) : 0);
    put_sum(json, "peak", &heap->peak);
    put_sum(json, "all", &heap->all);
    put_sum(json, "not_freed", &heap->kept);
    ifg_json_put_uint(json, "lost", heap->lost);
}

void memory_json_heap(struct ifg_json *json, const struct ml_input *input, size_t rows)
{
    const struct heap_use *heap = input->heap;

    ifg_json_open(json, '{');
    memory_json_sums(json, input);
    put_table(json, input, "models", &heap->models, rows, false);
    put_table(json, input, "operators", &heap->operators, rows, false);
    put_table(json, input, "threads", &heap->threads, rows, false);
    put_table(json, input, "functions", &heap->functions, rows, true);
    ifg_json_put_open(json, "inferences", '[');
    for (size_t i = 0; i < heap->churn_count; i++) {
        const struct heap_churn *churn = &heap->churns[i];
        double count = (double)churn->inferences;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "model", input->models[churn->model].model->name);
        ifg_json_put_uint(json, "count", churn->inferences);
        ifg_json_put_double(json, "allocated_bytes_each", churn->allocated.bytes / count);
        ifg_json_put_double(json, "freed_bytes_each", churn->freed.bytes / count);
        ifg_json_put_double(json, "error_bytes_each", heap_error(&churn->allocated) / count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void put_process(struct ifg_json *json, const struct ml_input *input,
                        const struct memory_process *process)
{
    const struct memory_scene *scene = &process->scene;

    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "pid", process->pid);
    ifg_json_put_string(json, "name", process->name);
    ifg_json_put_uint(json, "values", process->looks);
    memory_json_span(json, &process->whole, input->timeline->begin_ns);
    ifg_json_put_double(json, "after_load_bytes", process->after_load);
    ifg_json_put_double(json, "anon_peak_bytes", process->anon_peak);
    ifg_json_put_open(json, "peak_in", '{');
    ifg_json_put_string(json, "model",
                        scene->model == TIMELINE_NONE ? ""
                                                      : input->models[scene->model].model->name);
    ifg_json_put_string(json, "category",
                        scene->model == TIMELINE_NONE ? ""
                                                      : timeline_category_name(scene->category));
    ifg_json_put_uint(json, "number", scene->number);
    ifg_json_put_string(json, "op", scene->op);
    ifg_json_put_string(json, "zone", scene->zone);
    ifg_json_close(json, '}');
    ifg_json_close(json, '}');
}

void document_memory(struct ifg_json *json, const struct report *report)
{
    const struct ml_input *input = report->input;
    const struct memory *memory = input->memory;

    if (!memory && !input->heap)
        return;
    ifg_json_put_open(json, "memory", '{');
    if (memory) {
        memory_json_looks(json, memory);
        ifg_json_put_open(json, "processes", '[');
        for (size_t i = 0; i < memory->process_count; i++)
            put_process(json, input, &memory->processes[i]);
        ifg_json_close(json, ']');
        ifg_json_put_open(json, "phases", '[');
        for (size_t i = 0; i < memory->phase_count && i < PHASES_SHOWN; i++)
            memory_json_phase(json, input, &memory->phases[i]);
        ifg_json_close(json, ']');
    }
    if (input->heap) {
        ifg_json_key(json, "heap");
        memory_json_heap(json, input, ROWS_IN_JSON);
    }
    ifg_json_close(json, '}');
}
