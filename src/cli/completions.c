// SPDX-License-Identifier: Apache-2.0
/* What the completions of all shells share: see completions.h. */
#include "cli/completions.h"

#include <string.h>

void completions_put_quoted(struct ifg_bytes *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            cli_print(out, "'\\''");
        else
            cli_print(out, "%s%c", strchr(escaped, *text) ? "\\" : "", *text);
    }
}

void completions_put_choices(struct ifg_bytes *out, const struct option_row *row)
{
    for (size_t i = 0; options_choice(row, i); i++)
        cli_print(out, "%s%s", i ? " " : "", options_choice(row, i));
}

void completions_put_operands(struct ifg_bytes *out, const struct cli_command *command)
{
    for (size_t i = 0; command->operand_at && command->operand_at(i); i++)
        cli_print(out, "%s%s", i ? " " : "", command->operand_at(i));
}
