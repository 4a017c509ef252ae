// SPDX-License-Identifier: Apache-2.0
/*
 * The user's browser.
 *
 * The address of the page holds a secret, and everybody on the machine can read the arguments of
 * every process. So the browser is given the name of a file that only this user can read, and the
 * file leads on to the address: docs/decisions/022-the-browser-is-given-a-file.md.
 */
#ifndef IFG_CLI_BROWSER_H
#define IFG_CLI_BROWSER_H

#include <stdbool.h>

struct browser_visit;

/* Opens an address; prints a sentence if it cannot, and returns NULL then. The browser's own
 * business from then on; what it prints is not ours to show. Its end is for the caller to collect,
 * or to ignore. The file is removed as soon as has_arrived(context), or after a minute. */
struct browser_visit *browser_open(const char *url, bool (*has_arrived)(const void *context),
                                   const void *context);

/* Removes the file if it is still there. Before the context of has_arrived goes. Accepts NULL. */
void browser_close(struct browser_visit *visit);

#endif
