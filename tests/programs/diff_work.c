// SPDX-License-Identifier: Apache-2.0
/*
 * Work of a known amount for `inferogram diff`: zones whose length is a number of steps, not a
 * time.
 *
 * usage: diff_work ROUNDS PERCENT [extra]
 *   steady   the same steps always
 *   target   PERCENT of the usual steps
 *   extra, or usual: which of them there is depends on the third argument
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <inferogram/inferogram.h>

#define STEPS 20000u

static volatile uint64_t sink;

static void work(uint64_t steps)
{
    uint64_t x = sink | 1;

    for (uint64_t i = 0; i < steps; i++)
        x = x * UINT64_C(6364136223846793005) +
            1442695040888963407u; /* each step waits for the last */
    sink = x;
}

static void steady(void)
{
    IFG_ZONE("steady");
    work(STEPS);
}

static void target(uint64_t percent)
{
    IFG_ZONE("target");
    work(STEPS * percent / 100);
}

static void usual(void)
{
    IFG_ZONE("usual");
    work(STEPS / 10);
}

static void extra(void)
{
    IFG_ZONE("extra");
    work(STEPS / 10);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
    unsigned long percent = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    ifg_model *model = ifg_model_create(
        &(ifg_model_options){ .struct_size = sizeof(ifg_model_options), .name = "net" });

    for (unsigned long i = 0; i < rounds; i++) {
        IFG_ZONE("round");
        steady();
        target(percent);
        if (argc > 3)
            extra();
        else
            usual();
        IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
        work(STEPS / 4);
        IFG_EVENT_END(event);
    }
    printf("%lu rounds\n", rounds);
    return 0;
}
