// SPDX-License-Identifier: Apache-2.0
/* The commit that this program was built from. */
#ifndef IFG_CLI_COMMIT_H
#define IFG_CLI_COMMIT_H

/* The first 12 digits, "+" behind them where files had been changed; empty: not known. */
extern const char cli_commit[];

#endif
