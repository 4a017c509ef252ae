// SPDX-License-Identifier: Apache-2.0
/* The checks of `inferogram doctor`, in the order in which they are shown. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "collect/uprobe/uprobe.h"
#include "record/hooks.h"
#include "record/program.h"
#include "record/rendezvous.h"

#define NEEDED_BYTES (64u << 20) /* less than this, and a recording ends early */

void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
    va_list arguments;

    finding->state = state;
    va_start(arguments, format);
    vsnprintf(finding->detail, sizeof finding->detail, format, arguments);
    va_end(arguments);
}

void doctor_fix(struct doctor_finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(finding->fix, sizeof finding->fix, format, arguments);
    va_end(arguments);
}

static const char *own_path(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);

    out[length > 0 ? length : 0] = '\0';
    return length > 0 ? out : "inferogram";
}

/* ---- launch ---- */

/* Starts `cat` as record would, and reads from its own mappings whether our library is in it. */
static bool child_has_library(const struct hooks *hooks, const char *program, bool *out_started)
{
    char line[PATH_MAX + 128];
    int ends[2];
    int status = -1;
    bool seen = false;
    FILE *output;
    pid_t child;

    *out_started = false;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    child = fork();
    if (child == 0) {
        for (size_t i = 0; i < hooks->variable_count; i++)
            setenv(hooks->variables[i].name, hooks->variables[i].value, 1);
        dup2(ends[1], STDOUT_FILENO);
        execl(program, "cat", "/proc/self/maps", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    output = child > 0 ? fdopen(ends[0], "r") : NULL;
    while (output && fgets(line, sizeof line, output))
        seen = seen || strstr(line, "libinferogram-preload.so");
    if (output)
        fclose(output);
    else
        close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    *out_started = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return seen;
}

static void check_launch(struct doctor_finding *out)
{
    struct hooks hooks = { 0 };
    struct program program;
    struct ifg_error err = { 0 };
    char path[PATH_MAX];
    bool started;

    if (program_find("cat", path, sizeof path) != 0) {
        doctor_say(out, DOCTOR_NO, "there is no program 'cat' to try it with");
        return;
    }
    program_probe(path, &program);
    if (hooks_prepare(&hooks, &program, 0, &err))
        doctor_say(out, DOCTOR_NO, "%s", err.message);
    else if (!hooks.preload)
        doctor_say(out, DOCTOR_NO, "%s", hooks.reason);
    else if (child_has_library(&hooks, path, &started))
        doctor_say(out, DOCTOR_WORKS, "%s",
                   hooks.python ? ""
                                : "but not in Python: its hook is "
                                  "not installed");
    else if (!started)
        doctor_say(out, DOCTOR_NO, "a program did not start with our library in it");
    else
        doctor_say(out, DOCTOR_NO,
                   "a program was started, and our library was not in it: the "
                   "loader could not read it");
    hooks_fini(&hooks);
}

static void check_directory(struct doctor_finding *out)
{
    struct rendezvous rendezvous = { .inotify = -1, .lock = -1 };
    struct ifg_error err = { 0 };
    struct statvfs space;
    char size[32];

    if (rendezvous_create(&rendezvous, &err)) {
        doctor_say(out, DOCTOR_NO, "%s", err.message);
        return;
    }
    if (statvfs(rendezvous.directory, &space) != 0)
        doctor_say(out, DOCTOR_NO, "%s: %s", rendezvous.directory, strerror(errno));
    else if (space.f_bavail * space.f_frsize < NEEDED_BYTES)
        doctor_say(out, DOCTOR_NO, "only %s are free in %s; set TMPDIR to a larger place",
                   cli_size(space.f_bavail * space.f_frsize, size), rendezvous.directory);
    else
        doctor_say(
            out, DOCTOR_WORKS, "%s free in %.*s", cli_size(space.f_bavail * space.f_frsize, size),
            (int)(strrchr(rendezvous.directory, '/') - rendezvous.directory), rendezvous.directory);
    rendezvous_destroy(&rendezvous);
}

static void check_output(struct doctor_finding *out)
{
    struct statvfs space;
    char name[] = "./.inferogram-doctor-XXXXXX";
    char size[32];
    int fd = mkostemp(name, O_CLOEXEC);

    if (fd < 0) {
        doctor_say(out, DOCTOR_NO, "no file can be written in this directory (%s); use -o",
                   strerror(errno));
        return;
    }
    unlink(name);
    close(fd);
    if (statvfs(".", &space) != 0)
        doctor_say(out, DOCTOR_NO, "%s", strerror(errno));
    else if (space.f_bavail * space.f_frsize < NEEDED_BYTES)
        doctor_say(out, DOCTOR_NO, "only %s are free in this directory; use -o",
                   cli_size(space.f_bavail * space.f_frsize, size));
    else
        doctor_say(out, DOCTOR_WORKS, "%s free in this directory",
                   cli_size(space.f_bavail * space.f_frsize, size));
}

/* ---- attach ---- */

/* A refusal in one sentence, and the command that it has between backticks. */
static void say_refusal(struct doctor_finding *out, const char *message)
{
    char path[PATH_MAX];
    const char *end = strstr(message, "; ");
    const char *begin = strchr(message, '`');
    const char *stop = begin ? strchr(begin + 1, '`') : NULL;

    doctor_say(out, DOCTOR_NO, "%.*s", end ? (int)(end - message) : (int)strlen(message), message);
    if (!stop || strncmp(begin + 1, "sudo ", 5) != 0)
        return;
    doctor_fix(out, "%.*s%s%s", (int)(stop - begin - 1), begin + 1,
               strncmp(begin + 1, "sudo setcap ", 12) == 0 ? " " : "",
               strncmp(begin + 1, "sudo setcap ", 12) == 0 ? own_path(path) : "");
}

static const struct uprobe_rights *rights(void)
{
    static struct uprobe_rights found;
    static bool asked;

    if (!asked)
        uprobe_check(&found);
    asked = true;
    return &found;
}

static void check_uprobes(struct doctor_finding *out)
{
    const struct uprobe_rights *found = rights();

    if (found->bpf.works) {
        doctor_say(out, DOCTOR_WORKS, "BPF");
        return;
    }
    say_refusal(out, found->bpf.message);
    if (found->perf.works) {
        char why[sizeof out->detail];

        snprintf(why, sizeof why, "%s", out->detail);
        doctor_say(out, DOCTOR_WORKS, "perf only, without names of new models: %.300s", why);
    }
}

static void check_memory(struct doctor_finding *out)
{
    const struct uprobe_rights *found = rights();

    if (found->memory.works)
        doctor_say(out, DOCTOR_WORKS, "%s", "");
    else
        say_refusal(out, found->memory.message);
}

/* A process that is not our child any more, as those are that are attached to. */
static pid_t make_stranger(int *out_keeper)
{
    int keeper[2] = { -1, -1 };
    int told[2] = { -1, -1 };
    pid_t stranger = -1;
    pid_t child;

    *out_keeper = -1;
    if (pipe2(keeper, O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0)
        return -1;
    child = fork();
    if (child == 0) {
        pid_t own = fork();
        char byte;

        if (own == 0) { /* lives until we are done, or dead */
            close(keeper[1]);
            _exit(read(keeper[0], &byte, 1) != 0);
        }
        _exit(write(told[1], &own, sizeof own) != sizeof own);
    }
    close(told[1]);
    close(keeper[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
        if (read(told[0], &stranger, sizeof stranger) != sizeof stranger)
            stranger = -1;
    }
    close(told[0]);
    *out_keeper = keeper[1];
    return stranger;
}

static int yama_scope(void)
{
    char text[16] = "";
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    bool got = file && fgets(text, sizeof text, file);

    if (file)
        fclose(file);
    return got ? (int)strtol(text, NULL, 10) : -1;
}

static void check_injection(struct doctor_finding *out)
{
    int keeper;
    pid_t stranger = make_stranger(&keeper);
    int scope = yama_scope();
    char path[PATH_MAX];

    if (stranger <= 0)
        doctor_say(out, DOCTOR_NO, "no process could be made to try it with");
    else if (ptrace(PTRACE_SEIZE, stranger, NULL, NULL) == 0)
        doctor_say(out, DOCTOR_WORKS, "%s", geteuid() ? "in your own processes" : "");
    else if (errno == EPERM && scope == 3)
        doctor_say(out, DOCTOR_NO,
                   "nobody may: kernel.yama.ptrace_scope is 3 (until the next "
                   "start of the system)");
    else if (errno == EPERM && scope > 0) {
        doctor_say(out, DOCTOR_NO, "not even your own processes: kernel.yama.ptrace_scope is %d",
                   scope);
        doctor_fix(out, "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep %s", own_path(path));
    } else
        doctor_say(out, DOCTOR_NO,
                   "ptrace is refused (%s); a filter, as containers have one, or a "
                   "security module forbids it",
                   strerror(errno));
    if (keeper >= 0)
        close(keeper); /* the stranger ends */
}

/* ---- the machine ---- */

static void check_clock(struct doctor_finding *out)
{
    switch (ifg_tick_source_choose()) {
    case IFG_TICKS_TSC:
        doctor_say(out, DOCTOR_WORKS, "TSC, at one rate on every core");
        break;
    case IFG_TICKS_CNTVCT:
        doctor_say(out, DOCTOR_WORKS, "CNTVCT");
        break;
    case IFG_TICKS_MONOTONIC:
        doctor_say(out, DOCTOR_WORKS,
                   "CLOCK_MONOTONIC: the counter of this processor changes its "
                   "rate, so a zone costs more");
        break;
    }
}

static void check_nvidia(struct doctor_finding *out)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    bool device = access("/dev/nvidiactl", F_OK) == 0;

    if (library && device)
        doctor_say(out, DOCTOR_WORKS, "driver and libnvidia-ml are there");
    else if (device)
        doctor_say(out, DOCTOR_NO,
                   "a driver, but no libnvidia-ml.so.1 for this program; in a "
                   "container, start it with the GPU's 'utility' capability");
    else
        doctor_say(out, DOCTOR_ABSENT, "no driver");
    if (library)
        dlclose(library);
}

const struct doctor_check doctor_checks[] = {
    { "launch", "launch and hooks", true, check_launch },
    { "session_directory", "session directory", true, check_directory },
    { "output", "trace file", false, check_output },
    { "attach", "attach by uprobes", false, check_uprobes },
    { "injection", "attach by injection", false, check_injection },
    { "other_processes", "processes of others", false, check_memory },
    { "sampling", "sampling", false, doctor_sampling },
    { "kernel_frames", "kernel frames", false, doctor_kernel_frames },
    { "context_switches", "context switches", false, doctor_switches },
    { "hardware_counters", "hardware counters", false, doctor_counters },
    { "clock", "clock", false, check_clock },
    { "nvidia", "NVIDIA GPU", false, check_nvidia },
};
const unsigned doctor_check_count = sizeof doctor_checks / sizeof doctor_checks[0];
