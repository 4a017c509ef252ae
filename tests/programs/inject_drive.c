// SPDX-License-Identifier: Apache-2.0
/*
 * Gives the hooks to a running program and takes them back, for tests of src/record/inject.c:
 *
 *   inject_drive PID HOOKS begin          gives them and ends
 *   inject_drive PID HOOKS cycle N        gives and takes back, N times
 *   inject_drive PID HOOKS hold           gives, waits for the end of its input, takes back
 *   inject_drive PID HOOKS die PHASE K    kills itself when the Kth call is in that phase
 *   inject_drive PID HOOKS forever        gives and takes back until somebody kills it
 *   inject_drive PID - seize              only traces it, until the end of its input
 *   inject_drive 0 - confined             is itself a program with a seccomp filter
 *
 * Prints what it did; the exit status is that of the first failure, as a positive number.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "record/inject.h"

static enum ptrace_phase last_phase = PTRACE_PHASES;
static long last_call;
static long calls;

static void die_there(enum ptrace_phase phase, void *user)
{
    (void)user;
    if (phase == PTRACE_CALLING || phase == PTRACE_STOPPED)
        calls += phase == (last_phase == PTRACE_STOPPED ? PTRACE_STOPPED : PTRACE_CALLING);
    if (phase == last_phase && calls >= last_call)
        kill(getpid(), SIGKILL);
}

static int fail(const char *what, enum ifg_status status, const struct ifg_error *err)
{
    fprintf(stderr, "%s: %s: %s\n", what, ifg_status_name(status), err->message);
    return -(int)status;
}

static int run(struct inject_options *options, const char *how, long count)
{
    struct injection injection;
    struct ifg_error err = { 0 };
    enum ifg_status status = IFG_OK;

    for (long i = 0; i < count && !status; i++) {
        status = inject_begin(options, &injection, &err);
        if (status)
            return fail("begin", status, &err);
        if (i == 0) {
            printf("watched %d\n", injection.watched);
            fflush(stdout);
        }
        if (strcmp(how, "begin") == 0)
            return 0;
        if (strcmp(how, "hold") == 0)
            while (getchar() != EOF)
                continue;
        status = inject_end(&injection, &err);
    }
    if (status)
        return fail("end", status, &err);
    printf("done\n");
    return 0;
}

static void await_end_of_input(void)
{
    while (getchar() != EOF)
        continue;
}

static int seize(pid_t pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return 1;
    printf("seized\n");
    fflush(stdout);
    await_end_of_input();
    return 0;
}

static int be_confined(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { 1, &allow };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 1;
    printf("confined\n");
    fflush(stdout);
    await_end_of_input();
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const phases[PTRACE_PHASES] = {
        [PTRACE_STOPPED] = "stopped",   [PTRACE_CALLING] = "calling",   [PTRACE_INSIDE] = "inside",
        [PTRACE_RETURNED] = "returned", [PTRACE_RESTORED] = "restored",
    };
    struct inject_options options = { .observer = die_there };
    const char *how = argc > 3 ? argv[3] : "";
    long count = argc > 4 ? strtol(argv[4], NULL, 10) : 1;

    if (argc < 4) {
        fputs("usage: inject_drive PID HOOKS begin|cycle N|hold|die PHASE K|...\n", stderr);
        return 64;
    }
    options.pid = (pid_t)strtol(argv[1], NULL, 10);
    options.hooks_dir = argv[2];
    options.force = getenv("INJECT_FORCE") != NULL;
    if (strcmp(how, "die") == 0 && argc > 5) {
        for (int i = 0; i < PTRACE_PHASES; i++)
            if (strcmp(argv[4], phases[i]) == 0)
                last_phase = (enum ptrace_phase)i;
        last_call = strtol(argv[5], NULL, 10);
        count = 2;
    }
    if (strcmp(how, "forever") == 0)
        count = 1000000;
    if (strcmp(how, "seize") == 0)
        return seize(options.pid);
    if (strcmp(how, "confined") == 0)
        return be_confined();
    return run(&options, how, count);
}
