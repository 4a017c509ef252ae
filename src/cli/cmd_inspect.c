// SPDX-License-Identifier: Apache-2.0
/* inferogram inspect: what is in a model file, without running it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inspect.h"

#define OUTPUT_MAX     (1u << 30)
#define LAYERS_DEFAULT 5
#define SIZE_MAX_GIVEN ((int64_t)1 << 31)

static int take_dim(const struct option_use *use, void *user)
{
    struct inspect_request *request = user;
    const char *equals = strrchr(use->value, '=');
    struct onnx_dim *dim = &request->dims[request->dim_count];
    long long size;
    char *name;
    char *end;

    if (!equals || equals == use->value || !equals[1])
        return options_bad_value(use, "a dimension and its size, such as batch=8");
    size = strtoll(equals + 1, &end, 10);
    if (*end || size < 0 || size > SIZE_MAX_GIVEN)
        return cli_usage("inspect", "'%s' is not a size", equals + 1);
    if (request->dim_count == INSPECT_DIMS_MAX)
        return cli_usage("inspect", "more than %u dimensions", INSPECT_DIMS_MAX);
    name = ifg_strndup(use->value, (size_t)(equals - use->value));
    if (!name) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    dim->name = name;
    dim->size = size;
    request->dim_count++;
    return CLI_YES;
}

static int take_layers(const struct option_use *use, void *user)
{
    struct inspect_request *request = user;
    char *end;

    if (strcmp(use->value, "all") == 0) {
        request->layers = SIZE_MAX;
        return CLI_YES;
    }
    request->layers = strtoul(use->value, &end, 10);
    if (*use->value < '0' || *use->value > '9' || *end)
        return options_bad_value(use, "a number of layers, nor 'all'");
    return CLI_YES;
}

static const struct option_row option_rows[] = {
    { "layers", 0, "N", "list N layers per table, 0 for none, or all [5]", OPTION_CALL,
      .take = take_layers },
    { "dim", 0, "NAME=N", "size of a free dimension, or INPUT:AXIS=N; others are 1", OPTION_CALL,
      .take = take_dim },
    { "json", 0, NULL, "print JSON with all nodes, see docs/inspect.md", OPTION_FLAG,
      IFG_AT(struct inspect_request, json) },
    { 0 },
};

/* What a free dimension is called: by its name, or by its place. NULL: it is not free. */
static const char *name_of(const struct onnx_port *port, uint32_t axis, char *out, size_t size)
{
    if (port->dims[axis] >= 0)
        return NULL;
    if (port->dim_names[axis])
        return port->dim_names[axis];
    snprintf(out, size, "%s:%u", port->name, axis);
    return out;
}

static bool has_dim(const struct onnx_model *model, const char *given)
{
    char numbered[512];
    char called[512];

    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = name_of(&model->inputs[i], j, called, sizeof called);

            /* One with a name can be given by its place as well. */
            snprintf(numbered, sizeof numbered, "%s:%u", model->inputs[i].name, j);
            if (name && (strcmp(name, given) == 0 || strcmp(numbered, given) == 0))
                return true;
        }
    return false;
}

/* A misspelt name must not silently count as 1. */
static int check_dims(const struct inspect_request *request)
{
    const struct onnx_model *model = request->model;
    char names[512] = "";
    char numbered[512];
    size_t used = 0;

    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = name_of(&model->inputs[i], j, numbered, sizeof numbered);
            int length;

            if (!name || strstr(names, name))
                continue;
            length = snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
            used = (size_t)length < sizeof names - used ? used + (size_t)length : used;
            names[used] = '\0';
        }
    for (size_t i = 0; i < request->dim_count; i++)
        if (!has_dim(model, request->dims[i].name))
            return cli_usage("inspect", "%s has no free dimension '%s'%s%s", request->path,
                             request->dims[i].name, used ? "; it has: " : " and no other", names);
    return CLI_YES;
}

static int run(int argc, char **argv)
{
    struct inspect_request request = { .layers = LAYERS_DEFAULT };
    struct option_words words;
    struct onnx_options options = { .costs = true };
    struct onnx_model *model = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    int code = options_parse(&inspect_command, argc, argv, &request, &words);

    if (!code)
        code = options_one_word(&inspect_command, &words, "which model? Give a file or a directory",
                                "one model at a time", &request.path);
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (code)
        goto out;
    options.dims = request.dims;
    options.dim_count = request.dim_count;
    if (onnx_open(request.path, &options, &model, &err)) {
        cli_say("%s", err.message);
        code = err.status == IFG_NO_MEMORY ? CLI_NO : CLI_USAGE;
        goto out;
    }
    request.model = model;
    code = check_dims(&request);
    if (code)
        goto out;
    if (request.json)
        inspect_write_json(&request, &out);
    else
        inspect_write_text(&request, &out);
    code = cli_write_out(&out);
out:
    for (size_t i = 0; i < request.dim_count; i++)
        ifg_free((char *)request.dims[i].name);
    ifg_bytes_fini(&out);
    onnx_close(model);
    return code;
}

const struct cli_command inspect_command = {
    .name = "inspect",
    .summary = "show what a model contains, without running it",
    .usage = "MODEL [--layers N|all] [--dim NAME=N]... [--json]",
    .about = "Shows what a model contains without running it: size with external data, parameters "
             "by type, inputs and outputs, operators, and the heaviest layers by parameters, by "
             "estimated operations and by bytes moved. MODEL is an ONNX file, an ONNX Runtime "
             "file (.ort), or a directory, whose files are summed.",
    .tables = { option_rows },
    .exits = "0 success, 1 cannot write the output, 2 usage error or unreadable MODEL",
    .operands = OPERANDS_MODELS,
    .run = run,
};
