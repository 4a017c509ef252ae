// SPDX-License-Identifier: Apache-2.0
/* A comparison for people, for scripts and for spreadsheets. */
#ifndef IFG_CLI_COMPARE_OUTPUT_H
#define IFG_CLI_COMPARE_OUTPUT_H

#include "base/bytes.h"
#include "bench/compare/compare.h"

struct compare_output {
    bool explain; /* the formula and the numbers behind each verdict */
    bool ops;     /* operators were asked for */
    bool quiet;   /* the verdicts only */
    int code;     /* the exit status */
    const char *command_line;
    const char *tool_version;
};

void compare_write_text(const struct compare *compare, const struct compare_output *output,
                        struct ifg_bytes *out);
void compare_write_json(const struct compare *compare, const struct compare_output *output,
                        struct ifg_bytes *out);
/* Verdicts and the table for a page or a comment on a change. */
void compare_write_markdown(const struct compare *compare, struct ifg_bytes *out);
void compare_write_csv(const struct compare *compare, struct ifg_bytes *out);

#endif
