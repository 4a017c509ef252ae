// SPDX-License-Identifier: Apache-2.0
/* inferogram inspect: what is in a model file, without running it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/inspect.h"

static const char help[] =
    "usage: inferogram inspect MODEL [--layers N|all] [--dim NAME=N]... [--json]\n"
    "\n"
    "Shows what is in a model without running it: size with external data, parameters by type,\n"
    "inputs and outputs, operators, and the heaviest layers by parameters, by estimated "
    "operations\n"
    "and by bytes moved. MODEL is an ONNX file, a file of ONNX Runtime (.ort), or a directory, "
    "whose\n"
    "files are summed.\n"
    "\n"
    "  --layers N    how many layers in each table (default 5, 0 for none, or 'all')\n"
    "  --dim NAME=N  the size of a free dimension, or INPUT:AXIS=N; others count as 1\n"
    "  --json        one JSON document with all nodes, described in docs/inspect.md\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0; 2 if MODEL is not a model or cannot be read.\n";

#define OUTPUT_MAX     (1u << 30)
#define LAYERS_DEFAULT 5
#define SIZE_MAX_GIVEN ((int64_t)1 << 31)

static int parse_dim(const char *text, struct inspect_request *request)
{
    const char *equals = strrchr(text, '=');
    struct onnx_dim *dim = &request->dims[request->dim_count];
    long long size;
    char *name;
    char *end;

    if (!equals || equals == text || !equals[1])
        return cli_usage("inspect", "'%s' is not a dimension and its size, such as batch=8", text);
    size = strtoll(equals + 1, &end, 10);
    if (*end || size < 0 || size > SIZE_MAX_GIVEN)
        return cli_usage("inspect", "'%s' is not a size", equals + 1);
    if (request->dim_count == INSPECT_DIMS_MAX)
        return cli_usage("inspect", "more than %u dimensions", INSPECT_DIMS_MAX);
    name = ifg_strndup(text, (size_t)(equals - text));
    if (!name) {
        cli_say("out of memory");
        return CLI_NO;
    }
    dim->name = name;
    dim->size = size;
    request->dim_count++;
    return CLI_YES;
}

static int parse_layers(const char *text, struct inspect_request *request)
{
    char *end;

    if (strcmp(text, "all") == 0) {
        request->layers = SIZE_MAX;
        return CLI_YES;
    }
    request->layers = strtoul(text, &end, 10);
    if (!*text || *end || text[0] == '-')
        return cli_usage("inspect", "'%s' is neither a number of layers nor 'all'", text);
    return CLI_YES;
}

static int parse(int argc, char **argv, struct inspect_request *request, bool *out_done)
{
    static const struct option options[] = {
        { "layers", required_argument, NULL, 'l' },
        { "dim", required_argument, NULL, 'd' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;
    int code = CLI_YES;

    request->layers = LAYERS_DEFAULT;
    while (code == CLI_YES && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (option) {
        case 'l':
            code = parse_layers(optarg, request);
            break;
        case 'd':
            code = parse_dim(optarg, request);
            break;
        case 'j':
            request->json = true;
            break;
        case 'h':
            fputs(help, stdout);
            *out_done = true;
            return CLI_YES;
        default:
            return cli_bad_option("inspect", option, argv);
        }
    }
    if (code)
        return code;
    if (optind == argc)
        return cli_usage("inspect", "which model? Give a file or a directory");
    if (optind + 1 < argc)
        return cli_usage("inspect", "one model at a time; '%s' is too many", argv[optind + 1]);
    request->path = argv[optind];
    return CLI_YES;
}

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
    char place[512], called[512];

    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = name_of(&model->inputs[i], j, called, sizeof called);

            /* One with a name can be given by its place as well. */
            snprintf(place, sizeof place, "%s:%u", model->inputs[i].name, j);
            if (name && (strcmp(name, given) == 0 || strcmp(place, given) == 0))
                return true;
        }
    return false;
}

/* A misspelt name must not silently count as 1. */
static int check_dims(const struct inspect_request *request)
{
    const struct onnx_model *model = request->model;
    char names[512] = "";
    char place[512];
    size_t used = 0;

    for (size_t i = 0; i < model->input_count; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = name_of(&model->inputs[i], j, place, sizeof place);
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

int cmd_inspect(int argc, char **argv)
{
    struct inspect_request request = { 0 };
    struct onnx_options options = { .costs = true };
    struct onnx_model *model = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    bool done = false;
    int code = parse(argc, argv, &request, &done);

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (code || done)
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
