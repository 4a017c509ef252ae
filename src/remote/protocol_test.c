// SPDX-License-Identifier: Apache-2.0
/* Messages: what is said is what is heard, and nothing else is. */
#include "remote/protocol.h"

#include <string.h>

#include "tap.h"

static struct remote_message take(enum remote_side side, const struct ifg_bytes *bytes)
{
    struct remote_message message;
    size_t used;

    CHECK_INT(remote_take(side, bytes->data, bytes->size, &message, &used), REMOTE_TAKEN);
    CHECK_UINT(used, bytes->size);
    return message;
}

static void prefaces_tell_the_version(void)
{
    uint8_t preface[REMOTE_PREFACE_BYTES];
    struct remote_version version;

    remote_preface_put(preface);
    CHECK(remote_preface_get(preface, &version));
    CHECK_UINT(version.major, REMOTE_MAJOR);
    CHECK_UINT(version.minor, REMOTE_MINOR);
    preface[8] = 9;
    CHECK(remote_preface_get(preface, &version));
    CHECK_UINT(version.major, 9);
    preface[0] = 'X';
    CHECK(!remote_preface_get(preface, &version));
}

static void requests_come_as_they_went(void)
{
    const struct remote_request requests[] = {
        { .target = REMOTE_TARGET_ONLY },
        { .target = REMOTE_TARGET_PID, .pid = 4711, .duration_us = 1500000, .ops = 16 },
        { .target = REMOTE_TARGET_NAME, .name = "python3", .no_sample = true },
        { .target = REMOTE_TARGET_ONLY,
          .knows_clock = true,
          .clock_offset_ns = -1234567890123,
          .clock_error_ns = 25000,
          .boot_id = "3ebfeb91-eeaa-47cc-895d-6f812dc659c6" },
        { .target = REMOTE_TARGET_NEXT },
        { .target = REMOTE_TARGET_NEXT, .name = "server", .timeout_us = 5000000 },
        { .target = REMOTE_TARGET_ONLY,
          .wishes = REMOTE_WISHES_END - 1,
          .sample_hz = REMOTE_SAMPLE_HZ_MAX,
          .overhead_ppm = REMOTE_OVERHEAD_MAX,
          .resources_mhz = REMOTE_RESOURCES_MAX,
          .delay_us = 1,
          .max_bytes = INT64_MAX },
    };

    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct remote_request got;
        struct remote_message message;
        struct ifg_bytes out;

        ifg_bytes_init(&out, 4096);
        remote_request_put(&out, &requests[i]);
        message = take(REMOTE_ASKED, &out);
        CHECK(remote_request_get(&message, &got));
        CHECK_INT(got.target, requests[i].target);
        CHECK_UINT(got.pid, requests[i].pid);
        CHECK_STR(got.name, requests[i].name);
        CHECK_UINT(got.duration_us, requests[i].duration_us);
        CHECK_UINT(got.ops, requests[i].ops);
        CHECK_INT(got.no_sample, requests[i].no_sample);
        CHECK_INT(got.knows_clock, requests[i].knows_clock);
        CHECK_INT(got.clock_offset_ns, requests[i].clock_offset_ns);
        CHECK_UINT(got.clock_error_ns, requests[i].clock_error_ns);
        CHECK_STR(got.boot_id, requests[i].boot_id);
        CHECK_UINT(got.wishes, requests[i].wishes);
        CHECK_UINT(got.sample_hz, requests[i].sample_hz);
        CHECK_UINT(got.overhead_ppm, requests[i].overhead_ppm);
        CHECK_UINT(got.resources_mhz, requests[i].resources_mhz);
        CHECK_UINT(got.delay_us, requests[i].delay_us);
        CHECK_UINT(got.timeout_us, requests[i].timeout_us);
        CHECK_UINT(got.max_bytes, requests[i].max_bytes);
        ifg_bytes_fini(&out);
    }
}

/* What version 1.0 knew of is all that it sends, and all that it can be asked for. */
static void requests_of_the_first_version(void)
{
    struct remote_request request = { .target = REMOTE_TARGET_PID, .pid = 7, .ops = 16 };
    struct remote_request got;
    struct remote_message message;
    struct ifg_bytes out;

    ifg_bytes_init(&out, 4096);
    remote_request_put(&out, &request);
    message = take(REMOTE_ASKED, &out);
    message.size -= 8; /* the last eight, all 0 */
    memset(&got, 0xff, sizeof got);
    CHECK(remote_request_get(&message, &got));
    CHECK_UINT(got.pid, 7);
    CHECK_UINT(got.wishes, 0);
    CHECK_UINT(got.max_bytes, 0);
    message.size += 3; /* some of them: of no version */
    CHECK(!remote_request_get(&message, &got));
    ifg_bytes_fini(&out);
    CHECK_UINT(remote_request_minor(&request), 0);
    request.wishes = REMOTE_PROMPT;
    CHECK_UINT(remote_request_minor(&request), 0);
    request.wishes = REMOTE_PROMPT | REMOTE_SCHED;
    CHECK_UINT(remote_request_minor(&request), 1);
    request.wishes = 0;
    request.delay_us = 1;
    CHECK_UINT(remote_request_minor(&request), 1);
}

