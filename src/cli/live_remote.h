// SPDX-License-Identifier: Apache-2.0
/* The picture of a recording that an agent makes: what comes is written to a file here, and that is
 * followed as any other. */
#ifndef IFG_CLI_LIVE_REMOTE_H
#define IFG_CLI_LIVE_REMOTE_H

#include "cli/options.h"
#include "cli/record.h"

/* request->view says which picture, request->remote whose agent. The exit status: as of `capture`.
 */
int live_remote(const struct cli_command *command, struct record_request *request);

#endif
