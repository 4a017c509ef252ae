// SPDX-License-Identifier: Apache-2.0
/* What the tests of the process that runs models share: one with the fake runtime, ready to run. */
#ifndef IFG_BENCH_RUNNER_FIXTURE_H
#define IFG_BENCH_RUNNER_FIXTURE_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/runner/runner.h"
#include "tap.h"

#define FAKE PROGRAMS "/bench_fake.so"

static struct ifg_error err;
static char model_path[64];
static volatile sig_atomic_t stop;
static float numbers[4] = { 1, 2, 3, 4 };

static inline struct runner_options fake_options(void)
{
    struct runner_options options = {
        .program = RUNNER_PROGRAM, .runtime = FAKE, .stop = &stop, .pin_cpu = -1
    };

    stop = 0;
    return options;
}

static inline void make_model(void)
{
    int fd;

    snprintf(model_path, sizeof model_path, "/tmp/inferogram-fake-XXXXXX");
    fd = mkstemp(model_path);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, "fake\n", 5) == 5);
    close(fd);
}

static inline struct runner *start(const struct runner_options *options, struct runner_facts *facts)
{
    struct runner *runner = NULL;
    enum ifg_status status = runner_start(options, &runner, facts, &err);

    if (status)
        tap_diag("%s", err.message);
    REQUIRE_INT(status, IFG_OK);
    return runner;
}

/* Settings: "key=value key=value". */
static inline enum ifg_status load(struct runner *runner, const char *settings,
                                   struct runner_loaded *loaded)
{
    static char texts[512];
    struct runner_setting list[16];
    struct runner_model model = { .path = model_path, .settings = list };
    char *at = texts;

    snprintf(texts, sizeof texts, "%s", settings);
    while (*at) {
        char *equals = strchr(at, '=');
        char *end = at + strcspn(at, " ");

        REQUIRE(equals != NULL);
        *equals = '\0';
        list[model.setting_count++] = (struct runner_setting){ at, equals + 1 };
        at = *end ? end + 1 : end;
        *end = '\0';
    }
    return runner_load(runner, &model, loaded, &err);
}

static inline struct tensor input(void)
{
    struct tensor x = { .name = (char *)"x",
                        .type = IFG_BENCH_FLOAT,
                        .rank = 2,
                        .dims = { 1, 4 },
                        .data = (uint8_t *)numbers,
                        .bytes = sizeof numbers };

    return x;
}

/* Started, loaded and bound. */
static inline struct runner *ready_with(const struct runner_options *options, const char *settings,
                                        uint32_t workers, unsigned *out_slot)
{
    struct runner_facts facts;
    struct runner_loaded loaded;
    struct tensor x = input();
    struct tensor_list set = { &x, 1 };
    struct runner *runner;

    make_model();
    runner = start(options, &facts);
    if (load(runner, settings, &loaded))
        tap_diag("%s", err.message);
    REQUIRE(loaded.inputs.count == 1);
    *out_slot = loaded.slot;
    runner_loaded_fini(&loaded);
    unlink(model_path);
    REQUIRE_INT(runner_bind(runner, *out_slot, &set, 1, workers, &err), IFG_OK);
    return runner;
}

static inline struct runner *ready(const char *settings, uint32_t workers, unsigned *out_slot)
{
    struct runner_options options = fake_options();

    return ready_with(&options, settings, workers, out_slot);
}

/* Runs up to `queries` and returns how that ended. */
static inline enum ifg_status run(struct runner *runner, unsigned slot, uint64_t queries,
                                  struct runner_samples *samples)
{
    struct runner_work work = { .queries = queries };

    memset(samples, 0, sizeof *samples);
    err.message[0] = '\0';
    return runner_run(runner, slot, &work, samples, &err);
}

#endif
