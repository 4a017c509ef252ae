// SPDX-License-Identifier: Apache-2.0
/* Capabilities lie idle until they are raised, and those that nothing needs are gone. */
#include "system/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/credentials.h"
#include "tests/lib/tap.h"

#define USER    61234
#define PERFMON (UINT64_C(1) << 38)
#define PTRACE  (UINT64_C(1) << CAP_SYS_PTRACE)
#define NET     (UINT64_C(1) << CAP_NET_BIND_SERVICE)

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(__LINE__ & 0x7f);                                                                \
    } while (0)

/* As an execve of a program with file capabilities leaves an ordinary user. */
static bool become_capable(uint64_t wanted, uint64_t inheritable)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };

    for (size_t i = 0; i < 2; i++) {
        sets[i].permitted = sets[i].effective = (uint32_t)(wanted >> 32 * i);
        sets[i].inheritable = (uint32_t)(inheritable >> 32 * i);
    }
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgid(USER) == 0 && setuid(USER) == 0 &&
           syscall(SYS_capset, &header, sets) == 0;
}

static void now(struct credentials *out)
{
    EXPECT(credentials_of(getpid(), out, NULL) == IFG_OK);
}

static int in_child(void (*body)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        body();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void idle(void)
{
    struct credentials who;

    EXPECT(become_capable(PERFMON | PTRACE, 0) && rights_begin() && rights_are_spare());
    now(&who);
    EXPECT(who.effective == 0 && who.permitted == PERFMON);
    errno = EBADF;
    rights_raise();
    EXPECT(errno == EBADF);
    now(&who);
    EXPECT(who.effective == PERFMON && who.permitted == PERFMON);
    rights_lower();
    EXPECT(errno == EBADF);
    now(&who);
    EXPECT(who.effective == 0);
}

static void set_uid(void)
{
    struct credentials who;

    EXPECT(setresgid(USER, 0, 0) == 0 && setresuid(USER, 0, 0) == 0 && rights_begin());
    now(&who);
    EXPECT(who.uid == USER && who.effective_uid == USER && who.effective_gid == USER);
    EXPECT(!who.is_set_id && who.effective == 0 && !(who.permitted & (PTRACE | NET)));
    EXPECT(open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0);
    rights_raise();
    EXPECT(open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0);
    rights_lower();
    EXPECT(setuid(0) < 0);
}

static void ambient(void)
{
    struct credentials who;

    EXPECT(become_capable(NET | PERFMON, NET) &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0) == 0 &&
           rights_begin());
    now(&who);
    EXPECT(who.effective == 0 && who.permitted == (NET | PERFMON));
    EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_BIND_SERVICE, 0, 0) == 1);
    rights_raise();
    now(&who);
    EXPECT(who.effective == PERFMON);
    rights_lower();
}

static void ordinary(void)
{
    struct credentials who;

    EXPECT(become_capable(0, 0) && rights_begin() && !rights_are_spare());
    rights_raise();
    now(&who);
    EXPECT(who.effective == 0);
    rights_lower();
}

static void need_root(void)
{
    if (getuid() != 0)
        SKIP("root: only root can make users with capabilities");
}

static void file_capabilities_lie_idle(void)
{
    need_root();
    CHECK_INT(in_child(idle), 0);
}

static void of_set_uid_only_the_real_user_is_left(void)
{
    need_root();
    CHECK_INT(in_child(set_uid), 0);
}

static void ambient_ones_stay_for_programs_that_are_started(void)
{
    need_root();
    CHECK_INT(in_child(ambient), 0);
}

static void without_any_nothing_happens(void)
{
    need_root();
    CHECK_INT(in_child(ordinary), 0);
}

static void root_keeps_all(void)
{
    struct credentials before, after;

    need_root();
    REQUIRE_INT(credentials_of(getpid(), &before, NULL), IFG_OK);
    CHECK(rights_begin());
    rights_raise();
    rights_lower();
    REQUIRE_INT(credentials_of(getpid(), &after, NULL), IFG_OK);
    CHECK_UINT(after.effective, before.effective);
}

TAP_MAIN(TAP_CASE(file_capabilities_lie_idle), TAP_CASE(of_set_uid_only_the_real_user_is_left),
         TAP_CASE(ambient_ones_stay_for_programs_that_are_started),
         TAP_CASE(without_any_nothing_happens), TAP_CASE(root_keeps_all))
