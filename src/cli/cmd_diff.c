// SPDX-License-Identifier: Apache-2.0
/* inferogram diff: what changed between two traces, with a verdict for each location. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff.h"
#include "analyze/recordings.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/html_file.h"
#include "cli/text.h"
#include "export/documents.h"
#include "runtimes/runtimes.h"

#define OUTPUT_MAX  (1u << 30)
#define TOP_OTHERS  5 /* of what is not certain */
#define NAMED_FIRST 3 /* in the first line */

struct request {
    const char *paths[DIFF_SIDES];
    double threshold;
    bool all;
    bool json;
    const char *html;
    bool overwrite;
};

struct loaded {
    struct trace_reader *readers[DIFF_SIDES];
    const struct timeline *timelines[DIFF_SIDES];
};

static const struct option_row option_rows[] = {
    { "threshold", 0, "PCT", "ignore changes up to this many percent [5]", OPTION_PERCENT,
      IFG_AT(struct request, threshold) },
    { "all", 0, NULL, "list every location, not only what changed", OPTION_FLAG,
      IFG_AT(struct request, all) },
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { "html", 0, "OUT", "write one HTML file that you can mail; '-' for stdout", OPTION_PATH,
      IFG_AT(struct request, html), .files = "*.html" },
    { "force", 'f', NULL, "replace OUT if it exists", OPTION_FLAG,
      IFG_AT(struct request, overwrite) },
    { 0 },
};

static int check(const struct option_words *words, struct request *request)
{
    if (words->count < DIFF_SIDES)
        return cli_usage("diff", "which traces? Give two files: before and after");
    if (words->count > DIFF_SIDES)
        return cli_usage("diff", "two files at a time; '%s' is too many", words->items[2]);
    request->paths[DIFF_A] = words->items[0];
    request->paths[DIFF_B] = words->items[1];
    if (request->html && (request->json || request->all))
        return cli_usage("diff", "--html is a page of its own: without --json and --all");
    if (!request->html && request->overwrite)
        return cli_usage("diff", "-f is for --html");
    return CLI_YES;
}

/* ---- for people ---- */

static void label_row(const struct diff_row *row, char *out, size_t size)
{
    char name[160];
    char model[100];

    cli_clean(row->name, name, sizeof name);
    cli_clean(row->model, model, sizeof model);
    switch (row->kind) {
    case TRACE_LOCATION_ML:
        snprintf(out, size, "%s · %s", model, timeline_category_name(row->category));
        if (strcmp(row->name, timeline_category_name(row->category)) != 0) {
            size_t used = strlen(out);

            snprintf(out + used, size - used, " · %s", name);
        }
        break;
    case TRACE_LOCATION_OP:
        snprintf(out, size, "op %s", name);
        break;
    case TRACE_LOCATION_STAGE:
        snprintf(out, size, "stage %s", name);
        break;
    case TRACE_LOCATION_DRIVER:
        snprintf(out, size, "call %s", name);
        break;
    default:
        snprintf(out, size, "%s", name);
    }
}

static void name_first(const struct diff *diff, enum diff_verdict verdict, struct ifg_bytes *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < diff->row_count; i++) {
        char label[300];

        if (diff->rows[i].verdict != verdict)
            continue;
        if (shown == NAMED_FIRST) {
            cli_print(out, ", ...");
            break;
        }
        label_row(&diff->rows[i], label, sizeof label);
        cli_print(out, "%s%s %+.1f %%", shown ? ", " : ": ", label, 100 * diff->rows[i].change);
        shown++;
    }
}

static void write_answer(const struct diff *diff, struct ifg_bytes *out)
{
    const size_t *verdicts = diff->verdicts;
    size_t judged = verdicts[DIFF_SAME] + verdicts[DIFF_REGRESSED] + verdicts[DIFF_IMPROVED];
    size_t both = judged + verdicts[DIFF_UNSURE];

    cli_print(out, "%s", cli_bold(true, STDOUT_FILENO));
    if (verdicts[DIFF_REGRESSED]) {
        cli_print(out, "B is slower in %zu of %zu locations", verdicts[DIFF_REGRESSED], both);
        name_first(diff, DIFF_REGRESSED, out);
        if (verdicts[DIFF_IMPROVED])
            cli_print(out, "; faster in %zu", verdicts[DIFF_IMPROVED]);
    } else if (verdicts[DIFF_IMPROVED]) {
        cli_print(out, "B is faster in %zu of %zu locations and slower in none",
                  verdicts[DIFF_IMPROVED], both);
        name_first(diff, DIFF_IMPROVED, out);
    } else if (judged) {
        cli_print(out, "No location is slower or faster for certain: %zu of %zu are the same",
                  verdicts[DIFF_SAME], both);
    } else if (both) {
        cli_print(out, "Unsure: none of %zu locations could be judged", both);
    } else {
        cli_print(out, "Unsure: the traces have no location in common");
    }
    if (verdicts[DIFF_UNSURE] && judged)
        cli_print(out, "; %zu unsure", verdicts[DIFF_UNSURE]);
    if (verdicts[DIFF_NEW] || verdicts[DIFF_GONE])
        cli_print(out, "; %zu new, %zu gone", verdicts[DIFF_NEW], verdicts[DIFF_GONE]);
    cli_print(out, "%s\n", cli_bold(false, STDOUT_FILENO));
}

