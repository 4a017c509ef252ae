// SPDX-License-Identifier: Apache-2.0
/* The table of picked addresses: what is put comes out once, whatever else is there. */
#include "hooks/memory/picked.h"

#include <pthread.h>
#include <string.h>

#include "tap.h"

#define THREADS 4u
#define EACH    4000u

static struct picked picked;

static void *address(uint64_t n)
{
    return (void *)(uintptr_t)(0x7f0000000010ull + n * 0x21000);
}

static void once(void)
{
    memset(&picked, 0, sizeof picked);
    CHECK(!picked_may_have(&picked, address(1)) && !picked_take(&picked, address(1)));
    CHECK(!picked_put(&picked, NULL) && !picked_take(&picked, NULL));
    CHECK(picked_put(&picked, address(1)));
    CHECK(picked_may_have(&picked, address(1)));
    CHECK(picked_take(&picked, address(1)));
    CHECK(!picked_may_have(&picked, address(1)) && !picked_take(&picked, address(1)));
}

/* As many as a heap of several GiB has, then more than there is room for. */
static void many(void)
{
    size_t refused = 0, found = 0;
    const size_t all = PICKED_BUCKETS * PICKED_EACH;

    memset(&picked, 0, sizeof picked);
    for (size_t i = 0; i < all / 4; i++)
        refused += !picked_put(&picked, address(i));
    CHECK_UINT(refused, 0);
    for (size_t i = all / 4; i < 2 * all; i++)
        refused += !picked_put(&picked, address(i));
    CHECK(refused >= all);
    for (size_t i = 0; i < 2 * all; i++)
        found += picked_take(&picked, address(i));
    CHECK_UINT(found + refused, 2 * all);
}

/* The filter tells addresses of big blocks apart, which all end alike. */
static void the_filter(void)
{
    size_t maybe = 0;

    memset(&picked, 0, sizeof picked);
    for (size_t i = 0; i < 1000; i++)
        CHECK(picked_put(&picked, address(i)));
    for (size_t i = 0; i < 100000; i++)
        maybe += picked_may_have(&picked, (const void *)(uintptr_t)(0x5500000002a0ull + i * 48));
    CHECK(maybe < 25000);
    picked_mark(&picked, address(5000));
    CHECK(picked_may_have(&picked, address(5000)) && !picked_take(&picked, address(5000)));
    CHECK(picked_may_have(&picked, address(5000)));
}

static void *work(void *user)
{
    size_t who = (size_t)(uintptr_t)user;
    size_t wrong = 0;

    for (size_t round = 0; round < 20; round++) {
        for (size_t i = 0; i < EACH; i++)
            wrong += !picked_put(&picked, address(i * THREADS + who));
        for (size_t i = 0; i < EACH; i++)
            wrong += !picked_take(&picked, address(i * THREADS + who));
    }
    return (void *)(uintptr_t)wrong;
}

static void threads(void)
{
    pthread_t threads[THREADS];
    size_t maybe = 0;

    memset(&picked, 0, sizeof picked);
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        CHECK_UINT((uintptr_t)wrong, 0);
    }
    for (size_t i = 0; i < PICKED_FILTER; i++)
        maybe += picked.filter[i] != 0 && picked.filter[i] != UINT8_MAX;
    CHECK_UINT(maybe, 0);
}

TAP_MAIN(TAP_CASE(once), TAP_CASE(many), TAP_CASE(the_filter), TAP_CASE(threads))
