// SPDX-License-Identifier: Apache-2.0
/*
 * What every source of a recording does: it starts, stops, says so when it may not, survives the
 * end, the death and the fork of its target, counts what it loses, and its times and counts are
 * right. Each case is a whole recording of tests/conformance/workload.c, read back from its file.
 *
 * The last source of the table is made for this test (made_source.c), which drives it through
 * every fault. WORKLOAD, and for ONNX Runtime ORT_APP, ORT_STEADY, ORT_LIBRARY and ORT_MODEL,
 * come from the environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "collect/probe_file/probe_file.h"
#include "conformance/made_source.h"
#include "tap.h"
#include "trace/reader.h"
#include "trace/samples.h"

#define NOBODY 65534u
#define ROUNDS "40"
#define SOME   UINT64_MAX

enum subject { MADE, PERF, HEAP, PROC, PROBES, ORT };

static const char *const instruments[] = {
    [MADE] = MADE_NAME,   [PERF] = "samples",       [HEAP] = "allocations",
    [PROC] = "resources", [PROBES] = "w by probes", [ORT] = "ONNX Runtime",
};

/* A library that is named by its path gets its probes before anybody maps it. */
static const char description[] = "version 1\n"
                                  "runtime w\n"
                                  "library %s\n"
                                  "probe conformance_load load\n"
                                  "    model text 1\n"
                                  "    object result\n"
                                  "probe conformance_run inference\n"
                                  "    model object 1\n";

static char folder[224], path[240];
static struct session_options options;
static struct session_result result;
static struct ifg_error error;
static uint64_t begin_ns, end_ns;

/* ---- recording ---- */

static void prepare(enum subject subject)
{
    static struct probe_file *file;
    const char *workload = getenv("WORKLOAD");
    char library[512], text[1024];
    int length;

    memset(&made_log, 0, sizeof made_log);
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%.180s/conformance-XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        REQUIRE(mkdtemp(folder) != NULL);
        chmod(folder, 0777);
        snprintf(path, sizeof path, "%s/t.ifg", folder);
    }
    options = (struct session_options){
        .output = path,
        .overwrite = true,
        .hook = subject != ORT ? SESSION_HOOK_NONE : SESSION_HOOK_UPROBE,
        .machine_alone = true,
        .tool_version = "conformance",
    };
    if (subject == PERF)
        options.sample_hz = 997;
    if (subject == HEAP)
        options.memory = true;
    if (subject == PROC)
        options.resources_hz = 50;
    if (subject == PROBES) {
        snprintf(library, sizeof library, "%.*s/libconformance_work.so",
                 (int)(strrchr(workload, '/') - workload), workload);
        length = snprintf(text, sizeof text, description, library);
        REQUIRE(probe_file_parse("w", text, (size_t)length, &file, &error) == IFG_OK);
        options.probes = &file;
        options.probe_count = 1;
    }
    if (subject == ORT && !getenv("ORT_LIBRARY"))
        SKIP("no ONNX Runtime here (tools/fetch-runtimes), or a build with a sanitizer");
    if ((subject == ORT || subject == PROBES) && geteuid() != 0)
        SKIP("root: probes need root here");
}

static void clean_up(void)
{
    unlink(path);
    rmdir(folder);
}

static enum ifg_status record(void)
{
    bool cannot_start;
    enum ifg_status status;

    error = (struct ifg_error){ .message = "" };
    begin_ns = ifg_monotonic_ns();
    status = session_run(&options, &result, &cannot_start, &error);
    end_ns = ifg_monotonic_ns();
    if (status)
        fprintf(stderr, "# %s\n", error.message);
    return status;
}

/* The same of ONNX Runtime: a program runs a model, two do at the same time, or it is killed. */
static const char *ort_script(const char *rounds, const char *how)
{
    static char script[4096];
    char run[1024];

    snprintf(run, sizeof run, "'%s' --ort '%s' --runs %s --pause-us 500 --model '%s' >&2",
             getenv("ORT_APP"), getenv("ORT_LIBRARY"), rounds, getenv("ORT_MODEL"));
    if (strcmp(how, "fork") == 0)
        snprintf(script, sizeof script, "%s & %s; wait; exit 7", run, run);
    else
        snprintf(script, sizeof script, "%s; %s", run,
                 strcmp(how, "kill") == 0 ? "kill -9 $$" : "exit 7");
    return script;
}

