// SPDX-License-Identifier: Apache-2.0
/*
 * What a recorder does with capabilities that its user does not have (file capabilities, set-uid).
 *
 * They lie idle. From rights_begin on, this program is an ordinary process of its real user for
 * everything that the kernel asks: opening files, /proc of other processes, ptrace. Only between
 * rights_raise and rights_lower do capabilities count, which is around single system calls that
 * open a probe or an event of a process that trace_rule.h permits.
 */
#ifndef IFG_SYSTEM_RIGHTS_H
#define IFG_SYSTEM_RIGHTS_H

#include <stdbool.h>

/*
 * First thing in main, while there is one thread. Of a set-uid program only the real user is left.
 * Capabilities that nothing here needs go for good, unless they are ambient: those are the user's
 * own, and a program that he starts through us gets them as it would without us.
 * Does nothing for root. False: they could not be given up, and the program should end.
 */
bool rights_begin(void);

/* Whether there is something to raise. */
bool rights_are_spare(void);

/* For the calling thread; errno stays. Not nested. Nothing happens where nothing is spare. */
void rights_raise(void);
void rights_lower(void);

#endif
