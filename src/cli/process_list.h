// SPDX-License-Identifier: Apache-2.0
/* The processes of this machine that can be recorded, and how: for `ls`, and for the agent, which
 * lists them to others. */
#ifndef IFG_CLI_PROCESS_LIST_H
#define IFG_CLI_PROCESS_LIST_H

#include "remote/protocol.h"

typedef void process_list_visit(const struct remote_process *process, void *user);

void process_list_each(process_list_visit *visit, void *user, struct remote_listed *out_listed);

/* `record --pid` would record it now. */
bool process_list_is_ready(const struct remote_process *process);

#endif
