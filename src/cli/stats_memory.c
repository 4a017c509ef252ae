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

#define OUTPUT_MAX (1u << 30)

/* ---- words ---- */

static const char *size_of(double bytes, char out[32])
{
    char text[32];

    if (isnan(bytes))
        return "n/a";
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

    if (order->sort != MEMORY_BY_NAME && isnan(left) != isnan(right))
        return isnan(left) ? 1 : -1;
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
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < rows; i++)
        memory_json_phase(&json, input, &input->memory->phases[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

/* Nothing for what is not known. */
static void put_bytes(struct ifg_bytes *out, double bytes)
{
    if (isnan(bytes))
        cli_print(out, ",");
    else
        cli_print(out, ",%.0f", bytes);
}

static void phases_csv(const struct ml_input *input, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,pid,count,unpolled_count,coarse_count,before_bytes,peak_bytes,after_bytes,"
                   "delta_bytes,"
                   "coarse,growth_bytes\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct memory_phase *phase = &input->memory->phases[i];
        char label[300];

        ifg_csv_put(out, memory_phase_label(input, phase, label, sizeof label), ",");
        cli_print(out, ",%u,%llu,%llu,%llu,%.0f", phase->pid,
                  (unsigned long long)(phase->count + phase->unpolled),
                  (unsigned long long)phase->unpolled, (unsigned long long)phase->coarse,
                  phase->most.before);
        put_bytes(out, phase->most.peak);
        put_bytes(out, phase->most.after);
        put_bytes(out, memory_delta(&phase->most));
        cli_print(out, ",%d", phase->most.coarse);
        put_bytes(out, phase->growth);
        cli_print(out, "\r\n");
    }
}

static void phases_table(const struct ml_input *input, size_t rows, size_t all,
                         struct ifg_bytes *out)
{
    const struct memory *memory = input->memory;
    static const struct text_column shown[] = {
        { "phase", TEXT_LEFT, 20, 0 },  { "count", TEXT_RIGHT, 0, 0 },
        { "before", TEXT_RIGHT, 0, 0 }, { "peak", TEXT_RIGHT, 0, 0 },
        { "after", TEXT_RIGHT, 0, 0 },  { "delta", TEXT_RIGHT, 0, 0 },
        { "growth", TEXT_RIGHT, 0, 0 },
    };
    struct text_table table;
    const char *unknown = NULL;
    uint64_t unpolled = 0;
    bool coarse = false;
    char reason[48], interval[32];

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < rows; i++) {
        const struct memory_phase *phase = &memory->phases[i];
        char label[300];
        char text[32];

        text_table_put(&table, "%s", memory_phase_label(input, phase, label, sizeof label));
        text_table_count(&table, phase->count + phase->unpolled);
        unpolled += phase->unpolled;
        text_table_put(&table, "%s", size_of(phase->most.before, text));
        text_table_put(&table, "%s", size_of(phase->most.peak, text));
        text_table_put(&table, "%s", size_of(phase->most.after, text));
        text_table_put(&table, "%s%s", phase->most.coarse && !phase->most.is_short ? "~" : "",
                       size_of(memory_delta(&phase->most), text));
        text_table_put(&table, "%s", size_of(phase->growth, text));
        text_table_next(&table);
        coarse |= phase->most.coarse && !phase->most.is_short;
        if (!unknown)
            unknown = memory_unknown(phase, memory_delta(&phase->most) + phase->growth, reason);
    }
    text_table_end(&table, out);
    if (rows < all)
        cli_print(out, "and %zu more: --limit 0 shows all\n", all - rows);
    cli_print(out, "before, peak, after: of the instance with the largest delta = peak - before; "
                   "growth: of all instances together\n");
    if (coarse)
        cli_print(out, "~ the peak may lie just outside of the phase\n");
    if (unknown)
        cli_print(out, "n/a: %s, and the phase is shorter: what changed may be of another\n",
                  unknown);
    if (unpolled)
        cli_print(out,
                  "%llu of these were before the first poll or after the last: their memory is "
                  "not known\n",
                  (unsigned long long)unpolled);
    if (!memory->fine)
        cli_print(out, "memory was polled every %s; record --memory polls every 10 ms\n",
                  cli_duration((double)memory->resolution_ns, interval));
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
    ifg_json_put_open(&json, "rows", '[');
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
    static const struct text_column shown[] = {
        { "function", TEXT_LEFT, 28, 0 },  { "at peak", TEXT_RIGHT, 0, 0 },
        { "±", TEXT_RIGHT, 0, 3 },         { "share", TEXT_RIGHT, 0, 0 },
        { "in all", TEXT_RIGHT, 0, 1 },    { "picked", TEXT_RIGHT, 0, 4 },
        { "not freed", TEXT_RIGHT, 0, 2 }, { "module", TEXT_LEFT, 14, 5 },
    };
    struct text_table table;
    char text[32];
    bool guessed = false;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < rows; i++) {
        const struct heap_row *row = &heap->functions.rows[i];
        char whole[590];

        text_table_put(&table, "%s%s", row->guessed ? "? " : "",
                       module_name_short(row->name, whole, sizeof whole));
        text_table_put(&table, "%s", size_of(row->peak.bytes, text));
        text_table_put(&table, "%s", size_of(heap_error(&row->peak), text));
        text_table_share(&table, heap->peak.bytes > 0 ? row->peak.bytes / heap->peak.bytes : 0);
        text_table_put(&table, "%s", size_of(row->all.bytes, text));
        text_table_count(&table, row->all.count);
        text_table_put(&table, "%s", size_of(row->kept.bytes, text));
        text_table_put(&table, "%s%s%s", row->module, *row->under ? " < " : "", row->under);
        text_table_next(&table);
        guessed |= row->guessed;
    }
    text_table_end(&table, out);
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
    enum ifg_status status = findings_input_create(request->timeline, &input, &err);
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
    if (request->form == MEMORY_TABLE)
        text_fit(&out);
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    findings_input_destroy(input);
    return code;
}
