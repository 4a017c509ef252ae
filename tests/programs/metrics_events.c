// SPDX-License-Identifier: Apache-2.0
/*
 * A program with many models: waits until somebody records it, then runs each of them ROUNDS times,
 * prints how many inferences that were, and stays until there is a file FILE.
 *
 *   metrics_events MODELS ROUNDS FILE [hostile|loads]
 *
 * Inferences take from nothing to about a quarter of a millisecond. With `hostile`, models have
 * names that are hard to write down, and the inferences of the first one fail. With `loads`, each
 * model is loaded first, which is not in the number that is printed.
 */
#include <inferogram/inferogram.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MODELS_MOST 4000

static const char *const hostile[] = {
    "quo\"te",
    "back\\slash\\",
    "new\nline",
    "garbage \xff\xfe\xc3",
    "{le=\"1\"} 5 # EOF",
    "",
    "tab\tbell\a",
    "\xe6\xa8\xa1\xe5\x9e\x8b",
    "/a/path/to/model.onnx",
};

static void spin(long ns)
{
    struct timespec begin;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

static ifg_model *make_model(int number, int is_hostile)
{
    ifg_model_options options = { .struct_size = sizeof options, .runtime = "test" };
    char name[400];

    snprintf(name, sizeof name, "model-%d", number);
    if (is_hostile && number < (int)(sizeof hostile / sizeof hostile[0]))
        snprintf(name, sizeof name, "%s", hostile[number]);
    else if (is_hostile)
        memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    options.name = name;
    options.path = "/models/some.onnx";
    options.requested_devices = "CPU";
    options.actual_devices = "CPU";
    return ifg_model_create(&options);
}

int main(int argc, char **argv)
{
    static ifg_model *models[MODELS_MOST];
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    int is_hostile = argc > 4 && strcmp(argv[4], "hostile") == 0;

    if (argc < 4 || count < 1 || count > MODELS_MOST)
        return 2;
    for (int i = 0; i < count; i++)
        models[i] = make_model(i, is_hostile);
    while (!ifg_is_recording())
        usleep(10000);
    for (int i = 0; i < count && argc > 4 && strcmp(argv[4], "loads") == 0; i++)
        ifg_zone_end(ifg_event_begin(models[i], "main", IFG_LOAD));
    for (long round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            ifg_zone zone = ifg_event_begin(models[i], "main", IFG_INFERENCE);

            if (count < 20)
                spin(1000L << round % 9);
            if (is_hostile && i == 0)
                ifg_zone_detail_string(zone, "status", "error: on purpose");
            ifg_zone_end(zone);
        }
    printf("%ld\n", rounds * count);
    fflush(stdout);
    while (access(argv[3], F_OK) != 0)
        usleep(20000);
    return 0;
}
