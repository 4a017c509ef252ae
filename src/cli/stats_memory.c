// SPDX-License-Identifier: Apache-2.0
/* Memory by phase, and allocations by function: see stats_memory.h. */
#include "base/csv.h"
#include "cli/stats_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/heap.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/module_name.h"
#include "cli/stats_functions.h"
#include "export/documents.h"
#include "timeline/samples.h"

#define OUTPUT_MAX   (1u << 30)
#define NAME_COLUMNS 44
#define CELL         9

/* ---- words ---- */

static const char *size_of(double bytes, char out[32])
{
    char text[32];

    if (isnan(bytes))
        return "";
    snprintf(out, 32, "%s%s", bytes < 0 ? "-" : "",
             cli_size((uint64_t)fmin(fabs(bytes), 1e18), text));
    return out;
}

/* ---- phases ---- */

struct phase_order {
    const struct ml_input *input;
    enum memory_sort sort;
};

static double phase_value(const struct memory_phase *phase, enum memory_sort sort)
{
    return sort == MEMORY_BY_TOTAL   ? phase->growth
           : sort == MEMORY_BY_COUNT ? (double)phase->count
                                     : memory_delta(&phase->most);
}

static int compare_phases(const void *a, const void *b, void *user)
{
    const struct phase_order *order = user;
    double left = phase_value(a, order->sort);
    double right = phase_value(b, order->sort);
    char one[300];
    char other[300];

    if (order->sort != MEMORY_BY_NAME && (left > right || left < right))
        return left > right ? -1 : 1;
    return strcmp(memory_phase_label(order->input, a, one, sizeof one),
                  memory_phase_label(order->input, b, other, sizeof other));
}

static size_t choose_phases(const struct memory_request *request, const struct ml_input *input)
{
    struct memory *memory = input->memory;
    struct phase_order order = { input, request->sort };
    size_t kept = 0;

    for (size_t i = 0; memory && i < memory->phase_count; i++) {
        const struct memory_phase *phase = &memory->phases[i];
        const char *model =
            phase->model < input->model_count ? input->models[phase->model].model->name : NULL;
        char label[300];

        if (request->model && (!model || strcmp(model, request->model) != 0))
            continue;
        if (request->name_matches &&
            !request->name_matches(memory_phase_label(input, phase, label, sizeof label),
                                   request->user))
            continue;
        memory->phases[kept++] = *phase;
    }
    if (kept)
        qsort_r(memory->phases, kept, sizeof *memory->phases, compare_phases, &order);
    return kept;
}

