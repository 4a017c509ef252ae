// SPDX-License-Identifier: Apache-2.0
/*
 * Which shapes a model is fed with: what it declares, what options say, and where they disagree.
 * See inputs.h; inputs_random.c and inputs_data.c bring the bytes.
 */
#include "bench/inputs/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/inputs/inputs_internal.h"

#define SHAPE_TEXT 256

/* ---- options ---- */

/* A whole number up to where `end` points; false for anything else. */
static bool parse_size(const char *text, const char *end, int64_t *out)
{
    int64_t value = 0;

    if (text == end || end - text > 18)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (*text - '0');
    }
    *out = value;
    return true;
}

/* Cuts "name=value" at the last '='; NULL if a side is empty. Names may have a '=' in them. */
static char *cut_value(char *text)
{
    char *mark = strrchr(text, '=');

    if (!mark || mark == text || !mark[1])
        return NULL;
    *mark = '\0';
    return mark + 1;
}

bool inputs_parse_dim(char *text, struct inputs_dim *out)
{
    char *size = cut_value(text);

    if (!size || !parse_size(size, size + strlen(size), &out->size))
        return false;
    out->name = text;
    return true;
}

bool inputs_parse_shape(char *text, struct inputs_shape *out)
{
    char *mark = strrchr(text, ':'); /* names such as "input:0" have one of their own */
    const char *at = mark ? mark + 1 : text;

    out->rank = 0;
    out->input = NULL;
    if (strcmp(at, "scalar") != 0) {
        for (;;) {
            size_t length = strcspn(at, "xX,");

            if (out->rank == IFG_BENCH_RANK_MAX ||
                !parse_size(at, at + length, &out->dims[out->rank]))
                return false;
            out->rank++;
            if (!at[length])
                break;
            at += length + 1;
        }
    }
    if (mark) {
        if (mark == text)
            return false;
        *mark = '\0';
        out->input = text;
    }
    return true;
}

bool inputs_parse_value(char *text, struct inputs_value *out)
{
    char *value = cut_value(text);
    char *end;

    if (!value || strchr(" \t\n", *value))
        return false;
    out->value = strtod(value, &end);
    if (*end)
        return false;
    out->input = text;
    return true;
}

/* ---- messages ---- */

void inputs_add_text(char *out, size_t size, const char *between, const char *text)
{
    size_t used = strlen(out);

    if (used + 1 >= size)
        return;
    if ((size_t)snprintf(out + used, size - used, "%s%.*s", used ? between : "",
                         INPUTS_TEXT + SHAPE_TEXT, text) >= size - used &&
        size > 4)
        memcpy(out + size - 4, "...", 4);
    /* Names come from files; a terminal must not take them for commands. */
    for (; out[used]; used++)
        if ((unsigned char)out[used] < ' ' || out[used] == 0x7f)
            out[used] = '?';
}

void inputs_list_names(const struct wanted_inputs *wanted, bool types, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < wanted->count; i++) {
        const struct port *port = wanted->items[i].port;
        char text[INPUTS_TEXT + SHAPE_TEXT + 32];
        char shape[SHAPE_TEXT];

        tensor_shape_text(port->dims, port->dim_names, port->rank, shape, sizeof shape);
        if (types)
            snprintf(text, sizeof text, "%.*s (%s %s)", INPUTS_TEXT, port->name,
                     tensor_type_name(port->type), shape);
        else
            snprintf(text, sizeof text, "%.*s", INPUTS_TEXT, port->name);
        inputs_add_text(out, size, ", ", text);
    }
}

