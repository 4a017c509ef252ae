// SPDX-License-Identifier: Apache-2.0
/* Which device a context is of, with and without a record that tells. */
#include "hooks/cupti/hook.h"
#include "tap.h"

static unsigned devices = 2;

unsigned cupti_device_count(void) /* in place of the driver */
{
    return devices;
}

static void devices_of_contexts(void)
{
    uint32_t device = 9;

    CHECK(!contexts_device(3, &device));
    contexts_learn(3, 1);
    CHECK(contexts_device(3, &device));
    CHECK_UINT(device, 1);
    contexts_learn(3, 0);
    CHECK(contexts_device(3, &device));
    CHECK_UINT(device, 0);
    for (uint32_t i = 100; i < 1000; i++)
        contexts_learn(i, 1);
    CHECK(!contexts_device(5000, &device));
}

static void one_device_is_all_there_is(void)
{
    uint32_t device = 9;

    devices = 1;
    CHECK(contexts_device(5000, &device));
    CHECK_UINT(device, 0);
}

TAP_MAIN(TAP_CASE(devices_of_contexts), TAP_CASE(one_device_is_all_there_is))
