// SPDX-License-Identifier: Apache-2.0
/* inferogram cat: everything that is in a trace, one JSON object a line, written as it comes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "timeline/samples.h"

/* Written out when so much has come together. */
#define PIECE_BYTES (64u << 10)
#define LINE_MAX    (64u << 20)

enum type {
    TYPE_TRACE,
    TYPE_FACT,
    TYPE_INSTRUMENT,
    TYPE_LOSS,
    TYPE_CLOCK,
    TYPE_PROCESS,
    TYPE_THREAD,
    TYPE_MODEL,
    TYPE_PROPERTY,
    TYPE_LOCATION,
    TYPE_SLICE,
    TYPE_MESSAGE,
    TYPE_COUNTER,
    TYPE_ASYNC,
    TYPE_FLOW,
    TYPE_FRAME,
    TYPE_SAMPLE,
    TYPE_STATE,
    TYPES
};

static const char *const type_names[TYPES + 1] = {
    "trace",   "fact",  "instrument", "loss",     "clock",  "process",
    "thread",  "model", "property",   "location", "slice",  "message",
    "counter", "async", "flow",       "frame",    "sample", "state",
};

struct cat {
    const struct timeline *timeline;
    const struct trace_tables *tables;
    bool wanted[TYPES];
    bool chosen; /* not all of them */
    struct ifg_bytes out;
    struct ifg_json json;
    int code;
};

static bool begin(struct cat *cat, enum type type)
{
    if (!cat->wanted[type] || cat->code)
        return false;
    cat->json = (struct ifg_json){ &cat->out, false };
    ifg_json_open(&cat->json, '{');
    ifg_json_put_string(&cat->json, "type", type_names[type]);
    return true;
}

static void end(struct cat *cat)
{
    ifg_json_close(&cat->json, '}');
    ifg_bytes_put(&cat->out, "\n", 1);
    if (cat->out.failed || cat->out.size >= PIECE_BYTES) {
        cat->code = cli_write_part(&cat->out);
        ifg_bytes_clear(&cat->out);
    }
}

static void put_time(struct cat *cat, const char *key, uint64_t ns)
{
    ifg_json_put_int(&cat->json, key, (int64_t)(ns - cat->timeline->begin_ns));
}

static void put_thread(struct cat *cat, uint32_t thread)
{
    if (thread >= cat->timeline->thread_count)
        return;
    ifg_json_put_uint(&cat->json, "thread", cat->timeline->threads[thread].tid);
    if (cat->timeline->threads[thread].process < cat->timeline->process_count)
        ifg_json_put_uint(&cat->json, "process",
                          cat->timeline->processes[cat->timeline->threads[thread].process].pid);
}

static void put_attribute(struct ifg_json *json, const struct timeline_attribute *attribute)
{
    switch (attribute->type) {
    case TRACE_VALUE_STRING:
        ifg_json_put_string(json, attribute->key, attribute->text);
        break;
    case TRACE_VALUE_SIGNED:
        ifg_json_put_int(json, attribute->key, attribute->signed_value);
        break;
    case TRACE_VALUE_F64:
        ifg_json_put_double(json, attribute->key, attribute->f64_value);
        break;
    default:
        ifg_json_put_uint(json, attribute->key, attribute->unsigned_value);
        break;
    }
}

/* ---- what the trace says of itself ---- */

static void write_head(struct cat *cat)
{
    const struct timeline *timeline = cat->timeline;
    const struct trace_tables *tables = cat->tables;

    if (begin(cat, TYPE_TRACE)) {
        ifg_json_put_uint(&cat->json, "schema", 1);
        ifg_json_put_uint(&cat->json, "begin_monotonic_ns", timeline->begin_ns);
        ifg_json_put_int(&cat->json, "realtime_offset_ns", timeline->realtime_offset_ns);
        ifg_json_put_uint(&cat->json, "length_ns", timeline_length_ns(timeline));
        ifg_json_put_uint(&cat->json, "dropped", timeline->dropped);
        ifg_json_put_uint(&cat->json, "attributes_without_slice",
                          timeline->attributes_without_slice);
        end(cat);
    }
    for (size_t i = 0; i < tables->fact_count; i++) {
        if (!begin(cat, TYPE_FACT))
            break;
        ifg_json_put_string(&cat->json, "key", tables->facts[i].key);
        ifg_json_put_string(&cat->json, "value", tables->facts[i].value);
        end(cat);
    }
    for (size_t i = 0; i < tables->instrument_count; i++) {
        if (!begin(cat, TYPE_INSTRUMENT))
            break;
        ifg_json_put_string(&cat->json, "name", tables->instruments[i].name);
        ifg_json_put_uint(&cat->json, "state", (uint64_t)tables->instruments[i].state);
        ifg_json_put_string(&cat->json, "reason", tables->instruments[i].reason);
        end(cat);
    }
    for (size_t i = 0; i < tables->loss_count; i++) {
        if (!begin(cat, TYPE_LOSS))
            break;
        ifg_json_put_string(&cat->json, "what", tables->losses[i].what);
        ifg_json_put_uint(&cat->json, "count", tables->losses[i].count);
        end(cat);
    }
}

