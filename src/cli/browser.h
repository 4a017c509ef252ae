// SPDX-License-Identifier: Apache-2.0
/* The user's browser. */
#ifndef IFG_CLI_BROWSER_H
#define IFG_CLI_BROWSER_H

/* Opens an address; says so if it cannot. The browser's own business from then on; what it says is
 * not ours to show. Its end is for the caller to collect, or to ignore. */
void browser_open(const char *url);

#endif
