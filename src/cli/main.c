// SPDX-License-Identifier: Apache-2.0
/* inferogram: one program, one file per command. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/memory_limit.h"
#include "cli/nearest.h"
#include "system/rights.h"

static const struct cli_command commands[] = {
    { "record", "run a program, or attach to one, and record what it does", cmd_record, false },
    { "info", "what is in a trace: program, host, counts, losses, where the time went", cmd_info,
      true },
    { "report", "the answer on one screen: models, where they run, findings and their fixes",
      cmd_report, true },
    { "summary", "the report in a few lines", cmd_summary, true },
    { "explain", "what is wrong, with the evidence, and what each finding means", cmd_explain,
      true },
    { "stats", "counts, sums and percentiles by zone, model, category, op, function, thread",
      cmd_stats, true },
    { "annotate", "source and machine code of a function with the samples of each line",
      cmd_annotate, true },
    { "serve", "traces in a browser: timeline, models, operators, source", cmd_serve, true },
    { "live", "what a running program's models cost now: a gauge in the terminal or a page",
      cmd_live, false },
    { "query", "ask a trace in SQL", cmd_query, true },
    { "cat", "everything in a trace as lines of JSON", cmd_cat, true },
    { "export", "a trace in another tool's format: Perfetto, Chrome, CSV, pprof, ...", cmd_export,
      true },
    { "diff", "what changed between two traces, with a verdict for each place", cmd_diff, true },
    { "inspect", "what is in a model, without running it: size, parameters, operators, costs",
      cmd_inspect, false },
    { "bench", "how long a model takes, how certain that is, and whether to trust it", cmd_bench,
      false },
    { "compare", "which model, setting, library or command is faster, and is it certain?",
      cmd_compare, false },
    { "gate", "pass or fail, for CI: budgets, no slower than before, slow drift", cmd_gate, true },
    { "import", "turn a Chrome trace or an ONNX Runtime profile into a trace", cmd_import, true },
    { "ls", "processes that can be recorded, and how", cmd_ls, false },
    { "doctor", "what works on this machine, and the command that fixes what does not", cmd_doctor,
      false },
};

#define COMMANDS (sizeof commands / sizeof commands[0])

static void print_help(void)
{
    puts("inferogram - what a machine-learning model, its runtime and the machine did, on one "
         "clock\n"
         "\n"
         "usage: inferogram COMMAND [OPTIONS]\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    puts(
        "\n"
        "  inferogram record -- ./program        record a program from its start\n"
        "  inferogram record --pid 4711          record a running one\n"
        "  inferogram report FILE.ifg            see what it found\n"
        "\n"
        "'inferogram COMMAND --help' tells more; so does 'man inferogram'.\n"
        "Exit status: 0 yes, 1 no or failed, 2 usage or unreadable input, 3 unsure, 4 something is "
        "missing\nhere; record passes on the program's own.");
}

/* The command that the user may have meant; NULL: none is like it. */
static const char *nearest(const char *given)
{
    struct nearest best = { NULL, NEAREST_FAR };

    for (size_t i = 0; i < COMMANDS; i++)
        nearest_keep(&best, commands[i].name, nearest_distance(given, commands[i].name));
    return best.name;
}

static int run_reader(const struct cli_command *command, int argc, char **argv)
{
    int code = memory_limit_set(&argc, argv);

    return code ? code : memory_limit_settle(command->run(argc, argv));
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].reads ? run_reader(&commands[i], argc, argv)
                                     : commands[i].run(argc, argv);
    if (nearest(argv[0]))
        return cli_usage(NULL, "there is no command '%s' (did you mean '%s'?)", argv[0],
                         nearest(argv[0]));
    return cli_usage(NULL, "there is no command '%s'", argv[0]);
}

static int run(int argc, char **argv)
{
    char help[] = "--help";

    if (argc < 2) {
        print_help();
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2)
        return run_command(2, (char *[]){ argv[2], help, NULL });
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return CLI_YES;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("inferogram " INFEROGRAM_VERSION);
        return CLI_YES;
    }
    return run_command(argc - 1, argv + 1);
}

/* What is loaded, run or believed is not for the environment to say where this program has rights
 * that its user lacks: see secure_getenv(3). */
static void tell_what_is_ignored(void)
{
    static const char *const names[] = { "IFG_HOOKS_DIR", "IFG_PROBES_DIR", "IFG_ORT",
                                         "IFG_ORT_HELPER", "IFG_BENCH_RUNNER" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) && !secure_getenv(names[i]))
            cli_say("%s is ignored, because this program has rights that you lack (file "
                    "capabilities or set-uid)",
                    names[i]);
}

int main(int argc, char **argv)
{
    int code;

    if (!rights_begin()) {
        cli_say("cannot give up the rights that this program was given: %s", strerror(errno));
        return CLI_NO;
    }
    tell_what_is_ignored();
    code = run(argc, argv);

    /* Results that were only thought to be written; commands tell of their own. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_YES) {
        cli_say("cannot write the result: %s", strerror(errno));
        code = CLI_NO;
    }
    return code;
}
