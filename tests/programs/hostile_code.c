// SPDX-License-Identifier: Apache-2.0
/*
 * A library whose file hostile.c forges. Its code needs no data and no other library, so that it
 * runs wherever a copy of the file is mapped, whatever the rest of that copy looks like.
 */
unsigned hostile_code(unsigned depth, unsigned turns);

static inline __attribute__((always_inline)) unsigned turn(unsigned value)
{
    return value * 1664525u + 1013904223u;
}

static __attribute__((noinline)) unsigned spin(unsigned turns)
{
    unsigned value = turns;

    for (unsigned i = 0; i < turns; i++) {
        value = turn(value);
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

static __attribute__((noinline)) unsigned deeper(unsigned depth, unsigned turns)
{
    volatile unsigned here[8] = { depth };

    here[depth % 8] = depth ? deeper(depth - 1, turns) : spin(turns);
    return here[depth % 8] + 1;
}

unsigned hostile_code(unsigned depth, unsigned turns)
{
    return deeper(depth, turns);
}
