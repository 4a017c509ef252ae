// SPDX-License-Identifier: Apache-2.0
/* `inferogram inspect` for people: how large and how costly first, then what it is made of. */
#include "cli/inspect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/text.h"

#define LABEL_COLUMNS 12
#define NAME_MAX      160
#define FILES_SHOWN   12
#define NOTES_SHOWN   12
#define PORTS_SHOWN   24
#define DIM_COLUMNS   52u

/* "1.17 M", "3.62 G": three digits. */
static const char *short_number(double number, char out[32])
{
    static const char *const units[] = { "", " k", " M", " G", " T", " P", " E" };
    size_t unit = 0;

    if (number < 0) {
        snprintf(out, 32, "–");
        return out;
    }
    while (number >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        number /= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(out, 32, "%.0f", number);
    else
        snprintf(out, 32, "%.*f%s",
                 number < 9.995   ? 2
                 : number < 99.95 ? 1
                                  : 0,
                 number, units[unit]);
    return out;
}

static const char *flop_number(double flops, char out[32])
{
    size_t length = strlen(short_number(flops, out));

    snprintf(out + length, 32 - length, "%sFLOP", flops < 999.5 ? " " : "");
    return out;
}

static const char *cost_size(double bytes, char out[32])
{
    if (bytes < 0)
        return "–";
    return cli_size(bytes < 1e19 ? (uint64_t)bytes : UINT64_MAX, out);
}

/* ---- the parts ---- */

/* The type of most parameters, with the number of all of them. */
static void describe_parameters(const struct onnx_model *model, char *out, size_t size)
{
    uint64_t most = 0;
    int32_t main_type = 0;
    char number[32];

    for (int32_t type = 0; type < ONNX_TYPES; type++)
        if (model->weights[type].elements > most) {
            most = model->weights[type].elements;
            main_type = type;
        }
    if (!most) {
        snprintf(out, size, "no parameters");
        return;
    }
    snprintf(out, size, "%s parameters %s%s", short_number((double)model->parameters, number),
             most * 100 >= model->parameters * 99 ? "" : "mostly ", onnx_type_name(main_type));
}

/* ---- free dimensions ---- */

static const char *name_of(const struct onnx_port *port, uint32_t axis, char *out, size_t size)
{
    if (port->dim_names[axis])
        return port->dim_names[axis];
    snprintf(out, size, "%s:%u", port->name, axis);
    return out;
}

static int64_t given_size(const struct inspect_request *request, const char *name)
{
    for (size_t i = 0; i < request->dim_count; i++)
        if (strcmp(request->dims[i].name, name) == 0)
            return request->dims[i].size;
    return -1;
}

static bool seen_before(const struct onnx_model *model, size_t input, uint32_t axis)
{
    const char *name = model->inputs[input].dim_names[axis];

    for (size_t i = 0; i <= input; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank && (i < input || j < axis); j++)
            if (name && model->inputs[i].dim_names[j] &&
                strcmp(model->inputs[i].dim_names[j], name) == 0)
                return true;
    return false;
}

size_t inspect_free_dims(const struct inspect_request *request, char *out, size_t size)
{
    const struct onnx_model *model = request->model;
    size_t count = 0, used = 0;
    bool full = false;

    out[0] = '\0';
    for (size_t i = 0; i < model->input_count && i < PORTS_SHOWN; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            char location[512], clean[96];
            const char *name = name_of(&model->inputs[i], j, location, sizeof location);

            if (model->inputs[i].dims[j] >= 0 || seen_before(model, i, j) ||
                given_size(request, name) >= 0)
                continue;
            cli_clean(name, clean, sizeof clean);
            if (!count++ || (!full && used + strlen(clean) + 9 <= DIM_COLUMNS))
                used += (size_t)snprintf(out + used, size - used, "%s--dim %s=N",
                                         count > 1 ? " " : "", clean);
            else if (!full)
                full = snprintf(out + used, size - used, " ...") > 0;
        }
    return count;
}

const char *inspect_no_costs(const struct inspect_request *request, char *out, size_t size)
{
    const struct onnx_model *model = request->model;
    char options[INSPECT_OPTIONS];
    size_t count = inspect_free_dims(request, options, sizeof options);

    if (!model->cost_unknown || (!count && model->flops > 0))
        return NULL;
    if (count)
        snprintf(out, size, "%zu free dimension%s; give %s", count, count == 1 ? "" : "s", options);
    else
        snprintf(out, size, "costs of %llu of %llu nodes unknown",
                 (unsigned long long)model->cost_unknown, (unsigned long long)model->node_count);
    return out;
}

static const char *title_costs(const struct inspect_request *request, char out[96])
{
    const struct onnx_model *model = request->model;
    char text[INSPECT_OPTIONS + 64];
    char flops[32];

    if (inspect_no_costs(request, text, sizeof text))
        return "FLOP n/a";
    snprintf(out, 96, "%s%s%s", model->cost_unknown ? "at least " : "",
             flop_number(model->flops, flops),
             inspect_free_dims(request, text, sizeof text) ? " at sizes of 1" : "");
    return out;
}

static void write_title(const struct inspect_request *request, struct ifg_bytes *out)
{
    const struct onnx_model *model = request->model;
    const char *slash = strrchr(model->path, '/');
    char name[NAME_MAX];
    char parameters[96];
    char size[32];
    char flops[96];
    char nodes[32];

    describe_parameters(model, parameters, sizeof parameters);
    cli_clean(slash && slash[1] ? slash + 1 : model->path, name, sizeof name);
    cli_print(out, "%s%s%s: %s", cli_bold(true, STDOUT_FILENO), name,
              cli_bold(false, STDOUT_FILENO),
              cli_size(model->file_bytes + model->external_bytes, size));
    cli_count(model->format == ONNX_FORMAT_DIRECTORY ? model->file_count : model->node_count,
              nodes);
    if (model->format == ONNX_FORMAT_DIRECTORY)
        cli_print(out, " in %s file%s, %zu ONNX model%s\n", nodes,
                  model->file_count == 1 ? "" : "s", model->model_count,
                  model->model_count == 1 ? "" : "s");
    else if (model->format == ONNX_FORMAT_ORT)
        cli_print(out, ", model of ONNX Runtime, format version %s, %s nodes\n",
                  *model->ort_version ? model->ort_version : "unknown", nodes);
    else
        cli_print(out, ", %s, %s node%s, %s\n", parameters, nodes,
                  model->node_count == 1 ? "" : "s", title_costs(request, flops));
}

static void write_file(const struct onnx_model *model, struct ifg_bytes *out)
{
    struct text_list list = { .out = out, .label = "file", .label_columns = LABEL_COLUMNS };
    char text[320];
    char size[32];
    char other[32];

    if (model->format == ONNX_FORMAT_DIRECTORY)
        return;
    if (model->file_count && model->format == ONNX_FORMAT_ONNX)
        snprintf(text, sizeof text, "%s + %s external data in %zu file%s",
                 cli_size(model->file_bytes, size), cli_size(model->external_bytes, other),
                 model->file_count, model->file_count == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "%s bytes", cli_count(model->file_bytes, size));
    text_list_put(&list, text);
    snprintf(text, sizeof text, "content %s", model->content_id);
    text_list_put(&list, text);
    text_list_end(&list);
}

static void write_origin(const struct onnx_model *model, struct ifg_bytes *out)
{
    struct text_list list = { .out = out, .label = "made by", .label_columns = LABEL_COLUMNS };
    char clean[NAME_MAX];
    char text[NAME_MAX + 32];

    if (model->format == ONNX_FORMAT_DIRECTORY)
        return;
    cli_clean(model->producer, clean, sizeof clean);
    text_list_put(&list, *clean ? clean : "unknown producer");
    if (*model->graph_name) {
        snprintf(text, sizeof text, "graph '%s'", cli_clean(model->graph_name, clean, 80));
        text_list_put(&list, text);
    }
    snprintf(text, sizeof text, "IR %lld", (long long)model->ir_version);
    text_list_put(&list, text);
    for (size_t i = 0; i < model->opset_count; i++) {
        snprintf(text, sizeof text, "opset %s%s%lld",
                 strcmp(model->opsets[i].domain, "ai.onnx") == 0
                     ? ""
                     : cli_clean(model->opsets[i].domain, clean, 64),
                 strcmp(model->opsets[i].domain, "ai.onnx") == 0 ? "" : " ",
                 (long long)model->opsets[i].version);
        text_list_put(&list, text);
    }
    text_list_end(&list);
}

static void write_parameters(const struct onnx_model *model, struct ifg_bytes *out)
{
    struct text_list list = { .out = out, .label = "parameters", .label_columns = LABEL_COLUMNS };
    char text[160];
    char count[32];
    char size[32];

    if (model->format != ONNX_FORMAT_ONNX)
        return;
    for (int32_t type = 0; type < ONNX_TYPES; type++) {
        const struct onnx_weights *weights = &model->weights[type];

        if (!weights->tensors)
            continue;
        snprintf(text, sizeof text, "%s %s (%s, %llu tensor%s)", onnx_type_name(type),
                 cli_count(weights->elements, count), cli_size(weights->bytes, size),
                 (unsigned long long)weights->tensors, weights->tensors == 1 ? "" : "s");
        text_list_put(&list, text);
    }
    if (!list.is_open)
        text_list_put(&list, "none");
    if (model->quantized_share > 0) {
        snprintf(text, sizeof text, "%.3g %% quantized", 100 * model->quantized_share);
        text_list_put(&list, text);
    }
    if (model->constant_parameters && model->constant_parameters == model->parameters)
        text_list_put(&list, "all in Constant nodes");
    else if (model->constant_parameters) {
        snprintf(text, sizeof text, "%s in Constant nodes",
                 cli_count(model->constant_parameters, count));
        text_list_put(&list, text);
    }
    text_list_end(&list);
}

/* "float32[batch, 3, ?, 224]" */
static void describe_port(const struct onnx_port *port, char *out, size_t size)
{
    bool is_plain = strcmp(port->kind, "tensor") == 0;
    char clean[64];
    size_t used;

    snprintf(out, size, "%s%s%s", is_plain ? "" : port->kind, is_plain || !port->type ? "" : " of ",
             port->type ? onnx_type_name(port->type) : "");
    used = strlen(out);
    if (!port->has_shape) {
        snprintf(out + used, size - used, "%s", port->type ? " of any shape" : "");
        return;
    }
    for (uint32_t i = 0; i <= port->rank && used < size; i++) {
        const char *separator = i == port->rank ? (i ? "]" : "[]") : i ? ", " : "[";
        int length;

        if (i == port->rank)
            length = snprintf(out + used, size - used, "%s", separator);
        else if (port->dims[i] >= 0)
            length =
                snprintf(out + used, size - used, "%s%lld", separator, (long long)port->dims[i]);
        else
            length = snprintf(
                out + used, size - used, "%s%s", separator,
                port->dim_names[i] ? cli_clean(port->dim_names[i], clean, sizeof clean) : "?");
        used += length > 0 ? (size_t)length : 0;
    }
}

static void write_ports(const char *label, const struct onnx_port *ports, size_t count,
                        struct ifg_bytes *out)
{
    size_t widest = 0;

    for (size_t i = 0; i < count && i < PORTS_SHOWN; i++)
        widest = text_columns(ports[i].name) > widest ? text_columns(ports[i].name) : widest;
    widest = widest > 40 ? 40 : widest;
    for (size_t i = 0; i < count; i++) {
        struct text_frame frame = { 0 };
        char text[1200];
        size_t columns;

        if (i == PORTS_SHOWN) {
            cli_print(out, "%*sand %zu more (all with --json)\n", LABEL_COLUMNS, "", count - i);
            break;
        }
        describe_port(&ports[i], text, sizeof text);
        cli_print(out, "%-*s", LABEL_COLUMNS, i ? "" : label);
        cli_put_name(out, ports[i].name, (int)widest);
        cli_print(out, "  ");
        columns = text_columns(ports[i].name) > widest ? text_columns(ports[i].name) : widest;
        frame.column = LABEL_COLUMNS + 2 + columns;
        frame.indent = frame.column;
        text_wrap(out, frame, text);
        cli_print(out, "\n");
    }
}

static void write_operators(const struct onnx_model *model, struct ifg_bytes *out)
{
    struct text_list list = { .out = out, .label = "operators", .label_columns = LABEL_COLUMNS };
    char domain[48];
    char op[64];
    char text[160];

    for (size_t i = 0; i < model->op_count; i++) {
        cli_clean(model->ops[i].domain, domain, sizeof domain);
        snprintf(text, sizeof text, "%llu %s%s%s", (unsigned long long)model->ops[i].count, domain,
                 *domain ? ":" : "", cli_clean(model->ops[i].op_type, op, sizeof op));
        text_list_put(&list, text);
    }
    if (model->subgraph_count) {
        snprintf(text, sizeof text, "in %llu graphs inside of nodes too",
                 (unsigned long long)model->subgraph_count);
        text_list_put(&list, text);
    }
    text_list_end(&list);
    list.label = "functions";
    for (size_t i = 0; i < model->function_count; i++) {
        cli_clean(model->functions[i].domain, domain, sizeof domain);
        snprintf(text, sizeof text, "%s%s%s (%llu nodes)", domain, *domain ? ":" : "",
                 cli_clean(model->functions[i].name, op, sizeof op),
                 (unsigned long long)model->functions[i].node_count);
        text_list_put(&list, text);
    }
    text_list_end(&list);
}

/* ---- costs ---- */

/* What the estimates assume and what they leave out. */
static void write_assumptions(const struct inspect_request *request, struct ifg_bytes *out)
{
    const struct onnx_model *model = request->model;
    struct text_list list = { .out = out, .label = "costs", .label_columns = LABEL_COLUMNS };
    uint64_t left_out = 0;
    char options[INSPECT_OPTIONS];
    size_t free_dims = inspect_free_dims(request, options, sizeof options);
    char text[INSPECT_OPTIONS + 80];
    char reason[INSPECT_OPTIONS + 64];
    char clean[96];
    char numbered[512];
    char flops[32];
    char bytes[32];

    if (inspect_no_costs(request, reason, sizeof reason))
        snprintf(text, sizeof text, "n/a: %s", reason);
    else
        snprintf(text, sizeof text, "%s%s and %s moved per inference",
                 model->cost_unknown ? "at least " : "", flop_number(model->flops, flops),
                 cost_size(model->moved_bytes, bytes));
    text_list_put(&list, text);
    if (model->cost_unknown && !strstr(text, "nodes unknown")) {
        snprintf(text, sizeof text, "costs of %llu of %llu nodes unknown",
                 (unsigned long long)model->cost_unknown, (unsigned long long)model->node_count);
        text_list_put(&list, text);
    }
    for (size_t i = 0; i < model->input_count && i < PORTS_SHOWN; i++)
        for (uint32_t j = 0; j < model->inputs[i].rank; j++) {
            const char *name = name_of(&model->inputs[i], j, numbered, sizeof numbered);
            int64_t size = given_size(request, name);

            if (model->inputs[i].dims[j] >= 0 || seen_before(model, i, j))
                continue;
            if (size < 0)
                continue;
            snprintf(text, sizeof text, "%s = %lld", cli_clean(name, clean, sizeof clean),
                     (long long)size);
            text_list_put(&list, text);
        }
    if (free_dims) {
        if (model->cost_unknown)
            snprintf(text, sizeof text, "in the tables each counts as 1");
        else
            snprintf(text, sizeof text, "%zu free dimension%s count%s as 1 (%s)", free_dims,
                     free_dims == 1 ? "" : "s", free_dims == 1 ? "s" : "", options);
        text_list_put(&list, text);
    }
    for (size_t i = 0; i < model->nodes_listed; i++)
        left_out += !model->nodes[i].is_counted;
    if (left_out) {
        snprintf(text, sizeof text, "%llu nodes in the cheaper branches of Ifs not counted",
                 (unsigned long long)left_out);
        text_list_put(&list, text);
    }
    text_list_end(&list);
}

static int compare_doubles(double one, double two)
{
    return one < two ? 1 : one > two ? -1 : 0;
}

static int by_parameters(const void *left, const void *right)
{
    const struct onnx_node *one = *(const struct onnx_node *const *)left;
    const struct onnx_node *two = *(const struct onnx_node *const *)right;
    int order = compare_doubles((double)one->parameters, (double)two->parameters);

    return order ? order : one < two ? -1 : 1;
}

static int by_flops(const void *left, const void *right)
{
    const struct onnx_node *one = *(const struct onnx_node *const *)left;
    const struct onnx_node *two = *(const struct onnx_node *const *)right;
    int order = compare_doubles(one->flops, two->flops);

    return order ? order : one < two ? -1 : 1;
}

static int by_bytes(const void *left, const void *right)
{
    const struct onnx_node *one = *(const struct onnx_node *const *)left;
    const struct onnx_node *two = *(const struct onnx_node *const *)right;
    int order = compare_doubles(one->bytes, two->bytes);

    return order ? order : one < two ? -1 : 1;
}

static void write_table(const struct inspect_request *request, const struct onnx_node **nodes,
                        const char *what, int (*order)(const void *, const void *),
                        struct ifg_bytes *out)
{
    const struct text_column shown[] = {
        { what, TEXT_LEFT, 16, 0 },         { "", TEXT_KEEP_END, 12, 0 },
        { "parameters", TEXT_RIGHT, 0, 0 }, { "FLOP", TEXT_RIGHT, 0, 0 },
        { "moved", TEXT_RIGHT, 0, 0 },      { "weight", TEXT_RIGHT, 0, 0 },
    };
    struct text_table table;
    size_t rows = 0;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    qsort(nodes, request->model->nodes_listed, sizeof *nodes, order);
    for (size_t i = 0; i < request->model->nodes_listed && rows < request->layers; i++) {
        const struct onnx_node *node = nodes[i];
        double key = order == by_parameters ? (double)node->parameters
                     : order == by_flops    ? node->flops
                                            : node->bytes;
        char text[32];

        if (key <= 0)
            break;
        if (order != by_parameters && !node->is_counted)
            continue;
        if (!rows++)
            cli_print(out, "\n");
        text_table_put(&table, "  %s", node->op_type);
        text_table_put(&table, "%s", node->name);
        text_table_put(&table, "%s",
                       node->parameters ? short_number((double)node->parameters, text) : "–");
        text_table_put(&table, "%s", short_number(node->flops, text));
        text_table_put(&table, "%s", cost_size(node->bytes, text));
        text_table_share(&table, node->is_counted ? node->weight : (double)NAN);
        text_table_next(&table);
    }
    text_table_end(&table, out);
}

static void write_layers(const struct inspect_request *request, struct ifg_bytes *out)
{
    const struct onnx_model *model = request->model;
    const struct onnx_node **nodes;

    if (!request->layers || !model->nodes_listed)
        return;
    nodes = ifg_alloc(model->nodes_listed, sizeof *nodes);
    if (!nodes) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < model->nodes_listed; i++)
        nodes[i] = &model->nodes[i];
    write_table(request, nodes, "Most parameters", by_parameters, out);
    write_table(request, nodes, "Most operations", by_flops, out);
    write_table(request, nodes, "Most bytes moved", by_bytes, out);
    ifg_free(nodes);
}

