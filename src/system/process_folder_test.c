// SPDX-License-Identifier: Apache-2.0
/* What the folder of a process in /proc tells, asked of this one and of children. */
#include "system/process_folder.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/lib/tap.h"

static void this_process_is_known(void)
{
    char by_number[PATH_MAX], own[PATH_MAX], arguments[PATH_MAX];
    uid_t user = (uid_t)-1;
    int fd;

    REQUIRE(process_link(getpid(), "exe", by_number, sizeof by_number));
    REQUIRE(process_link(PROCESS_SELF, "exe", own, sizeof own));
    CHECK_STR(own, by_number);
    CHECK(process_entry_is(getpid(), "exe", own));
    CHECK(!process_entry_is(getpid(), "exe", "/proc"));
    REQUIRE(process_own_program_folder(own));
    CHECK_UINT(strrchr(by_number, '/') - by_number, strlen(own));
    fd = process_open_program(getpid());
    CHECK(fd >= 0);
    close(fd);
    CHECK(process_owner(getpid(), &user) && user == geteuid());
    CHECK(process_shares(getpid(), "ns/pid"));
    CHECK(process_arguments(getpid(), arguments, sizeof arguments) > 0);
    CHECK_CONTAINS(arguments, "system_process_folder_test");
}

/* Numbers that no process has are not this process. */
static void nobody_is_not_us(void)
{
    static const pid_t nobody[] = { 0, -1, INT_MAX };
    char text[64] = "x";
    uid_t user;

    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
        CHECK(!process_link(nobody[i], "exe", text, sizeof text));
        CHECK_STR(text, "");
        CHECK(!process_owner(nobody[i], &user));
        CHECK(!process_shares(nobody[i], "ns/pid"));
        CHECK(process_open_program(nobody[i]) < 0);
        CHECK_UINT(process_arguments(nobody[i], text, sizeof text), 0);
    }
    CHECK(process_thread_exists(getpid(), gettid()));
    CHECK(!process_thread_exists(getpid(), 0));
    CHECK(!process_thread_exists(getpid(), 4194303));
}

static void names_end_where_lines_do(void)
{
    char name[32], small[4];

    prctl(PR_SET_NAME, "ab) (cd\nef", 0, 0, 0);
    process_thread_name(getpid(), gettid(), name, sizeof name);
    CHECK_STR(name, "ab) (cd");
    process_thread_name(getpid(), gettid(), small, sizeof small);
    CHECK_STR(small, "ab)");
    process_thread_name(INT_MAX, 1, name, sizeof name);
    CHECK_STR(name, "");
}

static void threads_are_listed(void)
{
    struct process_threads threads;
    bool found = false;
    pid_t tid;

    REQUIRE(process_threads_of(getpid(), &threads));
    while (process_threads_next(&threads, &tid))
        found |= tid == gettid();
    CHECK(found);
    process_threads_close(&threads);
    CHECK(!process_threads_of(INT_MAX, &threads));
    CHECK(!process_threads_next(&threads, &tid));
    process_threads_close(&threads);
}

TAP_MAIN(TAP_CASE(this_process_is_known), TAP_CASE(nobody_is_not_us),
         TAP_CASE(names_end_where_lines_do), TAP_CASE(threads_are_listed))
