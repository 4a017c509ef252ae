// SPDX-License-Identifier: Apache-2.0
/* Reading /proc: hostile names, processes that come and go, matching by name and path. */
#include "record/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "wire/wire.h"

static void we_are_described(void)
{
    struct process_info info;
    struct ifg_error err;
    char directory[512];

    REQUIRE_INT(process_describe(getpid(), &info, &err), IFG_OK);
    CHECK_INT(info.pid, getpid());
    CHECK_INT(info.parent, getppid());
    CHECK_UINT(info.uid, geteuid());
    CHECK(info.start_time > 0);
    CHECK_CONTAINS(info.program, "record_process_test");
    CHECK_STR(process_short_name(&info), "record_process_test");
    REQUIRE(getcwd(directory, sizeof directory) != NULL);
    CHECK_STR(info.directory, directory);
    CHECK(info.arguments_bytes > 0);
    CHECK(process_exists(getpid()));
}

static void a_child_with_an_evil_name_is_described(void)
{
    struct process_info info;
    struct ifg_error err;
    int go[2];
    char byte = 0;
    pid_t child;

    REQUIRE(pipe(go) == 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_NAME, ") R 1 (x", 0, 0, 0);
        if (write(go[1], "g", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    REQUIRE(child > 0);
    REQUIRE(read(go[0], &byte, 1) == 1);
    REQUIRE_INT(process_describe(child, &info, &err), IFG_OK);
    CHECK_STR(info.name, ") R 1 (x");
    CHECK_INT(info.parent, getpid());
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_INT(process_describe(child, &info, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "there is no process");
    CHECK(!process_exists(child));
}

static void descendants_are_found(void)
{
    pid_t pids[64];
    int ready[2];
    char byte = 0;
    pid_t child;
    size_t count;
    bool found = false;

    REQUIRE(pipe(ready) == 0);
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0) {
            if (write(ready[1], "g", 1) != 1)
                _exit(1);
            pause();
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    REQUIRE(child > 0);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    count = process_descendants(getpid(), pids, 64);
    CHECK_UINT(count, 2);
    for (size_t i = 0; i < count; i++)
        found = found || pids[i] == child;
    CHECK(found);
    CHECK_UINT(process_descendants(getpid(), pids, 1), 1);
    CHECK_UINT(process_descendants(getpid(), pids, 0), 0);
    count = process_descendants(child, pids, 64);
    REQUIRE_UINT(count, 1);
    kill(pids[0], SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_UINT(process_descendants(child, pids, 64), 0);
}

static bool count_one(pid_t pid, void *user)
{
    bool *found = user;

    if (pid == getpid())
        *found = true;
    return true;
}

static void every_process_is_visited(void)
{
    bool found = false;

    process_each(count_one, &found);
    CHECK(found);
}

static void processes_match_by_name_and_path(void)
{
    struct process_info info = { .name = "node", .program = "/usr/bin/node", .directory = "/srv" };
    static const char arguments[] = "node\0--flag\0app/server.js\0x";

    memcpy(info.arguments, arguments, sizeof arguments);
    info.arguments_bytes = sizeof arguments - 1;
    CHECK(process_matches_name(&info, "node"));
    CHECK(!process_matches_name(&info, "nod"));
    CHECK(!process_matches_name(&info, ""));
    CHECK(process_matches_path(&info, "/usr/bin/node"));
    CHECK(process_matches_path(&info, "/srv/app/server.js"));
    CHECK(!process_matches_path(&info, "/srv/app"));
    CHECK(!process_matches_path(&info, "server.js"));
    /* No arguments at all: a kernel thread, or a program that erased them. */
    info.arguments_bytes = 0;
    memset(info.arguments, 0, sizeof info.arguments);
    CHECK(!process_matches_path(&info, "/srv/app/server.js"));
    CHECK(process_matches_name(&info, "node"));
    /* As full as can be, without a NUL at the end of the text. */
    memset(info.arguments, 'a', sizeof info.arguments - 1);
    info.arguments_bytes = sizeof info.arguments - 1;
    CHECK(!process_matches_path(&info, "/srv/app/server.js"));
}

static void a_process_without_the_library_is_told_so(void)
{
    struct ifg_error err;
    int fd = 5;

    CHECK_INT(process_open_region(getpid(), &fd, &err), IFG_NOT_FOUND);
    CHECK_INT(fd, -1);
    CHECK_CONTAINS(err.message, "does not carry libinferogram");
}

/* A file that its process keeps a lease on: who opens it waits for 45 s, or for the process. */
static void a_leased_file_keeps_nobody_waiting(void)
{
    char path[] = "/tmp/" IFG_WIRE_NAME "-lease-XXXXXX";
    int file = mkstemp(path), ready[2];
    char byte;
    pid_t child;
    int fd;

    REQUIRE(file >= 0 && pipe(ready) == 0);
    REQUIRE(ftruncate(file, (off_t)ifg_wire_region_bytes()) == 0);
    close(file);
    child = fork();
    if (!child) {
        file = open(path, O_RDWR | O_CLOEXEC);
        signal(SIGIO, SIG_IGN);
        byte = fcntl(file, F_SETLEASE, F_WRLCK) == 0 ? 'l' : 'n';
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    REQUIRE(read(ready[0], &byte, 1) == 1);
    alarm(40);
    CHECK_INT(process_open_region(child, &fd, NULL), IFG_NOT_FOUND);
    CHECK_INT(fd, -1);
    alarm(0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
    if (byte != 'l')
        SKIP("no leases on files in /tmp");
}

static void users_have_names(void)
{
    char name[64];

    CHECK_STR(process_user_name(0, name, sizeof name), "root");
    CHECK_STR(process_user_name(3999999999u, name, sizeof name), "uid 3999999999");
}

TAP_MAIN(TAP_CASE(we_are_described), TAP_CASE(a_child_with_an_evil_name_is_described),
         TAP_CASE(descendants_are_found), TAP_CASE(every_process_is_visited),
         TAP_CASE(processes_match_by_name_and_path),
         TAP_CASE(a_process_without_the_library_is_told_so),
         TAP_CASE(a_leased_file_keeps_nobody_waiting), TAP_CASE(users_have_names))
