// SPDX-License-Identifier: Apache-2.0
/* A folder with files that look like /proc and /sys, removed when the test ends. */
#ifndef IFG_TESTS_FAKE_TREE_H
#define IFG_TESTS_FAKE_TREE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/host.h"
#include "tap.h"

static char tree_root[64], tree_proc[80], tree_sys[80];
static const struct host_roots roots = { tree_proc, tree_sys };

static inline void remove_tree(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", tree_root);
    if (system(command) != 0)
        tap_diag("could not remove %s", tree_root);
}

static inline void plant(void)
{
    snprintf(tree_root, sizeof tree_root, "/tmp/inferogram-tree-XXXXXX");
    REQUIRE(mkdtemp(tree_root) != NULL);
    snprintf(tree_proc, sizeof tree_proc, "%s/proc", tree_root);
    snprintf(tree_sys, sizeof tree_sys, "%s/sys", tree_root);
    atexit(remove_tree);
}

/* "proc/stat", "sys/class/...", with the folders above it. */
static inline void put(const char *path, const char *text)
{
    char whole[256];
    int fd;

    snprintf(whole, sizeof whole, "%s/%s", tree_root, path);
    for (char *slash = strchr(whole + strlen(tree_root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_INT(write(fd, text, strlen(text)), (int64_t)strlen(text));
    close(fd);
}

#endif
