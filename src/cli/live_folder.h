// SPDX-License-Identifier: Apache-2.0
/* Folders of temporary traces: own_folder.h tells how they are kept apart and removed. */
#ifndef IFG_CLI_LIVE_FOLDER_H
#define IFG_CLI_LIVE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define LIVE_FOLDER_TRACE "live.ifg" /* the only file in it that is removed with it */
#define LIVE_FOLDER_KEPT  "kept.ifg" /* what has this name stays */

/* Where they are made. */
const char *live_folder_parent(void);

/* A new one; out_lock is to be closed when it is not needed any more. False, with errno: it could
 * not be made, or its name is too long. */
bool live_folder_make(char *out_path, size_t size, int *out_lock);

/* Removes those of this user that nobody holds, and that have nothing in them but a trace. */
void live_folder_remove_stale(void);

#endif
