// SPDX-License-Identifier: Apache-2.0
/* The two formats, and names that would break them. */
#include "metrics/text.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

/* NUL-terminated. */
static struct ifg_bytes text_of(enum metrics_format format, const struct tally *tally,
                                const struct problems *problems)
{
    struct metrics_view view = { .version = "1.2.3",
                                 .tally = tally,
                                 .problems = problems,
                                 .programs[PROGRAM_WATCHED] = 2,
                                 .cpu_s = 0.25,
                                 .memory_bytes = (double)NAN };
    struct ifg_bytes out;

    ifg_bytes_init(&out, METRICS_TEXT_MOST);
    metrics_text_put(&out, format, &view);
    ifg_bytes_put(&out, "", 1);
    REQUIRE(!out.failed);
    return out;
}

static struct tally *tally_with(const char *model)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct tally_labels labels;

    memset(&labels, 0, sizeof labels);
    tally_set_text(labels.program, sizeof labels.program, "app");
    tally_set_text(labels.model, sizeof labels.model, model);
    labels.category = TRACE_CATEGORY_INFERENCE;
    tally_add(tally_find(tally, &labels), 1500);
    tally_add(tally_find(tally, &labels), 1500000);
    return tally;
}

#define LABELS "program=\"app\",model=\"ocr\",function=\"\",category=\"inference\",device=\"\""

static void open_metrics(void)
{
    struct problems problems = { .window_count = 1, .count = 1 };
    struct tally *tally = tally_with("ocr");
    struct ifg_bytes out;
    const char *text;

    tally_set_text(problems.items[0].id, sizeof problems.items[0].id, "cold-start");
    problems.items[0].count = 1;
    problems.items[0].severity = 2;
    problems.windows[0].seconds = 60;
    out = text_of(METRICS_OPENMETRICS, tally, &problems);
    text = (const char *)out.data;
    CHECK_CONTAINS(text, "# TYPE inferogram_event_duration_seconds histogram\n");
    CHECK_CONTAINS(text, "# UNIT inferogram_event_duration_seconds seconds\n");
    CHECK_CONTAINS(text, "inferogram_event_duration_seconds_bucket{" LABELS ",le=\"1e-06\"} 0\n");
    CHECK_CONTAINS(text, "inferogram_event_duration_seconds_bucket{" LABELS ",le=\"2e-06\"} 1\n");
    CHECK_CONTAINS(text,
                   "inferogram_event_duration_seconds_bucket{" LABELS ",le=\"0.002048\"} 2\n");
    CHECK_CONTAINS(text, "inferogram_event_duration_seconds_bucket{" LABELS ",le=\"+Inf\"} 2\n");
    CHECK_CONTAINS(text, "inferogram_event_duration_seconds_sum{" LABELS "} 0.001501500\n");
    CHECK_CONTAINS(text, "inferogram_event_duration_seconds_count{" LABELS "} 2\n");
    CHECK_CONTAINS(text, "# TYPE inferogram_event_failures counter\n");
    CHECK_CONTAINS(text, "inferogram_event_failures_total{" LABELS "} 0\n");
    CHECK_CONTAINS(text, "# TYPE inferogram_build info\n");
    CHECK_CONTAINS(text, "inferogram_build_info{version=\"1.2.3\"} 1\n");
    CHECK_CONTAINS(text, "inferogram_findings{program=\"\",model=\"\",finding=\"cold-start\","
                         "severity=\"high\"} 1\n");
    CHECK_CONTAINS(text, "inferogram_cpu_seconds_total 0.25\n");
    CHECK(!strstr(text, "resident_memory")); /* unknown is absent */
    CHECK_STR(text + out.size - 1 - strlen("\n# EOF\n"), "\n# EOF\n");
    ifg_bytes_fini(&out);
    ifg_free(tally);
}

static void prometheus(void)
{
    struct problems problems = { .window_count = 0 };
    struct tally *tally = tally_with("ocr");
    struct ifg_bytes out = text_of(METRICS_PROMETHEUS, tally, &problems);
    const char *text = (const char *)out.data;

    CHECK_CONTAINS(text, "# TYPE inferogram_event_failures_total counter\n");
    CHECK_CONTAINS(text, "# TYPE inferogram_build_info gauge\n");
    CHECK(!strstr(text, "# UNIT"));
    CHECK(!strstr(text, "# EOF"));
    CHECK(!strstr(text, "inferogram_findings")); /* not known, which is not none */
    ifg_bytes_fini(&out);
    ifg_free(tally);
}

static void hostile_names(void)
{
    struct problems problems = { .window_count = 0 };
    struct tally *tally = tally_with("a\"b\\c\nd\re\x01{}=,#\xc3\xa4");
    struct ifg_bytes out = text_of(METRICS_OPENMETRICS, tally, &problems);

    CHECK_CONTAINS((const char *)out.data, "model=\"a\\\"b\\\\c\\nd\xef\xbf\xbd"
                                           "e\xef\xbf\xbd{}=,#\xc3\xa4\",");
    ifg_bytes_fini(&out);
    ifg_free(tally);
}

static void longest_names(void)
{
    struct problems problems = { .window_count = 0 };
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct tally_labels labels;
    struct ifg_bytes out;

    memset(&labels, '\x01', sizeof labels);
    labels.program[sizeof labels.program - 1] = labels.model[sizeof labels.model - 1] = '\0';
    labels.function[sizeof labels.function - 1] = labels.device[sizeof labels.device - 1] = '\0';
    labels.category = TRACE_CATEGORY_LOAD;
    tally_add(tally_find(tally, &labels), 1);
    out = text_of(METRICS_OPENMETRICS, tally, &problems);
    CHECK_CONTAINS((const char *)out.data, "\xef\xbf\xbd\",category=\"load\",device=\"\xef\xbf");
    CHECK_CONTAINS((const char *)out.data, "\xef\xbf\xbd\",le=\"+Inf\"} 1\n");
    ifg_bytes_fini(&out);
    ifg_free(tally);
}

static void formats(void)
{
    CHECK_INT(metrics_format_for(NULL), METRICS_PROMETHEUS);
    CHECK_INT(metrics_format_for("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), METRICS_PROMETHEUS);
    CHECK_INT(metrics_format_for("application/openmetrics-text;version=1.0.0,application/"
                                 "openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5"),
              METRICS_OPENMETRICS);
}

TAP_MAIN(TAP_CASE(open_metrics), TAP_CASE(prometheus), TAP_CASE(hostile_names),
         TAP_CASE(longest_names), TAP_CASE(formats))
