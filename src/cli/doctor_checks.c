// SPDX-License-Identifier: Apache-2.0
/* The checks of `inferogram doctor` in the order of their rows, and those of recording. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/sudo.h"
#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "collect/uprobe/uprobe.h"
#include "record/hooks.h"
#include "runtimes/runtimes.h"
#include "record/program.h"
#include "record/rendezvous.h"

#define PRELOAD_LIBRARY "libinferogram-preload.so"
#define MEMORY_LIBRARY  "libinferogram-memory.so"
#define NEEDED_BYTES    (64u << 20) /* less than this, and a recording ends early */

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
    ifg_fit_sudo(finding->fix);
}

void doctor_refused(struct doctor_finding *finding, const char *message)
{
    struct advice advice;

    advice_split(message, &advice);
    doctor_say(finding, DOCTOR_NO, "%s", advice.sentence);
    doctor_fix(finding, "%s", advice.command);
}

/* ---- launch ---- */

/* Starts `cat` as record would, and reads from its own mappings whether our library is in it. */
static bool child_has_library(const struct hooks *hooks, const char *program, const char *library,
                              bool *out_started)
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
        seen = seen || strstr(line, library);
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
    else if (child_has_library(&hooks, path, PRELOAD_LIBRARY, &started))
        doctor_say(out, DOCTOR_WORKS, "for %s%s", runtimes_watched(RUNTIME_LAUNCHED).text,
                   hooks.python ? "" : ", but not in Python: its hook is not installed");
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

/* Probes are tried by a child, while we do the rest: taking them out again takes its time. */
static struct {
    struct uprobe_rights found;
    pid_t child;
    int answer;
    bool known;
} rights_trial;

static void prepare_rights(void)
{
    int ends[2];

    if (rights_trial.child || pipe2(ends, O_CLOEXEC) < 0)
        return;
    rights_trial.child = fork();
    if (rights_trial.child == 0) {
        ssize_t size = sizeof rights_trial.found;

        uprobe_check_best(&rights_trial.found);
        _exit(write(ends[1], &rights_trial.found, (size_t)size) != size);
    }
    close(ends[1]);
    rights_trial.answer = ends[0];
}

static const struct uprobe_rights *rights(void)
{
    ssize_t got = -1;

    if (rights_trial.known)
        return &rights_trial.found;
    rights_trial.known = true;
    if (rights_trial.child > 0) {
        got = read(rights_trial.answer, &rights_trial.found, sizeof rights_trial.found);
        close(rights_trial.answer);
        waitpid(rights_trial.child, NULL, 0);
    }
    if (got != sizeof rights_trial.found) /* it died of it, or could not be made */
        uprobe_check_best(&rights_trial.found);
    return &rights_trial.found;
}

