// SPDX-License-Identifier: Apache-2.0
/* The traces in a merged one: what `merge` did and what `info` shows of it. */
#include "cli/info.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/text.h"

#define LABEL_COLUMNS 13
#define PARTS_SHOWN   20u

/* "+1.20 ms ± 80 µs, measured by capture"; "same clock" needs no number. */
static void describe(const struct merge_part *part, char *out, size_t size)
{
    double ns = (double)part->offset_ns;
    char moved[80] = "";
    char amount[32], error[32];

    if (part->offset_ns || part->method == MERGE_MEASURED || part->method == MERGE_GIVEN)
        snprintf(moved, sizeof moved, "%s%s%s%s, ", ns < 0 ? "-" : "+",
                 cli_duration(ns < 0 ? -ns : ns, amount), part->has_error ? " ± " : "",
                 part->has_error ? cli_duration((double)part->error_ns, error) : "");
    snprintf(out, size, "%s%s", moved, merge_method_text(part->method));
}

void info_write_parts(struct ifg_bytes *out, const struct merge_part *parts, size_t count,
                      size_t indent)
{
    size_t file_columns = 0, host_columns = 0;
    char file[120], host[72], how[200];

    for (size_t i = 0; i < count && i < PARTS_SHOWN; i++) {
        size_t columns = text_columns(cli_clean(parts[i].file, file, sizeof file));

        file_columns = columns > file_columns ? columns : file_columns;
        columns = text_columns(cli_clean(parts[i].host, host, sizeof host));
        host_columns = columns > host_columns ? columns : host_columns;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == PARTS_SHOWN) {
            cli_print(out, "%*sand %zu more (all with --json)\n", (int)indent, "", count - i);
            break;
        }
        if (i)
            cli_print(out, "%*s", (int)indent, "");
        cli_put_name(out, parts[i].file, (int)file_columns);
        cli_print(out, "  ");
        cli_put_name(out, *parts[i].host ? parts[i].host : "-", (int)host_columns);
        describe(&parts[i], how, sizeof how);
        cli_print(out, "  %s\n", how);
    }
}

void info_write_part_json(struct ifg_json *json, const struct merge_part *part)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "file", part->file);
    ifg_json_put_string(json, "host", part->host);
    ifg_json_put_string(json, "method", merge_method_key(part->method));
    ifg_json_key(json, "offset_ns");
    ifg_json_int(json, part->offset_ns);
    if (part->has_error)
        ifg_json_put_uint(json, "error_ns", part->error_ns);
    else
        ifg_json_put_double(json, "error_ns", (double)NAN);
    ifg_json_key(json, "shift_ns");
    ifg_json_int(json, part->shift_ns);
    ifg_json_put_uint(json, "numbers_from", part->numbers_from);
    ifg_json_close(json, '}');
}

void info_write_merged(const struct info_request *request, struct ifg_bytes *out)
{
    if (!request->part_count)
        return;
    cli_print(out, "%-*s", LABEL_COLUMNS, "Merged from");
    info_write_parts(out, request->parts, request->part_count, LABEL_COLUMNS);
}

void info_write_merged_json(struct ifg_json *json, const struct info_request *request)
{
    if (!request->part_count)
        return;
    ifg_json_put_open(json, "merged", '[');
    for (size_t i = 0; i < request->part_count; i++)
        info_write_part_json(json, &request->parts[i]);
    ifg_json_close(json, ']');
}

const struct merge_part *info_part_of(const struct info_request *request, size_t process)
{
    const struct merge_part *found = NULL;

    for (size_t i = 0; i < request->part_count && request->parts[i].first_process <= process; i++)
        found = &request->parts[i];
    return found;
}
