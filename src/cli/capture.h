// SPDX-License-Identifier: Apache-2.0
/* What `capture` of one process and of all share. */
#ifndef IFG_CLI_CAPTURE_H
#define IFG_CLI_CAPTURE_H

#include <stdbool.h>

#include "cli/record.h"

#define CAPTURE_RECONNECT_S 30

struct capture_request {
    struct record_request record; /* first: some options are those of `record` */
    const char *directory;        /* of --all */
    bool all;
    double reconnect_s;
    bool line_shown;
};

/* One process, as the request says; the exit status. */
int capture_one(struct capture_request *request);

/* Every process that can be recorded, also those that come later, each into a file of its own in
 * the directory, until a signal or the time is over. The exit status. */
int capture_all(const struct capture_request *request);

#endif
