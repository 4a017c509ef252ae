// SPDX-License-Identifier: Apache-2.0
/* Counters of an IREE profile: metrics that the host samples, and what devices count. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "import/ireeperf_internal.h"
#include "trace/keys.h"

#define COUNTERS_MAX 1024u
#define VALUES_MAX   64u /* of one counter in one sample */

/* A value of a counter, called by its device. */
enum ifg_status ireeperf_add_counter(struct ireeperf *profile, const char *name, int64_t ns,
                                     struct value value)
{
    struct event *made = ireeperf_make(profile, "C", profile->lane);

    made->name = ireeperf_text(name);
    made->ts = ireeperf_time(ns, profile->begin);
    ireeperf_add_arg(made, TRACE_KEY_VALUE, value);
    return import_event(profile->importer, made);
}

/* The next object of an array, without what is around it. Strings may have brackets in them. */
static bool next_object(const char **at, const char *end, struct value *out)
{
    const char *begin = NULL;
    unsigned depth = 0;
    bool in_string = false;

    for (const char *c = *at; c < end; c++) {
        if (in_string) {
            if (*c == '\\' && c + 1 < end)
                c++;
            else if (*c == '"')
                in_string = false;
        } else if (*c == '"') {
            in_string = true;
        } else if (*c == '{' && depth++ == 0) {
            begin = c;
        } else if (*c == '}' && depth && --depth == 0) {
            *out = (struct value){ VALUE_NESTED, begin, (size_t)(c + 1 - begin) };
            *at = c + 1;
            return true;
        }
    }
    return false;
}

enum ifg_status ireeperf_take_metrics(struct ireeperf *profile, const struct event *record,
                                      const char *time)
{
    struct importer *importer = profile->importer;
    const struct value *values = ireeperf_field(record, "values");
    const char *at = values->text;
    const char *end = at + values->bytes;
    enum ifg_status status = IFG_OK;
    uint64_t device = 0;
    struct value object;
    int64_t ns;

    if (values->kind != VALUE_NESTED || !ireeperf_host_time(record, time, &ns)) {
        import_count(importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    (void)ireeperf_number(record, "physical_device_ordinal", &device);
    while (!status && next_object(&at, end, &object)) {
        const struct event *inside;
        const struct value *name, *unit;

        if (event_parse(profile->inner, object.text, object.bytes, &inside) != PARSE_OK) {
            import_count(importer, IMPORT_NOT_JSON, 1);
            continue;
        }
        name = ireeperf_field(inside, "name");
        unit = ireeperf_field(inside, "unit");
        snprintf(profile->name, sizeof profile->name, "device %" PRIu64 " %.*s%s%.*s", device,
                 (int)(name->bytes < 1024 ? name->bytes : 1024), name->text,
                 unit->bytes ? ", " : "", (int)(unit->bytes < 64 ? unit->bytes : 64), unit->text);
        status = ireeperf_add_counter(profile, profile->name, ns, *ireeperf_field(inside, "value"));
    }
    return status;
}

/* The name of a counter, and where its values are in the samples of its set. */
enum ifg_status ireeperf_take_counter(struct ireeperf *profile, const struct event *record)
{
    struct importer *importer = profile->importer;
    const struct value *block = ireeperf_field(record, "block");
    const struct value *name = ireeperf_field(record, "name");
    struct counter counter = { 0 };
    uint64_t device = 0;

    if (!ireeperf_number(record, "counter_set_id", &counter.set) ||
        !ireeperf_number(record, "sample_value_offset", &counter.offset) ||
        !ireeperf_number(record, "sample_value_count", &counter.values)) {
        import_count(importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    (void)ireeperf_number(record, "physical_device_ordinal", &device);
    snprintf(profile->name, sizeof profile->name, "device %" PRIu64 " %.*s%s%.*s", device,
             (int)(block->bytes < 256 ? block->bytes : 256), block->text, block->bytes ? " " : "",
             (int)(name->bytes < 1024 ? name->bytes : 1024), name->text);
    counter.name = ifg_strings_add(&importer->texts, profile->name, strlen(profile->name));
    if (counter.name == IFG_STRINGS_NONE || profile->counter_count == COUNTERS_MAX) {
        import_count(importer, IMPORT_TOO_MANY_NAMES, 1);
        return IFG_OK;
    }
    if (!IFG_ARRAY_ROOM(profile->counters, profile->counter_capacity, profile->counter_count + 1,
                        COUNTERS_MAX))
        return ifg_fail_no_memory(importer->err, "to import");
    profile->counters[profile->counter_count++] = counter;
    return IFG_OK;
}

/* A number of "[1,2,3]". */
static bool value_at(const struct value *values, uint64_t index, struct value *out)
{
    const char *at = values->text;
    const char *end = at + values->bytes;

    while (at < end && index) {
        at++;
        if (at < end && *at == ',')
            index--;
    }
    if (at < end)
        at++; /* the bracket or the comma */
    *out = (struct value){ VALUE_NUMBER, at, 0 };
    while (at < end && *at != ',' && *at != ']')
        at++;
    out->bytes = (size_t)(at - out->text);
    return out->bytes > 0 && index == 0;
}

enum ifg_status ireeperf_add_counts(struct ireeperf *profile, const struct event *record,
                                    int64_t ns)
{
    const struct value *values = ireeperf_field(record, "values");
    enum ifg_status status = IFG_OK;
    uint64_t set;

    if (values->kind != VALUE_NESTED || !ireeperf_number(record, "counter_set_id", &set)) {
        import_count(profile->importer, IMPORT_NOT_VALID, 1);
        return IFG_OK;
    }
    for (size_t i = 0; i < profile->counter_count && !status; i++) {
        const struct counter *counter = &profile->counters[i];
        const char *name = ifg_strings_get(&profile->importer->texts, counter->name);
        uint64_t most = counter->values < VALUES_MAX ? counter->values : VALUES_MAX;
        struct value value;

        for (uint64_t k = 0; counter->set == set && k < most && !status; k++) {
            if (counter->offset > UINT32_MAX || !value_at(values, counter->offset + k, &value)) {
                import_count(profile->importer, IMPORT_COUNTER_NOT_NUMBER, 1);
                continue;
            }
            if (counter->values > 1)
                snprintf(profile->name, sizeof profile->name, "%s [%" PRIu64 "]", name, k);
            status = ireeperf_add_counter(profile, counter->values > 1 ? profile->name : name, ns,
                                          value);
        }
    }
    return status;
}
