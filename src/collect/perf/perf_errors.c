// SPDX-License-Identifier: Apache-2.0
/* From an error number and the settings of the kernel to a sentence and a command. */
#include "collect/perf/perf_errors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/small_file.h"
#include "collect/perf/sampler.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define MLOCK_KB   516u  /* a ring of 512 KiB and its page of positions */
#define HIGHEST_HZ 1999u /* that we ever ask for */
#define TRACING    "/sys/kernel/tracing"

/* ---- facts ---- */

static uint64_t setting(const char *name)
{
    char path[96];

    snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    return ifg_read_number(path);
}

void perf_error_read_facts(struct perf_error_facts *out_facts)
{
    struct process_status own;
    char text[16];

    memset(out_facts, 0, sizeof *out_facts);
    if (ifg_read_small("/proc/sys/kernel/perf_event_paranoid", text, sizeof text))
        out_facts->paranoid = (int)strtol(text, NULL, 10);
    out_facts->seccomp = process_status_of(PROCESS_SELF, &own) && own.seccomp_mode;
    out_facts->root = geteuid() == 0;
    out_facts->mlock_kb = setting("perf_event_mlock_kb");
    out_facts->sample_rate = setting("perf_event_max_sample_rate");
    out_facts->cpu_percent = setting("perf_cpu_time_max_percent");
}

/* ---- commands ---- */

/* Whether somebody else runs the process. */
static bool is_foreign(pid_t pid)
{
    uid_t owner;

    return pid > 0 && process_owner(pid, &owner) && owner != geteuid();
}

static const char *subject(enum perf_error_wish wish)
{
    static const char *const subjects[] = {
        [PERF_ERROR_SAMPLES] = "perf events",
        [PERF_ERROR_KERNEL] = "events of the kernel",
        [PERF_ERROR_WAKERS] = "tracepoints of the scheduler",
        [PERF_ERROR_COUNTERS] = "hardware counters",
        [PERF_ERROR_RING] = "rings",
    };

    return subjects[wish];
}

static void explain_right(enum perf_error_wish wish, pid_t pid,
                          const struct perf_error_facts *facts, struct perf_error *out)
{
    int allowed = wish == PERF_ERROR_KERNEL ? 1 : wish == PERF_ERROR_WAKERS ? -1 : 2;

    if (is_foreign(pid) && !facts->root) {
        snprintf(out->reason, sizeof out->reason,
                 "process %d belongs to another user: record it as that user, or with sudo",
                 (int)pid);
    } else if (wish == PERF_ERROR_WAKERS && facts->paranoid > allowed && !facts->root) {
        /* -1 would show every process of the machine to everybody. */
        snprintf(out->reason, sizeof out->reason,
                 "tracepoints of the scheduler show all processes of the machine, which is for "
                 "root (perf_event_paranoid is %d); record with sudo",
                 facts->paranoid);
    } else if (facts->paranoid > allowed && !facts->root) {
        snprintf(out->reason, sizeof out->reason, "perf_event_paranoid is %d", facts->paranoid);
        snprintf(out->fix, sizeof out->fix, "sudo sysctl kernel.perf_event_paranoid=%d", allowed);
    } else if (facts->seccomp) {
        snprintf(
            out->reason, sizeof out->reason,
            "a seccomp filter on this process forbids %s although perf_event_paranoid is %d; a "
            "container needs --cap-add=PERFMON, or --security-opt seccomp=unconfined",
            subject(wish), facts->paranoid);
    } else {
        snprintf(out->reason, sizeof out->reason,
                 "%s are refused although perf_event_paranoid is %d: a security module, or the "
                 "user namespace of a container",
                 subject(wish), facts->paranoid);
    }
}

static void explain_files(struct perf_error *out)
{
    struct rlimit limit = { 0, 0 };

    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(out->reason, sizeof out->reason, "no more than %llu files may be open",
             (unsigned long long)limit.rlim_max);
    snprintf(out->fix, sizeof out->fix, "sudo prlimit --pid $$ --nofile=65536:65536");
}

static void explain_memory(const struct perf_error_facts *facts, struct perf_error *out)
{
    struct rlimit limit = { 0, 0 };

    getrlimit(RLIMIT_MEMLOCK, &limit);
    snprintf(out->reason, sizeof out->reason,
             "the kernel gives a user %llu KiB for rings on each CPU, plus %llu KiB of locked "
             "memory, which is not enough",
             (unsigned long long)(facts->mlock_kb == IFG_NO_NUMBER ? 0 : facts->mlock_kb),
             (unsigned long long)limit.rlim_cur / 1024);
    snprintf(out->fix, sizeof out->fix, "sudo sysctl kernel.perf_event_mlock_kb=%llu",
             (unsigned long long)(facts->mlock_kb == IFG_NO_NUMBER || facts->mlock_kb < MLOCK_KB
                                      ? MLOCK_KB
                                      : 2 * facts->mlock_kb));
}

