// SPDX-License-Identifier: Apache-2.0
/* What `record` and `live` share: the same options, the same recording, another picture of it. */
#ifndef IFG_CLI_RECORD_H
#define IFG_CLI_RECORD_H

#include "cli/live_view.h"
#include "cli/options.h"
#include "cli/probes.h"
#include "record/redact.h"
#include "record/session.h"

#define RECORD_RESOURCES_HZ 1.0
#define RECORD_OVERHEAD_PCT 1.0

struct record_request {
    struct session_options session;
    const char *name;
    const char *path;
    struct probe_file *probes[CLI_PROBES_MAX];
    struct live_view view;
    struct redaction redaction;
    bool quiet;
};

/* What goes into a struct record_request. */
extern const struct option_row record_rows[];

/* What does not go together: CLI_YES, or CLI_USAGE after a message. */
int record_check(const struct cli_command *command, struct record_request *request);

/* Turns --name or --path into a pid. */
enum ifg_status record_find_process(struct record_request *request,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* gauge: shows one; without -o the trace is temporary. The exit status. */
int record_run(const struct cli_command *command, bool gauge, int argc, char **argv);

#endif
