// SPDX-License-Identifier: Apache-2.0
/* Cases that pass, fail, crash, hang and skip on purpose; tap.sh checks what the harness says. */
#include "tap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void passes(void)
{
    puts("ok 99 - a line of the program under test");
    CHECK(true);
    CHECK_INT(-1, -1);
    CHECK_UINT(UINT64_MAX, UINT64_MAX);
    CHECK_STR("a", "a");
    CHECK_CONTAINS("abc", "b");
    CHECK_BYTES("abc", "abd", 2);
    REQUIRE(true);
}

static void shows_both_values(void)
{
    CHECK_INT(1 + 1, 3);
    CHECK_UINT(7u, 8u);
    CHECK_STR("got this", "wanted that");
    CHECK_STR(NULL, "something");
    CHECK_CONTAINS("haystack", "needle");
    CHECK_BYTES("abc", "abd", 3);
}

static void require_ends_the_case(void)
{
    REQUIRE_INT(1, 2);
    tap_diag("not reached");
}

static void crashes(void)
{
    tap_note("about to crash");
    raise(SIGSEGV);
}

static void hangs(void)
{
    for (;;)
        pause();
}

static void exits_early(void)
{
    exit(0);
}

static void skips(void)
{
    SKIP("unicorns: no %s here", "unicorn");
}

TAP_MAIN(TAP_CASE(passes), TAP_CASE(shows_both_values), TAP_CASE(require_ends_the_case),
         TAP_CASE(crashes), TAP_CASE_TIMEOUT(hangs, 1), TAP_CASE(exits_early), TAP_CASE(skips))