static enum ifg_status launch(enum subject subject, const char *rounds, const char *how)
{
    const char *const work[] = { getenv("WORKLOAD"), rounds, how, NULL };
    const char *const ort[] = { "sh", "-c", ort_script(rounds, how), NULL };

    options.command = (char *const *)(uintptr_t)(subject == ORT ? ort : work);
    return record();
}

static const struct instrument *instrument_of(enum subject subject)
{
    for (size_t i = 0; i < result.instruments.count; i++)
        if (strncmp(result.instruments.items[i].name, instruments[subject],
                    strlen(instruments[subject])) == 0)
            return &result.instruments.items[i];
    return NULL;
}

static bool is_on(enum subject subject)
{
    const struct instrument *instrument = instrument_of(subject);

    REQUIRE(instrument != NULL);
    if (instrument->state != TRACE_INSTRUMENT_ON)
        fprintf(stderr, "# %s: %s\n", instrument->name, instrument->reason);
    return instrument->state == TRACE_INSTRUMENT_ON;
}

/* It is on, or says why it is not. */
static bool is_honest(enum subject subject)
{
    const struct instrument *instrument = instrument_of(subject);

    return instrument && (instrument->state == TRACE_INSTRUMENT_ON || instrument->reason[0]);
}

/* ---- reading it back ---- */

struct seen {
    uint64_t zones, counters, samples, allocations, lost;
    size_t processes; /* of the target: not the machine, nor we */
    uint64_t out_of_order, out_of_time;
    uint64_t largest_error_ns; /* of made events */
    char losses[512];
};

static bool is_in_time(uint64_t ns)
{
    return ns >= begin_ns && ns <= end_ns;
}

static void see_zones(const struct trace_reader *reader, size_t block, uint32_t clock,
                      uint64_t *last_end, struct seen *seen)
{
    struct trace_zones zones = { 0 };

    REQUIRE(trace_decode_zones(reader, block, &zones, &error) == IFG_OK);
    for (size_t i = 0; i < zones.count; i++) {
        uint64_t end = zones.starts[i] + zones.durations[i];

        seen->out_of_order += end < *last_end;
        *last_end = end;
        seen->out_of_time += !is_in_time(trace_clock_to_ns(reader, clock, zones.starts[i])) ||
                             !is_in_time(trace_clock_to_ns(reader, clock, end));
    }
    seen->zones += zones.count;
    trace_zones_fini(&zones);
}

static void see_events(const struct trace_reader *reader, size_t block, uint32_t clock,
                       struct seen *seen)
{
    struct trace_events events = { 0 };

    REQUIRE(trace_decode_events(reader, block, &events, &error) == IFG_OK);
    for (size_t i = 0; i < events.count; i++) {
        const struct trace_attribute *attribute = events.events[i].attribute;
        uint64_t ns = trace_clock_to_ns(reader, clock,
                                        attribute ? attribute->zone_start : events.events[i].ticks);

        seen->counters += events.events[i].kind == TRACE_EVENT_COUNTER;
        seen->out_of_time += events.events[i].kind == TRACE_EVENT_COUNTER && !is_in_time(ns);
        if (attribute && attribute->key_bytes == 5 && memcmp(attribute->key, "truth", 5) == 0) {
            uint64_t truth = (uint64_t)attribute->signed_value;
            uint64_t wrong = ns > truth ? ns - truth : truth - ns;

            if (wrong > seen->largest_error_ns)
                seen->largest_error_ns = wrong;
        }
    }
    trace_events_fini(&events);
}

static struct seen see(void)
{
    struct trace_reader *reader = NULL;
    const struct trace_tables *tables;
    struct seen seen = { .zones = 0 };
    uint64_t last_end[64] = { 0 };

    REQUIRE(trace_reader_open(path, &reader, &error) == IFG_OK);
    tables = trace_reader_tables(reader);
    for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
        const struct trace_block *block = trace_reader_block(reader, i);
        bool has_thread = block->type == TRACE_BLOCK_ZONES || block->type == TRACE_BLOCK_EVENTS;
        uint32_t clock = has_thread ? trace_thread_clock(tables, block->stream) : 0;

