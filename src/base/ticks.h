// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the clocks of this machine. Header-only: the watched process uses it too.
 *
 * The counter is raw (TSC on x86-64, CNTVCT on arm64) and is converted to nanoseconds by whoever
 * reads the trace, with the pairs that the recorder takes.
 */
#ifndef IFG_BASE_TICKS_H
#define IFG_BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The values are those of enum trace_clock_kind in the trace file. */
enum ifg_tick_source {
    IFG_TICKS_TSC = 1,
    IFG_TICKS_MONOTONIC = 2,
    IFG_TICKS_CNTVCT = 3,
};

/* UINT64_MAX: there is no such clock, or no more. */
static inline uint64_t ifg_clock_ns(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        return UINT64_MAX;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ifg_monotonic_ns(void)
{
    return ifg_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t ifg_realtime_ns(void)
{
    return ifg_clock_ns(CLOCK_REALTIME);
}

/* What the calling thread has used of CPUs. */
static inline uint64_t ifg_thread_cpu_ns(void)
{
    return ifg_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* For calls that wait until then. */
static inline struct timespec ifg_timespec(uint64_t ns)
{
    return (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
}

static inline uint64_t ifg_counter_read(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return ifg_monotonic_ns();
#endif
}

/* Which source can be trusted here: the counter only where it runs at one rate on every core. */
static inline enum ifg_tick_source ifg_tick_source_choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;

    if (__get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)))
        return IFG_TICKS_TSC;
    return IFG_TICKS_MONOTONIC;
#elif defined(__aarch64__)
    return IFG_TICKS_CNTVCT;
#else
    return IFG_TICKS_MONOTONIC;
#endif
}

static inline uint64_t ifg_ticks_read(enum ifg_tick_source source)
{
    return source == IFG_TICKS_MONOTONIC ? ifg_monotonic_ns() : ifg_counter_read();
}

#endif
