// SPDX-License-Identifier: Apache-2.0
/* What `record` and `live` share: the same options, the same recording, another picture of it. */
#ifndef IFG_CLI_RECORD_H
#define IFG_CLI_RECORD_H

#include <getopt.h>
#include <stdbool.h>

struct live_view;

struct record_command {
    const char *name;
    const char *help;
    const struct option
        *options; /* its own, ended by an empty one; their values are RECORD_OPTION_OWN and more */
    /* False: it is none of them. */
    bool (*take_option)(int option, const char *value, struct live_view *view);
    bool gauge; /* shows a gauge; without -o the trace is temporary */
};

#define RECORD_OPTION_OWN 2000

int record_command_run(int argc, char **argv, const struct record_command *command);

#endif