static void write_clocks(struct cat *cat)
{
    for (uint32_t i = 0; i < cat->tables->clock_count && begin(cat, TYPE_CLOCK); i++) {
        const struct trace_clock_entry *clock = &cat->tables->clocks[i];
        struct trace_clock_rate rate = trace_clock_rate(cat->timeline->reader, i);
        const char *kind = trace_clock_kind_name(clock->kind);

        ifg_json_put_uint(&cat->json, "id", i);
        ifg_json_put_string(&cat->json, "name", clock->name);
        ifg_json_put_string(&cat->json, "kind", kind ? kind : "unknown");
        ifg_json_put_uint(&cat->json, "nominal_hz", clock->nominal_hz);
        ifg_json_put_double(&cat->json, "hz", rate.hz > 0 ? rate.hz : (double)NAN);
        ifg_json_put_uint(&cat->json, "pairs", rate.pairs);
        ifg_json_put_uint(&cat->json, "contradictions", rate.contradictions);
        end(cat);
    }
}

static void write_who(struct cat *cat)
{
    const struct timeline *timeline = cat->timeline;

    for (size_t i = 0; i < timeline->process_count; i++) {
        if (!begin(cat, TYPE_PROCESS))
            break;
        ifg_json_put_uint(&cat->json, "process", timeline->processes[i].pid);
        ifg_json_put_uint(&cat->json, "parent", timeline->processes[i].parent_pid);
        ifg_json_put_string(&cat->json, "program", timeline->processes[i].program);
        ifg_json_put_string(&cat->json, "arguments", timeline->processes[i].arguments);
        end(cat);
    }
    for (uint32_t i = 0; i < timeline->thread_count; i++) {
        if (!begin(cat, TYPE_THREAD))
            break;
        ifg_json_put_uint(&cat->json, "id", i);
        put_thread(cat, i);
        ifg_json_put_string(&cat->json, "name", timeline->threads[i].name);
        ifg_json_put_uint(&cat->json, "slices", timeline->threads[i].slice_count);
        ifg_json_put_uint(&cat->json, "dropped", timeline->threads[i].dropped);
        ifg_json_put_uint(&cat->json, "clock", trace_thread_clock(cat->tables, i));
        end(cat);
    }
}

static void write_models(struct cat *cat)
{
    const struct timeline *timeline = cat->timeline;
    const struct trace_tables *tables = cat->tables;

    for (size_t i = 0; i < timeline->model_count; i++) {
        const struct timeline_model *model = &timeline->models[i];

        if (!begin(cat, TYPE_MODEL))
            break;
        ifg_json_put_uint(&cat->json, "id", i);
        ifg_json_put_string(&cat->json, "name", model->name);
        ifg_json_put_string(&cat->json, "path", model->path);
        ifg_json_put_string(&cat->json, "content_id", model->content_id);
        ifg_json_put_string(&cat->json, "runtime", model->runtime);
        ifg_json_put_string(&cat->json, "requested_devices", model->requested_devices);
        ifg_json_put_string(&cat->json, "actual_devices", model->actual_devices);
        end(cat);
    }
    for (size_t i = 0; i < tables->property_count; i++) {
        const struct trace_property_entry *property = &tables->properties[i];
        const struct trace_model *of = trace_find_model(tables, property->process, property->model);

        if (!begin(cat, TYPE_PROPERTY))
            break;
        if (of)
            ifg_json_put_uint(&cat->json, "model", (uint64_t)(of - tables->models));
        ifg_json_put_string(&cat->json, "key", property->key);
        ifg_json_put_string(&cat->json, "value", property->value);
        end(cat);
    }
}

