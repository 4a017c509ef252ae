// SPDX-License-Identifier: Apache-2.0
/* What `record` and `live` share: the same options, the same recording, another picture of it. */
#ifndef IFG_CLI_RECORD_H
#define IFG_CLI_RECORD_H

#include "cli/live_view.h"
#include "cli/options.h"
#include "cli/probes.h"
#include "cli/remote_options.h"
#include "record/dump_watch.h"
#include "record/redact.h"
#include "record/session.h"

#define RECORD_RESOURCES_HZ 1.0
#define RECORD_OVERHEAD_PCT 1.0

struct record_request {
    struct session_options session;
    struct remote_options remote; /* of another machine; without a host: of this one */
    double reconnect_s;           /* when the connection to it is lost: try again for so long */
    pid_t others[SESSION_OTHERS_MAX];
    const char *name;
    const char *path;
    struct probe_file *probes[CLI_PROBES_MAX];
    struct live_view view;
    struct redaction redaction;
    struct dump_rule rules[DUMP_RULES_MAX];
    bool has_dump_option; /* one that is for flight recorders */
    bool quiet;
    bool json;
};

/* What goes into a struct record_request. */
extern const struct option_row record_rows[];
extern const struct option_row record_content_rows[]; /* those that `capture` has, too */

/* What does not go together: CLI_YES, or CLI_USAGE after a message. */
int record_check(const struct cli_command *command, struct record_request *request);

/* record_flight.c: those of `record` alone. */
extern const struct option_row record_flight_rows[];
void record_flight_defaults(struct session_flight *flight);
int record_flight_check(const struct cli_command *command, const struct record_request *request);
void record_flight_show_start(const struct session_flight *flight, const char *path, pid_t pid);
void record_flight_show_dump(const struct session_dump *dump);
void record_flight_show_end(const struct session_flight *flight,
                            const struct session_result *result);

/* Turns --name or --path into a pid. */
enum ifg_status record_find_process(struct record_request *request,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* record_json.c: a line of JSON on stdout. kept: the file is there to stay. */
int record_print_progress(const struct session_progress *progress);
int record_print_result(const struct session_result *result, bool kept);

/* gauge: shows one; without -o the trace is temporary. The exit status. */
int record_run(const struct cli_command *command, bool gauge, int argc, char **argv);

#endif