static void explain_rate(const struct perf_error_facts *facts, struct perf_error *out)
{
    snprintf(out->reason, sizeof out->reason, "perf_event_max_sample_rate is %llu",
             (unsigned long long)facts->sample_rate);
    /* Where the kernel was told not to watch the time that samples take, it refuses a new rate. */
    snprintf(out->fix, sizeof out->fix, "sudo sysctl %skernel.perf_event_max_sample_rate=100000",
             facts->cpu_percent == 0 || facts->cpu_percent == 100
                 ? "kernel.perf_cpu_time_max_percent=25 "
                 : "");
}

void perf_error_explain(enum perf_error_wish wish, int error, pid_t pid,
                        const struct perf_error_facts *facts, struct perf_error *out)
{
    memset(out, 0, sizeof *out);
    switch (error) {
    case EACCES:
    case EPERM:
        if (wish == PERF_ERROR_RING)
            explain_memory(facts, out);
        else
            explain_right(wish, pid, facts, out);
        return;
    case ENOSYS:
        snprintf(out->reason, sizeof out->reason,
                 facts->seccomp ? "a seccomp filter on this process hides perf events, as "
                                  "containers have one; they need --cap-add=PERFMON, or "
                                  "--security-opt seccomp=unconfined"
                                : "this kernel has no perf events (CONFIG_PERF_EVENTS)");
        return;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        snprintf(out->reason, sizeof out->reason, "this machine has no %s", subject(wish));
        return;
    case EMFILE:
    case ENFILE:
        explain_files(out);
        return;
    case EINVAL:
        if (facts->sample_rate < HIGHEST_HZ && wish != PERF_ERROR_WAKERS &&
            wish != PERF_ERROR_RING) {
            explain_rate(facts, out);
            return;
        }
        break;
    case ESRCH:
        snprintf(out->reason, sizeof out->reason, "process %d is gone", (int)pid);
        return;
    default:
        break;
    }
    snprintf(out->reason, sizeof out->reason, "%s: %s", subject(wish), strerror(error));
}

void perf_error_line(enum perf_error_wish wish, int error, pid_t pid, char *out, size_t size)
{
    struct perf_error_facts facts;
    struct perf_error refusal;

    perf_error_read_facts(&facts);
    perf_error_explain(wish, error, pid, &facts, &refusal);
    snprintf(out, size, "%s%s%s%s", refusal.reason, *refusal.fix ? "; `" : "", refusal.fix,
             *refusal.fix ? "`" : "");
}

/* ---- tracepoints ---- */

/* Who can read tracefs sees the whole machine, so nobody but root is told how to get there. */
static void want_tracing(struct perf_error *out, const char *reason)
{
    if (geteuid() == 0) {
        snprintf(out->reason, sizeof out->reason, "%s", reason);
        snprintf(out->fix, sizeof out->fix, "mount -t tracefs nodev " TRACING);
    } else {
        snprintf(out->reason, sizeof out->reason, "%s; record with sudo", reason);
    }
}

bool perf_error_find_tracepoint(const char *name, uint64_t *out_id, struct perf_error *out)
{
    static const char *const roots[] = { TRACING, "/sys/kernel/debug/tracing" };
    char path[160];
    bool denied = false;

    *out_id = IFG_NO_NUMBER;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0] && *out_id == IFG_NO_NUMBER; i++) {
        snprintf(path, sizeof path, "%s/events/%s/id", roots[i], name);
        *out_id = ifg_read_number(path);
        denied |= *out_id == IFG_NO_NUMBER && access(path, R_OK) < 0 && errno == EACCES &&
                  i == 0; /* debugfs is closed to others even where nothing is mounted below */
    }
    if (*out_id != IFG_NO_NUMBER)
        return true;
    if (access(TRACING, F_OK) < 0)
        snprintf(out->reason, sizeof out->reason, "this kernel has no tracepoints (tracefs)");
    else if (denied)
        want_tracing(out, "tracefs (" TRACING ") can be read by root only");
    else if (access(TRACING "/events", F_OK) == 0)
        snprintf(out->reason, sizeof out->reason, "this kernel has no tracepoint %s", name);
    else
        want_tracing(out, "tracefs is not mounted at " TRACING);
    return false;
}
