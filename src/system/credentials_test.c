// SPDX-License-Identifier: Apache-2.0
/* Who a process belongs to, and becoming that user. */
#include "system/credentials.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

#define SOMEBODY 61234

static const char STATUS[] = "Name:\tUid: 0 0\n"
                             "Umask:\t0022\n"
                             "Uid:\t1000\t1001\t1000\t1000\n"
                             "Gid:\t100\t100\t100\t100\n"
                             "Groups:\t4 24 1000 \n"
                             "CapPrm:\t0000008000000001\n"
                             "CapEff:\t0000000000000001\n"
                             "NoNewPrivs:\t1\n"
                             "Seccomp:\t2\n"
                             "Seccomp_filters:\t1\n";

static void a_status_is_read(void)
{
    struct credentials who;

    REQUIRE_INT(credentials_parse(STATUS, &who, NULL), IFG_OK);
    CHECK_UINT(who.uid, 1000);
    CHECK_UINT(who.effective_uid, 1001);
    CHECK_UINT(who.gid, 100);
    CHECK(who.is_set_id);
    CHECK_UINT(who.group_count, 3);
    CHECK_UINT(who.groups[2], 1000);
    CHECK_UINT(who.permitted, UINT64_C(1) << 39 | 1);
    CHECK_UINT(who.effective, 1);
    CHECK(who.no_new_privs);
    CHECK_UINT(who.seccomp_mode, 2);
}

/* What was cut short must never read as user 0. */
static void a_cut_status_is_refused(void)
{
    struct credentials who;
    char text[sizeof STATUS];
    size_t whole = (size_t)(strstr(STATUS, "NoNewPrivs") - STATUS);

    for (size_t length = 0; length < whole - 18; length++) {
        memcpy(text, STATUS, length);
        text[length] = '\0';
        CHECK_INT(credentials_parse(text, &who, NULL), IFG_CORRUPT);
    }
    CHECK_INT(credentials_parse("Uid:\t99999999999 0 0 0\nGid:\t0 0 0 0\nCapPrm:\t0\nCapEff:\t0\n",
                                &who, NULL),
              IFG_CORRUPT);
    CHECK_INT(credentials_parse("Uid:\t0\nGid:\t0\nCapPrm:\t0\nCapEff:\t0\n", &who, NULL),
              IFG_CORRUPT);
}

static void own_credentials_are_found(void)
{
    struct credentials who;

    REQUIRE_INT(credentials_of(getpid(), &who, NULL), IFG_OK);
    CHECK_UINT(who.uid, getuid());
    CHECK_UINT(who.gid, getgid());
    CHECK_INT(credentials_of(0x7fffffff, &who, NULL), IFG_NOT_FOUND);
}

/*
 * The exit status of a child that became `who` and looks at what it has. It asks the kernel for its
 * own thread only: setuid() of glibc asks for all, and aborts where one is answered differently, as
 * the thread of ThreadSanitizer is, which has not become anybody.
 */
static int as_child(const struct credentials *who)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        struct credentials now;
        int result = 0;

        if (!credentials_become(who))
            _exit(1);
        if (credentials_of(getpid(), &now, NULL))
            _exit(2);
        if (now.uid != who->uid || now.effective_uid != who->uid || now.gid != who->gid ||
            now.is_set_id || now.group_count != who->group_count)
            result = 3;
        else if (now.permitted || now.effective || !now.no_new_privs)
            result = 4;
        else if (syscall(SYS_setuid, 0) == 0 || syscall(SYS_setgid, 0) == 0)
            result = 5;
        else if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0)
            result = 6;
        else if (open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0)
            result = 7;
        _exit(result);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_child_becomes_somebody_for_good(void)
{
    struct credentials who;

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    credentials_nobody(&who);
    CHECK_INT(as_child(&who), 0);
    who.uid = who.effective_uid = SOMEBODY;
    who.gid = who.effective_gid = SOMEBODY + 1;
    who.group_count = 2;
    who.groups[0] = SOMEBODY + 2;
    who.groups[1] = SOMEBODY + 3;
    CHECK(credentials_can_become(&who));
    CHECK_INT(as_child(&who), 0);
}

static void an_ordinary_user_becomes_nobody_else(void)
{
    struct credentials somebody, other;
    int status = -1;
    pid_t child;

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    credentials_nobody(&other);
    memset(&somebody, 0, sizeof somebody);
    somebody.uid = somebody.gid = SOMEBODY;
    child = fork();
    if (child == 0) {
        if (!credentials_become(&somebody) || credentials_are_raised())
            _exit(1);
        if (credentials_can_become(&other) || !credentials_can_become(&somebody))
            _exit(2);
        _exit(credentials_become(&other) ? 3 : !credentials_become(&somebody) ? 4 : 0);
    }
    waitpid(child, &status, 0);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TAP_MAIN(TAP_CASE(a_status_is_read), TAP_CASE(a_cut_status_is_refused),
         TAP_CASE(own_credentials_are_found), TAP_CASE(a_child_becomes_somebody_for_good),
         TAP_CASE(an_ordinary_user_becomes_nobody_else))