/* How many letters must change; counts up to 3. Texts longer than 63 are not compared. */
static unsigned distance(const char *left, const char *right)
{
    size_t rows = strlen(left), columns = strlen(right);
    unsigned row[64];

    if (rows > 63 || columns > 63)
        return 4;
    for (size_t j = 0; j <= columns; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned best = diagonal + (left[i - 1] != right[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[columns];
}

static void keep_nearest(const char *name, const char *candidate, unsigned *best,
                         const char **found)
{
    unsigned off = distance(name, candidate);

    if (off < *best && off < strlen(name)) {
        *best = off;
        *found = candidate;
    }
}

static enum ifg_status unknown_input(const struct wanted_inputs *wanted, const char *option,
                                     const char *name, struct ifg_error *err)
{
    const char *nearest = NULL;
    unsigned best = 3;
    char names[360];

    for (size_t i = 0; i < wanted->count; i++)
        keep_nearest(name, wanted->items[i].port->name, &best, &nearest);
    inputs_list_names(wanted, false, names, sizeof names);
    return ifg_fail(err, IFG_INVALID, "%s %.*s: the model has no such input%s%.*s%s; it has: %s",
                    option, INPUTS_TEXT, name, nearest ? " (did you mean " : "", INPUTS_TEXT,
                    nearest ? nearest : "", nearest ? "?)" : "", names[0] ? names : "none");
}

static bool is_new_dim(const struct wanted_inputs *wanted, size_t input, uint32_t dim)
{
    const char *name = wanted->items[input].port->dim_names[dim];

    for (size_t i = 0; i <= input; i++) {
        const struct port *port = wanted->items[i].port;

        for (uint32_t j = 0; j < (i == input ? dim : port->rank); j++)
            if (port->dim_names[j] && strcmp(port->dim_names[j], name) == 0)
                return false;
    }
    return true;
}

static enum ifg_status unknown_dim(const struct wanted_inputs *wanted, const char *name,
                                   struct ifg_error *err)
{
    const char *nearest = NULL;
    unsigned best = 3;
    char names[360] = "";

    for (size_t i = 0; i < wanted->count; i++) {
        const struct port *port = wanted->items[i].port;

        for (uint32_t j = 0; j < port->rank; j++) {
            if (port->dims[j] >= 0 || !port->dim_names[j] || !port->dim_names[j][0] ||
                !is_new_dim(wanted, i, j))
                continue;
            keep_nearest(name, port->dim_names[j], &best, &nearest);
            inputs_add_text(names, sizeof names, ", ", port->dim_names[j]);
        }
    }
    if (!names[0])
        return ifg_fail(err, IFG_INVALID,
                        "--dim %.*s: the model has no free dimension with a name; use --shape "
                        "INPUT:1x3x224x224",
                        INPUTS_TEXT, name);
    return ifg_fail(err, IFG_INVALID,
                    "--dim %.*s: the model has no such free dimension%s%.*s%s; it has: %s",
                    INPUTS_TEXT, name, nearest ? " (did you mean " : "", INPUTS_TEXT,
                    nearest ? nearest : "", nearest ? "?)" : "", names);
}

/* ---- shapes ---- */

static struct wanted_input *find_input(struct wanted_inputs *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->items[i].port->name, name) == 0)
            return &wanted->items[i];
    return NULL;
}

static bool has_dim(const struct wanted_inputs *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct port *port = wanted->items[i].port;

        for (uint32_t j = 0; j < port->rank; j++)
            if (port->dims[j] < 0 && port->dim_names[j] && strcmp(port->dim_names[j], name) == 0)
                return true;
    }
    return false;
}

static enum ifg_status take_shape(struct wanted_inputs *wanted, const struct inputs_shape *shape,
                                  struct ifg_error *err)
{
    struct wanted_input *input;
    const struct port *port;
    char declared[SHAPE_TEXT], asked[SHAPE_TEXT], names[360];
    bool fits;

    if (!shape->input && wanted->count != 1) {
        inputs_list_names(wanted, false, names, sizeof names);
        return ifg_fail(err, IFG_INVALID,
                        "--shape %s: the model has %zu inputs (%s); name one: --shape INPUT:%s",
                        tensor_shape_text(shape->dims, NULL, shape->rank, asked, sizeof asked),
                        wanted->count, names, asked);
    }
    input = shape->input ? find_input(wanted, shape->input) : &wanted->items[0];
    if (!input)
        return unknown_input(wanted, "--shape", shape->input, err);
    port = input->port;
    fits = input->any_shape || shape->rank == port->rank;
    for (uint32_t i = 0; fits && !input->any_shape && i < port->rank; i++)
        fits = port->dims[i] < 0 || port->dims[i] == shape->dims[i];
    if (!fits)
        return ifg_fail(
            err, IFG_INVALID, "--shape: input %.*s is declared as %s, which %s does not fit",
            INPUTS_TEXT, port->name,
            tensor_shape_text(port->dims, port->dim_names, port->rank, declared, sizeof declared),
            tensor_shape_text(shape->dims, NULL, shape->rank, asked, sizeof asked));
    input->any_shape = false;
    input->rank = shape->rank;
    memcpy(input->dims, shape->dims, sizeof input->dims);
    return IFG_OK;
}

