// SPDX-License-Identifier: Apache-2.0
/* A library of functions to be watched: what they get, give and call is known. */
#include "probe_work.h"

#include <setjmp.h>
#include <time.h>

#define WATCHED __attribute__((noinline, visibility("default")))

/* Keeps the compiler from knowing a value, and from moving calls. */
#define UNKNOWN(value) __asm__ volatile("" : "+r"(value)::"memory")

static jmp_buf way_out;

WATCHED uint64_t work_six(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    uint64_t sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;

    UNKNOWN(sum);
    return sum;
}

WATCHED int work_make(const char *name, int number, int status, uint64_t *out)
{
    UNKNOWN(name);
    if (out)
        *out = 0xabc0000000000000u + (uint64_t)number;
    return status;
}

WATCHED uint64_t work_inner(uint64_t number)
{
    UNKNOWN(number);
    return number + 1;
}

WATCHED uint64_t work_outer(uint64_t number)
{
    uint64_t sum = work_inner(number);

    UNKNOWN(sum);
    sum += work_inner(number + 100);
    UNKNOWN(sum);
    return sum;
}

WATCHED uint64_t work_tail(uint64_t number)
{
    UNKNOWN(number);
    return work_inner(number + 1000);
}

WATCHED uint64_t work_recursive(uint64_t levels)
{
    uint64_t below = levels > 1 ? work_recursive(levels - 1) : 0;

    UNKNOWN(below);
    return below + 1;
}

WATCHED void work_leap(uint64_t number)
{
    UNKNOWN(number);
    longjmp(way_out, 1);
}

WATCHED uint64_t work_leaped(uint64_t number)
{
    if (setjmp(way_out) == 0)
        work_leap(number);
    return work_inner(number);
}

WATCHED void work_long(unsigned milliseconds)
{
    struct timespec time = { milliseconds / 1000, (long)(milliseconds % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

static uint64_t step(uint64_t number)
{
    number = number * 6364136223846793005u + 1442695040888963407u;
    UNKNOWN(number);
    return number;
}

static uint64_t (*volatile any_step)(uint64_t) = step;

/* Calls what the compiler does not know, and so begins like nearly all functions with a push, which
 * the kernel can emulate. */
WATCHED uint64_t work_tiny(uint64_t number)
{
    for (int i = 0; i < 500; i++)
        number = any_step(number);
    return number;
}
