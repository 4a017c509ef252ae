// SPDX-License-Identifier: Apache-2.0
/* inferogram: one program, one file per command. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commit.h"
#include "cli/memory_limit.h"
#include "cli/nearest.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "system/rights.h"

static const struct cli_command *const commands[] = {
    &record_command,  &info_command,     &report_command, &summary_command, &explain_command,
    &stats_command,   &annotate_command, &serve_command,  &live_command,    &query_command,
    &cat_command,     &export_command,   &diff_command,   &inspect_command, &bench_command,
    &compare_command, &gate_command,     &import_command, &merge_command,   &ls_command,
    &agent_command,   &capture_command,  &ctl_command,    &doctor_command,  &completions_command,
};

#define COMMANDS (sizeof commands / sizeof commands[0])

const struct cli_command *cli_command_at(size_t index)
{
    return index < COMMANDS ? commands[index] : NULL;
}

static int print_help(void)
{
    struct ifg_bytes out;
    int code;

    ifg_bytes_init(&out, 1u << 20);
    cli_print(&out,
              "inferogram - profile ML inference in unmodified programs, and find what to fix\n"
              "\n"
              "usage: inferogram COMMAND [OPTIONS]\n"
              "\n");
    for (size_t i = 0; i < COMMANDS; i++)
        cli_print(&out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    cli_print(&out,
              "\n"
              "  inferogram record -- ./program        record a program from its start\n"
              "  inferogram record --pid 4711          record a running one\n"
              "  inferogram report                     show what it found\n"
              "\n"
              "See 'inferogram COMMAND --help' and 'man inferogram' for more.\n"
              "Exit status: 0 success, 1 failure or regression, 2 usage error or unreadable\n"
              "input, 3 inconclusive, 4 missing requirement; record returns the program's.\n");
    text_fit(&out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

/* The first line is for scripts, and stays as it is. */
static int print_version(void)
{
    puts("inferogram " INFEROGRAM_VERSION);
    if (cli_commit[0])
        printf("commit %s\n", cli_commit);
    puts("built by " IFG_BUILD_OPTIONS);
    return CLI_YES;
}

/* The command that the user may have meant; NULL: none is like it. */
static const char *nearest(const char *given)
{
    struct nearest best = { NULL, NEAREST_FAR };

    for (size_t i = 0; i < COMMANDS; i++)
        nearest_keep(&best, commands[i]->name, nearest_distance(given, commands[i]->name));
    return best.name;
}

static int run_one(const struct cli_command *command, int argc, char **argv)
{
    int code;

    if (command->reads)
        memory_limit_begin();
    code = command->run(argc, argv);
    if (code == CLI_DONE)
        return CLI_YES;
    return command->reads ? memory_limit_settle(code) : code;
}

/* As most other programs spell it. */
static bool is_other_name(const char *word, const struct cli_command *command)
{
    return command == &completions_command && strcmp(word, "completion") == 0;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[0], commands[i]->name) == 0 || is_other_name(argv[0], commands[i]))
            return run_one(commands[i], argc, argv);
    if (nearest(argv[0]))
        return cli_usage(NULL, "there is no command '%s' (did you mean '%s'?)", argv[0],
                         nearest(argv[0]));
    return cli_usage(NULL, "there is no command '%s'", argv[0]);
}

/* Not in the help: for the tests that hold the man pages against the tables. */
static int list_options(void)
{
    struct ifg_bytes out;
    int code;

    ifg_bytes_init(&out, 1u << 20);
    for (size_t i = 0; i < COMMANDS; i++)
        options_write_list(commands[i], &out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
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
        strcmp(argv[1], "help") == 0)
        return print_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        return print_version();
    }
    if (strcmp(argv[1], "--list-options") == 0)
        return list_options();
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
    terminal_end_pager();

    /* Results that were only thought to be written; commands tell of their own. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CLI_YES) {
        cli_say("cannot write the result: %s", strerror(errno));
        code = CLI_NO;
    }
    return code;
}
