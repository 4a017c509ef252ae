// SPDX-License-Identifier: Apache-2.0
/* The parts of reading /proc that are tested and fuzzed by themselves. */
#ifndef IFG_RECORD_PROCESS_INTERNAL_H
#define IFG_RECORD_PROCESS_INTERNAL_H

#include "record/process.h"

/* The text of /proc/PID/stat: "pid (comm) state ppid ..."; comm may contain anything, also ") ".
 * Sets name, parent and start_time; false if it is no such text. */
bool process_parse_stat(const char *text, struct process_info *info);

#endif
