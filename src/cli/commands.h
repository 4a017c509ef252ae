// SPDX-License-Identifier: Apache-2.0
/* The table of commands: each is described, with its options, in its own cmd_<name>.c. */
#ifndef IFG_CLI_COMMANDS_H
#define IFG_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct cli_command agent_command;
extern const struct cli_command annotate_command;
extern const struct cli_command bench_command;
extern const struct cli_command capture_command;
extern const struct cli_command cat_command;
extern const struct cli_command compare_command;
extern const struct cli_command completions_command;
extern const struct cli_command ctl_command;
extern const struct cli_command diff_command;
extern const struct cli_command doctor_command;
extern const struct cli_command explain_command;
extern const struct cli_command export_command;
extern const struct cli_command gate_command;
extern const struct cli_command import_command;
extern const struct cli_command merge_command;
extern const struct cli_command info_command;
extern const struct cli_command inspect_command;
extern const struct cli_command live_command;
extern const struct cli_command ls_command;
extern const struct cli_command query_command;
extern const struct cli_command record_command;
extern const struct cli_command report_command;
extern const struct cli_command serve_command;
extern const struct cli_command stats_command;
extern const struct cli_command summary_command;

/* In the order of `inferogram --help`; NULL at the end. */
const struct cli_command *cli_command_at(size_t index);

#endif
