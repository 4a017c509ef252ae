// SPDX-License-Identifier: Apache-2.0
/* Whose a process is, while it lives and afterwards, and what is opened in its name. */
#include "collect/perf/owners.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/credentials.h"
#include "tests/lib/tap.h"

#define SOMEBODY 61235

static pid_t start(uid_t user, const char *root)
{
    struct credentials who = { .uid = user, .gid = user };
    int ready[2];
    char byte = 0;
    pid_t child;

    REQUIRE_INT(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    REQUIRE(child >= 0);
    if (!child) {
        if ((root && (chdir(root) || chroot("."))) || (user && !credentials_become(&who)) ||
            write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    REQUIRE_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static enum ifg_status try_open(const struct owners *owners, uint32_t owner, const char *path)
{
    int fd;
    enum ifg_status status = owners_open(owners, owner, path, 0, 0, &fd, NULL);

    if (fd >= 0)
        close(fd);
    return status;
}

static void an_owner_outlives_its_process(void)
{
    char folder[] = "/tmp/ifg-owners-XXXXXX";
    char path[64];
    struct owners *owners = owners_create();
    uint32_t own, owner, inside, number;
    pid_t child, other, boxed;

    if (getuid() != 0)
        SKIP("root: only root can start processes of other users");
    REQUIRE(owners && mkdtemp(folder) && chmod(folder, 0755) == 0);
    snprintf(path, sizeof path, "%s/only-inside", folder);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    child = start(SOMEBODY, NULL);
    other = start(SOMEBODY, NULL);
    boxed = start(SOMEBODY, folder);
    own = owners_of(owners, (uint32_t)getpid());
    owner = owners_of(owners, (uint32_t)child);
    inside = owners_of(owners, (uint32_t)boxed);
    CHECK(owners_is_own(owners, own));
    CHECK(!owners_is_own(owners, owner));
    CHECK_UINT(owners_user(owners, owner), SOMEBODY);
    CHECK_UINT(owners_of(owners, (uint32_t)other), owner);
    CHECK(inside != owner);
    end(child);
    end(other);
    end(boxed);
    CHECK(!owners_now(owners, (uint32_t)child, &number));
    CHECK_UINT(owners_of(owners, (uint32_t)child), owner);
    owners_forked(owners, (uint32_t)child, 4000000000u);
    CHECK_UINT(owners_of(owners, 4000000000u), owner);
    CHECK_UINT(owners_of(owners, 4000000001u), OWNERS_NOBODY);
    owners_keep(owners, 4000000002u, own);
    CHECK_UINT(owners_of(owners, 4000000002u), OWNERS_NOBODY);
    CHECK_INT(try_open(owners, owner, "/etc/shadow"), IFG_PERMISSION);
    CHECK_INT(try_open(owners, OWNERS_NOBODY, "/etc/shadow"), IFG_PERMISSION);
    CHECK_INT(try_open(owners, own, "/etc/shadow"), IFG_OK);
    CHECK_INT(try_open(owners, owner, "/only-inside"), IFG_NOT_FOUND);
    CHECK_INT(try_open(owners, inside, "/only-inside"), IFG_OK);
    unlink(path);
    rmdir(folder);
    owners_destroy(owners);
}

/* What a child of an owner can open when libdw opens it. */
static int as_child(const struct owners *owners, uint32_t owner, const char *path)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int fd = owners_become(owners, owner) ? open(path, O_RDONLY | O_CLOEXEC) : -2;

        _exit(fd >= 0 ? 0 : -fd);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_child_has_its_owners_rights(void)
{
    struct owners *owners = owners_create();
    uint32_t own, owner;
    pid_t child;

    if (getuid() != 0)
        SKIP("root: only root can start processes of other users");
    REQUIRE(owners != NULL);
    child = start(SOMEBODY, NULL);
    own = owners_of(owners, (uint32_t)getpid());
    owner = owners_of(owners, (uint32_t)child);
    CHECK_INT(as_child(owners, owner, "/etc/passwd"), 0);
    CHECK_INT(as_child(owners, owner, "/etc/shadow"), 1);
    CHECK_INT(as_child(owners, OWNERS_NOBODY, "/etc/shadow"), 1);
    CHECK_INT(as_child(owners, own, "/etc/shadow"), 0);
    end(child);
    owners_destroy(owners);
}

/* However many users there are, descriptors are bounded; the rest is nobody's. */
static void many_users(void)
{
    struct owners *owners = owners_create();

    if (getuid() != 0)
        SKIP("root: only root can start processes of other users");
    REQUIRE(owners != NULL);
    for (uid_t i = 0; i < OWNERS_MAX + 8; i++) {
        pid_t child = start(SOMEBODY + i, NULL);
        uint32_t owner = owners_of(owners, (uint32_t)child);

        CHECK(owner == OWNERS_NOBODY ? i + 2 > OWNERS_MAX - 1
                                     : owners_user(owners, owner) == SOMEBODY + i);
        end(child);
    }
    CHECK_UINT(owners_count(owners), OWNERS_MAX);
    owners_destroy(owners);
}

TAP_MAIN(TAP_CASE(an_owner_outlives_its_process), TAP_CASE(a_child_has_its_owners_rights),
         TAP_CASE(many_users))
