// SPDX-License-Identifier: Apache-2.0
/* Messages of OTLP, byte by byte where that can be read; tests/e2e/otlp.sh decodes them with the
 * classes that OpenTelemetry publishes. */
#include "metrics/otlp.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static bool has(const struct ifg_bytes *bytes, const void *part, size_t size)
{
    return memmem(bytes->data, bytes->size, part, size) != NULL;
}

#define HAS(bytes, literal) has(bytes, literal, sizeof(literal) - 1)

static struct tally *make_tally(void)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    struct tally_labels labels;

    memset(&labels, 0, sizeof labels);
    tally_set_text(labels.program, sizeof labels.program, "app");
    tally_set_text(labels.model, sizeof labels.model,
                   "o\xff"
                   "cr");
    labels.category = TRACE_CATEGORY_INFERENCE;
    tally_add(tally_find(tally, &labels), 1500);
    tally_add_failure(tally_find(tally, &labels));
    return tally;
}

static void metrics(void)
{
    static const struct problems none;
    struct tally *tally = make_tally();
    struct metrics_view view = {
        .version = "1.2.3", .tally = tally, .problems = &none, .memory_bytes = (double)NAN
    };
    struct otlp_view all = { .metrics = &view, .host = "here", .start_ns = 1, .now_ns = 2 };
    struct ifg_bytes out;

    ifg_bytes_init(&out, OTLP_BYTES_MOST);
    otlp_put_metrics(&out, &all);
    REQUIRE(!out.failed);
    CHECK_UINT(out.data[0], 0x0a);
    CHECK(HAS(&out, "\x0a\x0cservice.name\x12\x0c\x0a\x0ainferogram"));
    CHECK(HAS(&out, "\x0a\x19inferogram.event.duration\x1a\x01s"));
    /* start, time, sum; 28 buckets of which the second has one; count; 27 bounds from 1 us on */
    CHECK(HAS(&out, "\x11\x01\0\0\0\0\0\0\0\x19\x02\0\0\0\0\0\0\0\x29"));
    CHECK(HAS(&out, "\x32\xe0\x01\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0"));
    CHECK(HAS(&out, "\x21\x01\0\0\0\0\0\0\0\x3a\xd8\x01\x8d\xed\xb5\xa0\xf7\xc6\xb0\x3e"));
    CHECK(HAS(&out, "\x0a\x05model\x12\x08\x0a\x06o\xef\xbf\xbd"
                    "cr")); /* UTF-8 in any case */
    CHECK(HAS(&out, "inferogram.event.failures"));
    CHECK(HAS(&out, "inferogram.spans_not_sent"));
    CHECK(!HAS(&out, "inferogram.findings"));        /* not known */
    CHECK(!HAS(&out, "inferogram.resident_memory")); /* nor is this */
    ifg_bytes_fini(&out);
    ifg_free(tally);
}

static void spans(void)
{
    static struct queued_span queued[3];
    struct metrics_view view = { .version = "1.2.3" };
    struct otlp_view all = { .metrics = &view, .host = "here" };
    struct ifg_bytes out;
    size_t resources = 0;

    for (size_t i = 0; i < 3; i++) {
        tally_set_text(queued[i].labels.program, 64, "app");
        tally_set_text(queued[i].labels.model, 128, "ocr");
        queued[i].labels.category = TRACE_CATEGORY_INFERENCE;
        queued[i].pid = i < 2 ? 7 : 8;
        queued[i].start_ns = 0x0102030405060708;
        queued[i].end_ns = 0x0102030405060709;
        memset(queued[i].trace_id, 't', sizeof queued[i].trace_id);
        memset(queued[i].span_id, 's', sizeof queued[i].span_id);
    }
    queued[1].has_failed = true;
    ifg_bytes_init(&out, OTLP_BYTES_MOST);
    otlp_put_spans(&out, queued, 3, &all);
    REQUIRE(!out.failed);
    CHECK(HAS(&out, "\x0a\x10tttttttttttttttt\x12\x08ssssssss\x2a\x0dinference ocr\x30\x01\x39"
                    "\x08\x07\x06\x05\x04\x03\x02\x01\x41\x09\x07\x06\x05\x04\x03\x02\x01"));
    CHECK(HAS(&out, "\x0a\x0cservice.name\x12\x05\x0a\x03"
                    "app"));
    CHECK(HAS(&out, "\x0a\x0bprocess.pid\x12\x02\x18\x07"));
    CHECK(HAS(&out, "\x0a\x0bprocess.pid\x12\x02\x18\x08"));
    CHECK(HAS(&out, "\x7a\x02\x18\x02")); /* the error */
    for (size_t i = 0; i + 11 < out.size; i++)
        resources += memcmp(out.data + i, "process.pid", 11) == 0;
    CHECK_UINT(resources, 2);
    ifg_bytes_fini(&out);
}

static void replies(void)
{
    struct otlp_reply reply;

    CHECK(otlp_read_reply("", 0, &reply));
    CHECK_UINT(reply.rejected, 0);
    CHECK(otlp_read_reply("\x0a\x08\x08\x03\x12\x04no\x1b!", 10, &reply));
    CHECK_UINT(reply.rejected, 3);
    CHECK_STR(reply.message, "no?!");
    CHECK(otlp_read_reply("\x10\x05\x0a\x00", 4, &reply)); /* a field that is not known */
    CHECK(!otlp_read_reply("\x0a\x7f\x08", 3, &reply));
    CHECK(!otlp_read_reply("<html>", 6, &reply));
}

TAP_MAIN(TAP_CASE(metrics), TAP_CASE(spans), TAP_CASE(replies))
