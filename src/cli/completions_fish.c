// SPDX-License-Identifier: Apache-2.0
/* The completions of fish: a line for each option, with its help. */
#include <string.h>

#include "cli/commands.h"
#include "cli/completions.h"

static void put_rule(struct ifg_bytes *out, const struct cli_command *command)
{
    cli_print(out, "complete -c inferogram -n '__fish_seen_subcommand_from %s'", command->name);
}

static void put_help(struct ifg_bytes *out, const char *help)
{
    cli_print(out, " -d '");
    for (; *help; help++)
        cli_print(out, "%s%c", *help == '\'' || *help == '\\' ? "\\" : "", *help);
    cli_print(out, "'\n");
}

static void put_option(struct ifg_bytes *out, const struct cli_command *command,
                       const struct option_row *row)
{
    char help[1024];

    put_rule(out, command);
    cli_print(out, " -l %s", row->name);
    if (row->letter)
        cli_print(out, " -s %c", row->letter);
    if (options_choice(row, 0)) {
        cli_print(out, " -x -a '");
        if (row->kind == OPTION_LIST)
            cli_print(out, "(__fish_complete_list , \"string split \\\" \\\" \\\"");
        completions_put_choices(out, row);
        cli_print(out, row->kind == OPTION_LIST ? "\\\"\")'" : "'");
    } else if (row->kind == OPTION_PATH && row->files && strcmp(row->files, "/") == 0) {
        cli_print(out, " -x -a '(__fish_complete_directories)'");
    } else if (row->kind == OPTION_PATH && row->files) {
        cli_print(out, " -k -x -a '(__fish_complete_suffix %s)'", strchr(row->files, '.'));
    } else if (row->kind == OPTION_PATH) {
        cli_print(out, " -r -F");
    } else if (row->argument && !row->optional) {
        cli_print(out, " -x");
    }
    options_put_row_help(row, help, sizeof help);
    put_help(out, help);
}

static void put_operands(struct ifg_bytes *out, const struct cli_command *command)
{
    static const char *const found[] = {
        [OPERANDS_NONE] = NULL,
        [OPERANDS_TRACES] = " -k -a '(__fish_complete_suffix .ifg)'\n",
        [OPERANDS_MODELS] = " -k -a '(__fish_complete_suffix .onnx)'\n",
        [OPERANDS_FILES] = " -F\n",
        [OPERANDS_WORDS] = NULL,
        [OPERANDS_PROGRAM] = " -x -a '(__fish_complete_subcommand)'\n",
    };

    if (found[command->operands]) {
        put_rule(out, command);
        cli_print(out, "%s", found[command->operands]);
    }
    if (command->operand_at) {
        put_rule(out, command);
        cli_print(out, " -a '");
        completions_put_operands(out, command);
        cli_print(out, "'\n");
    }
}

void completions_write_fish(struct ifg_bytes *out)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    const struct cli_command *command;

    cli_print(out, "# fish completion for inferogram, written by 'inferogram completions fish'\n"
                   "\n"
                   "complete -c ifg -w inferogram\n"
                   "complete -c inferogram -f\n"
                   "complete -c inferogram -n __fish_use_subcommand -l help -s h -d 'print the "
                   "help'\n"
                   "complete -c inferogram -n __fish_use_subcommand -l version -s V -d 'print the "
                   "version'\n");
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        cli_print(out, "complete -c inferogram -n __fish_use_subcommand -a %s", command->name);
        put_help(out, command->summary);
    }
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        size_t count = options_collect(command, rows);

        cli_print(out, "\n");
        put_operands(out, command);
        for (size_t k = 0; k < count; k++)
            if (rows[k]->name)
                put_option(out, command, rows[k]);
    }
}
