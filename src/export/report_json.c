// SPDX-License-Identifier: Apache-2.0
/* The report as a document: `inferogram report --json`, and what the page's summary is made of. */
#include "export/documents.h"

#include <math.h>
#include <string.h>

#include "export/documents_internal.h"

#define MS   1e6
#define NANO 1e-9

static void put_null(struct ifg_json *json, const char *key)
{
    ifg_json_put_double(json, key, NAN);
}

static void write_timing(struct ifg_json *json, const struct ml_timing *timing)
{
    ifg_json_open(json, '{');
    ifg_json_put_uint(json, "count", timing->count);
    ifg_json_put_double(json, "first_ms", timing->first_ns / MS);
    ifg_json_put_double(json, "min_ms", timing->min_ns / MS);
    ifg_json_put_double(json, "median_ms", timing->median_ns / MS);
    ifg_json_put_double(json, "mean_ms", timing->mean_ns / MS);
    ifg_json_put_double(json, "p90_ms", timing->p90_ns / MS);
    ifg_json_put_double(json, "p99_ms", timing->p99_ns / MS);
    ifg_json_put_double(json, "max_ms", timing->max_ns / MS);
    ifg_json_put_double(json, "total_ms", (double)timing->total_ns / MS);
    ifg_json_put_double(json, "share", timing->share);
    ifg_json_put_uint(json, "async", timing->async);
    ifg_json_put_uint(json, "failed", timing->failed);
    ifg_json_put_uint(json, "unfinished", timing->unfinished);
    ifg_json_put_open(json, "perturbed", '{');
    ifg_json_put_uint(json, "count", timing->perturbed);
    ifg_json_put_bool(json, "included", timing->perturbed && timing->perturbed_included);
    ifg_json_put_double(json, "total_ms", (double)timing->perturbed_total_ns / MS);
    ifg_json_put_double(json, "cost", timing->perturbed_cost);
    ifg_json_close(json, '}');
    ifg_json_close(json, '}');
}

static void write_function(struct ifg_json *json, const struct ml_function *function)
{
    const struct ml_request *request = &function->request;
    double count = request->count ? (double)request->count : (double)NAN;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", function->name);
    ifg_json_put_open(json, "events", '{');
    for (int c = TRACE_CATEGORY_PREPARE_EP; c < TRACE_CATEGORIES; c++) {
        ifg_json_key(json, timeline_category_name((enum trace_category)c));
        write_timing(json, &function->events[c].timing);
    }
    ifg_json_close(json, '}');
    ifg_json_put_open(json, "request", '{');
    ifg_json_put_uint(json, "count", request->count);
    ifg_json_put_double(json, "before_ms", (double)request->before_ns / count / MS);
    ifg_json_put_double(json, "inference_ms", (double)request->inference_ns / count / MS);
    ifg_json_put_double(json, "after_ms", (double)request->after_ns / count / MS);
    ifg_json_close(json, '}');
    ifg_json_close(json, '}');
}

static void put_ep(struct ifg_json *json, const struct ml_ep *ep)
{
    ifg_json_string_n(json, ep->name, ep->name_bytes);
}

static void write_placement(struct ifg_json *json, const struct ml_model *model)
{
    ifg_json_put_open(json, "placement", '{');
    for (int actual = 0; actual < 2; actual++) {
        ifg_json_put_open(json, actual ? "actual" : "requested", '[');
        for (size_t i = 0; i < model->ep_count; i++)
            if (actual ? model->eps[i].actual : model->eps[i].requested)
                put_ep(json, &model->eps[i]);
        ifg_json_close(json, ']');
    }
    ifg_json_put_open(json, "nodes", '{');
    for (size_t i = 0; i < model->ep_count; i++) {
        if (!model->eps[i].nodes_known)
            continue;
        put_ep(json, &model->eps[i]);
        ifg_bytes_put(json->out, ":", 1);
        json->need_comma = false;
        ifg_json_uint(json, model->eps[i].nodes);
    }
    ifg_json_close(json, '}');
    ifg_json_put_string(json, "source", model->source);
    ifg_json_put_string(json, "policy", model->policy);
    ifg_json_close(json, '}');
}