static void put_location(struct cat *cat, uint32_t index)
{
    const struct timeline_location *location = &cat->timeline->locations[index];

    ifg_json_put_string(&cat->json, "name", location->name);
    ifg_json_put_string(&cat->json, "kind", timeline_kind_name(location->kind));
    if (location->kind == TRACE_LOCATION_ML)
        ifg_json_put_string(&cat->json, "category", timeline_category_name(location->category));
    if (location->model < cat->timeline->model_count)
        ifg_json_put_string(&cat->json, "model", cat->timeline->models[location->model].name);
}

static void write_locations(struct cat *cat)
{
    for (uint32_t i = 0; i < cat->timeline->location_count && begin(cat, TYPE_LOCATION); i++) {
        const struct timeline_location *location = &cat->timeline->locations[i];

        ifg_json_put_uint(&cat->json, "id", i);
        put_location(cat, i);
        ifg_json_put_string(&cat->json, "function", location->function);
        ifg_json_put_string(&cat->json, "file", location->file);
        ifg_json_put_uint(&cat->json, "line", location->line);
        end(cat);
    }
}

/* ---- events ---- */

static void write_slice(struct cat *cat, uint32_t thread, size_t slice)
{
    const struct timeline *timeline = cat->timeline;
    const struct timeline_attribute *first;
    size_t attributes = timeline_attributes_of(timeline, slice, &first);

    ifg_json_put_uint(&cat->json, "id", slice);
    put_location(cat, timeline->location[slice]);
    ifg_json_put_uint(&cat->json, "location", timeline->location[slice]);
    put_thread(cat, thread);
    put_time(cat, "start_ns", timeline->start_ns[slice]);
    ifg_json_put_uint(&cat->json, "dur_ns", timeline_duration_ns(timeline, slice));
    ifg_json_put_uint(&cat->json, "depth", timeline->depth[slice]);
    if (timeline_is_unfinished(timeline, slice))
        ifg_json_put_bool(&cat->json, "unfinished", true);
    if (attributes) {
        ifg_json_put_open(&cat->json, "attributes", '{');
        for (size_t i = 0; i < attributes; i++)
            put_attribute(&cat->json, &first[i]);
        ifg_json_close(&cat->json, '}');
    }
}

static void write_slices(struct cat *cat)
{
    const struct timeline *timeline = cat->timeline;

    for (uint32_t t = 0; t < timeline->thread_count; t++) {
        const struct timeline_thread *thread = &timeline->threads[t];

        for (size_t i = 0; i < thread->slice_count && begin(cat, TYPE_SLICE); i++) {
            write_slice(cat, t, thread->first_slice + i);
            end(cat);
        }
    }
}

static void write_events(struct cat *cat)
{
    const struct timeline *timeline = cat->timeline;

    for (size_t i = 0; i < timeline->message_count && begin(cat, TYPE_MESSAGE); i++) {
        put_time(cat, "time_ns", timeline->messages[i].ns);
        put_thread(cat, timeline->messages[i].thread);
        ifg_json_put_uint(&cat->json, "level", timeline->messages[i].level);
        ifg_json_put_string(&cat->json, "text", timeline->messages[i].text);
        end(cat);
    }
    for (size_t i = 0; i < timeline->counter_count && begin(cat, TYPE_COUNTER); i++) {
        put_time(cat, "time_ns", timeline->counters[i].ns);
        ifg_json_put_string(&cat->json, "name",
                            timeline->locations[timeline->counters[i].location].name);
        put_thread(cat, timeline->counters[i].thread);
        ifg_json_put_double(&cat->json, "value", timeline->counters[i].value);
        end(cat);
    }
    for (size_t i = 0; i < timeline->async_count && begin(cat, TYPE_ASYNC); i++) {
        const struct timeline_async *span = &timeline->asyncs[i];

        put_location(cat, span->location);
        put_time(cat, "start_ns", span->start_ns);
        ifg_json_put_uint(&cat->json, "dur_ns", span->end_ns - span->start_ns);
        ifg_json_put_uint(&cat->json, "id", span->id);
        put_thread(cat, span->begin_thread);
        ifg_json_put_bool(&cat->json, "unfinished", span->end_thread == TIMELINE_NONE);
        end(cat);
    }
    for (size_t i = 0; i < timeline->flow_point_count && begin(cat, TYPE_FLOW); i++) {
        static const char *const kinds[] = { "begin", "step", "end" };
        const struct timeline_flow_point *point = &timeline->flow_points[i];

        put_time(cat, "time_ns", point->ns);
        ifg_json_put_string(&cat->json, "name", timeline->locations[point->location].name);
        ifg_json_put_string(&cat->json, "kind", point->kind < 3 ? kinds[point->kind] : "");
        ifg_json_put_uint(&cat->json, "flow", point->flow);
        put_thread(cat, point->thread);
        if (point->slice != SIZE_MAX)
            ifg_json_put_uint(&cat->json, "slice", point->slice);
        end(cat);
    }
    for (size_t i = 0; i < timeline->frame_count && begin(cat, TYPE_FRAME); i++) {
        put_time(cat, "time_ns", timeline->frames[i].ns);
        ifg_json_put_string(&cat->json, "name",
                            timeline->locations[timeline->frames[i].location].name);
        put_thread(cat, timeline->frames[i].thread);
        end(cat);
    }
}

