// SPDX-License-Identifier: Apache-2.0
/* What `record` and `live` share: the same options, the same recording, another picture of it. */
#ifndef IFG_CLI_RECORD_H
#define IFG_CLI_RECORD_H

#include <stdbool.h>

struct record_command {
    const char *name;
    const char *help;
    bool gauge; /* shows a gauge; without -o the trace is temporary */
};

int record_command_run(int argc, char **argv, const struct record_command *command);

#endif
