// SPDX-License-Identifier: Apache-2.0
/* Where things are kept, and whose word is not believed. */
#include "system/cache_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/tap.h"

#define SOMEBODY 61234

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/ifg-cache.XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
    setenv("HOME", folder, 1);
    unsetenv("XDG_CACHE_HOME");
}

static void tear_down(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE_INT(system(command), 0);
}

/* Which folder it is; "" if there is none. */
static const char *opened(bool make)
{
    static char path[256];
    char link[48];
    int fd = cache_folder_open("ifg-test-kept", make);
    ssize_t length;

    path[0] = '\0';
    if (fd < 0)
        return path;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    close(fd);
    return path;
}

static void it_is_made_in_the_home_directory(void)
{
    struct stat found;

    set_up();
    CHECK_STR(opened(false), "");
    CHECK_STR(opened(true), in_folder(".cache/inferogram/ifg-test-kept"));
    CHECK_STR(opened(false), in_folder(".cache/inferogram/ifg-test-kept"));
    REQUIRE_INT(stat(in_folder(".cache/inferogram/ifg-test-kept"), &found), 0);
    CHECK_UINT(found.st_mode & 0777, 0700);
    tear_down();
}

static void what_others_can_write_is_closed_to_them(void)
{
    struct stat found;

    set_up();
    CHECK(opened(true)[0] != '\0');
    REQUIRE_INT(chmod(in_folder(".cache/inferogram/ifg-test-kept"), 0777), 0);
    CHECK_STR(opened(false), in_folder(".cache/inferogram/ifg-test-kept"));
    REQUIRE_INT(stat(in_folder(".cache/inferogram/ifg-test-kept"), &found), 0);
    CHECK_UINT(found.st_mode & 0777, 0700);
    tear_down();
}

static void a_link_is_not_followed(void)
{
    set_up();
    CHECK(opened(true)[0] != '\0');
    REQUIRE_INT(rmdir(in_folder(".cache/inferogram/ifg-test-kept")), 0);
    REQUIRE_INT(symlink("/tmp", in_folder(".cache/inferogram/ifg-test-kept")), 0);
    CHECK_STR(opened(false), "");
    CHECK_STR(opened(true), "");
    tear_down();
}

/* As sudo leaves it. */
static void root_does_not_use_the_home_of_another(void)
{
    struct stat found;

    if (getuid() != 0)
        SKIP("root: only root can be mistaken for another");
    set_up();
    REQUIRE_INT(chown(folder, SOMEBODY, SOMEBODY), 0);
    CHECK(strncmp(opened(true), folder, strlen(folder)) != 0);
    CHECK_INT(stat(in_folder(".cache"), &found), -1);
    REQUIRE_INT(mkdir(in_folder(".cache"), 0755), 0);
    setenv("XDG_CACHE_HOME", in_folder(".cache"), 1);
    CHECK(strncmp(opened(true), folder, strlen(folder)) != 0);
    rmdir(opened(false)); /* in his own home */
    CHECK_INT(stat(in_folder(".cache/inferogram"), &found), -1);
    tear_down();
}

TAP_MAIN(TAP_CASE(it_is_made_in_the_home_directory),
         TAP_CASE(what_others_can_write_is_closed_to_them), TAP_CASE(a_link_is_not_followed),
         TAP_CASE(root_does_not_use_the_home_of_another))
