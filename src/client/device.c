// SPDX-License-Identifier: Apache-2.0
/* Work of devices and calls of their drivers: see device.h. */
#include "client/device.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/client_internal.h"

#define KIND_COUNTER 5u /* TRACE_LOCATION_COUNTER, _DEVICE, _DRIVER */
#define KIND_DEVICE  10u
#define KIND_DRIVER  11u
#define NAP_NS       500000u
#define TIMED_EVERY  64u /* calls */
#define WORK_SLOTS   (1u + (uint32_t)sizeof(struct ifg_wire_work) / IFG_WIRE_SLOT)

uint32_t ifg_device_location(int is_call, const char *name, const char *what)
{
    const char *rest = "";

    if (strnlen(name, IFG_WIRE_STRING_MAX + 1) > IFG_WIRE_STRING_MAX)
        rest = name + IFG_WIRE_STRING_MAX;
    return client_define_location(is_call ? KIND_DRIVER : KIND_DEVICE, 0, 0, 0, 0, name, what,
                                  rest);
}

uint32_t ifg_device_level_location(const char *name)
{
    return client_define_location(KIND_COUNTER, 0, 0, 0, 0, name, "", "");
}

void ifg_device_define(uint32_t device, const char *name, const char *id)
{
    int saved_errno = errno;

    client_define_device(device, name, id);
    errno = saved_errno;
}

void ifg_device_call(uint32_t location, uint64_t start, uint64_t correlation)
{
    uint64_t now;
    uint64_t payload[2];

    if (!client_is_recorded())
        return;
    now = client_now();
    payload[0] = now > start ? now - start : 0;
    payload[1] = correlation;
    client_emit(IFG_WIRE_CALL, start, location, payload, sizeof payload);
    if (!(__atomic_add_fetch(&client_control->device_calls, 1, __ATOMIC_RELAXED) % TIMED_EVERY)) {
        __atomic_fetch_add(&client_control->device_call_ticks, client_now() - now,
                           __ATOMIC_RELAXED);
        __atomic_fetch_add(&client_control->device_calls_timed, 1, __ATOMIC_RELAXED);
    }
}

void ifg_device_cost(uint64_t read_ns)
{
    if (client_control)
        __atomic_fetch_add(&client_control->device_read_ns, read_ns, __ATOMIC_RELAXED);
}

int ifg_device_is_too_much(void)
{
    return client_control && __atomic_load_n(&client_control->device_less, __ATOMIC_ACQUIRE);
}

void ifg_device_follow(int is_followed)
{
    if (client_control)
        __atomic_store_n(&client_control->devices,
                         is_followed ? IFG_WIRE_DEVICES_FOLLOWED : IFG_WIRE_DEVICES_NONE,
                         __ATOMIC_RELEASE);
}

int ifg_device_is_asked(void)
{
    return client_control &&
           __atomic_load_n(&client_control->recording, __ATOMIC_ACQUIRE) ==
               IFG_WIRE_RECORDING_ENDS &&
           __atomic_load_n(&client_control->devices, __ATOMIC_RELAXED) == IFG_WIRE_DEVICES_FOLLOWED;
}

void ifg_device_told(void)
{
    if (client_control)
        __atomic_store_n(&client_control->devices, IFG_WIRE_DEVICES_TOLD, __ATOMIC_RELEASE);
}

static void await_room(uint64_t *patience_ns)
{
    struct ifg_wire_ring *ring = client_ring ? client_ring : client_ring_acquire();

    while (ring && !client_ring_has_room(ring, WORK_SLOTS) && *patience_ns >= NAP_NS &&
           client_is_recorded() && client_may_call()) {
        static const struct timespec nap = { 0, NAP_NS };

        nanosleep(&nap, NULL);
        *patience_ns -= NAP_NS;
    }
}

void ifg_device_work(enum ifg_wire_kind kind, uint32_t location, uint64_t start_ns,
                     const struct ifg_wire_work *work, uint64_t *patience_ns)
{
    int saved_errno = errno;

    if (client_is_recorded()) {
        await_room(patience_ns);
        client_emit(kind, start_ns, location, work, sizeof *work);
    }
    errno = saved_errno;
}

void ifg_device_level(uint32_t location, uint32_t device, uint64_t ns, double value,
                      uint64_t *patience_ns)
{
    const struct ifg_wire_level level = { .value = value, .device = device };
    int saved_errno = errno;

    if (client_is_recorded()) {
        await_room(patience_ns);
        client_emit(IFG_WIRE_LEVEL, ns, location, &level, sizeof level);
    }
    errno = saved_errno;
}

void ifg_device_lost(uint64_t count)
{
    struct ifg_wire_ring *ring = client_ring ? client_ring : client_ring_acquire();

    if (ring)
        CLIENT_BUMP(ring->dropped, count);
}

int ifg_device_await(int while_recording, uint64_t at_most_ns)
{
    struct timespec most = { (time_t)(at_most_ns / 1000000000u), (long)(at_most_ns % 1000000000u) };
    struct ifg_wire_control *control = client_control;
    uint32_t now;

    if (!control)
        return 0;
    now = __atomic_load_n(&control->recording, __ATOMIC_ACQUIRE);
    if ((now != 0) == (while_recording != 0) && !ifg_device_is_asked())
        syscall(SYS_futex, &control->recording, FUTEX_WAIT, now, at_most_ns ? &most : NULL, NULL,
                0);
    return client_is_recorded();
}

int ifg_device_may_watch(void)
{
    return client_control && client_may_call();
}
