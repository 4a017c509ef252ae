// SPDX-License-Identifier: Apache-2.0
/*
 * What a model gives for input data when the benchmark runs it: the same reading of the data and
 * the same process that runs models as `inferogram bench --input-data`.
 *
 * usage: bench_outputs RUNNER LIBRARY MODEL DATA
 *
 * A line for each output: its name, and its bytes in hexadecimal.
 */
#include <stdio.h>

#include "bench/inputs/inputs.h"
#include "bench/runner/runner.h"

static int fail(const struct ifg_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct runner_setting threads = { "threads", "1" };
    struct inputs_options wanted = { .seed = 1 };
    struct runner_options options = { .pin_cpu = -1 };
    struct runner_model model = { .settings = &threads, .setting_count = 1 };
    struct runner_loaded loaded;
    struct runner_facts facts;
    struct tensor_list outputs;
    struct input_sets sets;
    struct ifg_error err = { 0 };
    struct runner *runner;

    if (argc != 5)
        return 2;
    options.program = argv[1];
    options.library = argv[2];
    model.path = argv[3];
    wanted.data_path = argv[4];
    if (runner_start(&options, &runner, &facts, &err) ||
        runner_load(runner, &model, &loaded, &err) ||
        inputs_make(&loaded.inputs, &wanted, &sets, &err) ||
        runner_bind(runner, loaded.slot, sets.sets, sets.count, 1, &err) ||
        runner_results(runner, loaded.slot, 0, &outputs, &err))
        return fail(&err);
    for (size_t i = 0; i < outputs.count; i++) {
        printf("%s ", outputs.items[i].name);
        for (size_t at = 0; at < outputs.items[i].bytes; at++)
            printf("%02x", outputs.items[i].data[at]);
        printf("\n");
    }
    tensor_list_fini(&outputs);
    inputs_fini(&sets);
    runner_loaded_fini(&loaded);
    runner_stop(runner);
    return 0;
}