/* Why nothing is certain; "" if something is. */
static void say_unsure(const struct diff_row *row, char *out, size_t size)
{
    bool both = row->side[DIFF_A].count && row->side[DIFF_B].count;
    char more[32];

    out[0] = '\0';
    if (row->verdict != DIFF_UNSURE)
        return;
    if (row->too_fine)
        snprintf(out, size, "too small a difference for the clock");
    else if (row->more)
        snprintf(out, size, "needs %s%s more on each side", row->compared ? "about " : "",
                 cli_count(row->more, more));
    else
        snprintf(out, size, "%s",
                 both ? "the interval reaches across the threshold"
                      : "operators were recorded in all of one side");
}

static void put_row(const struct diff_row *row, struct text_table *table)
{
    char text[300];

    text_table_put(table, "%c %s", row->significant || !row->compared ? ' ' : '~',
                   diff_verdict_name(row->verdict));
    label_row(row, text, sizeof text);
    text_table_put(table, "%s%s", text, row->host_time ? " *" : "");
    for (int side = 0; side < DIFF_SIDES; side++)
        text_table_count(table, row->side[side].count);
    for (int side = 0; side < DIFF_SIDES; side++)
        text_table_time(table, row->side[side].count ? row->side[side].median_ns : (double)NAN);
    if (row->compared) {
        text_table_put(table, "%+.1f %%", 100 * row->change);
        text_table_put(table, "%+.1f to %+.1f %%", 100 * row->low, 100 * row->high);
    } else {
        text_table_put(table, "%s", "");
        text_table_put(table, "%s", "");
    }
    say_unsure(row, text, sizeof text);
    text_table_put(table, "%s", text);
    text_table_next(table);
}

static int compare_weight(const void *left, const void *right)
{
    const struct diff_row *const *a = left;
    const struct diff_row *const *b = right;
    double x = fabs((*a)->weight_ns);
    double y = fabs((*b)->weight_ns);

    return x > y ? -1 : x < y;
}

static bool is_certain(const struct diff_row *row)
{
    return row->verdict == DIFF_REGRESSED || row->verdict == DIFF_IMPROVED ||
           row->verdict == DIFF_NEW || row->verdict == DIFF_GONE;
}

static void begin_table(struct text_table *table)
{
    static const struct text_column shown[] = {
        { "  verdict", TEXT_LEFT, 0, 0 }, { "location", TEXT_LEFT, 18, 0 },
        { "count A", TEXT_RIGHT, 0, 2 },  { "count B", TEXT_RIGHT, 0, 3 },
        { "median A", TEXT_RIGHT, 0, 1 }, { "median B", TEXT_RIGHT, 0, 1 },
        { "change", TEXT_RIGHT, 0, 0 },   { "95 % interval", TEXT_LEFT, 0, 0 },
        { "", TEXT_WRAP, 0, 0 },
    };

    text_table_begin(table, shown, sizeof shown / sizeof shown[0], 0);
}

/* What changed for certain; then, of the rest, what would matter most if it were true. Of devices,
 * or of all else. */
static void write_section(const struct request *request, const struct diff *diff, bool of_device,
                          struct ifg_bytes *out)
{
    const struct diff_row *others[TOP_OTHERS + 1];
    struct text_table table;
    size_t other_count = 0;
    size_t shown = 0;
    bool host_times = false;

    begin_table(&table);
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];

        if (diff_is_of_device(row->kind) != of_device)
            continue;
        if (request->all || is_certain(row)) {
            if (!shown++)
                cli_print(out,
                          of_device ? "\nDevices (kernels, copies, calls of the driver)\n" : "\n");
            put_row(row, &table);
            host_times |= row->host_time;
            continue;
        }
        others[other_count++] = row;
        qsort(others, other_count, sizeof others[0], compare_weight);
        other_count = other_count > TOP_OTHERS ? TOP_OTHERS : other_count;
    }
    text_table_end(&table, out);
    if (other_count) {
        cli_print(out,
                  "\nOf the others%s, those that would matter most (all with --all; ~ may be "
                  "chance):\n",
                  of_device ? " of devices" : "");
        begin_table(&table);
        for (size_t i = 0; i < other_count; i++) {
            put_row(others[i], &table);
            host_times |= others[i]->host_time;
        }
        text_table_end(&table, out);
    }
    if (host_times)
        cli_print(out, "* " PROVIDER_HOST_TIME "\n");
}

static void write_rows(const struct request *request, const struct diff *diff,
                       struct ifg_bytes *out)
{
    write_section(request, diff, false, out);
    write_section(request, diff, true, out);
}

