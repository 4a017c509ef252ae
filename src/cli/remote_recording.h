// SPDX-License-Identifier: Apache-2.0
/* What `capture`, `live -a` and `serve --live -a` share: the options of a recording, asked of an
 * agent. */
#ifndef IFG_CLI_REMOTE_RECORDING_H
#define IFG_CLI_REMOTE_RECORDING_H

#include "cli/options.h"
#include "cli/record.h"
#include "remote/capture.h"

/* What an agent does with options that were not given. */
void remote_recording_defaults(struct record_request *request);

/* The options as a request. CLI_YES, or CLI_USAGE after a message: one of them is not for a process
 * of another machine. */
int remote_recording_ask(const struct cli_command *command, const struct record_request *request,
                         struct remote_request *out);

/* How it went, when it has ended by itself or was stopped. */
void remote_recording_show_end(const struct capture_result *result);

#endif
