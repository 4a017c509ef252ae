// SPDX-License-Identifier: Apache-2.0
/* Names of kernels, from records of any size. */
#include <stdio.h>

#include "hooks/rocm/hook.h"
#include "tap.h"

static unsigned char symbol[88];

static void tell(uint64_t size, uint64_t id, const char *name, int phase)
{
    const uint32_t shared = 512, registers = 40;
    uint64_t kept = 0;

    memcpy(symbol, &size, sizeof size);
    memcpy(symbol + ROCM_SYMBOL_ID, &id, sizeof id);
    memcpy(symbol + ROCM_SYMBOL_NAME, &name, sizeof name);
    memcpy(symbol + ROCM_SYMBOL_SHARED, &shared, sizeof shared);
    memcpy(symbol + ROCM_SYMBOL_REGISTERS, &registers, sizeof registers);
    kernels_callback(
        (struct rocm_event){ .operation = ROCM_CODE_KERNEL, .phase = phase, .data = symbol }, &kept,
        NULL);
}

static void names(void)
{
    struct kernel kernel = { NULL, 0, 0 };

    CHECK(!kernels_find(1, &kernel));
    tell(88, 1, "before.kd", ROCM_PHASE_ENTER);
    REQUIRE(kernels_create());
    CHECK(!kernels_find(1, &kernel)); /* there was no memory for it yet */
    tell(88, 1, "_Z4gemmPf.kd", ROCM_PHASE_ENTER);
    tell(88, 2, "plain", ROCM_PHASE_ENTER);
    tell(88, 3, ".kd", ROCM_PHASE_ENTER);
    REQUIRE(kernels_find(1, &kernel));
    CHECK_STR(kernel.name, "_Z4gemmPf");
    CHECK_UINT(kernel.registers, 40);
    CHECK_UINT(kernel.static_shared, 512);
    REQUIRE(kernels_find(2, &kernel));
    CHECK_STR(kernel.name, "plain");
    REQUIRE(kernels_find(3, &kernel));
    CHECK_STR(kernel.name, ".kd");
    tell(88, 2, "other", ROCM_PHASE_EXIT); /* unloaded: work may still come */
    REQUIRE(kernels_find(2, &kernel));
    CHECK_STR(kernel.name, "plain");
}

static void what_is_none(void)
{
    struct kernel kernel;

    REQUIRE(kernels_create());
    tell(ROCM_SYMBOL_BYTES - 1, 10, "short", ROCM_PHASE_ENTER);
    tell(88, 0, "zero", ROCM_PHASE_ENTER);
    tell(88, 11, NULL, ROCM_PHASE_ENTER);
    tell(88, 12, "", ROCM_PHASE_ENTER);
    CHECK(!kernels_find(10, &kernel) && !kernels_find(0, &kernel));
    CHECK(!kernels_find(11, &kernel) && !kernels_find(12, &kernel));
}

static void more_than_fit(void)
{
    static char name[8192];
    struct kernel kernel;
    unsigned found = 0;

    REQUIRE(kernels_create());
    memset(name, 'x', sizeof name - 1);
    tell(88, 1, name, ROCM_PHASE_ENTER);
    REQUIRE(kernels_find(1, &kernel));
    CHECK_UINT(strlen(kernel.name), 2048);
    for (unsigned i = 2; i <= 200000; i++) {
        char own[32];

        snprintf(own, sizeof own, "k%u", i);
        tell(88, i, own, ROCM_PHASE_ENTER);
    }
    for (unsigned i = 1; i <= 200000; i++)
        found += kernels_find(i, &kernel);
    CHECK_UINT(found, 98304);
    REQUIRE(kernels_find(5000, &kernel));
    CHECK_STR(kernel.name, "k5000");
}

TAP_MAIN(TAP_CASE(names), TAP_CASE(what_is_none), TAP_CASE(more_than_fit))