static void phases_json(const struct ml_input *input, size_t rows, struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    if (input->memory)
        memory_json_looks(&json, input->memory);
    ifg_json_key(&json, "rows");
    ifg_json_open(&json, '[');
    for (size_t i = 0; i < rows; i++)
        memory_json_phase(&json, input, &input->memory->phases[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static void phases_csv(const struct ml_input *input, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,pid,count,coarse_count,before_bytes,peak_bytes,after_bytes,delta_bytes,"
                   "coarse,growth_bytes\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct memory_phase *phase = &input->memory->phases[i];
        char label[300];

        ifg_csv_put(out, memory_phase_label(input, phase, label, sizeof label), ",");
        cli_print(out, ",%u,%llu,%llu,%.0f,%.0f,%.0f,%.0f,%d,%.0f\r\n", phase->pid,
                  (unsigned long long)phase->count, (unsigned long long)phase->coarse,
                  phase->most.before, phase->most.peak, phase->most.after,
                  memory_delta(&phase->most), phase->most.coarse, phase->growth);
    }
}

static void phases_table(const struct ml_input *input, size_t rows, size_t all,
                         struct ifg_bytes *out)
{
    const struct memory *memory = input->memory;
    bool coarse = false;

    cli_print(out, "%-*s %9s %*s %*s %*s %*s %*s\n", NAME_COLUMNS, "phase", "count", CELL, "before",
              CELL, "peak", CELL, "after", CELL + 1, "delta", CELL, "growth");
    for (size_t i = 0; i < rows; i++) {
        const struct memory_phase *phase = &memory->phases[i];
        char label[300];
        char text[32];
        char marked[40];

        text_put_cell(out, memory_phase_label(input, phase, label, sizeof label), NAME_COLUMNS,
                      TEXT_LEFT);
        cli_print(out, " %9s", cli_count(phase->count, text));
        cli_print(out, " %*s", CELL, size_of(phase->most.before, text));
        cli_print(out, " %*s", CELL, size_of(phase->most.peak, text));
        cli_print(out, " %*s", CELL, size_of(phase->most.after, text));
        snprintf(marked, sizeof marked, "%s%s", phase->most.coarse ? "~" : "",
                 size_of(memory_delta(&phase->most), text));
        cli_print(out, " %*s", CELL + 1, marked);
        cli_print(out, " %*s\n", CELL, size_of(phase->growth, text));
        coarse |= phase->most.coarse;
    }
    if (rows < all)
        cli_print(out, "and %zu more: --limit 0 shows all\n", all - rows);
    cli_print(out, "before, peak, after: of the instance with the largest delta = peak - before; "
                   "growth: sum of after - before\n");
    if (coarse)
        cli_print(out,
                  "~ shorter than the time between two looks (%.0f ms), or the peak may lie "
                  "just outside of it\n",
                  (double)memory->resolution_ns / 1e6);
    if (!memory->fine)
        cli_print(out, "memory was looked at once a second; record --memory for every 10 ms\n");
    else if (memory->gaps > 0)
        cli_print(out, "%.0f sampling gaps of more than 30 ms, longest %.0f ms\n", memory->gaps,
                  memory->longest_gap_ms);
}

/* ---- allocations ---- */

static double row_value(const struct heap_row *row, enum memory_sort sort)
{
    return sort == MEMORY_BY_TOTAL   ? row->all.bytes
           : sort == MEMORY_BY_COUNT ? (double)row->all.count
                                     : row->peak.bytes;
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct heap_row *left = a;
    const struct heap_row *right = b;
    enum memory_sort sort = *(const enum memory_sort *)user;
    double left_value = row_value(left, sort);
    double right_value = row_value(right, sort);

    if (sort != MEMORY_BY_NAME && (left_value > right_value || left_value < right_value))
        return left_value > right_value ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* Rows that do not match go behind the others: they are still the analysis' to free. */
static size_t choose_rows(const struct memory_request *request, const struct ml_input *input)
{
    struct heap_table *table = input->heap ? &input->heap->functions : NULL;
    enum memory_sort sort = request->sort;
    size_t kept = 0;

    for (size_t i = 0; table && i < table->count; i++) {
        struct heap_row row = table->rows[i];

        if (request->name_matches && !request->name_matches(row.name, request->user))
            continue;
        table->rows[i] = table->rows[kept];
        table->rows[kept++] = row;
    }
    if (kept)
        qsort_r(table->rows, kept, sizeof *table->rows, compare_rows, &sort);
    return kept;
}

static void allocations_json(const struct ml_input *input, size_t rows, struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    if (input->heap)
        memory_json_sums(&json, input);
    ifg_json_key(&json, "rows");
    ifg_json_open(&json, '[');
    for (size_t i = 0; i < rows; i++)
        memory_json_holder(&json, input, &input->heap->functions.rows[i], true);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static void allocations_csv(const struct ml_input *input, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,guessed,peak_bytes,peak_error_bytes,peak_count,all_bytes,all_error_bytes,"
                   "all_count,not_freed_bytes,not_freed_count,module\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct heap_row *row = &input->heap->functions.rows[i];

        ifg_csv_put(out, row->name, ",");
        cli_print(out, ",%d,%.0f,%.0f,%llu,%.0f,%.0f,%llu,%.0f,%llu,", row->guessed,
                  row->peak.bytes, heap_error(&row->peak), (unsigned long long)row->peak.count,
                  row->all.bytes, heap_error(&row->all), (unsigned long long)row->all.count,
                  row->kept.bytes, (unsigned long long)row->kept.count);
        ifg_csv_put(out, row->module, ",");
        cli_print(out, "\r\n");
    }
}

static void allocations_table(const struct ml_input *input, size_t rows, size_t all,
                              struct ifg_bytes *out)
{
    const struct heap_use *heap = input->heap;
    char text[32];
    bool guessed = false;

    cli_print(out, "%-*s %*s %*s %7s %*s %9s %*s  %s\n", NAME_COLUMNS, "function", CELL, "at peak",
              CELL, "±", "share", CELL, "in all", "picked", CELL + 1, "not freed", "module");
    for (size_t i = 0; i < rows; i++) {
        const struct heap_row *row = &heap->functions.rows[i];
        char name[600];
        char whole[590];
        char under[64];

        snprintf(name, sizeof name, "%s%s", row->guessed ? "? " : "",
                 module_name_short(row->name, whole, sizeof whole));
        text_put_cell(out, name, NAME_COLUMNS, TEXT_LEFT);
        cli_print(out, " %*s", CELL, size_of(row->peak.bytes, text));
        cli_print(out, " %*s", CELL - 1, size_of(heap_error(&row->peak), text));
        cli_print(out, " %5.1f %%",
                  heap->peak.bytes > 0 ? 100 * row->peak.bytes / heap->peak.bytes : 0);
        cli_print(out, " %*s", CELL, size_of(row->all.bytes, text));
        cli_print(out, " %9s", cli_count(row->all.count, text));
        cli_print(out, " %*s", CELL + 1, size_of(row->kept.bytes, text));
        cli_print(out, "  %s", cli_clean(row->module, name, sizeof name));
        if (*row->under)
            cli_print(out, " < %s", cli_clean(row->under, under, sizeof under));
        cli_print(out, "\n");
        guessed |= row->guessed;
    }
    if (rows < all)
        cli_print(out, "and %zu more: --limit 0 shows all\n", all - rows);
    cli_print(out, "heap: %s", size_of(heap->peak.bytes, text));
    cli_print(out, " ± %s at its peak", size_of(heap_error(&heap->peak), text));
    cli_print(out, ", %s allocated in all", size_of(heap->all.bytes, text));
    cli_print(out, ", estimated from %s allocations", cli_count(heap->all.count, text));
    cli_print(out, "; not freed: as long as the recording went\n");
    if (guessed)
        cli_print(out, "? the name was recovered from type information, it is not in the file\n");
}

/* ---- both ---- */

static void write_rows(const struct memory_request *request, const struct ml_input *input,
                       size_t rows, size_t all, struct ifg_bytes *out)
{
    if (request->allocations && request->form == MEMORY_JSON)
        allocations_json(input, rows, out);
    else if (request->allocations && request->form == MEMORY_CSV)
        allocations_csv(input, rows, out);
    else if (request->allocations && all)
        allocations_table(input, rows, all, out);
    else if (request->form == MEMORY_JSON)
        phases_json(input, rows, out);
    else if (request->form == MEMORY_CSV)
        phases_csv(input, rows, out);
    else if (all)
        phases_table(input, rows, all, out);
    else if (request->allocations && !input->heap)
        cli_say("%s has no allocations: record a command with --memory", request->path);
    else if (!request->allocations && !input->memory)
        cli_say("%s has no values of memory: record with --memory", request->path);
    else
        cli_say("%s: nothing matches", request->path);
}

int memory_print(const struct memory_request *request)
{
    struct ml_input *input = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum ifg_status status = ml_input_create(request->timeline, &input, &err);
    size_t all;
    size_t rows;
    int code;

    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    all = request->allocations ? choose_rows(request, input) : choose_phases(request, input);
    rows = request->limit && request->limit < all ? request->limit : all;
    ifg_bytes_init(&out, OUTPUT_MAX);
    write_rows(request, input, rows, all, &out);
    if (request->allocations && input->heap && input->heap->lost && request->form == MEMORY_TABLE)
        cli_say("%llu allocations were lost while recording and are in no figure",
                (unsigned long long)input->heap->lost);
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    ml_input_destroy(input);
    return code;
}
