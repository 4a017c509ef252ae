// SPDX-License-Identifier: Apache-2.0
/* Work of devices by name: see stats_kernels.h. */
#include "cli/stats_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "export/documents.h"

#define OUTPUT_MAX (1u << 30)

static double value_of(const struct device_kernel *row, enum kernels_sort sort)
{
    switch (sort) {
    case KERNELS_BY_COUNT:
        return (double)row->count;
    case KERNELS_BY_MEAN:
        return row->mean_ns;
    case KERNELS_BY_P50:
        return row->percentile_ns[STATS_P50];
    case KERNELS_BY_P99:
        return row->percentile_ns[STATS_P99];
    case KERNELS_BY_MAX:
        return (double)row->max_ns;
    case KERNELS_BY_TOTAL:
    case KERNELS_BY_NAME:
        break;
    }
    return (double)row->total_ns;
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct device_kernel *left = a;
    const struct device_kernel *right = b;
    enum kernels_sort sort = *(const enum kernels_sort *)user;
    double l = value_of(left, sort);
    double r = value_of(right, sort);

    if (sort != KERNELS_BY_NAME && (l > r || l < r))
        return l > r ? -1 : 1;
    return strcmp(left->name, right->name);
}

static void write_csv(const struct device_kernels *kernels, size_t rows, struct ifg_bytes *out)
{
    cli_print(out, "name,kind,count,total_ns,mean_ns,sd_ns,min_ns,p50_ns,p90_ns,p95_ns,p99_ns,"
                   "p999_ns,max_ns,share,queue_p50_ns,bytes\r\n");
    for (size_t i = 0; i < rows; i++) {
        const struct device_kernel *row = &kernels->rows[i];

        ifg_csv_put(out, row->name, ",");
        cli_print(out, ",%s,%llu,%llu,%.17g,%.17g,%llu", timeline_work_name(row->kind),
                  (unsigned long long)row->count, (unsigned long long)row->total_ns, row->mean_ns,
                  row->sd_ns, (unsigned long long)row->min_ns);
        for (int p = 0; p < STATS_PERCENTILES; p++)
            cli_print(out, ",%.17g", row->percentile_ns[p]);
        cli_print(out, ",%llu,%.17g,", (unsigned long long)row->max_ns, row->share);
        if (!isnan(row->queue_median_ns))
            cli_print(out, "%.17g", row->queue_median_ns);
        cli_print(out, ",");
        if (row->bytes != UINT64_MAX)
            cli_print(out, "%llu", (unsigned long long)row->bytes);
        cli_print(out, "\r\n");
    }
}

static void write_table(const struct device_kernels *kernels, size_t rows, struct ifg_bytes *out)
{
    static const struct text_column shown[] = {
        { "kernel", TEXT_LEFT, 20, 0 }, { "count", TEXT_RIGHT, 0, 0 },
        { "total", TEXT_RIGHT, 0, 0 },  { "mean", TEXT_RIGHT, 0, 3 },
        { "sd", TEXT_RIGHT, 0, 9 },     { "min", TEXT_RIGHT, 0, 7 },
        { "p50", TEXT_RIGHT, 0, 0 },    { "p90", TEXT_RIGHT, 0, 6 },
        { "p99", TEXT_RIGHT, 0, 1 },    { "max", TEXT_RIGHT, 0, 4 },
        { "share", TEXT_RIGHT, 0, 0 },  { "queued", TEXT_RIGHT, 0, 2 },
        { "bytes", TEXT_RIGHT, 0, 5 },
    };
    struct text_table table;
    char busy[32];

    text_table_begin(&table, shown, sizeof shown / sizeof shown[0], 0);
    for (size_t i = 0; i < rows; i++) {
        const struct device_kernel *row = &kernels->rows[i];
        double values[] = { (double)row->total_ns,
                            row->mean_ns,
                            row->sd_ns,
                            (double)row->min_ns,
                            row->percentile_ns[STATS_P50],
                            row->percentile_ns[STATS_P90],
                            row->percentile_ns[STATS_P99],
                            (double)row->max_ns };

        text_table_put(&table, "%s", row->name);
        text_table_count(&table, row->count);
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
            text_table_time(&table, values[v]);
        text_table_share(&table, row->share);
        text_table_time(&table, row->queue_median_ns);
        text_table_size(&table, row->bytes == UINT64_MAX ? (double)NAN : (double)row->bytes);
        text_table_next(&table);
    }
    text_table_end(&table, out);
    if (rows < kernels->row_count)
        cli_print(out, "and %zu more: --limit 0 shows all\n", kernels->row_count - rows);
    cli_print(out,
              "share: of the %s that devices were busy with these; what overlaps counts once in "
              "that, but in every row. queued: median from the end of the call to the start\n",
              cli_duration((double)kernels->busy_ns, busy));
}

int stats_kernels_print(const struct kernels_request *request)
{
    const struct timeline_devices *devices;
    struct device_kernels *kernels = NULL;
    struct ifg_error err = { 0 };
    struct ifg_bytes out;
    enum kernels_sort sort = request->sort;
    enum ifg_status status =
        device_kernels_create(request->timeline, &request->options, &kernels, &err);
    size_t rows;
    int code;

    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    if (kernels->row_count)
        qsort_r(kernels->rows, kernels->row_count, sizeof *kernels->rows, compare_rows, &sort);
    rows =
        request->limit && request->limit < kernels->row_count ? request->limit : kernels->row_count;
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->form == KERNELS_JSON) {
        struct ifg_json json = { &out, false };

        ifg_json_open(&json, '{');
        ifg_json_put_uint(&json, "schema", 1);
        document_kernels(&json, kernels, rows);
        ifg_json_close(&json, '}');
        ifg_bytes_put(&out, "\n", 1);
    } else if (request->form == KERNELS_CSV) {
        write_csv(kernels, rows, &out);
    } else if (rows) {
        write_table(kernels, rows, &out);
        text_fit(&out);
    }
    if (!out.size)
        cli_say("%s: no work of devices%s", request->path,
                timeline_devices_get(request->timeline, &devices, NULL) == IFG_OK &&
                        devices->work_count
                    ? " matches"
                    : " was recorded");
    code = out.size ? cli_write_out(&out) : CLI_YES;
    ifg_bytes_fini(&out);
    device_kernels_destroy(kernels);
    return code;
}