static void write_loads(struct ifg_json *json, const struct ml_model *model)
{
    static const char *const names[ML_LOAD_STATES] = { "unknown", "cold", "cached", "precompiled" };
    const char *state = "";
    unsigned kinds = 0;

    for (int i = 0; i < ML_LOAD_STATES; i++) {
        if (model->loads[i])
            state = names[i];
        kinds += model->loads[i] > 0;
    }
    ifg_json_put_string(json, "specialization", kinds > 1 ? "mixed" : state);
    ifg_json_put_open(json, "loads", '{');
    for (int i = 0; i < ML_LOAD_STATES; i++)
        ifg_json_put_uint(json, names[i], model->loads[i]);
    ifg_json_close(json, '}');
}

static void write_operators(struct ifg_json *json, const struct report *report, size_t limit,
                            const struct ml_model *model)
{
    const struct ml_operator *operators = ml_operators_of(report->input, model);
    double all = (double)model->operator_self_ns;

    ifg_json_put_open(json, "operators", '[');
    for (size_t i = 0; i < model->operator_count && i < limit; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "type", operators[i].type);
        ifg_json_put_uint(json, "count", operators[i].count);
        ifg_json_put_double(json, "total_ms", (double)operators[i].total_ns / MS);
        ifg_json_put_double(json, "self_ms", (double)operators[i].self_ns / MS);
        ifg_json_put_double(json, "share",
                            all > 0 ? (double)operators[i].self_ns / all : (double)NAN);
        ifg_json_put_double(json, "device_ms",
                            model->device_recorded ? (double)operators[i].device_ns / MS
                                                   : (double)NAN);
        document_roofline_of_type(json, report, model, operators[i].type);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "profiling", '{');
    ifg_json_put_uint(json, "inferences", model->profiled);
    ifg_json_put_uint(json, "operators", model->operator_events);
    ifg_json_put_double(json, "median_us", model->operator_median_ns / 1e3);
    ifg_json_put_double(json, "resolution_us", model->whole_microseconds ? 1 : (double)NAN);
    ifg_json_put_bool(json, "host_time", model->host_time);
    ifg_json_put_bool(json, "device_recorded", model->device_recorded);
    ifg_json_close(json, '}');
}

static void write_model(struct ifg_json *json, const struct report *report, size_t limit,
                        const struct ml_model *model)
{
    const struct ml_input *input = report->input;

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "name", model->model->name);
    ifg_json_put_string(json, "path", model->model->path);
    ifg_json_put_string(json, "content_id", model->model->content_id);
    ifg_json_put_string(json, "runtime", model->model->runtime);
    if (model->model->process < input->timeline->process_count)
        ifg_json_put_uint(json, "pid", input->timeline->processes[model->model->process].pid);
    else
        put_null(json, "pid");
    ifg_json_put_string(json, "inferred", model->inferred);
    if (model->file_bytes)
        ifg_json_put_uint(json, "file_bytes", model->file_bytes);
    else
        put_null(json, "file_bytes");
    ifg_json_put_string(json, "options", model->options);
    write_loads(json, model);
    write_placement(json, model);
    ifg_json_put_open(json, "functions", '[');
    for (size_t f = 0; f < model->function_count; f++)
        write_function(json, &input->functions[model->first_function + f]);
    ifg_json_close(json, ']');
    write_operators(json, report, limit, model);
    document_roofline_of(json, report, limit, model);
    document_device_of(json, report, model);
    document_samples_of(json, report, model);
    document_energy_of(json, report, model);
    ifg_json_close(json, '}');
}

