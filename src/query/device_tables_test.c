// SPDX-License-Identifier: Apache-2.0
/* gpu_slice, gpu_call and gpu_stream on a trace whose numbers are in device_trace.h. */
#include <stdio.h>
#include <string.h>

#include "device_trace.h"
#include "query/query.h"
#include "tap.h"

static struct device_trace trace;
static struct query *query;

static void set_up(void)
{
    device_trace_begin(&trace, NULL);
    device_trace_showcase(&trace);
    REQUIRE(ml_trace_load(&trace.ml));
    REQUIRE_INT(query_create(trace.ml.timeline, &query, NULL), IFG_OK);
}

static void tear_down(void)
{
    query_destroy(query);
    device_trace_end(&trace);
    query = NULL;
}

/* All rows, "a|b|c\n" each; NULL is "-". */
static const char *rows(const char *sql)
{
    static char text[4096];
    static const struct query_limits no_limits = { 0 };
    struct ifg_error err = { 0 };
    size_t used = 0;
    bool row = false;

    text[0] = '\0';
    if (query_start(query, sql, &no_limits, &err)) {
        tap_diag("%s", err.message);
        return "refused";
    }
    while (query_next(query, &row, &err) == IFG_OK && row) {
        for (size_t i = 0; i < query_column_count(query) && used < sizeof text; i++) {
            struct query_value value = query_column_value(query, i);
            const char *gap = i ? "|" : "";

            if (value.type == QUERY_INTEGER)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", gap,
                                         (long long)value.integer);
            else
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", gap,
                                         value.type == QUERY_TEXT ? (int)value.bytes : 1,
                                         value.type == QUERY_TEXT ? value.text : "-");
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    }
    return text;
}

static void what_devices_did(void)
{
    set_up();
    CHECK_STR(rows("SELECT kind, name, start_ns / 1000, dur_ns / 1000, bytes, copy_kind, device, "
                   "context, stream, process FROM gpu_slice LIMIT 5"),
              "memcpy|memcpy HtoD|4|10|602112|HtoD|0|1|7|4711\n"
              "kernel|conv|14|100|-|-|0|1|7|4711\n"
              "kernel|gemm|114|40|-|-|0|1|7|4711\n"
              "kernel|bias|154|5|-|-|0|1|7|4711\n"
              "memcpy|memcpy DtoH|159|5|4000|DtoH|0|1|7|4711\n");
    CHECK_STR(rows("SELECT kind, count(*), sum(dur_ns) / 1000 FROM gpu_slice GROUP BY kind"),
              "kernel|13|475\nmemcpy|6|45\nmemset|1|3\n");
    CHECK_STR(rows("SELECT name, graph, graph_node, shape, queued_ns, submitted_ns FROM gpu_slice "
                   "WHERE graph NOT NULL OR shape NOT NULL GROUP BY name ORDER BY name"),
              "conv|-|-|grid 98x1x1|-|-\nnode a|77|-|-|-|-\nnode b|77|-|-|-|-\n");
    CHECK_STR(rows("SELECT count(*) FROM gpu_slice g JOIN slice s USING (id) WHERE s.kind = "
                   "'device' AND s.start_ns = g.start_ns AND s.dur_ns = g.dur_ns"),
              "20\n");
    tear_down();
}

static void what_it_belongs_to(void)
{
    set_up();
    CHECK_STR(
        rows("SELECT g.name, launch_name, launch_thread, launch_start_ns / 1000, "
             "launch_dur_ns / 1000, operator, o.name, zone, g.model, i.category FROM gpu_slice "
             "g LEFT JOIN slice i ON i.id = g.inference LEFT JOIN slice o ON o.id = "
             "g.operator_slice LIMIT 3"),
        "memcpy HtoD|cuMemcpyAsync|5000|0|4|-|-|-|net|inference\n"
        "conv|cuLaunchKernel|5000|4|5|conv1|conv1|-|net|inference\n"
        "gemm|cuLaunchKernel|5000|9|5|fc|fc|-|net|inference\n");
    CHECK_STR(rows("SELECT name, launch_name, launch_slice NOT NULL, inference, zone, model FROM "
                   "gpu_slice WHERE inference IS NULL"),
              "node a|cuGraphLaunch|1|-|warm|-\nnode b|cuGraphLaunch|1|-|warm|-\n"
              "memset|cuMemsetD8Async|1|-|-|-\nnode a|cuGraphLaunch|1|-|warm|-\n"
              "lost|-|0|-|-|-\n");
    CHECK_STR(
        rows("SELECT inference NOT NULL, sum(dur_ns) / 1000, count(*) FROM gpu_slice GROUP BY "
             "inference"),
        "0|43|5\n1|160|5\n1|160|5\n1|160|5\n");
    tear_down();
}

static void calls_and_streams(void)
{
    set_up();
    CHECK_STR(rows("SELECT kind, name, count(*), sum(slices), sum(busy_ns) / 1000, min(thread), "
                   "min(process) FROM gpu_call GROUP BY kind, name ORDER BY kind"),
              "graph|cuGraphLaunch|1|3|30|5000|4711\n"
              "kernel|cuLaunchKernel|9|9|435|5000|4711\n"
              "memcpy|cuMemcpyAsync|6|6|45|5000|4711\n"
              "memset|cuMemsetD8Async|1|1|3|5000|4711\n"
              "sync|cuStreamSynchronize|3|0|0|5000|4711\n");
    CHECK_STR(rows("SELECT start_ns / 1000, dur_ns / 1000, correlation, operator, zone, model, "
                   "inference NOT NULL, operator_slice, zone_slice FROM gpu_call WHERE kind = "
                   "'sync' LIMIT 1"),
              "23|141|6|-|-|net|1|-|-\n");
    CHECK_STR(rows("SELECT device, context, stream, g.name, api, device_name, device_id, g.slices, "
                   "t.slices, g.process FROM gpu_stream g JOIN thread t ON t.id = g.thread_id"),
              "0|1|7|GPU 0 stream 7|CUDA|Test GPU|GPU-0123|19|19|4711\n"
              "0|1|13|GPU 0 stream 13|CUDA|Test GPU|GPU-0123|1|1|4711\n");
    tear_down();
}

TAP_MAIN(TAP_CASE(what_devices_did), TAP_CASE(what_it_belongs_to), TAP_CASE(calls_and_streams))
