// SPDX-License-Identifier: Apache-2.0
/* What is known of a model besides its events: where it was to run, where it runs, its options. */
#include "analyze/findings/input_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/keys.h"

#define PROVIDER_SUFFIX "ExecutionProvider"

/* Larger numbers are nonsense, and would overflow sums. */
#define NODES_MAX 1000000000u

static bool parse_number(const char *text, uint64_t limit, uint64_t *out_value)
{
    char *end;
    unsigned long long value;

    if (*text < '0' || *text > '9')
        return false;
    value = strtoull(text, &end, 10);
    if (*end || value > limit)
        return false;
    *out_value = value;
    return true;
}

static struct ml_ep *find_ep(struct ml_model *model, const char *name, size_t bytes)
{
    for (size_t i = 0; i < model->ep_count; i++)
        if (model->eps[i].name_bytes == bytes && memcmp(model->eps[i].name, name, bytes) == 0)
            return &model->eps[i];
    if (!bytes || model->ep_count == ML_EPS_MAX)
        return NULL;
    model->eps[model->ep_count] = (struct ml_ep){ .name = name, .name_bytes = bytes };
    return &model->eps[model->ep_count++];
}

/* The providers of a list with commas between them. */
static void take_list(struct ml_model *model, const char *list, bool requested)
{
    while (*list) {
        size_t blanks = strspn(list, " ,");
        size_t bytes;
        struct ml_ep *ep;

        list += blanks;
        bytes = strcspn(list, ",");
        while (bytes && list[bytes - 1] == ' ')
            bytes--;
        ep = find_ep(model, list, bytes);
        if (ep && requested)
            ep->requested = true;
        else if (ep)
            ep->actual = true;
        list += strcspn(list, ",");
    }
}

static uint32_t option_threads(const char *options)
{
    static const char *const keys[] = { "intra_op_threads=", "intra_op_num_threads=" };

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *at = strstr(options, keys[i]);
        unsigned long value = at ? strtoul(at + strlen(keys[i]), NULL, 10) : 0;

        if (at && value <= 4096) /* more is nonsense */
            return (uint32_t)value;
    }
    return 0;
}

static void take_property(struct ml_model *model, const char *key, const char *value)
{
    static const char nodes[] = TRACE_PROPERTY_NODES;
    static const char failed[] = TRACE_PROPERTY_REQUESTED_FAILED;
    struct ml_ep *ep = NULL;
    uint64_t number;

    if (strncmp(key, nodes, sizeof nodes - 1) == 0) {
        key += sizeof nodes - 1;
        if (parse_number(value, NODES_MAX, &number))
            ep = find_ep(model, key, strlen(key));
        if (ep) {
            ep->nodes = number;
            ep->nodes_known = true;
        }
    } else if (strncmp(key, failed, sizeof failed - 1) == 0) {
        key += sizeof failed - 1;
        ep = find_ep(model, key, strlen(key));
        if (ep) {
            ep->failed = strncmp(value, "error: ", 7) == 0 ? value + 7 : value;
            ep->requested = true;
        }
    } else if (strcmp(key, TRACE_PROPERTY_PLACEMENT_SOURCE) == 0) {
        model->source = value;
    } else if (strcmp(key, TRACE_PROPERTY_POLICY) == 0) {
        model->policy = value;
    } else if (strcmp(key, TRACE_PROPERTY_OPTIONS) == 0) {
        model->options = value;
        model->intra_threads = option_threads(value);
    } else if (strcmp(key, TRACE_PROPERTY_SOURCE) == 0) {
        model->origin = value;
    } else if (strcmp(key, TRACE_PROPERTY_INFERRED) == 0) {
        model->inferred = value;
    } else if (strcmp(key, TRACE_PROPERTY_FILE_BYTES) == 0 &&
               parse_number(value, UINT64_MAX, &number)) {
        model->file_bytes = number;
    }
}

void findings_read_properties(struct ml_input *input)
{
    const struct trace_tables *tables = input->tables;

    for (size_t i = 0; i < input->model_count; i++) {
        struct ml_model *model = &input->models[i];

        model->source = model->policy = model->options = model->origin = model->inferred = "";
        take_list(model, model->model->requested_devices, true);
        take_list(model, model->model->actual_devices, false);
    }
    for (size_t i = 0; i < tables->property_count; i++) {
        const struct trace_property_entry *property = &tables->properties[i];
        const struct trace_model *model =
            trace_find_model(tables, property->process, property->model);

        if (model)
            take_property(&input->models[model - tables->models], property->key, property->value);
    }
    for (size_t i = 0; i < input->model_count; i++) {
        struct ml_model *model = &input->models[i];

        for (size_t e = 0; e < model->ep_count; e++) {
            model->nodes_known |= model->eps[e].nodes_known;
            model->nodes += model->eps[e].nodes;
            model->eps[e].actual |= model->eps[e].nodes > 0;
            model->placement_known |= model->eps[e].actual;
        }
    }
}

bool findings_is_cpu(const struct ml_ep *ep)
{
    return ep->name_bytes >= 3 && strncasecmp(ep->name, "CPU", 3) == 0 &&
           (ep->name_bytes == 3 ||
            (ep->name_bytes == 3 + sizeof PROVIDER_SUFFIX - 1 &&
             strncmp(ep->name + 3, PROVIDER_SUFFIX, sizeof PROVIDER_SUFFIX - 1) == 0));
}

const char *findings_ep_name(const struct ml_ep *ep, char *out, size_t size)
{
    size_t suffix = sizeof PROVIDER_SUFFIX - 1;
    size_t bytes = ep->name_bytes;

    if (bytes > suffix && memcmp(ep->name + bytes - suffix, PROVIDER_SUFFIX, suffix) == 0)
        bytes -= suffix;
    if (bytes > size - 1)
        bytes = size - 1;
    memcpy(out, ep->name, bytes);
    out[bytes] = '\0';
    return out;
}