static int write_profile(struct cat *cat)
{
    const struct timeline_profile *profile = NULL;
    struct ifg_error err = { 0 };
    enum ifg_status status = IFG_OK;

    if ((cat->wanted[TYPE_SAMPLE] || cat->wanted[TYPE_STATE]) &&
        timeline_has_profile(cat->timeline))
        status = timeline_profile_get(cat->timeline, &profile, &err);
    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    for (size_t i = 0; profile && i < profile->sample_count && begin(cat, TYPE_SAMPLE); i++) {
        const struct timeline_sample *sample = &profile->samples[i];

        put_time(cat, "time_ns", sample->ns);
        ifg_json_put_uint(&cat->json, "process", profile->threads[sample->thread].pid);
        ifg_json_put_uint(&cat->json, "thread", profile->threads[sample->thread].tid);
        ifg_json_put_uint(&cat->json, "cpu", sample->cpu);
        ifg_json_put_uint(&cat->json, "stack", sample->stack);
        ifg_json_put_bool(&cat->json, "kernel", sample->in_kernel);
        end(cat);
    }
    for (size_t i = 0; profile && i < profile->state_count && begin(cat, TYPE_STATE); i++) {
        const struct timeline_thread_state *state = &profile->states[i];

        put_time(cat, "start_ns", state->start_ns);
        ifg_json_put_uint(&cat->json, "dur_ns", state->end_ns - state->start_ns);
        ifg_json_put_string(&cat->json, "state",
                            timeline_state_name((enum timeline_state)state->state));
        ifg_json_put_uint(&cat->json, "process", profile->threads[state->thread].pid);
        ifg_json_put_uint(&cat->json, "thread", profile->threads[state->thread].tid);
        ifg_json_put_uint(&cat->json, "cpu", state->cpu);
        end(cat);
    }
    return CLI_YES;
}

static int write_all(struct cat *cat)
{
    int code;

    ifg_bytes_init(&cat->out, LINE_MAX);
    write_head(cat);
    write_clocks(cat);
    write_who(cat);
    write_models(cat);
    write_locations(cat);
    write_slices(cat);
    write_events(cat);
    code = write_profile(cat);
    if (!cat->code)
        cat->code = cli_write_out(&cat->out);
    ifg_bytes_fini(&cat->out);
    return cat->code ? cat->code : code;
}

/* ---- the command ---- */

static const struct option_row option_rows[] = {
    { "type", 0, "TYPE[,TYPE...]", "only these: {}", OPTION_LIST, IFG_AT(struct cat, wanted),
      IFG_GIVEN(struct cat, chosen), .choices = type_names },
    { 0 },
};

static int run(int argc, char **argv)
{
    struct cat cat = { 0 };
    struct option_words words;
    struct trace_reader *reader = NULL;
    const char *path = NULL;
    int code = options_parse(&cat_command, argc, argv, &cat, &words);

    if (!code)
        code = options_one_trace(&cat_command, &words, &path);
    for (size_t i = 0; i < TYPES && !cat.chosen; i++)
        cat.wanted[i] = true;
    if (!code)
        code = cli_load(path, &reader, &cat.timeline);
    if (!code) {
        cat.tables = trace_reader_tables(reader);
        code = write_all(&cat);
    }
    timeline_destroy(cat.timeline);
    trace_reader_close(reader);
    return code;
}

const struct cli_command cat_command = {
    .name = "cat",
    .summary = "print everything in a trace, one JSON object per line",
    .usage = "[FILE] [--type TYPE[,TYPE...]]",
    .about = "Prints every record of a trace as one JSON object per line, for jq, grep and "
             "scripts. Each object has a 'type'; times are nanoseconds since the start of the "
             "trace. Ids are those of the tables of 'inferogram query'. Output starts at once, "
             "however long the trace is.",
    .tables = { option_rows },
    .exits = "0 success, 1 cannot write the output, 2 usage error or unreadable FILE",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