/* Every free dimension of this name that nothing was said about yet. */
static void spread_dim(struct wanted_inputs *wanted, const char *name, int64_t size)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct port *port = wanted->items[i].port;

        for (uint32_t j = 0; j < port->rank && j < wanted->items[i].rank; j++)
            if (wanted->items[i].dims[j] < 0 && port->dim_names[j] &&
                strcmp(port->dim_names[j], name) == 0)
                wanted->items[i].dims[j] = size;
    }
}

/* A dimension that is named alike in several inputs has one size: what --shape said of one input
 * holds for the others. */
static void spread_shapes(struct wanted_inputs *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct port *port = wanted->items[i].port;

        for (uint32_t j = 0; j < port->rank && j < wanted->items[i].rank; j++)
            if (port->dims[j] < 0 && wanted->items[i].dims[j] >= 0 && port->dim_names[j] &&
                port->dim_names[j][0])
                spread_dim(wanted, port->dim_names[j], wanted->items[i].dims[j]);
    }
}

static enum ifg_status take_batch(struct wanted_inputs *wanted, int64_t batch,
                                  struct ifg_error *err)
{
    bool taken = false;
    char names[360];

    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted_input *input = &wanted->items[i];

        if (input->rank == 0 || input->port->rank == 0)
            continue;
        if (input->dims[0] < 0)
            input->dims[0] = batch;
        /* Also where --shape or --dim said otherwise: it is free, and they go before. */
        taken |= input->dims[0] == batch || input->port->dims[0] < 0;
    }
    if (taken || wanted->count == 0)
        return IFG_OK;
    inputs_list_names(wanted, true, names, sizeof names);
    return ifg_fail(err, IFG_INVALID,
                    "--batch %" PRId64
                    ": no input has a free first dimension: %s; export the model "
                    "with a dynamic batch, or leave --batch out",
                    batch, names);
}

static enum ifg_status take_options(struct wanted_inputs *wanted,
                                    const struct inputs_options *options, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < options->shape_count && status == IFG_OK; i++)
        status = take_shape(wanted, &options->shapes[i], err);
    for (size_t i = 0; i < options->dim_count && status == IFG_OK; i++) {
        if (has_dim(wanted, options->dims[i].name))
            spread_dim(wanted, options->dims[i].name, options->dims[i].size);
        else
            status = unknown_dim(wanted, options->dims[i].name, err);
    }
    if (status != IFG_OK)
        return status;
    spread_shapes(wanted);
    if (options->batch > 0)
        status = take_batch(wanted, options->batch, err);
    if (status != IFG_OK)
        return status;
    spread_shapes(wanted);
    for (size_t i = 0; i < options->value_count; i++) {
        struct wanted_input *input = find_input(wanted, options->values[i].input);

        if (!input)
            return unknown_input(wanted, "--value", options->values[i].input, err);
        input->value = &options->values[i];
    }
    /* Bounds come from the model file; names that the runtime does not have do not matter. */
    for (size_t i = 0; i < options->bound_count; i++) {
        struct wanted_input *input = find_input(wanted, options->bounds[i].input);

        if (input && options->bounds[i].below > 0)
            input->below = options->bounds[i].below;
    }
    return IFG_OK;
}

