// SPDX-License-Identifier: Apache-2.0
/* Which names a pattern takes, and what is said of one that cannot be read. */
#include "handles/pattern.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static bool takes(const char *regex, const char *glob, const char *name)
{
    struct pattern pattern;
    char why[200] = "";
    bool taken;

    REQUIRE_INT(pattern_init(&pattern, regex, glob, why, sizeof why), 0);
    taken = pattern_takes(&pattern, name);
    pattern_fini(&pattern);
    return taken;
}

static void a_regular_expression_is_searched_for(void)
{
    CHECK(takes("ocr", NULL, "my-ocr-model"));
    CHECK(takes("^ocr", NULL, "ocr-model"));
    CHECK(!takes("^ocr", NULL, "my-ocr"));
    CHECK(takes("Resnet50*", NULL, "Resnet5"));
    CHECK(takes("^mod\\u0065l\\d+$", NULL, "model12"));
    CHECK(!takes("[]", NULL, "anything"));
    CHECK(takes("a$", NULL, "a"));
    CHECK(!takes("a$", NULL, "a\n"));
    CHECK(takes("m.dèle", NULL, "modèle"));
    CHECK(!takes("x", NULL, "bad \xff bytes"));
}

static void a_glob_is_for_the_whole_name(void)
{
    CHECK(takes(NULL, "ocr*", "ocr-model"));
    CHECK(!takes(NULL, "ocr*", "my-ocr"));
    CHECK(takes(NULL, "[ab]?", "b1"));
    CHECK(!takes(NULL, NULL, "anything"));
}

static void a_bad_pattern_says_where(void)
{
    struct pattern pattern;
    char why[200] = "";

    CHECK_INT(pattern_init(&pattern, "*", NULL, why, sizeof why), -EINVAL);
    CHECK_CONTAINS(why, "position 0");
    CHECK_INT(pattern_init(&pattern, "ok(", NULL, why, sizeof why), -EINVAL);
    CHECK_CONTAINS(why, "position 3");
    CHECK_INT(pattern_init(&pattern, "a", "b", why, sizeof why), -EINVAL);
}

/* (a+)+$ against a row of a's and one other letter would take until the end of days. */
static void a_hopeless_pattern_ends(void)
{
    char name[64];

    memset(name, 'a', sizeof name);
    name[62] = 'b';
    name[63] = '\0';
    CHECK(!takes("^(a+)+$", NULL, name));
}

TAP_MAIN(TAP_CASE(a_regular_expression_is_searched_for), TAP_CASE(a_glob_is_for_the_whole_name),
         TAP_CASE(a_bad_pattern_says_where), TAP_CASE(a_hopeless_pattern_ends))
