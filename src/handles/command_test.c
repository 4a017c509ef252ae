// SPDX-License-Identifier: Apache-2.0
/* What IFG_PROFILE may say. */
#include "handles/command.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static struct command command;

static int parse(const char *text)
{
    return command_parse(&text, &command);
}

static void a_stream_with_everything(void)
{
    REQUIRE_INT(
        parse("stream:rate=1000,sampling=fourth,regex=^ocr{1,2},type=trace,dir=/x/y,name=n"), 0);
    CHECK(command.is_stream);
    CHECK_UINT(command.report_ms, 1000);
    CHECK_UINT(command.sampling, IFG_SAMPLING_FOURTH);
    CHECK_STR(command.regex, "^ocr{1,2}");
    CHECK_UINT(command.type, IFG_REPORT_TRACE);
    CHECK_STR(command.directory, "/x/y");
    CHECK_STR(command.name, "n");
    CHECK_STR(command.glob, "");
}

static void what_is_left_out_has_a_value(void)
{
    REQUIRE_INT(parse("profile"), 0);
    CHECK(!command.is_stream);
    CHECK_UINT(command.samples, 100);
    CHECK_STR(command.glob, "*");
    CHECK_STR(command.directory, "inferogram-profile");
    REQUIRE_INT(parse("stream:"), 0);
    CHECK_UINT(command.report_ms, 0); /* the stream's own default */
}

static void several_follow_each_other(void)
{
    const char *text = "stream:rate=50; profile:samples=3,glob=a*;";

    REQUIRE_INT(command_parse(&text, &command), 0);
    CHECK_UINT(command.report_ms, 50);
    REQUIRE_INT(command_parse(&text, &command), 0);
    CHECK_UINT(command.samples, 3);
    CHECK_STR(command.glob, "a*");
    CHECK_INT(command_parse(&text, &command), 1);
}

static void what_is_wrong_is_named(void)
{
    CHECK_INT(parse("streams:rate=1"), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "streams:rate=1");
    CHECK_INT(parse("stream:rate=soon"), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "rate=soon");
    CHECK_INT(parse("stream:sampling=third"), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "third");
    CHECK_INT(parse("stream:speed=3"), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "speed=3");
}

TAP_MAIN(TAP_CASE(a_stream_with_everything), TAP_CASE(what_is_left_out_has_a_value),
         TAP_CASE(several_follow_each_other), TAP_CASE(what_is_wrong_is_named))
