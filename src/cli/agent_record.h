// SPDX-License-Identifier: Apache-2.0
/* What an agent's children do: list processes, and record one into a connection. */
#ifndef IFG_CLI_AGENT_RECORD_H
#define IFG_CLI_AGENT_RECORD_H

#include "remote/link.h"
#include "remote/protocol.h"

struct agent_options;
struct metrics_watch;

/* What they need besides a request. */
struct agent_user {
    const struct agent_options *agent;
    struct metrics_watch *watch; /* NULL: no program is watched */
};

/* As struct agent_options wants them; user is a struct agent_user. */
void agent_list(struct remote_link *link, void *user);
void agent_record(const struct remote_request *request, struct remote_link *link, void *user);

#endif
