// SPDX-License-Identifier: Apache-2.0
/*
 * Sentences of collectors that name a command between backticks: "perf_event_paranoid is 2; `sudo
 * sysctl kernel.perf_event_paranoid=1`". Shown apart, so that the command can be copied.
 */
#ifndef IFG_CLI_ADVICE_H
#define IFG_CLI_ADVICE_H

#include <stddef.h>

#include "base/bytes.h"

#define ADVICE_SENTENCE 512
#define ADVICE_COMMAND  768

struct advice {
    char sentence[ADVICE_SENTENCE]; /* what is wrong; all of it where there is no command */
    char command[ADVICE_COMMAND];   /* "" if there is none */
};

void advice_split(const char *text, struct advice *out_advice);

/* A command for a shell, in lines of so many columns that can be pasted as they are. */
void advice_put_command(struct ifg_bytes *out, const char *command, size_t indent, size_t columns);

#endif
