// SPDX-License-Identifier: Apache-2.0
/* What a terminal gets and a pipe does not: colours, and a pager for what is longer than the
 * screen. Decided here, by --color and --no-pager first, then by the environment. */
#ifndef IFG_CLI_TERMINAL_H
#define IFG_CLI_TERMINAL_H

#include <stdbool.h>

#include "base/bytes.h"

enum terminal_color { TERMINAL_AUTO, TERMINAL_ALWAYS, TERMINAL_NEVER };

void terminal_set_color(enum terminal_color color);
void terminal_set_pager(bool on);

/* Whether what goes to fd is coloured: NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then whether
 * fd is a terminal that knows colours. */
bool terminal_has_color(int fd);

/* Shows bytes in a pager if stdout is a terminal with fewer lines than they have; `more`: others
 * follow. False: nothing was shown, write them. Once the user has left the pager, the rest is
 * dropped. */
bool terminal_page(const struct ifg_bytes *bytes, bool more);

/* Waits until the user has left the pager, if there is one. */
void terminal_end_pager(void);

#endif