static void write_findings(struct ifg_json *json, const struct report *report)
{
    const struct findings *findings = report->findings;

    ifg_json_put_open(json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "id", finding->id);
        ifg_json_put_string(json, "severity", finding_severity_name(finding->severity));
        ifg_json_put_string(json, "model",
                            finding->model < report->input->model_count
                                ? report->input->models[finding->model].model->name
                                : "");
        ifg_json_put_string(json, "title", finding->title);
        ifg_json_put_open(json, "evidence", '{');
        ifg_json_put_string(json, "text", finding->evidence);
        ifg_json_put_open(json, "events", '[');
        for (size_t e = 0; e < finding->event_count && e < FINDING_EVENTS; e++)
            ifg_json_uint(json, finding->events[e]);
        ifg_json_close(json, ']');
        ifg_json_put_uint(json, "event_count", finding->event_count);
        ifg_json_put_open(json, "numbers", '{');
        for (size_t n = 0; n < finding->number_count; n++)
            ifg_json_put_double(json, finding->numbers[n].key, finding->numbers[n].value);
        ifg_json_close(json, '}');
        ifg_json_close(json, '}');
        ifg_json_put_string(json, "fix", finding->fix);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void write_host(struct ifg_json *json, const struct report *report)
{
    const struct ml_input *input = report->input;

    ifg_json_put_open(json, "host", '{');
    ifg_json_put_string(json, "cpu", report->cpu);
    if (input->cpus)
        ifg_json_put_uint(json, "cpus", input->cpus);
    else
        put_null(json, "cpus");
    ifg_json_put_bool(json, "virtual", report->is_virtual);
    ifg_json_put_double(json, "load_average", input->load_average);
    ifg_json_close(json, '}');
}

static void write_stages(struct ifg_json *json, const struct ml_input *input)
{
    double requests = input->requests ? (double)input->requests : (double)NAN;

    ifg_json_put_open(json, "pipeline", '{');
    ifg_json_put_uint(json, "requests", input->requests);
    ifg_json_put_open(json, "stages", '[');
    for (size_t i = 0; i < input->stage_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", input->stages[i].name);
        ifg_json_put_uint(json, "count", input->stages[i].count);
        ifg_json_put_double(json, "mean_ms", (double)input->stages[i].self_ns / requests / MS);
        ifg_json_put_double(json, "total_ms", (double)input->stages[i].self_ns / MS);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_close(json, '}');
}

static void write_recording(struct ifg_json *json, const struct report *report)
{
    static const char *const states[] = { "off", "on", "unavailable" };
    const struct trace_tables *tables = report->input->tables;

    ifg_json_put_uint(json, "drops", report->input->timeline->dropped);
    ifg_json_put_open(json, "losses", '[');
    for (size_t i = 0; i < tables->loss_count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "what", tables->losses[i].what);
        ifg_json_put_uint(json, "count", tables->losses[i].count);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
    ifg_json_put_open(json, "overhead", '{');
    ifg_json_put_double(json, "recorder_cpu_s", report->recorder_cpu_s);
    ifg_json_put_double(json, "recorder_cpu_share", report->recorder_share);
    ifg_json_put_double(json, "operator_cost", report->operator_cost);
    ifg_json_put_double(json, "operator_added_ms", report->operator_share_ns / MS);
    ifg_json_close(json, '}');
    ifg_json_put_open(json, "instruments", '[');
    for (size_t i = 0; i < tables->instrument_count; i++) {
        unsigned state = (unsigned)tables->instruments[i].state;

        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", tables->instruments[i].name);
        ifg_json_put_string(json, "state", state < 3 ? states[state] : "unknown");
        ifg_json_put_string(json, "reason", tables->instruments[i].reason);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

void document_report(const struct report *report, size_t limit, struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "program", report->program);
    write_host(&json, report);
    ifg_json_put_double(&json, "duration_s", (double)report->input->duration_ns * NANO);
    ifg_json_put_open(&json, "summary", '[');
    for (size_t i = 0; i < report->sentence_count; i++)
        ifg_json_string(&json, report->sentences[i]);
    ifg_json_close(&json, ']');
    ifg_json_put_open(&json, "models", '[');
    for (size_t i = 0; i < report->model_count && i < limit; i++)
        write_model(&json, report, limit, &report->input->models[report->models[i]]);
    ifg_json_close(&json, ']');
    write_stages(&json, report->input);
    document_device(&json, report);
    document_samples(&json, report);
    document_machine(&json, report);
    document_memory(&json, report);
    write_findings(&json, report);
    write_recording(&json, report);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}
