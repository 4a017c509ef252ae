// SPDX-License-Identifier: Apache-2.0
/*
 * A runtime of your own for `inferogram bench`: copy this file and put your runtime in.
 *
 *   cc -shared -fPIC -O2 -o libmatrices.so bench_plugin.c -I.../include
 *   inferogram bench --runtime ./libmatrices.so model.txt --dim N=64
 *
 * This one multiplies matrices. Its models are text: the word "matrices", then for each matrix its
 * rows, its columns and its numbers. The input "x" is N x (rows of the first), the output
 * "y" is N x (columns of the last):
 *
 *   matrices
 *   2 3
 *   1 0 2
 *   0 1 0.5
 *
 * It knows one setting, `--set repeat=10`: do it all that often, to have something to compare.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferogram/bench_runtime.h>

#define MATRICES_MAX 16
#define SIDE_MAX     4096
#define ROWS_MAX     1000000

struct ifg_bench_context {
    int unused; /* what belongs to the whole runtime: a library's handle, a device */
};

struct matrix {
    size_t rows;
    size_t columns;
    float *numbers;
};

/* What one thread needs: two buffers that take turns. */
struct worker {
    float *buffers[2];
    size_t bytes;
    const float *result;
    size_t result_rows;
};

struct set {
    const float *x;
    size_t rows;
};

struct ifg_bench_model {
    struct matrix matrices[MATRICES_MAX];
    size_t matrix_count;
    size_t widest;
    unsigned long repeat;
    struct ifg_bench_port input;
    struct ifg_bench_port output;
    struct set *sets;
    size_t set_count;
    struct worker *workers;
    uint32_t worker_count;
    struct ifg_bench_tensor result;
};

/* Every failure is one sentence: what failed and why. */
__attribute__((format(printf, 4, 5))) static int fail(char *error, size_t size, int code,
                                                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error, size, format, arguments);
    va_end(arguments);
    return code;
}

/* ---- the runtime ---- */

static int open_runtime(const char *library, ifg_bench_context **out_context, char *error,
                        size_t error_size)
{
    (void)library; /* what --ort named: nothing is needed here */
    *out_context = calloc(1, sizeof **out_context);
    return *out_context ? IFG_BENCH_OK : fail(error, error_size, IFG_BENCH_FAILED, "out of memory");
}

static void close_runtime(ifg_bench_context *context)
{
    free(context);
}

static const char *version(const ifg_bench_context *context)
{
    (void)context;
    return "1.0";
}

static size_t devices(ifg_bench_context *context, const char *const **out_lines)
{
    static const char *const lines[] = { "matrices \u00b7 CPU" };

    (void)context;
    *out_lines = lines;
    return 1;
}

/* ---- loading ---- */

static void unload(ifg_bench_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->matrix_count; i++)
        free(model->matrices[i].numbers);
    for (uint32_t i = 0; i < model->worker_count; i++)
        for (int side = 0; side < 2; side++)
            free(model->workers[i].buffers[side]);
    free(model->workers);
    free(model->sets);
    free(model);
}

static int read_matrix(FILE *file, ifg_bench_model *model, char *error, size_t error_size)
{
    struct matrix *matrix = &model->matrices[model->matrix_count];
    size_t before = model->matrix_count ? matrix[-1].columns : 0;

    if (fscanf(file, "%zu %zu", &matrix->rows, &matrix->columns) != 2)
        return fail(error, error_size, IFG_BENCH_BAD_MODEL, "matrix %zu has no size",
                    model->matrix_count);
    if (!matrix->rows || !matrix->columns || matrix->rows > SIDE_MAX || matrix->columns > SIDE_MAX)
        return fail(error, error_size, IFG_BENCH_BAD_MODEL, "matrix %zu must be 1 to %d a side",
                    model->matrix_count, SIDE_MAX);
    if (before && before != matrix->rows)
        return fail(error, error_size, IFG_BENCH_BAD_MODEL,
                    "matrix %zu has %zu rows, the one before it %zu columns", model->matrix_count,
                    matrix->rows, before);
    matrix->numbers = calloc(matrix->rows * matrix->columns, sizeof *matrix->numbers);
    if (!matrix->numbers)
        return fail(error, error_size, IFG_BENCH_FAILED, "out of memory");
    model->matrix_count++;
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++)
        if (fscanf(file, "%f", &matrix->numbers[i]) != 1)
            return fail(error, error_size, IFG_BENCH_BAD_MODEL, "matrix %zu ends after %zu numbers",
                        model->matrix_count - 1, i);
    if (model->widest < matrix->columns)
        model->widest = matrix->columns;
    return IFG_BENCH_OK;
}

