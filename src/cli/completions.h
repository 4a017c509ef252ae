// SPDX-License-Identifier: Apache-2.0
/* Shell completions, made from the tables of all commands. */
#ifndef IFG_CLI_COMPLETIONS_H
#define IFG_CLI_COMPLETIONS_H

#include "cli/options.h"

/* completions_bash.c, completions_fish.c, completions_zsh.c: the whole script. */
void completions_write_bash(struct ifg_bytes *out);
void completions_write_fish(struct ifg_bytes *out);
void completions_write_zsh(struct ifg_bytes *out);

/* completions.c: text between single quotes of a shell; characters of `escaped` get a backslash. */
void completions_put_quoted(struct ifg_bytes *out, const char *text, const char *escaped);

/* The choices of a row with blanks between them. */
void completions_put_choices(struct ifg_bytes *out, const struct option_row *row);

/* The words a command takes, likewise. */
void completions_put_operands(struct ifg_bytes *out, const struct cli_command *command);

#endif