        if (block->type == TRACE_BLOCK_ZONES)
            see_zones(reader, i, clock, &last_end[block->stream % 64], &seen);
        else if (block->type == TRACE_BLOCK_EVENTS)
            see_events(reader, i, clock, &seen);
        else if (block->type == TRACE_BLOCK_SAMPLES)
            seen.samples += block->count;
        else if (block->type == TRACE_BLOCK_ALLOCATIONS)
            seen.allocations += block->count;
        if (block->type == TRACE_BLOCK_SAMPLES && block->count)
            seen.out_of_time += !is_in_time(block->t0) || !is_in_time(block->t1);
    }
    for (size_t i = 0; i < tables->process_count; i++)
        seen.processes +=
            tables->processes[i].pid && tables->processes[i].pid != (uint32_t)getpid();
    for (size_t i = 0; i < tables->loss_count; i++) {
        seen.lost += tables->losses[i].count;
        snprintf(seen.losses + strlen(seen.losses), sizeof seen.losses - strlen(seen.losses), "%s;",
                 tables->losses[i].what);
    }
    trace_reader_close(reader);
    return seen;
}

static uint64_t fact(const char *key)
{
    struct trace_reader *reader = NULL;
    const char *value;
    uint64_t number;

    REQUIRE(trace_reader_open(path, &reader, &error) == IFG_OK);
    value = trace_find_fact(trace_reader_tables(reader), key);
    number = value ? strtoull(value, NULL, 10) : UINT64_MAX;
    trace_reader_close(reader);
    return number;
}

/* What the recorder says there is, is in the file. */
static struct seen check_counts(enum subject subject, uint64_t calls)
{
    struct seen seen = see();

    CHECK_UINT(seen.out_of_order, 0);
    CHECK_UINT(seen.out_of_time, 0);
    CHECK_UINT(seen.zones, result.totals.events);
    if (subject == MADE)
        CHECK_UINT(seen.zones, made_log.written);
    if (subject == PERF && is_on(PERF))
        CHECK_UINT(seen.samples, fact("samples.count"));
    if (subject == HEAP && is_on(HEAP))
        CHECK_UINT(seen.allocations, fact("allocations.count") + fact("allocations.ended"));
    if ((subject == PROBES || subject == ORT) && calls != SOME)
        CHECK_UINT(result.totals.inferences + result.totals.dropped, calls);
    if (subject == PROC)
        CHECK(seen.counters > 0);
    return seen;
}

/* ---- every source ---- */

static void starts_and_ends(enum subject subject)
{
    struct seen seen;

    prepare(subject);
    REQUIRE(launch(subject, ROUNDS, "") == IFG_OK);
    CHECK_INT(result.end, SESSION_PROGRAM_ENDED);
    CHECK(result.command_ended && WIFEXITED(result.wait_status));
    CHECK_INT(WEXITSTATUS(result.wait_status), 7);
    CHECK(is_on(subject));
    seen = check_counts(subject, strtoull(ROUNDS, NULL, 10));
    CHECK(seen.zones + seen.counters + seen.samples + seen.allocations > 0);
    clean_up();
}

static void stops_and_lets_go(enum subject subject)
{
    int in[2], out[2];
    char answer[8] = "";
    pid_t pid, feeder;
    int status;

    prepare(subject);
    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (subject == ORT)
            execl(getenv("ORT_STEADY"), "ort_steady", "/dev/null", "500", getenv("ORT_LIBRARY"),
                  getenv("ORT_MODEL"), (char *)NULL);
        execl(getenv("WORKLOAD"), "workload", "1", "wait", (char *)NULL);
        _exit(127);
    }
    REQUIRE(read(out[0], answer, sizeof answer - 1) > 0);
    REQUIRE_CONTAINS(answer, "ready");
    feeder = fork();
    if (feeder == 0) {
        close(in[0]);
        while (write(in[1], "x", 1) == 1)
            usleep(5000);
        _exit(0);
    }
    options.pid = pid;
    options.duration_s = 0.4;
    REQUIRE(record() == IFG_OK);
    CHECK_INT(result.end, SESSION_DURATION_OVER);
    CHECK(is_honest(subject));
    if (subject == MADE)
        CHECK_UINT(made_log.stopped, 1);
    CHECK_UINT(see().out_of_time, 0);
    /* It goes on, and ends as it would have. */
    CHECK_INT(kill(pid, 0), 0);
    kill(feeder, SIGKILL);
    waitpid(feeder, NULL, 0);
    close(in[1]);
    if (subject == ORT)
        kill(pid, SIGTERM);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), subject == ORT ? 0 : 7);
    clean_up();
}

