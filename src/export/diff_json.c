// SPDX-License-Identifier: Apache-2.0
/* The difference of two traces as a document. */
#include <math.h>

#include "export/documents.h"

static void put_row(struct ifg_json *json, const struct diff_row *row)
{
    static const char *const sides[DIFF_SIDES] = { "a", "b" };

    ifg_json_open(json, '{');
    ifg_json_put_string(json, "kind", timeline_kind_name(row->kind));
    ifg_json_put_string(json, "name", row->name);
    ifg_json_put_string(json, "model", row->model);
    ifg_json_put_string(json, "function", row->function);
    ifg_json_put_string(json, "category", timeline_category_name(row->category));
    ifg_json_put_bool(json, "host_time", row->host_time);
    for (int side = 0; side < DIFF_SIDES; side++) {
        ifg_json_put_open(json, sides[side], '{');
        ifg_json_put_uint(json, "count", row->side[side].count);
        ifg_json_put_uint(json, "total_ns", row->side[side].total_ns);
        ifg_json_put_double(json, "median_ns", row->side[side].median_ns);
        ifg_json_put_uint(json, "blocks", row->side[side].blocks);
        ifg_json_put_uint(json, "perturbed", row->side[side].perturbed);
        ifg_json_close(json, '}');
    }
    ifg_json_put_string(json, "verdict", diff_verdict_name(row->verdict));
    ifg_json_put_double(json, "change", row->compared ? row->change : NAN);
    ifg_json_put_double(json, "low", row->compared ? row->low : NAN);
    ifg_json_put_double(json, "high", row->compared ? row->high : NAN);
    ifg_json_put_double(json, "p", row->compared ? row->p : NAN);
    ifg_json_put_bool(json, "too_fine", row->too_fine);
    ifg_json_put_bool(json, "significant", row->significant);
    ifg_json_put_uint(json, "more", row->more);
    ifg_json_close(json, '}');
}

/* What was left out because recording operators made it slower. */
static void put_perturbed(struct ifg_json *json, const struct diff *diff)
{
    static const char *const words[] = { "none", "left out", "all" };

    ifg_json_put_open(json, "perturbed", '{');
    ifg_json_put_string(json, "inferences", words[diff->perturbed]);
    ifg_json_put_uint(json, "a", diff->with_ops[DIFF_A]);
    ifg_json_put_uint(json, "b", diff->with_ops[DIFF_B]);
    ifg_json_close(json, '}');
}

static const char *verdict_of(const struct diff *diff)
{
    if (diff->verdicts[DIFF_REGRESSED])
        return "regressed";
    return diff->verdicts[DIFF_SAME] || diff->verdicts[DIFF_IMPROVED] ? "no regression" : "unsure";
}

void document_diff(const struct diff_document *document, struct ifg_bytes *out)
{
    const struct diff *diff = document->diff;
    struct recordings_difference differences[RECORDINGS_DIFFERENCES];
    size_t count = recordings_compare(document->timelines, differences);
    struct ifg_json json = { out, false };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "a", document->paths[DIFF_A]);
    ifg_json_put_string(&json, "b", document->paths[DIFF_B]);
    ifg_json_put_string(&json, "verdict", verdict_of(diff));
    ifg_json_put_string(&json, "warning", DIFF_NOT_INTERLEAVED);
    ifg_json_put_double(&json, "threshold", document->threshold);
    ifg_json_put_uint(&json, "floor_ns", diff->floor_ns);
    put_perturbed(&json, diff);
    ifg_json_put_double(&json, "common_change", diff->common_change);
    ifg_json_put_open(&json, "counts", '{');
    for (int i = 0; i < DIFF_VERDICTS; i++)
        ifg_json_put_uint(&json, diff_verdict_name((enum diff_verdict)i), diff->verdicts[i]);
    ifg_json_close(&json, '}');
    ifg_json_put_open(&json, "differences", '[');
    for (size_t i = 0; i < count; i++) {
        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "what", differences[i].what);
        ifg_json_put_string(&json, "a", differences[i].text[DIFF_A]);
        ifg_json_put_string(&json, "b", differences[i].text[DIFF_B]);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    ifg_json_put_open(&json, "rows", '[');
    for (size_t i = 0; i < diff->row_count; i++)
        put_row(&json, &diff->rows[i]);
    ifg_json_close(&json, ']');
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}