static int read_model(const char *path, ifg_bench_model *model, char *error, size_t error_size)
{
    FILE *file = fopen(path, "r");
    char word[16] = "";
    int code = IFG_BENCH_OK;
    int next;

    if (!file)
        return fail(error, error_size, IFG_BENCH_BAD_MODEL, "cannot open %s: %s", path,
                    strerror(errno));
    if (fscanf(file, "%15s", word) != 1 || strcmp(word, "matrices") != 0)
        code = fail(error, error_size, IFG_BENCH_BAD_MODEL, "%s does not begin with \"matrices\"",
                    path);
    while (!code) {
        do
            next = fgetc(file);
        while (next == ' ' || next == '\n' || next == '\t' || next == '\r');
        if (next == EOF)
            break;
        ungetc(next, file);
        code = model->matrix_count == MATRICES_MAX
                   ? fail(error, error_size, IFG_BENCH_BAD_MODEL, "%s has more than %d matrices",
                          path, MATRICES_MAX)
                   : read_matrix(file, model, error, error_size);
    }
    fclose(file);
    if (!code && !model->matrix_count)
        code = fail(error, error_size, IFG_BENCH_BAD_MODEL, "%s has no matrix", path);
    return code;
}

static int take_settings(ifg_bench_model *model, const struct ifg_bench_setting *settings,
                         size_t count, char *error, size_t error_size)
{
    model->repeat = 1;
    for (size_t i = 0; i < count; i++) {
        char *end;

        /* A setting that is not known must not be lost without a word. */
        if (strcmp(settings[i].key, "repeat") != 0)
            return fail(error, error_size, IFG_BENCH_UNAVAILABLE,
                        "matrices has no setting \"%s\"; it has: repeat", settings[i].key);
        model->repeat = strtoul(settings[i].value, &end, 10);
        if (*end || !model->repeat)
            return fail(error, error_size, IFG_BENCH_UNAVAILABLE,
                        "repeat takes a number from 1 on, not \"%s\"", settings[i].value);
    }
    return IFG_BENCH_OK;
}

static struct ifg_bench_port port(const char *name, size_t columns)
{
    return (struct ifg_bench_port){ .name = name,
                                    .type = IFG_BENCH_FLOAT,
                                    .rank = 2,
                                    .dims = { -1, (int64_t)columns },
                                    .dim_names = { "N" } };
}

static int load(ifg_bench_context *context, const char *path,
                const struct ifg_bench_setting *settings, size_t setting_count,
                ifg_bench_model **out_model, char *error, size_t error_size)
{
    ifg_bench_model *model = calloc(1, sizeof *model);
    int code;

    (void)context;
    *out_model = NULL;
    if (!model)
        return fail(error, error_size, IFG_BENCH_FAILED, "out of memory");
    code = take_settings(model, settings, setting_count, error, error_size);
    if (!code)
        code = read_model(path, model, error, error_size);
    if (code) {
        unload(model);
        return code;
    }
    model->input = port("x", model->matrices[0].rows);
    model->output = port("y", model->matrices[model->matrix_count - 1].columns);
    *out_model = model;
    return IFG_BENCH_OK;
}

static size_t inputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = &model->input;
    return 1;
}

static size_t outputs(const ifg_bench_model *model, const struct ifg_bench_port **out_ports)
{
    *out_ports = &model->output;
    return 1;
}

/* ---- running ---- */

/* Whatever can be done once is done here, so that `run` has only to run. */
static int make_room(ifg_bench_model *model, uint32_t workers, size_t rows)
{
    size_t bytes = rows * model->widest * sizeof(float);

    if (workers > model->worker_count) {
        struct worker *grown = realloc(model->workers, workers * sizeof *grown);

        if (!grown)
            return -1;
        memset(grown + model->worker_count, 0, (workers - model->worker_count) * sizeof *grown);
        model->workers = grown;
        model->worker_count = workers;
    }
    for (uint32_t i = 0; i < model->worker_count; i++) {
        for (int side = 0; side < 2 && model->workers[i].bytes < bytes; side++) {
            float *grown = realloc(model->workers[i].buffers[side], bytes);

            if (!grown)
                return -1;
            model->workers[i].buffers[side] = grown;
        }
        if (model->workers[i].bytes < bytes)
            model->workers[i].bytes = bytes;
    }
    return 0;
}

