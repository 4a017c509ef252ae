// SPDX-License-Identifier: Apache-2.0
/* Each refusal of the kernel under each setting: the reason, and a command only where it helps. */
#include "collect/perf/perf_errors.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static const struct perf_error_facts ordinary = {
    .paranoid = 2, .mlock_kb = 516, .sample_rate = 100000, .cpu_percent = 25
};

static struct perf_error explain(enum perf_error_wish wish, int error,
                                 const struct perf_error_facts *facts)
{
    struct perf_error out;

    perf_error_explain(wish, error, 0, facts, &out);
    CHECK(out.reason[0] != '\0');
    return out;
}

static void the_setting_that_refuses_is_named(void)
{
    struct perf_error_facts facts = ordinary;
    struct perf_error out = explain(PERF_ERROR_KERNEL, EACCES, &facts);

    CHECK_STR(out.reason, "perf_event_paranoid is 2");
    CHECK_STR(out.fix, "sudo sysctl kernel.perf_event_paranoid=1");
    facts.paranoid = 4; /* as Debian and Ubuntu have it */
    out = explain(PERF_ERROR_SAMPLES, EACCES, &facts);
    CHECK_STR(out.reason, "perf_event_paranoid is 4");
    CHECK_STR(out.fix, "sudo sysctl kernel.perf_event_paranoid=2");
    facts.paranoid = 0;
    out = explain(PERF_ERROR_WAKERS, EPERM, &facts);
    CHECK_CONTAINS(out.reason, "record with sudo");
    CHECK_STR(out.fix, ""); /* nothing less would be for one's own processes only */
}

static void a_filter_is_not_cured_by_a_setting(void)
{
    struct perf_error_facts facts = ordinary;
    struct perf_error out;

    facts.seccomp = true;
    out = explain(PERF_ERROR_SAMPLES, EPERM, &facts);
    CHECK_CONTAINS(out.reason, "seccomp");
    CHECK_CONTAINS(out.reason, "--cap-add=PERFMON");
    CHECK_STR(out.fix, "");
    out = explain(PERF_ERROR_SAMPLES, ENOSYS, &facts);
    CHECK_CONTAINS(out.reason, "seccomp");
    CHECK_STR(out.fix, "");
    facts.seccomp = false;
    out = explain(PERF_ERROR_SAMPLES, EPERM, &facts);
    CHECK_CONTAINS(out.reason, "security module");
    CHECK_STR(out.fix, "");
    CHECK_CONTAINS(explain(PERF_ERROR_SAMPLES, ENOSYS, &facts).reason, "CONFIG_PERF_EVENTS");
    facts.root = true; /* settings do not bind him */
    CHECK_STR(explain(PERF_ERROR_KERNEL, EPERM, &facts).fix, "");
}

static void limits_are_raised(void)
{
    struct perf_error_facts facts = ordinary;

    facts.mlock_kb = 64;
    CHECK_STR(explain(PERF_ERROR_RING, EPERM, &facts).fix,
              "sudo sysctl kernel.perf_event_mlock_kb=516");
    facts.mlock_kb = 516; /* somebody else has it all */
    CHECK_STR(explain(PERF_ERROR_RING, EPERM, &facts).fix,
              "sudo sysctl kernel.perf_event_mlock_kb=1032");
    CHECK_CONTAINS(explain(PERF_ERROR_SAMPLES, EMFILE, &facts).fix, "prlimit --pid $$ --nofile=");
    CHECK_STR(explain(PERF_ERROR_SAMPLES, EINVAL, &facts).fix, "");
    facts.sample_rate = 100;
    CHECK_STR(explain(PERF_ERROR_SAMPLES, EINVAL, &facts).reason,
              "perf_event_max_sample_rate is 100");
    CHECK_STR(explain(PERF_ERROR_SAMPLES, EINVAL, &facts).fix,
              "sudo sysctl kernel.perf_event_max_sample_rate=100000");
    facts.cpu_percent = 0; /* then the rate alone cannot be set */
    CHECK_CONTAINS(explain(PERF_ERROR_SAMPLES, EINVAL, &facts).fix,
                   "kernel.perf_cpu_time_max_percent=25 kernel.perf_event_max_sample_rate=");
}

static void what_is_not_there_has_no_command(void)
{
    CHECK_STR(explain(PERF_ERROR_COUNTERS, ENOENT, &ordinary).reason,
              "this machine has no hardware counters");
    CHECK_STR(explain(PERF_ERROR_COUNTERS, EOPNOTSUPP, &ordinary).fix, "");
    CHECK_STR(explain(PERF_ERROR_SAMPLES, ESRCH, &ordinary).fix, "");
    CHECK_CONTAINS(explain(PERF_ERROR_WAKERS, EIO, &ordinary).reason, strerror(EIO));
}

static void processes_of_others_need_a_right(void)
{
    bool root = geteuid() == 0;
    struct perf_error out;
    char line[800];

    if (root)
        REQUIRE(seteuid(65534) == 0);
    perf_error_explain(PERF_ERROR_SAMPLES, EACCES, 1, &ordinary, &out);
    CHECK_CONTAINS(out.reason, "process 1 belongs to another user");
    CHECK_STR(out.fix, "");
    perf_error_line(PERF_ERROR_SAMPLES, EACCES, 1, line, sizeof line);
    CHECK_CONTAINS(line, "record it as that user, or with sudo");
    if (root) /* what looks for leaks at the end needs it */
        REQUIRE(seteuid(0) == 0);
}

static void facts_are_those_of_the_kernel(void)
{
    struct perf_error_facts facts;

    perf_error_read_facts(&facts);
    CHECK(facts.paranoid >= -1 && facts.paranoid < 10);
    CHECK(facts.root == (geteuid() == 0));
}

TAP_MAIN(TAP_CASE(the_setting_that_refuses_is_named), TAP_CASE(a_filter_is_not_cured_by_a_setting),
         TAP_CASE(limits_are_raised), TAP_CASE(what_is_not_there_has_no_command),
         TAP_CASE(processes_of_others_need_a_right), TAP_CASE(facts_are_those_of_the_kernel))
