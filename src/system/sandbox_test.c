// SPDX-License-Identifier: Apache-2.0
/* Foreign code in the sandbox: what it can do still, and what it cannot. */
#include "system/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/tap.h"

/* The exit status of `inside`, run in the sandbox; 256 + signal if one ended it. */
static int run(int (*inside)(void))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(sandbox_enter() ? inside() : 99);
    REQUIRE_INT(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void *in_a_thread(void *user)
{
    *(int *)user = 1;
    return NULL;
}

static int computes(void)
{
    int was_there = 0, fd;
    char byte, copy;
    struct iovec here = { &copy, 1 }, there = { &byte, 1 };
    pthread_t thread;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0)
        return 1;
    fd = open("/etc/passwd", O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return 2;
    if (pthread_create(&thread, NULL, in_a_thread, &was_there) || pthread_join(thread, NULL) ||
        !was_there)
        return 3;
    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1 || copy != byte)
        return 4;
    execl("/bin/true", "true", (char *)NULL);
    return 5;
}

static void it_computes_reads_and_has_threads(void)
{
    CHECK_INT(run(computes), 0);
}

static int aborts(void)
{
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    return 0;
}

static void it_may_end_itself(void)
{
    CHECK_INT(run(aborts), 256 + SIGABRT);
}

/* The number of the first of these that was possible after all. */
static int reaches_out(void)
{
    char byte;
    struct iovec here = { &byte, 1 };

    if (fork() >= 0 || errno != EPERM)
        return 1;
    if (vfork() >= 0)
        return 2;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
        return 3;
    if (kill(getppid(), 0) == 0 || kill(-1, 0) == 0 || kill(0, 0) == 0)
        return 4;
    if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0)
        return 5;
    if (process_vm_readv(getppid(), &here, 1, &here, 1, 0) >= 0 ||
        process_vm_writev(getpid(), &here, 1, &here, 1, 0) >= 0)
        return 6;
    if (setsid() >= 0 || setpgid(0, 0) == 0)
        return 7;
    /* Not setuid(), which aborts where a thread, as that of ThreadSanitizer, is not inside. */
    if (syscall(SYS_setuid, getuid()) == 0 || syscall(SYS_setgroups, 0, NULL) == 0)
        return 8;
    return 0;
}

static void it_cannot_reach_others(void)
{
    CHECK_INT(run(reaches_out), 0);
}

/* With arguments that fail in another way where the call is possible. */
static int uses_the_kernel(void)
{
    static const long numbers[] = {
        SYS_bpf,
        SYS_perf_event_open,
        SYS_keyctl,
        SYS_add_key,
        SYS_request_key,
        SYS_mount,
        SYS_umount2,
        SYS_pivot_root,
        SYS_chroot,
        SYS_unshare,
        SYS_setns,
        SYS_open_by_handle_at,
        SYS_io_uring_setup,
        SYS_userfaultfd,
        SYS_pidfd_open,
        SYS_pidfd_getfd,
        SYS_init_module,
        SYS_kexec_load,
        SYS_clone3,
        SYS_personality,
        SYS_connect,
        SYS_bind,
        SYS_sendmsg,
        SYS_shmget,
        SYS_tkill,
        SYS_kcmp,
        SYS_setxattr,
        SYS_pidfd_send_signal,
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (syscall(numbers[i], -1, -1, -1, -1, -1, -1) >= 0 || errno != ENOSYS)
            return (int)i + 1;
    return 0;
}

static void it_has_no_larger_surface(void)
{
    CHECK_INT(run(uses_the_kernel), 0);
}

static int changes_itself(void)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0       ? 1
           : prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0    ? 2
           : prctl(PR_SET_NAME, "named", 0, 0, 0) != 0   ? 3
           : prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ? 4
                                                         : 0;
}

static void it_stays_what_it_is(void)
{
    CHECK_INT(run(changes_itself), 0);
}

TAP_MAIN(TAP_CASE(it_computes_reads_and_has_threads), TAP_CASE(it_may_end_itself),
         TAP_CASE(it_cannot_reach_others), TAP_CASE(it_has_no_larger_surface),
         TAP_CASE(it_stays_what_it_is))