static void requests_that_make_no_sense_are_refused(void)
{
    const struct remote_request requests[] = {
        { .target = REMOTE_TARGET_PID },                             /* which? */
        { .target = REMOTE_TARGET_PID, .pid = 1, .name = "x" },      /* one or the other */
        { .target = REMOTE_TARGET_NAME },                            /* which? */
        { .target = REMOTE_TARGET_ONLY, .name = "x" },               /* it is not asked for */
        { .target = REMOTE_TARGET_NAME, .name = "x\ny" },            /* no name */
        { .target = REMOTE_TARGET_END },                             /* unknown */
        { .target = REMOTE_TARGET_PID, .pid = 0x80000000u },         /* no process number */
        { .target = REMOTE_TARGET_ONLY, .ops = 1000001 },            /* too many */
        { .target = REMOTE_TARGET_ONLY, .duration_us = UINT64_MAX }, /* too long */
        { .target = REMOTE_TARGET_ONLY, .delay_us = UINT64_MAX },
        { .target = REMOTE_TARGET_ONLY, .timeout_us = UINT64_MAX },
        { .target = REMOTE_TARGET_ONLY, .sample_hz = REMOTE_SAMPLE_HZ_MAX + 1 },
        { .target = REMOTE_TARGET_ONLY, .overhead_ppm = REMOTE_OVERHEAD_MAX + 1 },
        { .target = REMOTE_TARGET_ONLY, .resources_mhz = REMOTE_RESOURCES_MAX + 1 },
        { .target = REMOTE_TARGET_ONLY, .max_bytes = UINT64_MAX },
    };

    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        struct remote_request got;
        struct remote_message message;
        struct ifg_bytes out;

        ifg_bytes_init(&out, 4096);
        remote_request_put(&out, &requests[i]);
        message = take(REMOTE_ASKED, &out);
        CHECK(!remote_request_get(&message, &got));
        ifg_bytes_fini(&out);
    }
}

static void a_newer_minor_version_may_append(void)
{
    struct remote_started started = { .pid = 7, .program = "app" };
    struct remote_started got;
    struct remote_message message;
    uint8_t longer[128];
    struct ifg_bytes out;

    ifg_bytes_init(&out, 4096);
    remote_started_put(&out, &started);
    message = take(REMOTE_TOLD, &out);
    REQUIRE(message.size + 3 < sizeof longer);
    memset(longer, 1, sizeof longer);
    memcpy(longer, message.content, message.size);
    message.content = longer;
    message.size += 3;
    CHECK(remote_started_get(&message, &got));
    CHECK_STR(got.program, "app");
    ifg_bytes_fini(&out);
}

static void each_side_says_its_own(void)
{
    struct remote_message message;
    struct ifg_bytes out;
    size_t used;

    ifg_bytes_init(&out, 4096);
    remote_put(&out, REMOTE_STOP, 0, NULL, 0);
    CHECK_INT(remote_take(REMOTE_ASKED, out.data, out.size, &message, &used), REMOTE_TAKEN);
    CHECK_INT(remote_take(REMOTE_TOLD, out.data, out.size, &message, &used), REMOTE_GARBAGE);
    CHECK_INT(remote_take(REMOTE_ASKED, out.data, out.size - 1, &message, &used), REMOTE_NOT_YET);
    out.data[0] = REMOTE_ASKED_END;
    CHECK_INT(remote_take(REMOTE_ASKED, out.data, out.size, &message, &used), REMOTE_GARBAGE);
    out.data[0] = 0xf0; /* of a newer minor version */
    CHECK_INT(remote_take(REMOTE_TOLD, out.data, out.size, &message, &used), REMOTE_TAKEN);
    ifg_bytes_fini(&out);
}

/* Before they are there: nobody waits for a gigabyte. */
static void long_messages_are_refused_by_their_heads(void)
{
    uint8_t head[REMOTE_HEAD_BYTES] = { REMOTE_RECORD, 0, 0, 0, 0x01, 0x08 };
    struct remote_message message;
    size_t used;

    CHECK_INT(remote_take(REMOTE_ASKED, head, sizeof head, &message, &used), REMOTE_GARBAGE);
    head[4] = 0;
    CHECK_INT(remote_take(REMOTE_ASKED, head, sizeof head, &message, &used), REMOTE_NOT_YET);
    head[2] = 1; /* must be zero */
    CHECK_INT(remote_take(REMOTE_ASKED, head, sizeof head, &message, &used), REMOTE_GARBAGE);
}

TAP_MAIN(TAP_CASE(prefaces_tell_the_version), TAP_CASE(requests_come_as_they_went),
         TAP_CASE(requests_of_the_first_version), TAP_CASE(requests_that_make_no_sense_are_refused),
         TAP_CASE(a_newer_minor_version_may_append), TAP_CASE(each_side_says_its_own),
         TAP_CASE(long_messages_are_refused_by_their_heads))