static enum ifg_status check_port(const struct port *port, struct ifg_error *err)
{
    if (port->type == 0)
        return ifg_fail(err, IFG_INVALID,
                        "input %.*s is not a tensor (a sequence, a map or an optional); inferogram "
                        "can only feed tensors",
                        INPUTS_TEXT, port->name);
    if (port->type != IFG_BENCH_STRING && tensor_type_bytes(port->type) == 0)
        return ifg_fail(err, IFG_INVALID,
                        "input %.*s is of %s, which inferogram cannot make or read; feed a model "
                        "that takes float32 and casts",
                        INPUTS_TEXT, port->name, tensor_type_name(port->type));
    if (port->rank > IFG_BENCH_RANK_MAX)
        return ifg_fail(err, IFG_INVALID, "input %.*s has %u dimensions; at most %u are possible",
                        INPUTS_TEXT, port->name, port->rank, IFG_BENCH_RANK_MAX);
    return IFG_OK;
}

static enum ifg_status want_inputs(const struct port_list *ports,
                                   const struct inputs_options *options,
                                   struct wanted_inputs *wanted, struct ifg_error *err)
{
    wanted->items = ifg_alloc(ports->count, sizeof *wanted->items);
    if (!wanted->items)
        return ifg_fail_no_memory(err, "for %zu inputs", ports->count);
    wanted->count = ports->count;
    wanted->bytes_left = INPUTS_BYTES_MAX;
    for (size_t i = 0; i < ports->count; i++) {
        struct wanted_input *input = &wanted->items[i];
        enum ifg_status status = check_port(&ports->items[i], err);

        if (status != IFG_OK)
            return status;
        input->port = &ports->items[i];
        input->rank = input->port->rank;
        input->any_shape = input->rank == 0;
        memcpy(input->dims, input->port->dims, sizeof input->dims);
        for (uint32_t j = 0; j < input->rank; j++)
            if (input->dims[j] < 0)
                input->dims[j] = -1;
    }
    return take_options(wanted, options, err);
}

enum ifg_status inputs_accept_shape(struct wanted_inputs *wanted, const struct wanted_input *input,
                                    const char *from, const int64_t *dims, uint32_t rank,
                                    struct tensor *out_tensor, struct ifg_error *err)
{
    const struct port *port = input->port;
    size_t element = port->type == IFG_BENCH_STRING ? 8 : tensor_type_bytes(port->type);
    char here[SHAPE_TEXT], there[SHAPE_TEXT];
    bool fits = input->any_shape || rank == input->rank;
    uint64_t bytes;

    for (uint32_t i = 0; fits && !input->any_shape && i < rank; i++)
        fits = input->dims[i] < 0 || input->dims[i] == dims[i];
    if (!fits)
        return ifg_fail(
            err, IFG_INVALID, "%s has shape %s; input %.*s takes %s", from,
            tensor_shape_text(dims, NULL, rank, here, sizeof here), INPUTS_TEXT, port->name,
            tensor_shape_text(input->dims, port->dim_names, input->rank, there, sizeof there));
    if (!tensor_elements(dims, rank, &bytes) || __builtin_mul_overflow(bytes, element, &bytes) ||
        bytes > wanted->bytes_left)
        return ifg_fail(err, IFG_INVALID,
                        "input %.*s as %s %s is too large: all inputs together may have %llu GiB",
                        INPUTS_TEXT, port->name, tensor_type_name(port->type),
                        tensor_shape_text(dims, NULL, rank, here, sizeof here),
                        INPUTS_BYTES_MAX >> 30);
    wanted->bytes_left -= bytes;
    out_tensor->name = ifg_strdup(port->name);
    if (!out_tensor->name)
        return ifg_fail_no_memory(err, "for the name of input %.*s", INPUTS_TEXT, port->name);
    out_tensor->type = port->type;
    out_tensor->rank = rank;
    memcpy(out_tensor->dims, dims, rank * sizeof *dims);
    return IFG_OK;
}

