// SPDX-License-Identifier: Apache-2.0
/* Functions of the program by samples: a table, JSON, CSV. */
#include "base/csv.h"
#include "cli/stats_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"
#include "cli/module_name.h"
#include "trace/keys.h"

#define OUTPUT_MAX (1u << 30)
#define DETAILS    8

static double share_of(uint64_t part, uint64_t all)
{
    return all ? (double)part / (double)all : 0;
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct hot_row *left = a;
    const struct hot_row *right = b;
    enum functions_sort sort = *(const enum functions_sort *)user;
    uint64_t l = sort == FUNCTIONS_BY_SELF ? left->self : left->total;
    uint64_t r = sort == FUNCTIONS_BY_SELF ? right->self : right->total;

    if (sort != FUNCTIONS_BY_NAME && l != r)
        return l > r ? -1 : 1;
    if (sort != FUNCTIONS_BY_NAME && left->self + left->total != right->self + right->total)
        return left->self + left->total > right->self + right->total ? -1 : 1;
    return strcmp(left->name, right->name);
}

/* ---- for scripts ---- */

static void write_json(const struct timeline_profile *profile, const struct hot *hot, size_t rows,
                       struct ifg_bytes *out)
{
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_double(&json, "hz", profile->hz);
    ifg_json_put_uint(&json, "samples", hot->samples);
    ifg_json_put_uint(&json, "lost", profile->lost);
    ifg_json_put_uint(&json, "rooted", hot->rooted);
    ifg_json_put_uint(&json, "inferred", hot->inferred);
    ifg_json_put_uint(&json, "in_kernel", hot->in_kernel);
    ifg_json_put_uint(&json, "no_stack", hot->no_stack);
    ifg_json_put_uint(&json, "lent", hot->lent);
    ifg_json_put_uint(&json, "several", hot->several);
    ifg_json_put_open(&json, "modules", '[');
    for (size_t i = 0; i < hot->module_count; i++) {
        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "name", hot->modules[i].name);
        ifg_json_put_uint(&json, "self", hot->modules[i].self);
        ifg_json_put_double(&json, "self_share", share_of(hot->modules[i].self, hot->samples));
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < rows; i++)
        document_function_row(&json, &hot->rows[i], hot->samples, DETAILS);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

static void write_csv(const struct hot *hot, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,guessed,self,total,self_share,total_share,total_inferred,module,file,"
                   "line\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct hot_row *row = &hot->rows[i];

        ifg_csv_put(out, row->name, ",");
        cli_print(out, ",%d,%llu,%llu,%.17g,%.17g,%llu,", row->guessed,
                  (unsigned long long)row->self, (unsigned long long)row->total,
                  share_of(row->self, hot->samples), share_of(row->total, hot->samples),
                  (unsigned long long)row->total_inferred);
        ifg_csv_put(out, row->module, ",");
        cli_print(out, ",");
        ifg_csv_put(out, row->file, ",");
        cli_print(out, ",%u\r\n", row->line);
    }
}

/* ---- for people ---- */

static void write_notes(const struct timeline_profile *profile, const struct hot *hot, bool guessed,
                        struct ifg_bytes *out)
{
    char number[32];

    cli_print(out, "%s samples", cli_count(hot->samples, number));
    if (profile->hz > 0)
        cli_print(out, " at %.0f Hz", profile->hz);
    cli_print(out, ": %.1f %% of stacks reach the root, %.1f %% have frames that are not certain",
              100 * share_of(hot->rooted, hot->samples),
              100 * share_of(hot->inferred, hot->samples));
    if (hot->in_kernel)
        cli_print(out, ", %.1f %% in the kernel", 100 * share_of(hot->in_kernel, hot->samples));
    cli_print(out, "\n");
    if (hot->lent)
        cli_print(out,
                  "%s of threads without events of their own, counted with the model that ran "
                  "then\n",
                  cli_count(hot->lent, number));
    if (guessed)
        cli_print(out, "? the name was recovered from type information, or where the function "
                       "begins was inferred; the file does not tell\n");
}

static void write_table(const struct timeline_profile *profile, const struct hot *hot, size_t rows,
                        struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "function", TEXT_LEFT, 32, 0 }, { "self", TEXT_RIGHT, 0, 0 },
        { "self %", TEXT_RIGHT, 0, 0 },   { "total", TEXT_RIGHT, 0, 2 },
        { "total %", TEXT_RIGHT, 0, 1 },  { "module", TEXT_LEFT, 12, 3 },
        { "line", TEXT_LEFT, 12, 4 },
    };
    struct text_table table;
    bool guessed = false;

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < rows; i++) {
        const struct hot_row *row = &hot->rows[i];
        const char *slash = strrchr(row->file, '/');
        char whole[590];

        text_table_put(&table, "%s%s", row->guessed ? "? " : "",
                       module_name_short(row->name, whole, sizeof whole));
        text_table_count(&table, row->self);
        text_table_share(&table, share_of(row->self, hot->samples));
        text_table_count(&table, row->total);
        text_table_share(&table, share_of(row->total, hot->samples));
        text_table_put(&table, "%s", row->module);
        if (row->line)
            text_table_put(&table, "%s:%u", slash ? slash + 1 : row->file, row->line);
        else if (*row->under)
            text_table_put(&table, "< %s", row->under);
        text_table_next(&table);
        guessed |= row->guessed;
    }
    text_table_end(&table, out);
    if (rows < hot->row_count)
        cli_print(out, "and %zu more: --limit 0 shows all\n", hot->row_count - rows);
    write_notes(profile, hot, guessed, out);
    text_fit(out);
}

int stats_functions_print(const struct functions_request *request)
{
    const struct timeline_profile *profile;
    struct hot *hot = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    const char *problem;
    char text[240];
    enum functions_sort sort = request->sort;
    enum ifg_status status = timeline_profile_get(request->timeline, &profile, &err);
    size_t rows;
    int code;

    if (!status)
        status = hot_create(request->timeline, &request->filter, &hot, &err);
    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    if (hot->row_count)
        qsort_r(hot->rows, hot->row_count, sizeof *hot->rows, compare_rows, &sort);
    rows = request->limit && request->limit < hot->row_count ? request->limit : hot->row_count;
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->form == FUNCTIONS_JSON)
        write_json(profile, hot, rows, &out);
    else if (request->form == FUNCTIONS_CSV)
        write_csv(hot, rows, &out);
    else if (hot->row_count)
        write_table(profile, hot, rows, &out);
    else if (profile->sample_count)
        cli_say("%s: no sample matches", request->path);
    else
        cli_say("%s has no samples: record with --sample ('inferogram info' says why there "
                "are none)",
                request->path);
    if (profile->lost && request->form == FUNCTIONS_TABLE)
        cli_say("%llu samples were lost while recording and are in no figure",
                (unsigned long long)profile->lost);
    problem = trace_find_fact(trace_reader_tables(request->timeline->reader),
                              TRACE_FACT_SAMPLES_NAMES_PROBLEM);
    if (problem && request->form == FUNCTIONS_TABLE)
        cli_say("%s", cli_clean(problem, text, sizeof text));
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    hot_destroy(hot);
    return code;
}
