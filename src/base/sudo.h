// SPDX-License-Identifier: Apache-2.0
/* Advice names sudo; somebody who is root has no use for that. */
#ifndef IFG_BASE_SUDO_H
#define IFG_BASE_SUDO_H

/* Takes "; use sudo" and its like out of a sentence, and the word before a command. In place;
 * returns the text. */
char *ifg_without_sudo(char *text);

/* The same if this process is root's. */
char *ifg_fit_sudo(char *text);

#endif
