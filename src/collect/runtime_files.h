// SPDX-License-Identifier: Apache-2.0
/*
 * Which files have a runtime inside that can be watched from outside (the table in runtimes/): by
 * their names, or by what they export. And which were looked into in vain.
 */
#ifndef IFG_COLLECT_RUNTIME_FILES_H
#define IFG_COLLECT_RUNTIME_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtimes/runtimes.h"

#define KNOWN_FILES_MAX 4096

/* A file by its numbers; names may lie. */
struct file_key {
    uint64_t device;
    uint64_t inode;
};

bool runtime_files_key_is_in(struct file_key key, const struct file_key *keys, size_t count);

/* Files that are no runtime. */
struct known_files {
    struct file_key files[KNOWN_FILES_MAX];
    size_t count;
};

/* Both accept NULL: then nothing is known. */
bool runtime_files_have(const struct known_files *known, struct file_key key);
void runtime_files_add(struct known_files *known, struct file_key key);

/* Whether it is this runtime, or with NULL any of those that have a door. */
bool runtime_file_is_named(const char *path, const struct runtime *runtime);
bool runtime_file_exports(const char *file, const struct runtime *runtime);

#endif
