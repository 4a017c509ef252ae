// SPDX-License-Identifier: Apache-2.0
/*
 * Folders for the time that a command runs, for this user only. Whoever made one holds a lock on it
 * until it ends, however it ends: one that is not locked belongs to nobody any more, and the next
 * that needs one removes it.
 */
#ifndef IFG_CLI_OWN_FOLDER_H
#define IFG_CLI_OWN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct own_folder_kind {
    const char *parent; /* the folder in which they are made */
    const char *prefix; /* of their names */
    const char *file;   /* the only file in it that is removed with it */
};

/* A new one; out_lock is to be closed when it is not needed any more. False, with errno: it could
 * not be made, or its name is too long. */
bool own_folder_make(const struct own_folder_kind *kind, char *out_path, size_t size,
                     int *out_lock);

/* Removes those of this user that nobody holds, and that have nothing in them but their file. */
void own_folder_remove_stale(const struct own_folder_kind *kind);

#endif
