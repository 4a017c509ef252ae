// SPDX-License-Identifier: Apache-2.0
/* Addresses and headers of a collector. Requests themselves: tests/e2e/otlp.sh. */
#include "metrics/otlp_send.h"

#include <string.h>

#include "metrics/otlp_export.h"
#include "base/alloc.h"
#include "tap.h"

static void addresses(void)
{
    static const struct {
        const char *url, *base; /* NULL: refused */
    } rows[] = {
        { "http://127.0.0.1:4318", "http://127.0.0.1:4318" },
        { "http://127.0.0.1:4318/", "http://127.0.0.1:4318" },
        { "https://[::1]:4318/otlp//", "https://[::1]:4318/otlp" },
        { "HTTPS://collector.example", "HTTPS://collector.example" },
        { "", NULL },
        { "http://", NULL },
        { "http:///", NULL },
        { "127.0.0.1:4318", NULL },
        { "file:///etc/passwd", NULL },
        { "ftp://host", NULL },
        { "http://user:word@host", NULL },
        { "http://host/?token=x", NULL },
        { "http://host/#x", NULL },
        { "http://ho st", NULL },
        { "http://host\r\nX: y", NULL },
    };
    struct otlp_target target;
    struct ifg_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum ifg_status status = otlp_target_set(rows[i].url, NULL, &target, &err);

        CHECK_INT(status, rows[i].base ? IFG_OK : IFG_INVALID);
        if (rows[i].base)
            CHECK_STR(target.base, rows[i].base);
        else
            CHECK_CONTAINS(err.message, "--otlp");
    }
}

static void headers(void)
{
    static const char *const bad[] = { "secret", "=secret", "a b=secret", "a=secret%0d%0aX: y",
                                       "a:b=secret" };
    struct otlp_target target;
    struct ifg_error err;

    REQUIRE(otlp_target_set("http://h", " authorization=Bearer%20abc=, x-a=b ,,c=", &target,
                            &err) == IFG_OK);
    REQUIRE(target.header_count == 3);
    CHECK_STR(target.headers[0], "authorization: Bearer abc=");
    CHECK_STR(target.headers[1], "x-a: b");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_INT(otlp_target_set("http://h", bad[i], &target, &err), IFG_INVALID);
        CHECK_CONTAINS(err.message, OTLP_HEADERS_VARIABLE);
        CHECK(!strstr(err.message, "secret"));
    }
}

/* Times: what fails waits longer and longer, or as long as the collector wants. */
static void attempts(void)
{
    static struct otlp_target target;
    static struct tally tally;
    static struct span_ring ring;
    struct otlp_outcome later = { .is_known = true, .is_to_repeat = true, .problem = "busy" };
    struct otlp_outcome taken = { .is_known = true, .spans_sent = 2, .spans_lost = 1 };
    struct otlp_export *own = otlp_export_create(&target, 10000);
    uint64_t before_ns;

    REQUIRE(own);
    CHECK(!otlp_export_is_due(own));
    tally.count = 1;
    for (int i = 0; i < 3; i++)
        span_ring_put(&ring, &(struct span){ .start_ns = 1, .end_ns = 2 });
    span_ring_put(&ring, &(struct span){ .series = 7 }); /* there is none */
    span_queue_take(&own->queue, &ring, &tally);
    CHECK_UINT(own->queue.count, 3);
    CHECK_UINT(own->queue.not_sent, 1);
    CHECK(memcmp(own->queue.spans[0].trace_id, own->queue.spans[1].trace_id, 16) != 0);
    otlp_export_begin(own);
    CHECK(otlp_export_take(own, &later));
    CHECK_STR(own->told[0], "busy");
    CHECK(!otlp_export_take(own, &later)); /* told once */
    CHECK_UINT(own->queue.count, 3);
    before_ns = own->next_ns;
    later.wait_s = 120;
    otlp_export_take(own, &later);
    CHECK(own->next_ns > before_ns + 100000000000ull);
    CHECK_UINT(own->exports_failed, 3);
    otlp_export_begin(own);
    CHECK(!otlp_export_take(own, &taken));
    CHECK_UINT(own->queue.count, 0);
    CHECK_UINT(own->spans_sent, 2);
    CHECK_UINT(own->queue.not_sent, 2);
    for (size_t i = 0; i < SPAN_RING_MOST + 5; i++)
        span_ring_put(&ring, &(struct span){ .start_ns = 1, .end_ns = 2 });
    CHECK_UINT(ring.not_sent, 5);
    for (size_t i = 0; i < 5; i++) {
        span_queue_take(&own->queue, &ring, &tally);
        for (size_t k = 0; k < SPAN_RING_MOST; k++)
            span_ring_put(&ring, &(struct span){ .start_ns = 1, .end_ns = 2 });
    }
    CHECK_UINT(own->queue.count, SPAN_QUEUE_MOST);
    CHECK_UINT(own->queue.not_sent, 2 + 5 + SPAN_RING_MOST);
    ring.head += 5 * SPAN_RING_MOST; /* of somebody who lies */
    span_queue_take(&own->queue, &ring, &tally);
    CHECK_UINT(own->queue.count, SPAN_QUEUE_MOST);
    ifg_free(own);
}

TAP_MAIN(TAP_CASE(addresses), TAP_CASE(headers), TAP_CASE(attempts))
