// SPDX-License-Identifier: Apache-2.0
/*
 * A program with a known number of ML events: a load of 200 ms, then RATE inferences a second for
 * SECONDS, in portions of one millisecond. Prints how many there were.
 *
 *   live_events RATE SECONDS [open [FILE]|async|FILE]
 *
 * With `open`: then a load that only ends with the program; with a FILE, inferences before it until
 * there is such a file. With `async`: inferences begin on this thread and end on another one, and
 * the last, which is not counted, never ends. With FILE: goes on until there is such a file.
 */
#include <inferogram/inferogram.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void sleep_until(unsigned long long ns)
{
    struct timespec until = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static sem_t begun;

static void *end_in_turn(void *model)
{
    for (unsigned long long id = 1;; id++) {
        while (sem_wait(&begun) != 0)
            ;
        ifg_event_async_end(model, "main", IFG_INFERENCE, id);
    }
    return NULL;
}

/* The library wants no zone that is not recorded: an attached recorder came in between. */
static void end(ifg_zone zone)
{
    if (zone.depth)
        ifg_zone_end(zone);
}

static void infer(ifg_model *model, bool async, unsigned long long id)
{
    if (async) {
        ifg_event_async_begin(model, "main", IFG_INFERENCE, id);
        sem_post(&begun);
    } else {
        end(ifg_event_begin(model, "main", IFG_INFERENCE));
    }
}

int main(int argc, char **argv)
{
    ifg_model_options options = { .struct_size = sizeof options,
                                  .name = "known",
                                  .path = "/models/known.onnx",
                                  .runtime = "test" };
    ifg_model *model = ifg_model_create(&options);
    double rate = argc > 1 ? strtod(argv[1], NULL) : 1000;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    unsigned long long begin;
    unsigned long long done = 0;
    bool async = argc > 3 && strcmp(argv[3], "async") == 0;
    ifg_zone zone = ifg_event_begin(model, "main", IFG_LOAD);
    pthread_t other;

    sem_init(&begun, 0, 0);
    if (async && pthread_create(&other, NULL, end_in_turn, model) != 0)
        return 1;
    usleep(200000);
    end(zone);
    begin = now_ns();
    for (unsigned long long ms = 0; ms < (unsigned long long)(seconds * 1000); ms++) {
        unsigned long long wanted = (unsigned long long)(rate * (double)(ms + 1) / 1000);

        while (done < wanted)
            infer(model, async, ++done);
        sleep_until(begin + (ms + 1) * 1000000);
    }
    printf("%llu\n", done);
    fflush(stdout);
    if (async) {
        ifg_event_async_begin(model, "main", IFG_INFERENCE, done + 1);
        pause();
    } else if (argc > 3 && strcmp(argv[3], "open") == 0) {
        for (; argc > 4 && access(argv[4], F_OK) != 0; usleep(20000))
            infer(model, false, 0);
        zone = ifg_event_begin(model, "main", IFG_LOAD);
        pause();
        end(zone);
    } else if (argc > 3) {
        while (access(argv[3], F_OK) != 0)
            usleep(20000);
    }
    return 0;
}