static void check_uprobes(struct doctor_finding *out)
{
    const struct uprobe_rights *found = rights();

    if (found->bpf.works) {
        doctor_say(out, DOCTOR_WORKS, "BPF");
        return;
    }
    doctor_refused(out, found->bpf.message);
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
        doctor_refused(out, found->memory.message);
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

static void check_injection(struct doctor_finding *out)
{
    int keeper;
    pid_t stranger = make_stranger(&keeper);
    uint64_t scope = ifg_read_number("/proc/sys/kernel/yama/ptrace_scope");

    if (stranger <= 0)
        doctor_say(out, DOCTOR_NO, "no process could be made to try it with");
    else if (ptrace(PTRACE_SEIZE, stranger, NULL, NULL) == 0)
        doctor_say(out, DOCTOR_WORKS, "%s", geteuid() ? "in your own processes" : "");
    else if (errno == EPERM && scope == 3)
        doctor_say(out, DOCTOR_NO,
                   "nobody may: kernel.yama.ptrace_scope is 3 (until the next "
                   "start of the system)");
    else if (errno == EPERM && scope && scope != IFG_NO_NUMBER) {
        doctor_say(out, DOCTOR_NO, "not even your own processes: kernel.yama.ptrace_scope is %u",
                   (unsigned)scope);
        doctor_fix(out, "sudo sysctl kernel.yama.ptrace_scope=0");
    } else
        doctor_say(out, DOCTOR_NO,
                   "ptrace is refused (%s): a filter, as containers have one (they need "
                   "--cap-add=SYS_PTRACE), or a security module forbids it",
                   strerror(errno));
    if (keeper >= 0)
        close(keeper); /* the stranger ends */
}

/* ---- allocations ---- */

static void check_memory_hook(struct doctor_finding *out)
{
    struct hooks hooks = { 0 };
    struct program program;
    char path[PATH_MAX];
    char reason[512];
    bool started;

    if (program_find("cat", path, sizeof path) != 0) {
        doctor_say(out, DOCTOR_NO, "there is no program 'cat' to try it with");
        return;
    }
    program_probe(path, &program);
    /* There is no ring: the library finds that out and keeps quiet. */
    if (!hooks_add_memory(&hooks, &program, "/dev/null", reason, sizeof reason))
        doctor_say(out, DOCTOR_NO, "%s", reason);
    else if (child_has_library(&hooks, path, MEMORY_LIBRARY, &started))
        doctor_say(out, DOCTOR_WORKS, "record --memory");
    else
        doctor_say(out, DOCTOR_NO,
                   started ? "a program was started, and our library was not in it"
                           : "a program did not start with our library in it");
    hooks_fini(&hooks);
}

const struct doctor_check doctor_checks[] = {
    { "launch", "launch and hooks", DOCTOR_RECORDING, true, check_launch, NULL },
    { "session_directory", "session directory", DOCTOR_RECORDING, true, check_directory, NULL },
    { "output", "trace file", DOCTOR_RECORDING, false, check_output, NULL },
    { "attach", "attach by uprobes", DOCTOR_RECORDING, false, check_uprobes, prepare_rights },
    { "injection", "attach by injection", DOCTOR_RECORDING, false, check_injection, NULL },
    { "other_processes", "processes of others", DOCTOR_RECORDING, false, check_memory,
      prepare_rights },
    { "memory", "allocations", DOCTOR_RECORDING, false, check_memory_hook, NULL },
    { "sampling", "sampling", DOCTOR_SAMPLING, false, doctor_sampling, NULL },
    { "hardware_counters", "hardware counters", DOCTOR_SAMPLING, false, doctor_counters, NULL },
    { "kernel_frames", "kernel frames", DOCTOR_SAMPLING, false, doctor_kernel_frames, NULL },
    { "context_switches", "context switches", DOCTOR_SAMPLING, false, doctor_switches, NULL },
    { "wakers", "wakers", DOCTOR_SAMPLING, false, doctor_wakers, NULL },
    { "ring_memory", "ring memory", DOCTOR_SAMPLING, false, doctor_ring_memory, NULL },
    { "descriptors", "open files", DOCTOR_SAMPLING, false, doctor_descriptors, NULL },
    { "sample_rate", "sample rate", DOCTOR_SAMPLING, false, doctor_sample_rate, NULL },
    { "symbols", "names and lines", DOCTOR_CODE, false, doctor_symbols, NULL },
    { "kernel_names", "names of the kernel", DOCTOR_CODE, false, doctor_kernel_names, NULL },
    { "deleted_libraries", "deleted libraries", DOCTOR_CODE, false, doctor_deleted_libraries,
      NULL },
    { "disassembler", "disassembler", DOCTOR_CODE, false, doctor_disassembler, NULL },
    { "machine", "CPUs", DOCTOR_MACHINE, false, doctor_computer, NULL },
    { "clock", "clock", DOCTOR_MACHINE, false, doctor_clock, NULL },
    { "resources", "CPU, memory and I/O", DOCTOR_MACHINE, false, doctor_resources, NULL },
    { "pressure", "pressure (PSI)", DOCTOR_MACHINE, false, doctor_pressure, NULL },
    { "cgroup", "limits (cgroup)", DOCTOR_MACHINE, false, doctor_cgroup, NULL },
    { "frequency", "CPU frequency", DOCTOR_MACHINE, false, doctor_frequency, NULL },
    { "throttling", "throttling by heat", DOCTOR_MACHINE, false, doctor_throttling, NULL },
    { "energy", "energy", DOCTOR_MACHINE, false, doctor_energy, NULL },
    { "nvidia", "NVIDIA GPU", DOCTOR_ACCELERATORS, false, doctor_nvidia, NULL },
    { "gpu", "other GPUs (DRM)", DOCTOR_ACCELERATORS, false, doctor_gpus, NULL },
    { "npu", "NPUs", DOCTOR_ACCELERATORS, false, doctor_npus, NULL },
    { "devices", "devices", DOCTOR_ACCELERATORS, false, doctor_devices_check, NULL },
};
const unsigned doctor_check_count = sizeof doctor_checks / sizeof doctor_checks[0];
