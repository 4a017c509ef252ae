// SPDX-License-Identifier: Apache-2.0
/*
 * A service for the flight recorder: inferences of the model "ocr" at a steady rate inside a zone
 * "serve" that never ends, until SIGTERM or for SECONDS. Each SIGUSR1 makes the next inference a
 * slow one. Says "ready PID" after the first inference and "slow" after each slow one.
 *
 *   flight_events RATE [SECONDS [SLOW_MS]]
 *
 * RATE counts all events: from 100 on, nine of ten are plain zones.
 */
#include <inferogram/inferogram.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PORTION_NS 1000000ull

static volatile sig_atomic_t slow_wanted;
static volatile sig_atomic_t end_wanted;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        slow_wanted = 1;
    else
        end_wanted = 1;
}

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

int main(int argc, char **argv)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = "ocr" };
    double rate = argc > 1 ? strtod(argv[1], NULL) : 100;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0;
    unsigned long long slow_ns = (argc > 3 ? strtoull(argv[3], NULL, 10) : 200) * 1000000u;
    ifg_model *model = ifg_model_create(&options);
    struct sigaction action = { .sa_handler = on_signal };
    unsigned long long begin = now_ns();
    unsigned long long done = 0;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    IFG_BEGIN(serve, "serve");
    for (unsigned long long portion = 1; !end_wanted; portion++) {
        unsigned long long wanted = (unsigned long long)(rate * (double)portion / 1000);

        if (seconds > 0 && now_ns() - begin > (unsigned long long)(seconds * 1e9))
            break;
        for (; done < wanted; done++) {
            bool is_slow = slow_wanted;

            if (rate >= 100 && done % 10 != 0) {
                IFG_BEGIN(step, "step");
                IFG_END(step);
                continue;
            }
            IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
            if (is_slow) {
                slow_wanted = 0;
                sleep_until(now_ns() + slow_ns);
            }
            IFG_EVENT_END(event);
            if (done == 0)
                printf("ready %d\n", (int)getpid());
            if (is_slow)
                printf("slow\n");
            if (is_slow || done == 0)
                fflush(stdout);
        }
        sleep_until(begin + portion * PORTION_NS);
    }
    IFG_END(serve);
    return 0;
}
