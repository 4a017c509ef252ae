// SPDX-License-Identifier: Apache-2.0
/* The heap's door: zeroed memory, refused overflows, failures on demand. */
#include "base/alloc.h"

#include <stdint.h>
#include <string.h>

#include "tap.h"

/* Hidden from the compiler, which would otherwise warn about the sizes we refuse on purpose. */
static volatile size_t huge = SIZE_MAX;

static void memory_is_zeroed(void)
{
    static const unsigned char zeros[4096];
    unsigned char *block = ifg_alloc(64, 64);

    REQUIRE(block != NULL);
    CHECK_BYTES(block, zeros, sizeof zeros);
    memset(block, 0xff, sizeof zeros);
    ifg_free(block);
}

static void nothing_is_still_a_block(void)
{
    void *a = ifg_alloc(0, 16);
    void *b = ifg_alloc(16, 0);
    void *c = ifg_realloc(NULL, 0, 8);

    CHECK(a && b && c);
    CHECK(a != b);
    ifg_free(a);
    ifg_free(b);
    ifg_free(c);
    ifg_free(NULL);
}

static void overflow_is_refused(void)
{
    char *block = ifg_alloc(8, 1);

    REQUIRE(block != NULL);
    memcpy(block, "intact!", 8);
    CHECK(ifg_alloc(huge / 2, 3) == NULL);
    CHECK(ifg_alloc(huge, 1) == NULL);
    CHECK(ifg_realloc(block, huge / 2, 3) == NULL);
    CHECK_STR(block, "intact!");
    ifg_free(block);
}

static void realloc_keeps_the_contents(void)
{
    char *block = ifg_realloc(NULL, 4, 1);
    char *larger;

    REQUIRE(block != NULL);
    memcpy(block, "abc", 4);
    larger = ifg_realloc(block, 1 << 16, 16);
    REQUIRE(larger != NULL);
    CHECK_STR(larger, "abc");
    ifg_free(larger);
}

static void strings_are_copied(void)
{
    char text[] = "inferogram";
    char *whole = ifg_strdup(text);
    char *part = ifg_strndup(text, 5);
    char *empty = ifg_strndup(text, 0);

    text[0] = 'X';
    CHECK_STR(whole, "inferogram");
    CHECK_STR(part, "infer");
    CHECK_STR(empty, "");
    ifg_free(whole);
    ifg_free(part);
    ifg_free(empty);
}

static void failure_on_demand(void)
{
    void *first, *second, *fourth;
    char *text;

    ifg_alloc_fail_after(2);
    first = ifg_alloc(1, 1);
    second = ifg_realloc(NULL, 1, 1);
    CHECK(first != NULL);
    CHECK(second != NULL);
    CHECK(ifg_alloc(1, 1) == NULL);
    fourth = ifg_alloc(1, 1);
    CHECK(fourth != NULL);

    ifg_alloc_fail_after(0);
    CHECK(ifg_realloc(first, 100, 1) == NULL);
    ifg_alloc_fail_after(0);
    CHECK(ifg_strdup("x") == NULL);
    ifg_alloc_fail_after(0);
    ifg_alloc_fail_after(-1);
    text = ifg_strdup("x");
    CHECK_STR(text, "x");
    ifg_free(text);
    ifg_free(first);
    ifg_free(second);
    ifg_free(fourth);
}

static void a_limit_refuses_and_tells(void)
{
    struct ifg_alloc_refusal refusal;
    char *first, *larger;

    ifg_alloc_limit(1 << 20);
    first = ifg_alloc(600, 1000);
    REQUIRE(first != NULL);
    CHECK(!ifg_alloc_refused(&refusal));
    CHECK_STR(ifg_alloc_why(), "");
    CHECK(ifg_alloc(600, 1000) == NULL);
    CHECK(ifg_realloc(first, 1200, 1000) == NULL);
    CHECK(!ifg_alloc_take(600000));
    CHECK(ifg_alloc_refused(&refusal));
    CHECK_UINT(refusal.limit, 1 << 20);
    CHECK_UINT(refusal.wanted, 600000);
    CHECK(refusal.used >= 600000);
    CHECK(strstr(ifg_alloc_why(), "--max-memory") != NULL);
    /* What is given back can be had again; growing counts only once. */
    larger = ifg_realloc(first, 1000, 1000);
    CHECK(larger != NULL);
    ifg_free(larger);
    CHECK(ifg_alloc_take(1000000));
    ifg_alloc_give_back(1000000);
    CHECK_UINT(ifg_alloc_left(), 1 << 20);
    ifg_alloc_limit(0);
    CHECK_UINT(ifg_alloc_left(), SIZE_MAX);
}

TAP_MAIN(TAP_CASE(memory_is_zeroed), TAP_CASE(nothing_is_still_a_block),
         TAP_CASE(overflow_is_refused), TAP_CASE(realloc_keeps_the_contents),
         TAP_CASE(strings_are_copied), TAP_CASE(failure_on_demand),
         TAP_CASE(a_limit_refuses_and_tells))
