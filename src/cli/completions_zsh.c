// SPDX-License-Identifier: Apache-2.0
/* The completions of zsh: the specifications of _arguments, with the help of each option. */
#include <string.h>

#include "cli/commands.h"
#include "cli/completions.h"

/* ":FILE:_files -g "*.ifg"": what the value of an option is. */
static void put_value(struct ifg_bytes *out, const struct option_row *row)
{
    if (!row->argument)
        return;
    cli_print(out, "%s:", row->optional ? ":" : "");
    completions_put_quoted(out, row->argument, ":[]");
    cli_print(out, ":");
    if (options_choice(row, 0)) {
        cli_print(out, row->kind == OPTION_LIST ? "_values -s , value " : "(");
        completions_put_choices(out, row);
        cli_print(out, row->kind == OPTION_LIST ? "" : ")");
    } else if (row->kind == OPTION_PATH && row->files && strcmp(row->files, "/") == 0) {
        cli_print(out, "_files -/");
    } else if (row->kind == OPTION_PATH && row->files) {
        cli_print(out, "_files -g \"%s\"", row->files);
    } else if (row->kind == OPTION_PATH) {
        cli_print(out, "_files");
    } else {
        cli_print(out, " ");
    }
}

static void put_option(struct ifg_bytes *out, const struct option_row *row)
{
    const char *equals = !row->argument ? "" : row->optional ? "=-" : "=";
    char help[1024];

    options_put_row_help(row, help, sizeof help);
    if (row->letter)
        cli_print(out, "                '(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name,
                  row->letter, row->argument ? "+" : "", row->name, equals);
    else
        cli_print(out, "                '%s--%s%s[",
                  row->kind == OPTION_CALL || row->kind == OPTION_LIST ? "*" : "", row->name,
                  equals);
    completions_put_quoted(out, help, "[]:");
    cli_print(out, "]");
    put_value(out, row);
    cli_print(out, "' \\\n");
}

static void put_operands(struct ifg_bytes *out, const struct cli_command *command)
{
    switch (command->operands) {
    case OPERANDS_TRACES:
        if (!command->operand_at) {
            cli_print(out, "                '*:trace:_files -g \"*.ifg\"'\n");
            return;
        }
        cli_print(out, "                '*: : _alternative \"traces:trace:_files -g \\*.ifg\" "
                       "\"words:word:(");
        completions_put_operands(out, command);
        cli_print(out, ")\"'\n");
        return;
    case OPERANDS_MODELS:
        cli_print(out, "                '*:model:_files -g \"*.(onnx|ort|json)\"'\n");
        return;
    case OPERANDS_FILES:
        cli_print(out, "                '*:file:_files'\n");
        return;
    case OPERANDS_WORDS:
        cli_print(out, "                '*:word:(");
        completions_put_operands(out, command);
        cli_print(out, ")'\n");
        return;
    case OPERANDS_PROGRAM:
        cli_print(out, "                '(-):program: _command_names -e' \\\n"
                       "                '*::argument: _normal'\n");
        return;
    case OPERANDS_NONE:
        break;
    }
    cli_print(out, "                \n");
}

void completions_write_zsh(struct ifg_bytes *out)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    const struct cli_command *command;

    cli_print(out, "#compdef inferogram ifg\n"
                   "# zsh completion for inferogram, written by 'inferogram completions zsh'\n"
                   "\n"
                   "_inferogram() {\n"
                   "    local curcontext=$curcontext\n"
                   "    local -a known=(\n");
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        cli_print(out, "        '%s:", command->name);
        completions_put_quoted(out, command->summary, "");
        cli_print(out, "'\n");
    }
    cli_print(out, "    )\n"
                   "\n"
                   "    if ((CURRENT == 2)); then\n"
                   "        _describe -t commands command known\n"
                   "        _arguments '(- *)'{-h,--help}'[print the help]' \\\n"
                   "            '(- *)'{-V,--version}'[print the version]'\n"
                   "        return\n"
                   "    fi\n"
                   "    shift words\n"
                   "    ((CURRENT--))\n"
                   "    curcontext=${curcontext%%:*:*}:inferogram-$words[1]:\n"
                   "    case $words[1] in\n"
                   "        help)\n"
                   "            _describe -t commands command known\n"
                   "            ;;\n");
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        size_t count = options_collect(command, rows);

        cli_print(out, "        %s)\n            _arguments -s -S \\\n", command->name);
        for (size_t k = 0; k < count; k++)
            if (rows[k]->name)
                put_option(out, rows[k]);
        put_operands(out, command);
        cli_print(out, "            ;;\n");
    }
    cli_print(out, "    esac\n"
                   "}\n"
                   "\n"
                   "# Read by compinit from a directory of $fpath, or by eval and source.\n"
                   "if [[ $funcstack[1] == _inferogram ]]; then\n"
                   "    _inferogram \"$@\"\n"
                   "else\n"
                   "    compdef _inferogram inferogram ifg\n"
                   "fi\n");
}