/* ---- files and notes ---- */

static void write_files(const struct onnx_model *model, struct ifg_bytes *out)
{
    const char *label = model->format == ONNX_FORMAT_DIRECTORY ? "files" : "external";

    for (size_t i = 0; i < model->file_count; i++) {
        const struct onnx_file *file = &model->files[i];
        char size[32];

        cli_print(out, "%-*s", LABEL_COLUMNS, i ? "" : label);
        if (i == FILES_SHOWN && model->file_count > FILES_SHOWN + 1) {
            cli_print(out, "and %zu more (all with --json)\n", model->file_count - i);
            break;
        }
        text_put_cell(out,
                      file->missing      ? "missing"
                      : file->is_outside ? "outside"
                                         : cli_size(file->bytes, size),
                      8, TEXT_RIGHT);
        cli_print(out, "  ");
        cli_put_name(out, file->path, 0);
        cli_print(out, "\n");
    }
}

static void write_models(const struct onnx_model *model, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "Models", TEXT_LEFT, 20, 0 },
        { "", TEXT_RIGHT, 0, 0 },
        { "", TEXT_RIGHT, 0, 0 },
        { "", TEXT_WRAP, 0, 0 },
    };
    size_t skip = strlen(model->path);
    struct text_table table;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    if (model->model_count)
        cli_print(out, "\n");
    for (size_t i = 0; i < model->model_count; i++) {
        const struct onnx_model *one = model->models[i];
        const char *name = strlen(one->path) > skip ? one->path + skip : one->path;
        char parameters[96];
        char text[32];

        describe_parameters(one, parameters, sizeof parameters);
        text_table_put(&table, "  %s", *name == '/' ? name + 1 : name);
        text_table_size(&table, (double)(one->file_bytes + one->external_bytes));
        text_table_put(&table, "%s nodes", cli_count(one->node_count, text));
        text_table_put(&table, "%s",
                       one->format == ONNX_FORMAT_ORT ? "ONNX Runtime format" : parameters);
        text_table_next(&table);
    }
    text_table_end(&table, out);
}

