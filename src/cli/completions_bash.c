// SPDX-License-Identifier: Apache-2.0
/* The completions of bash: a function for each command, and a few helpers that need nothing but
 * bash itself. */
#include <string.h>

#include "cli/commands.h"
#include "cli/completions.h"

/* "=" is a word of its own for readline: `prev` gets it back, so that --ops and --ops= differ. */
static const char helpers[] =
    "# bash completion for inferogram, written by 'inferogram completions bash'\n"
    "\n"
    "_inferogram_words() {\n"
    "    local IFS=$' \\t\\n'\n"
    "    COMPREPLY+=($(compgen -W \"$1\" -- \"$cur\"))\n"
    "}\n"
    "\n"
    "_inferogram_list() {\n"
    "    local before=\n"
    "    [[ $cur == *,* ]] && before=${cur%,*},\n"
    "    local IFS=$' \\t\\n'\n"
    "    COMPREPLY+=($(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\"))\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "_inferogram_files() {\n"
    "    local pattern IFS=$'\\n'\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    COMPREPLY+=($(compgen -d -- \"$cur\"))\n"
    "    for pattern in \"$@\"; do\n"
    "        COMPREPLY+=($(compgen -f -X \"!$pattern\" -- \"$cur\"))\n"
    "    done\n"
    "}\n"
    "\n"
    "_inferogram_program() {\n"
    "    local i\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -- ]] && break\n"
    "    done\n"
    "    if ((i < COMP_CWORD)) && declare -F _command_offset >/dev/null; then\n"
    "        _command_offset $((i + 1))\n"
    "    elif ((i + 1 < COMP_CWORD)); then\n"
    "        _inferogram_files '*'\n"
    "    else\n"
    "        COMPREPLY+=($(compgen -c -- \"$cur\"))\n"
    "        _inferogram_files '*'\n"
    "    fi\n"
    "}\n";

static bool takes_files(const struct option_row *row)
{
    return row->kind == OPTION_PATH;
}

/* "--output|--output=|-o": what stands before the value. */
static void put_pattern(struct ifg_bytes *out, const struct option_row *row)
{
    if (row->optional) {
        cli_print(out, "        --%s=", row->name);
        return;
    }
    cli_print(out, "        --%s | --%s=", row->name, row->name);
    if (row->letter)
        cli_print(out, " | -%c", row->letter);
}

static void put_values(struct ifg_bytes *out, const struct cli_command *command)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);

    for (size_t i = 0; i < count; i++) {
        const struct option_row *row = rows[i];

        if (!row->argument)
            continue;
        put_pattern(out, row);
        if (options_choice(row, 0)) {
            cli_print(out, ") _inferogram_%s '", row->kind == OPTION_LIST ? "list" : "words");
            completions_put_choices(out, row);
            cli_print(out, "' ;;\n");
        } else if (takes_files(row) && row->files && strcmp(row->files, "/") == 0) {
            cli_print(out, ") _inferogram_files ;;\n");
        } else if (takes_files(row)) {
            cli_print(out, ") _inferogram_files '%s' ;;\n", row->files ? row->files : "*");
        } else {
            cli_print(out, ") ;;\n");
        }
    }
}

static void put_operands(struct ifg_bytes *out, const struct cli_command *command)
{
    static const char *const files[] = {
        [OPERANDS_NONE] = ":",
        [OPERANDS_TRACES] = "_inferogram_files '*.ifg'",
        [OPERANDS_MODELS] = "_inferogram_files '*.onnx' '*.ort' '*.json'",
        [OPERANDS_FILES] = "_inferogram_files '*'",
        [OPERANDS_WORDS] = ":",
        [OPERANDS_PROGRAM] = "_inferogram_program",
    };

    cli_print(out, "                *)\n                    %s\n", files[command->operands]);
    if (command->operand_at) {
        cli_print(out, "                    _inferogram_words '");
        completions_put_operands(out, command);
        cli_print(out, "'\n");
    }
    cli_print(out, "                    ;;\n");
}

static void put_command(struct ifg_bytes *out, const struct cli_command *command)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);

    cli_print(out, "\n_inferogram_%s() {\n", command->name);
    if (command->operands == OPERANDS_PROGRAM)
        cli_print(out, "    [[ \" ${COMP_WORDS[*]:2:COMP_CWORD-2} \" == *' -- '* ]] && {\n"
                       "        _inferogram_program\n"
                       "        return\n"
                       "    }\n");
    cli_print(out, "    case $prev in\n");
    put_values(out, command);
    cli_print(out, "        *)\n            case $cur in\n                -*) _inferogram_words '");
    for (size_t i = 0; i < count; i++)
        if (rows[i]->name)
            cli_print(out, "%s--%s", i ? " " : "", rows[i]->name);
    cli_print(out, "' ;;\n");
    put_operands(out, command);
    cli_print(out, "            esac\n            ;;\n    esac\n}\n");
}

void completions_write_bash(struct ifg_bytes *out)
{
    const struct cli_command *command;

    cli_print(out, "%s", helpers);
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        put_command(out, command);
    cli_print(out, "\n_inferogram() {\n"
                   "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "    COMPREPLY=()\n"
                   "    if [[ $cur == = ]]; then\n"
                   "        prev+== cur=\n"
                   "    elif [[ $prev == = ]]; then\n"
                   "        prev=${COMP_WORDS[COMP_CWORD - 2]}=\n"
                   "    fi\n"
                   "    if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then\n"
                   "        _inferogram_words '");
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        cli_print(out, "%s ", command->name);
    cli_print(out, "help --help --version'\n"
                   "    elif declare -F \"_inferogram_${COMP_WORDS[1]}\" >/dev/null; then\n"
                   "        \"_inferogram_${COMP_WORDS[1]}\"\n"
                   "    fi\n"
                   "}\n"
                   "\n"
                   "complete -F _inferogram inferogram ifg\n");
}