static void says_what_it_may_not(enum subject subject)
{
    enum ifg_status status;

    prepare(subject);
    if (geteuid() != 0)
        SKIP("root: only root can become somebody else");
    REQUIRE(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    if (access(getenv("WORKLOAD"), X_OK) < 0)
        SKIP("others may not look into the build folder");
    status = launch(subject, "5", "");
    if (status) {
        CHECK(error.message[0] != '\0');
        CHECK(!result.command_started);
        CHECK(access(path, F_OK) < 0); /* nothing is left behind */
    } else {
        CHECK(is_honest(subject));
        CHECK_INT(WEXITSTATUS(result.wait_status), 7);
        check_counts(subject, 5);
    }
    clean_up();
}

static void target_exits_at_once(enum subject subject)
{
    prepare(subject);
    REQUIRE(launch(subject, subject == ORT ? "1" : "0", "") == IFG_OK);
    CHECK_INT(result.end, SESSION_PROGRAM_ENDED);
    CHECK(is_honest(subject));
    CHECK_UINT(see().out_of_order, 0);
    clean_up();
}

static void target_is_killed(enum subject subject)
{
    prepare(subject);
    REQUIRE(launch(subject, "10", "kill") == IFG_OK);
    CHECK(WIFSIGNALED(result.wait_status) && WTERMSIG(result.wait_status) == SIGKILL);
    CHECK(is_on(subject));
    check_counts(subject, 10);
    clean_up();
}

/* The child of a fork has mapped its libraries already: nobody tells of it, and a description finds
 * it when processes are looked at next. What it calls before that is not seen. */
static void target_forks(enum subject subject)
{
    const uint64_t rounds = 160;
    struct seen seen;

    prepare(subject);
    REQUIRE(launch(subject, "160", "fork") == IFG_OK);
    CHECK(is_on(subject));
    seen = check_counts(subject, subject == PROBES ? SOME : 2 * rounds);
    if (subject == PROBES)
        CHECK(result.totals.inferences > rounds && result.totals.inferences <= 2 * rounds);
    if (subject == PROBES || subject == PROC || subject == ORT)
        CHECK_UINT(seen.processes, 2);
    clean_up();
}

/* More than there is room for: what is not there is counted. */
static void floods(enum subject subject)
{
    struct seen seen;

    prepare(subject);
    made_plan.flood = 2000;
    REQUIRE(launch(subject, subject == ORT ? "2000" : "100000", "flood") == IFG_OK);
    seen = check_counts(subject, subject == ORT ? 2000 : 100000);
    if (subject == PROBES && result.totals.dropped)
        CHECK(seen.lost > 0);
    clean_up();
}

#define EVERY_SOURCE(scenario)                                                                     \
    static void scenario##_made(void)                                                              \
    {                                                                                              \
        scenario(MADE);                                                                            \
    }                                                                                              \
    static void scenario##_samples(void)                                                           \
    {                                                                                              \
        scenario(PERF);                                                                            \
    }                                                                                              \
    static void scenario##_allocations(void)                                                       \
    {                                                                                              \
        scenario(HEAP);                                                                            \
    }                                                                                              \
    static void scenario##_resources(void)                                                         \
    {                                                                                              \
        scenario(PROC);                                                                            \
    }                                                                                              \
    static void scenario##_descriptions(void)                                                      \
    {                                                                                              \
        scenario(PROBES);                                                                          \
    }                                                                                              \
    static void scenario##_onnxruntime(void)                                                       \
    {                                                                                              \
        scenario(ORT);                                                                             \
    }

EVERY_SOURCE(starts_and_ends)
EVERY_SOURCE(stops_and_lets_go)
EVERY_SOURCE(says_what_it_may_not)
EVERY_SOURCE(target_exits_at_once)
EVERY_SOURCE(target_is_killed)
EVERY_SOURCE(target_forks)
EVERY_SOURCE(floods)

#define CASES(scenario)                                                                            \
    TAP_CASE(scenario##_made), TAP_CASE(scenario##_samples), TAP_CASE(scenario##_allocations),     \
        TAP_CASE(scenario##_resources), TAP_CASE(scenario##_descriptions),                         \
        TAP_CASE(scenario##_onnxruntime)

/* ---- faults ---- */

static void open_fails(void)
{
    prepare(MADE);
    made_plan.open_fails = true;
    CHECK_INT(launch(MADE, "5", ""), IFG_PERMISSION);
    CHECK_STR(error.message, "made events are not to be had");
    CHECK(!result.command_started);
    CHECK(access(path, F_OK) < 0);
    CHECK_UINT(made_log.begun + made_log.closed, 0);
    clean_up();
}

static void begin_fails(void)
{
    prepare(MADE);
    made_plan.begin_fails = true;
    REQUIRE(launch(MADE, "5", "") == IFG_OK);
    CHECK_INT(WEXITSTATUS(result.wait_status), 7);
    CHECK_INT(instrument_of(MADE)->state, TRACE_INSTRUMENT_UNAVAILABLE);
    CHECK_UINT(made_log.started + made_log.works + made_log.finished, 0);
    CHECK_UINT(made_log.closed, 1);
    clean_up();
}

/* The others go on, and the trace says what happened. */
static void work_fails(void)
{
    struct seen seen;

    prepare(PERF);
    made_plan.work_fails = true;
    REQUIRE(launch(PERF, ROUNDS, "") == IFG_OK);
    CHECK_INT(WEXITSTATUS(result.wait_status), 7);
    CHECK_UINT(made_log.works, 21);
    CHECK_UINT(made_log.finished, 1);
    CHECK_UINT(made_log.closed, 1);
    seen = see();
    CHECK_UINT(seen.zones, made_log.written);
    CHECK_UINT(result.totals.events, made_log.written);
    CHECK(seen.samples > 0);
    CHECK_CONTAINS(seen.losses, "made events: the maker has gone");
    clean_up();
}

static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* A descriptor that is always ready must not keep the loop awake: as many passes as time allows
 * would be tens of thousands. */
static void descriptor_hangs_up(void)
{
    double before;

    prepare(MADE);
    made_plan.hangs_up = true;
    before = cpu_s();
    REQUIRE(launch(MADE, ROUNDS, "") == IFG_OK);
    CHECK(made_log.works > 0);
    /* At most one pass a millisecond, and some. */
    CHECK(made_log.works < 100 + (end_ns - begin_ns) / 1000000);
    fprintf(stderr, "# %u passes, %.3f s of CPU\n", made_log.works, cpu_s() - before);
    check_counts(MADE, 0);
    clean_up();
}

static void finish_fails(void)
{
    struct seen seen;

    prepare(MADE);
    made_plan.finish_fails = true;
    REQUIRE(launch(MADE, ROUNDS, "") == IFG_OK);
    CHECK_UINT(made_log.closed, 1);
    seen = check_counts(MADE, 0);
    CHECK_CONTAINS(seen.losses, "made events: the last ones did not come");
    clean_up();
}

/* By pairs of both clocks, every event is where it was. */
static void clock_drifts(void)
{
    struct seen seen;

    prepare(MADE);
    made_plan.drift_ppm = 50;
    REQUIRE(launch(MADE, "400", "") == IFG_OK);
    seen = check_counts(MADE, 0);
    CHECK(seen.zones > 20);
    fprintf(stderr, "# at most %llu ns beside the truth\n",
            (unsigned long long)seen.largest_error_ns);
    CHECK(seen.largest_error_ns < 100000);
    clean_up();
}

static void calls_come_in_order(void)
{
    prepare(MADE);
    REQUIRE(launch(MADE, ROUNDS, "") == IFG_OK);
    CHECK_UINT(made_log.opened, 1);
    CHECK_UINT(made_log.attached, 0);
    CHECK_UINT(made_log.begun, 1);
    CHECK_UINT(made_log.started, 1);
    CHECK(made_log.works > 0);
    CHECK(made_log.processes > 0);
    CHECK_UINT(made_log.stopped, 0); /* the program ended first */
    CHECK_UINT(made_log.finished, 1);
    CHECK_UINT(made_log.closed, 1);
    clean_up();
}

TAP_MAIN(TAP_CASE(calls_come_in_order), TAP_CASE(open_fails), TAP_CASE(begin_fails),
         TAP_CASE(work_fails), TAP_CASE(descriptor_hangs_up), TAP_CASE(finish_fails),
         TAP_CASE(clock_drifts), CASES(starts_and_ends), CASES(stops_and_lets_go),
         CASES(says_what_it_may_not), CASES(target_exits_at_once), CASES(target_is_killed),
         CASES(target_forks), CASES(floods))