static void write_notes(const struct onnx_model *model, struct ifg_bytes *out)
{
    for (size_t i = 0; i < model->note_count; i++) {
        char text[600];

        if (i == NOTES_SHOWN) {
            cli_print(out, "  ! and %zu more (all with --json)\n", model->note_count - i);
            break;
        }
        cli_print(out, "  ! ");
        text_wrap(out, (struct text_frame){ 4, 4, 0 },
                  cli_clean(model->notes[i], text, sizeof text));
        cli_print(out, "\n");
    }
    for (size_t i = 0; i < model->model_count; i++)
        write_notes(model->models[i], out);
}

void inspect_write_text(const struct inspect_request *request, struct ifg_bytes *out)
{
    const struct onnx_model *model = request->model;

    write_title(request, out);
    write_notes(model, out);
    cli_print(out, "\n");
    write_file(model, out);
    write_files(model, out);
    if (model->has_genai_config)
        cli_print(out, "%-*s%s\n", LABEL_COLUMNS, "made for",
                  "ONNX Runtime GenAI (genai_config.json)");
    write_origin(model, out);
    write_parameters(model, out);
    write_ports("inputs", model->inputs, model->input_count, out);
    write_ports("outputs", model->outputs, model->output_count, out);
    write_operators(model, out);
    if (model->format == ONNX_FORMAT_ONNX) {
        write_assumptions(request, out);
        write_layers(request, out);
    }
    write_models(model, out);
    text_fit(out);
}