static void write_text(const struct request *request, const struct diff *diff,
                       const struct recordings_difference *differences, size_t count,
                       struct ifg_bytes *out)
{
    char path[DIFF_SIDES][200];
    char text[DIFF_SIDES][200];

    write_answer(diff, out);
    cli_print(out, "A is %s, B is %s; threshold %g %%\n%s\n",
              cli_clean(request->paths[DIFF_A], path[DIFF_A], sizeof path[DIFF_A]),
              cli_clean(request->paths[DIFF_B], path[DIFF_B], sizeof path[DIFF_B]),
              100 * request->threshold, DIFF_NOT_INTERLEAVED);
    for (size_t i = 0; i < count; i++)
        cli_print(out, "! different %s: %s | %s\n", differences[i].what,
                  *differences[i].text[DIFF_A]
                      ? cli_clean(differences[i].text[DIFF_A], text[DIFF_A], sizeof text[DIFF_A])
                      : "none",
                  *differences[i].text[DIFF_B]
                      ? cli_clean(differences[i].text[DIFF_B], text[DIFF_B], sizeof text[DIFF_B])
                      : "none");
    if (diff->perturbed == DIFF_PERTURBED_LEFT_OUT)
        cli_print(out,
                  "! inferences whose operators were recorded are left out, with all around and in "
                  "them: %zu of %zu in A, %zu of %zu in B\n",
                  diff->with_ops[DIFF_A], diff->inferences[DIFF_A], diff->with_ops[DIFF_B],
                  diff->inferences[DIFF_B]);
    else if (diff->perturbed == DIFF_ALL_PERTURBED)
        cli_print(out,
                  "! the operators of all inferences were recorded, in A and in B: these times "
                  "are longer than without\n");
    if (diff->compared >= 4 && fabs(diff->common_change) > request->threshold)
        cli_print(
            out,
            "! half of all locations changed by %+.1f %% or more: that looks like the machine "
            "or the build as a whole\n",
            100 * diff->common_change);
    write_rows(request, diff, out);
    text_fit(out);
}

/* ---- together ---- */

static int exit_for(const struct diff *diff)
{
    if (diff->verdicts[DIFF_REGRESSED])
        return CLI_NO;
    return diff->verdicts[DIFF_SAME] || diff->verdicts[DIFF_IMPROVED] ? CLI_YES : CLI_UNSURE;
}

static int run(int argc, char **argv)
{
    struct request request = { .threshold = DIFF_THRESHOLD };
    struct option_words words;
    struct loaded loaded = { 0 };
    struct recordings_difference differences[RECORDINGS_DIFFERENCES];
    struct diff *diff = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    int code = options_parse(&diff_command, argc, argv, &request, &words);

    if (!code)
        code = check(&words, &request);
    if (code)
        return code;
    ifg_bytes_init(&out, OUTPUT_MAX);
    for (int side = 0; side < DIFF_SIDES && !code; side++)
        code = cli_load(request.paths[side], &loaded.readers[side], &loaded.timelines[side]);
    if (code)
        goto out;
    if (diff_create(loaded.timelines[DIFF_A], loaded.timelines[DIFF_B], request.threshold, &diff,
                    &err)) {
        cli_say("%s", err.message);
        code = CLI_NO;
        goto out;
    }
    code = exit_for(diff);
    if (request.json || request.html)
        document_diff(
            &(struct diff_document){
                { request.paths[DIFF_A], request.paths[DIFF_B] },
                { loaded.timelines[DIFF_A], loaded.timelines[DIFF_B] },
                request.threshold,
                diff,
            },
            &out);
    else
        write_text(&request, diff, differences, recordings_compare(loaded.timelines, differences),
                   &out);
    if (request.html ? html_write_document("compare", "Two recordings · Inferogram", &out,
                                           request.html, request.overwrite)
                     : cli_write_out(&out))
        code = CLI_USAGE; /* 1 would mean that something regressed */
out:
    ifg_bytes_fini(&out);
    diff_destroy(diff);
    for (int side = 0; side < DIFF_SIDES; side++) {
        timeline_destroy(loaded.timelines[side]);
        trace_reader_close(loaded.readers[side]);
    }
    return code;
}

const struct cli_command diff_command = {
    .name = "diff",
    .summary = "show what changed between two traces, with verdicts",
    .usage = "A.ifg B.ifg [--threshold PCT] [--all] [--json | --html OUT [-f]]",
    .about = "Compares how long things took, per model and category, operator, zone and kernel: "
             "medians, "
             "the change from A to B with its 95 % interval, names that are new or gone, and a "
             "verdict for each: REGRESSED, IMPROVED, SAME, or UNSURE with the number of "
             "occurrences that would decide.",
    .tables = { option_rows },
    .notes = "Two recordings made at different times always differ a little; see "
             "inferogram-diff(1).",
    .exits = "0 nothing regressed, 1 a regression, 2 usage error or unreadable file, 3 "
             "inconclusive",
    .operands = OPERANDS_TRACES,
    .reads = true,
    .run = run,
};
