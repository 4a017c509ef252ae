// SPDX-License-Identifier: Apache-2.0
/*
 * A user whose recorder has capabilities may look into exactly what he could look into without
 * them. Each case runs as an ordinary user who holds CAP_SYS_PTRACE and others, as `setcap` gives.
 */
#include "system/trace_rule.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/small_file.h"
#include "system/credentials.h"
#include "tests/lib/tap.h"

#define USER  61234
#define OTHER 61235

/* As an execve of a program with file capabilities leaves an ordinary user. */
static bool become_capable(uid_t user)
{
    const uint64_t wanted = UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_PERFMON;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };

    for (size_t i = 0; i < 2; i++)
        sets[i].permitted = sets[i].effective = (uint32_t)(wanted >> 32 * i);
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgid(user) == 0 && setuid(user) == 0 &&
           syscall(SYS_capset, &header, sets) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

/* A process that stays until it is killed. */
static pid_t start(uid_t user, bool dumpable, bool capable)
{
    struct credentials who = { .uid = user, .gid = user };
    int ready[2];
    char byte;
    pid_t child;

    REQUIRE_INT(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (capable ? !become_capable(user) : !credentials_become(&who))
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0);
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    REQUIRE_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void stop(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* What a capable user is told about `target`. */
static enum ifg_status asked(pid_t target, struct ifg_error *err)
{
    struct {
        enum ifg_status status;
        struct ifg_error error;
    } answer = { .status = IFG_INTERNAL };
    int back[2];
    pid_t child;

    REQUIRE_INT(pipe2(back, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        if (become_capable(USER))
            answer.status =
                trace_rule_applies() ? trace_rule_check(target, &answer.error) : IFG_UNSUPPORTED;
        _exit(write(back[1], &answer, sizeof answer) != sizeof answer);
    }
    close(back[1]);
    REQUIRE_INT(read(back[0], &answer, sizeof answer), sizeof answer);
    close(back[0]);
    waitpid(child, NULL, 0);
    *err = answer.error;
    return answer.status;
}

static void need_root(void)
{
    if (getuid() != 0)
        SKIP("root: only root can make users with capabilities");
}

static void own_processes_may_be_watched(void)
{
    struct ifg_error err = { .message = "" };
    pid_t target;

    need_root();
    target = start(USER, true, false);
    CHECK_INT(asked(target, &err), IFG_OK);
    CHECK_STR(err.message, "");
    stop(target);
}

static void others_may_not(void)
{
    struct ifg_error err = { .message = "" };
    pid_t target;

    need_root();
    target = start(OTHER, true, false);
    CHECK_INT(asked(target, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "belongs to user 61235");
    stop(target);
    CHECK_INT(asked(getpid(), &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "belongs to user 0");
    CHECK_INT(asked(1, &err), IFG_PERMISSION);
}

static void a_process_with_more_rights_may_not(void)
{
    struct ifg_error err = { .message = "" };
    pid_t target;

    need_root();
    target = start(USER, true, true);
    CHECK_INT(asked(target, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "more rights than you");
    stop(target);
}

static void one_that_protects_itself_may_not(void)
{
    struct ifg_error err = { .message = "" };
    pid_t target;

    need_root();
    target = start(USER, false, false);
    CHECK_INT(asked(target, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "not dumpable");
    stop(target);
}

static void one_that_has_ended_is_not_found(void)
{
    struct ifg_error err = { .message = "" };
    struct traced traced = TRACED_INIT;
    pid_t target;

    need_root();
    target = start(USER, true, false);
    REQUIRE_INT(trace_rule_open(target, &traced, &err), IFG_OK);
    CHECK_INT(trace_rule_confirm(&traced, &err), IFG_OK);
    stop(target);
    CHECK_INT(trace_rule_confirm(&traced, &err), IFG_NOT_FOUND);
    trace_rule_close(&traced);
    CHECK_INT(asked(target, &err), IFG_NOT_FOUND);
    CHECK_INT(trace_rule_open(target, &traced, &err), IFG_NOT_FOUND);
}

static void root_is_asked_nothing(void)
{
    struct ifg_error err = { .message = "" };

    need_root();
    CHECK(!trace_rule_applies());
    CHECK_INT(trace_rule_check(1, &err), IFG_OK);
}

TAP_MAIN(TAP_CASE(own_processes_may_be_watched), TAP_CASE(others_may_not),
         TAP_CASE(a_process_with_more_rights_may_not), TAP_CASE(one_that_protects_itself_may_not),
         TAP_CASE(one_that_has_ended_is_not_found), TAP_CASE(root_is_asked_nothing))