static int bind(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
                size_t tensor_count, uint32_t workers, char *error, size_t error_size)
{
    const struct ifg_bench_tensor *x = tensors;

    if (tensor_count != 1 || strcmp(x->name, "x") != 0)
        return fail(error, error_size, IFG_BENCH_BAD_INPUT, "the only input is \"x\"");
    if (x->type != IFG_BENCH_FLOAT || x->rank != 2 || x->dims[1] != model->input.dims[1] ||
        x->dims[0] < 1 || x->dims[0] > ROWS_MAX ||
        x->bytes != (size_t)x->dims[0] * (size_t)x->dims[1] * sizeof(float))
        return fail(error, error_size, IFG_BENCH_BAD_INPUT,
                    "input \"x\" takes float32 Nx%lld with N from 1 to %d",
                    (long long)model->input.dims[1], ROWS_MAX);
    if (set == model->set_count) {
        struct set *grown = realloc(model->sets, (set + 1) * sizeof *grown);

        if (!grown)
            return fail(error, error_size, IFG_BENCH_FAILED, "out of memory");
        model->sets = grown;
        model->set_count++;
    }
    /* The memory of the tensor stays where it is: no copy is needed. */
    model->sets[set] = (struct set){ .x = x->data, .rows = (size_t)x->dims[0] };
    if (make_room(model, workers ? workers : 1, (size_t)x->dims[0]) < 0)
        return fail(error, error_size, IFG_BENCH_FAILED, "out of memory");
    return IFG_BENCH_OK;
}

static void multiply(const float *x, size_t rows, const struct matrix *matrix, float *out)
{
    memset(out, 0, rows * matrix->columns * sizeof *out);
    for (size_t row = 0; row < rows; row++)
        for (size_t k = 0; k < matrix->rows; k++)
            for (size_t column = 0; column < matrix->columns; column++)
                out[row * matrix->columns + column] +=
                    x[row * matrix->rows + k] * matrix->numbers[k * matrix->columns + column];
}

/* This alone is timed. It may be called from several threads, each with a number of its own. */
static int run(ifg_bench_model *model, size_t set, uint32_t worker, char *error, size_t error_size)
{
    struct worker *mine = &model->workers[worker];

    (void)error;
    (void)error_size;
    for (unsigned long round = 0; round < model->repeat; round++) {
        const float *from = model->sets[set].x;

        for (size_t i = 0; i < model->matrix_count; i++) {
            multiply(from, model->sets[set].rows, &model->matrices[i], mine->buffers[i % 2]);
            from = mine->buffers[i % 2];
        }
        mine->result = from;
    }
    mine->result_rows = model->sets[set].rows;
    return IFG_BENCH_OK;
}

static void finish(ifg_bench_model *model, uint32_t worker)
{
    model->workers[worker].result = NULL;
}

static size_t results(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors)
{
    const struct worker *first = &model->workers[0];
    size_t columns = (size_t)model->output.dims[1];

    model->result = (struct ifg_bench_tensor){
        .name = "y",
        .type = IFG_BENCH_FLOAT,
        .rank = 2,
        .dims = { (int64_t)first->result_rows, (int64_t)columns },
        .data = first->result,
        .bytes = first->result_rows * columns * sizeof(float),
    };
    *out_tensors = &model->result;
    return first->result ? 1 : 0;
}

/* The one symbol that the benchmark looks for. */
extern const struct ifg_bench_runtime ifg_bench_runtime_1;

const struct ifg_bench_runtime ifg_bench_runtime_1 = {
    .struct_size = sizeof ifg_bench_runtime_1,
    .name = "matrices",
    .open = open_runtime,
    .close = close_runtime,
    .version = version,
    .load = load,
    .unload = unload,
    .inputs = inputs,
    .outputs = outputs,
    .bind = bind,
    .run = run,
    .finish = finish,
    .results = results,
    .devices = devices,
    IFG_BENCH_ELEMENT_SIZES,
    /* specialization_ns, placement and nodes may be missing. */
};
