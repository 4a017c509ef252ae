// SPDX-License-Identifier: Apache-2.0
/* Files that a watched program named are opened with its rights, in its root, and nothing else. */
#include "system/open_as.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/credentials.h"
#include "tests/lib/tap.h"

#define SOMEBODY 61234

static char folder[64];
static struct credentials somebody;

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, mode_t mode, uid_t owner)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0);
    REQUIRE_INT(write(fd, "text\n", 5), 5);
    REQUIRE_INT(fchmod(fd, mode), 0);
    REQUIRE_INT(fchown(fd, owner, owner), 0);
    close(fd);
}

static void set_up(void)
{
    if (getuid() != 0)
        SKIP("root: only root can have more rights than the user of a file");
    snprintf(folder, sizeof folder, "/tmp/ifg-open-as-XXXXXX");
    REQUIRE(mkdtemp(folder));
    REQUIRE_INT(chmod(folder, 0755), 0);
    memset(&somebody, 0, sizeof somebody);
    somebody.uid = somebody.gid = SOMEBODY;
}

static void tear_down(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
}

static enum ifg_status try_open(const char *path, struct ifg_error *err)
{
    int fd;
    enum ifg_status status = open_as_user(&somebody, -1, path, 0, &fd, err);

    if (fd >= 0)
        close(fd);
    CHECK((fd >= 0) == (status == IFG_OK));
    return status;
}

static void rights_are_those_of_the_user(void)
{
    set_up();
    put("own", 0600, SOMEBODY);
    put("everybodys", 0644, 0);
    put("roots", 0600, 0);
    put("groups", 0640, 0);
    REQUIRE_INT(chown(in_folder("groups"), 0, SOMEBODY + 7), 0);
    CHECK_INT(try_open(in_folder("own"), NULL), IFG_OK);
    CHECK_INT(try_open(in_folder("everybodys"), NULL), IFG_OK);
    CHECK_INT(try_open(in_folder("roots"), NULL), IFG_PERMISSION);
    CHECK_INT(try_open(in_folder("groups"), NULL), IFG_PERMISSION);
    somebody.groups[0] = SOMEBODY + 7;
    somebody.group_count = 1;
    CHECK_INT(try_open(in_folder("groups"), NULL), IFG_OK);
    CHECK_INT(try_open("/etc/shadow", NULL), IFG_PERMISSION);
    CHECK_INT(try_open(in_folder("missing"), NULL), IFG_NOT_FOUND);
    /* The recorder itself is what it was. */
    CHECK_UINT(geteuid(), 0);
    CHECK_INT(access("/etc/shadow", R_OK), 0);
    tear_down();
}