enum ifg_status inputs_fill_one(struct wanted_inputs *wanted, const struct wanted_input *input,
                                uint64_t seed, struct tensor *out_tensor, struct ifg_error *err)
{
    int64_t dims[IFG_BENCH_RANK_MAX];
    enum ifg_status status;

    for (uint32_t i = 0; i < input->rank; i++)
        dims[i] = input->dims[i] < 0 ? 1 : input->dims[i];
    status = inputs_accept_shape(wanted, input, "this", dims, input->rank, out_tensor, err);
    return status == IFG_OK ? inputs_fill(input, seed, out_tensor, err) : status;
}

/* ---- all together ---- */

static enum ifg_status make_random(struct wanted_inputs *wanted, uint64_t seed,
                                   struct input_sets *sets, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    struct tensor_list *set;

    sets->sets = ifg_alloc(1, sizeof *sets->sets);
    if (!sets->sets)
        return ifg_fail_no_memory(err, "for inputs");
    sets->count = 1;
    set = sets->sets;
    set->items = ifg_alloc(wanted->count, sizeof *set->items);
    if (!set->items)
        return ifg_fail_no_memory(err, "for %zu inputs", wanted->count);
    for (size_t i = 0; i < wanted->count && status == IFG_OK; i++) {
        set->count = i + 1;
        status = inputs_fill_one(wanted, &wanted->items[i], seed, &set->items[i], err);
    }
    return status;
}

static void summarize(const struct wanted_inputs *wanted, const struct inputs_options *options,
                      const char *unused, struct input_sets *sets)
{
    const struct tensor_list *first = &sets->sets[0];
    char text[INPUTS_TEXT + SHAPE_TEXT + 64];
    char shape[SHAPE_TEXT];
    size_t valued = 0;

    sets->summary[0] = '\0';
    for (size_t i = 0; i < first->count; i++) {
        const struct tensor *tensor = &first->items[i];
        const struct inputs_value *value = wanted->items[i].value;

        tensor_shape_text(tensor->dims, NULL, tensor->rank, shape, sizeof shape);
        snprintf(text, sizeof text, "%.*s %s %s", INPUTS_TEXT, tensor->name,
                 tensor_type_name(tensor->type), shape);
        if (value) {
            size_t used = strlen(text);

            snprintf(text + used, sizeof text - used, " = %g", value->value);
            valued++;
        }
        inputs_add_text(sets->summary, sizeof sets->summary - 100, ", ", text);
    }
    if (options->data_path) {
        const char *base = strrchr(options->data_path, '/');

        base = base && base[1] ? base + 1 : options->data_path;
        if (sets->count > 1)
            snprintf(text, sizeof text, "%zu sets from %.60s", sets->count, base);
        else
            snprintf(text, sizeof text, "from %.60s", base);
        inputs_add_text(sets->summary, sizeof sets->summary, ", ", text);
        if (unused[0]) {
            snprintf(text, sizeof text, "not used: %.60s", unused);
            inputs_add_text(sets->summary, sizeof sets->summary, "; ", text);
        }
    } else if (valued < first->count) {
        snprintf(text, sizeof text, "random (seed %" PRIu64 ")", options->seed);
        inputs_add_text(sets->summary, sizeof sets->summary, ", ", text);
    }
    if (!sets->summary[0])
        snprintf(sets->summary, sizeof sets->summary, "none (the model takes no inputs)");
}

enum ifg_status inputs_make(const struct port_list *ports, const struct inputs_options *options,
                            struct input_sets *out_sets, struct ifg_error *err)
{
    struct wanted_inputs wanted = { 0 };
    char unused[128] = "";
    enum ifg_status status;

    *out_sets = (struct input_sets){ 0 };
    status = want_inputs(ports, options, &wanted, err);
    if (status == IFG_OK && options->data_path)
        status = inputs_load(&wanted, options->data_path, options->seed, out_sets, unused,
                             sizeof unused, err);
    else if (status == IFG_OK)
        status = make_random(&wanted, options->seed, out_sets, err);
    if (status == IFG_OK)
        summarize(&wanted, options, unused, out_sets);
    else
        inputs_fini(out_sets);
    ifg_free(wanted.items);
    return status;
}

void inputs_fini(struct input_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        tensor_list_fini(&sets->sets[i]);
    ifg_free(sets->sets);
    *sets = (struct input_sets){ 0 };
}
