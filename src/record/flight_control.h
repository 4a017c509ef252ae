// SPDX-License-Identifier: Apache-2.0
/*
 * Asking a flight recorder for a file (ctl PID snapshot): a socket in the recorder's own directory,
 * which nobody but its user can open.
 *
 *     snapshot PID\n      from whoever asks; PID is a process that is recorded, or the recorder
 *     file PATH\n         the answer, when the file is whole
 *     failed WHY\n        it could not be written
 *     other\n             the process is none of this recorder's
 */
#ifndef IFG_RECORD_FLIGHT_CONTROL_H
#define IFG_RECORD_FLIGHT_CONTROL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

#define FLIGHT_CALLERS_MAX 8u
#define FLIGHT_LINE        64u

enum flight_caller_state { FLIGHT_NOBODY, FLIGHT_TALKS, FLIGHT_WAITS, FLIGHT_IS_SERVED };

struct flight_caller {
    enum flight_caller_state state;
    int fd;
    char line[FLIGHT_LINE];
    size_t length;
};

struct flight_control {
    int fd; /* -1: nobody can ask */
    struct flight_caller callers[FLIGHT_CALLERS_MAX];
};

void flight_control_open(struct flight_control *control, const char *directory);
void flight_control_close(struct flight_control *control);

/* Takes what was asked since the last time. is_ours says whether a process belongs to the
 * recording. True: somebody wants a file now. */
bool flight_control_work(struct flight_control *control, bool (*is_ours)(void *user, pid_t pid),
                         void *user);

/* A file is begun: those who wait are answered when it is there, those who ask later with the next.
 */
void flight_control_serve(struct flight_control *control);

/* why NULL: the file is there. */
void flight_control_answer(struct flight_control *control, const char *path, const char *why);

/* ---- the other side ---- */

/* Asks the flight recorder that watches the process. IFG_NOT_FOUND: none does. IFG_IO: it could not
 * write. Waits as long as it takes. */
enum ifg_status flight_ask(pid_t pid, char out_path[PATH_MAX],
                           struct ifg_error *err) IFG_MUST_CHECK;

#endif