static void only_regular_files_that_are_not_too_large(void)
{
    struct ifg_error err = { .message = "" };
    int fd;

    set_up();
    put("large", 0644, 0);
    REQUIRE_INT(mkfifo(in_folder("pipe"), 0666), 0);
    REQUIRE_INT(chmod(in_folder("pipe"), 0666), 0);
    CHECK_INT(try_open(in_folder("pipe"), &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is not a regular file");
    CHECK_INT(try_open(folder, NULL), IFG_INVALID);
    CHECK_INT(try_open("/dev/null", NULL), IFG_INVALID);
    CHECK_INT(try_open("etc/passwd", NULL), IFG_INVALID);
    CHECK_INT(open_as_user(&somebody, -1, in_folder("large"), 4, &fd, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "too large");
    tear_down();
}

static void links_lead_nowhere_else(void)
{
    set_up();
    put("roots", 0600, 0);
    REQUIRE_INT(symlink("/etc/shadow", in_folder("to-shadow")), 0);
    REQUIRE_INT(symlink("/proc/self/fd/0", in_folder("to-proc")), 0);
    CHECK_INT(try_open(in_folder("to-shadow"), NULL), IFG_PERMISSION);
    CHECK(try_open(in_folder("to-proc"), NULL) != IFG_OK);
    CHECK(try_open("/proc/self/root/etc/passwd", NULL) != IFG_OK);
    tear_down();
}

static void a_path_that_must_not_be_a_link(void)
{
    int fd;

    set_up();
    put("own", 0600, SOMEBODY);
    REQUIRE_INT(symlink("own", in_folder("link")), 0);
    CHECK_INT(try_open(in_folder("link"), NULL), IFG_OK);
    CHECK(open_as_user_unlinked(&somebody, -1, in_folder("link"), 0, &fd, NULL) != IFG_OK);
    CHECK_INT(fd, -1);
    CHECK_INT(open_as_user_unlinked(&somebody, -1, in_folder("own"), 0, &fd, NULL), IFG_OK);
    close(fd);
    tear_down();
}

/* What the kernel makes up below /proc is about the recorder, or was opened by its rights. */
static void files_of_the_kernel_are_none(void)
{
    set_up();
    CHECK_INT(try_open("/proc/self/maps", NULL), IFG_INVALID);
    CHECK_INT(try_open("/proc/self/cmdline", NULL), IFG_INVALID);
    CHECK(try_open("/proc/1/environ", NULL) != IFG_OK);
    CHECK_INT(try_open("/sys/kernel/mm/transparent_hugepage/enabled", NULL), IFG_INVALID);
    tear_down();
}

/* Root's rights go as far as those of the process, and a namespace of one's own gives none. */
static void capabilities_are_those_of_the_process(void)
{
    set_up();
    put("theirs", 0600, SOMEBODY + 1);
    memset(&somebody, 0, sizeof somebody);
    CHECK_INT(try_open(in_folder("theirs"), NULL), IFG_PERMISSION);
    somebody.effective = UINT64_MAX;
    CHECK_INT(try_open(in_folder("theirs"), NULL), IFG_OK);
    somebody.other_users = true;
    CHECK_INT(try_open(in_folder("theirs"), NULL), IFG_PERMISSION);
    somebody.other_users = false;
    somebody.uid = somebody.gid = SOMEBODY;
    CHECK_INT(try_open(in_folder("theirs"), NULL), IFG_PERMISSION);
    tear_down();
}

/* In a container, absolute links and ".." stay inside of it. */
static void another_root_is_not_left(void)
{
    int root_fd, fd;
    char text[8] = "";

    set_up();
    put("passwd", 0644, 0);
    REQUIRE_INT(mkdir(in_folder("etc"), 0755), 0);
    REQUIRE_INT(symlink("/passwd", in_folder("etc/passwd")), 0);
    REQUIRE_INT(symlink("../../../../../etc/hostname", in_folder("out")), 0);
    root_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    REQUIRE_INT(open_as_user(&somebody, root_fd, "/etc/passwd", 0, &fd, NULL), IFG_OK);
    CHECK_INT(read(fd, text, 4), 4);
    CHECK_STR(text, "text");
    close(fd);
    CHECK_INT(open_as_user(&somebody, root_fd, "/out", 0, &fd, NULL), IFG_NOT_FOUND);
    CHECK_INT(open_as_user(&somebody, root_fd, "/../../etc/shadow", 0, &fd, NULL), IFG_NOT_FOUND);
    close(root_fd);
    tear_down();
}

/* The user of a process comes from the process, also when it hides itself. */
static void a_process_opens_with_its_user(void)
{
    int ready[2], fd;
    char byte;
    pid_t child;

    set_up();
    put("roots", 0600, 0);
    put("own", 0600, SOMEBODY);
    REQUIRE_INT(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        if (!credentials_become(&somebody) || write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    REQUIRE_INT(read(ready[0], &byte, 1), 1);
    CHECK_INT(open_as_process(child, in_folder("own"), 0, &fd, NULL), IFG_OK);
    close(fd);
    CHECK_INT(open_as_process(child, in_folder("roots"), 0, &fd, NULL), IFG_PERMISSION);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_INT(open_as_process(child, in_folder("own"), 0, &fd, NULL), IFG_NOT_FOUND);
    tear_down();
}

static void who_could_replace_a_file(void)
{
    set_up();
    put("roots", 0644, 0);
    put("own", 0644, SOMEBODY);
    put("writable", 0664, 0);
    CHECK(open_as_is_owned(in_folder("roots"), 0));
    CHECK(open_as_is_owned(in_folder("roots"), SOMEBODY));
    CHECK(!open_as_is_owned(in_folder("own"), 0));
    CHECK(open_as_is_owned(in_folder("own"), SOMEBODY));
    CHECK(!open_as_is_owned(in_folder("own"), SOMEBODY + 1));
    CHECK(!open_as_is_owned(in_folder("writable"), 0));
    CHECK(!open_as_is_owned(in_folder("missing"), 0));
    CHECK(!open_as_is_owned("roots", 0));
    REQUIRE_INT(mkdir(in_folder("theirs"), 0755), 0);
    put("theirs/roots", 0644, 0);
    CHECK(open_as_is_owned(in_folder("theirs/roots"), 0));
    REQUIRE_INT(chown(in_folder("theirs"), SOMEBODY, SOMEBODY), 0);
    CHECK(!open_as_is_owned(in_folder("theirs/roots"), 0));
    REQUIRE_INT(symlink("roots", in_folder("link")), 0);
    CHECK(!open_as_is_owned(in_folder("link"), 0));
    CHECK(open_as_is_ours(in_folder("roots")));
    CHECK(!open_as_is_ours(in_folder("writable")));
    CHECK(!open_as_is_ours(in_folder("own")));
    tear_down();
}

TAP_MAIN(TAP_CASE(rights_are_those_of_the_user),
         TAP_CASE(only_regular_files_that_are_not_too_large), TAP_CASE(links_lead_nowhere_else),
         TAP_CASE(a_path_that_must_not_be_a_link), TAP_CASE(files_of_the_kernel_are_none),
         TAP_CASE(capabilities_are_those_of_the_process), TAP_CASE(another_root_is_not_left),
         TAP_CASE(a_process_opens_with_its_user), TAP_CASE(who_could_replace_a_file))
