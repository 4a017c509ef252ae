// SPDX-License-Identifier: Apache-2.0
/* Texts kept once: numbers, places that stay, the limit, and what is left without memory. */
#include "base/strings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static void the_same_bytes_have_one_number(void)
{
    struct ifg_strings strings = { 0 };

    CHECK_UINT(ifg_strings_add(&strings, "conv", 4), 0);
    CHECK_UINT(ifg_strings_add(&strings, "relu", 4), 1);
    CHECK_UINT(ifg_strings_add(&strings, "convolution", 4), 0);
    CHECK_UINT(ifg_strings_add(&strings, "conv\0x", 6), 2);
    CHECK_UINT(ifg_strings_add(&strings, "", 0), 3);
    CHECK_UINT(ifg_strings_add(&strings, "", 0), 3);
    CHECK_STR(ifg_strings_get(&strings, 1), "relu");
    CHECK_STR(ifg_strings_get(&strings, 3), "");
    CHECK_UINT(strings.items[2].size, 6);
    CHECK(ifg_strings_keep(&strings, "relu", 4) == ifg_strings_get(&strings, 1));
    CHECK(ifg_strings_copy(&strings, "relu", 4) != ifg_strings_get(&strings, 1));
    ifg_strings_fini(&strings);
    CHECK_UINT(strings.count, 0);
}

static void texts_stay_where_they_are(void)
{
    enum { COUNT = 20000 };
    struct ifg_strings strings = { 0 };
    const char *first = ifg_strings_keep(&strings, "first", 5);
    char name[300];

    for (uint32_t i = 1; i < COUNT; i++) {
        int size = snprintf(name, sizeof name, "%*u", (int)(i % 200) + 6, i);

        REQUIRE(ifg_strings_add(&strings, name, (size_t)size) == i);
    }
    for (uint32_t i = 1; i < COUNT; i++) {
        int size = snprintf(name, sizeof name, "%*u", (int)(i % 200) + 6, i);

        REQUIRE(ifg_strings_add(&strings, name, (size_t)size) == i);
        REQUIRE(strcmp(ifg_strings_get(&strings, i), name) == 0);
    }
    CHECK(ifg_strings_keep(&strings, "first", 5) == first);
    CHECK_STR(first, "first");
    ifg_strings_fini(&strings);
}

static void a_text_may_be_longer_than_a_chunk(void)
{
    static char text[200000];
    struct ifg_strings strings = { 0 };

    memset(text, 'x', sizeof text);
    CHECK_UINT(ifg_strings_add(&strings, "short", 5), 0);
    CHECK_UINT(ifg_strings_add(&strings, text, sizeof text), 1);
    CHECK_UINT(ifg_strings_add(&strings, "other", 5), 2);
    CHECK_UINT(strlen(ifg_strings_get(&strings, 1)), sizeof text);
    ifg_strings_fini(&strings);
}

static void no_more_than_the_limit(void)
{
    struct ifg_strings strings = { .limit = 2 };

    CHECK_UINT(ifg_strings_add(&strings, "a", 1), 0);
    CHECK_UINT(ifg_strings_add(&strings, "b", 1), 1);
    CHECK_UINT(ifg_strings_add(&strings, "c", 1), IFG_STRINGS_NONE);
    CHECK_UINT(ifg_strings_add(&strings, "b", 1), 1);
    CHECK(ifg_strings_keep(&strings, "c", 1) == NULL);
    CHECK(!strings.no_memory);
    ifg_strings_fini(&strings);
}

static void without_memory_it_says_so(void)
{
    for (long fail = 0; fail < 3; fail++) {
        struct ifg_strings strings = { 0 };

        ifg_alloc_fail_after(fail);
        CHECK_UINT(ifg_strings_add(&strings, "a", 1), IFG_STRINGS_NONE);
        ifg_alloc_fail_after(-1);
        CHECK(strings.no_memory);
        CHECK_UINT(ifg_strings_add(&strings, "a", 1), 0);
        CHECK_STR(ifg_strings_get(&strings, 0), "a");
        ifg_strings_fini(&strings);
    }
}

TAP_MAIN(TAP_CASE(the_same_bytes_have_one_number), TAP_CASE(texts_stay_where_they_are),
         TAP_CASE(a_text_may_be_longer_than_a_chunk), TAP_CASE(no_more_than_the_limit),
         TAP_CASE(without_memory_it_says_so))
