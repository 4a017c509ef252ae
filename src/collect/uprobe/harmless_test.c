// SPDX-License-Identifier: Apache-2.0
/*
 * The watched program is never harmed, whatever happens to it or to us; and probes work where it
 * lives. Refusals say what is missing.
 */
#include "collect/uprobe/uprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "collect/uprobe/uprobe_internal.h"
#include "probed.h"
#include "tap.h"

static struct probed target;
static struct uprobe *engine;
static struct ifg_error err;
static unsigned char clean[PROBED_CODE_BYTES];
static size_t calls;
static struct uprobe_event last;

static void count(const struct uprobe_event *event, void *user)
{
    (void)user;
    calls++;
    last = *event;
}

static size_t read_all(void)
{
    calls = 0;
    uprobe_stop(engine);
    uprobe_read(engine, count, NULL);
    return calls;
}

/* Its threads have begun, but on a busy machine none may have had a processor yet. */
static bool await_calls(void)
{
    calls = 0;
    for (int wait = 0; wait < 12000 && calls == 0; wait++) {
        usleep(5000);
        uprobe_read(engine, count, NULL);
    }
    return calls > 0;
}

static void start(unsigned surroundings)
{
    if (geteuid() != 0)
        SKIP("root: probes need root");
    REQUIRE(probed_start(&target, surroundings));
    REQUIRE(probed_code(&target, 0, "work_inner", clean));
}

/* Probes on work_inner (1) and work_six (2), unless there is a reason why not. */
static enum ifg_status attach_to(enum uprobe_way way, const char *file)
{
    struct uprobe_options options = { .way = way };
    struct uprobe_spec specs[] = {
        { .file = file, .id = 1, .flags = UPROBE_RETURN },
        { .file = file, .id = 2, .flags = UPROBE_RETURN },
    };

    specs[0].offset = probed_offset(&target, "work_inner");
    specs[1].offset = probed_offset(&target, "work_six");
    if (uprobe_open(&options, &engine, &err)) {
        probed_end(&target);
        SKIP("probes: %s", err.message);
    }
    return uprobe_add(engine, target.pid, specs, 2, &err);
}

static void attach(enum uprobe_way way)
{
    enum ifg_status status = attach_to(way, probed_file(&target));

    if (status)
        tap_diag("%s", err.message);
    REQUIRE_INT(status, IFG_OK);
}

static bool is_clean(pid_t pid)
{
    unsigned char now[PROBED_CODE_BYTES];

    return probed_code(&target, pid, "work_inner", now) && memcmp(now, clean, sizeof now) == 0;
}

static void check_clean_soon(pid_t pid)
{
    for (int i = 0; i < 3000 && !is_clean(pid); i++)
        usleep(10000);
    CHECK(is_clean(pid));
}

static size_t open_files(void)
{
    size_t count_open = 0;

    for (int fd = 0; fd < 1024; fd++)
        count_open += fcntl(fd, F_GETFD) >= 0;
    return count_open;
}

static void cycles_under_load(enum uprobe_way way)
{
    uint64_t add_ns = 0;
    uint64_t close_ns = 0;
    size_t files;

    start(PROBED_PLAIN);
    files = open_files();
    CHECK_UINT(probed_ask(&target, "busy 2"), 0);
    for (int i = 0; i < 20; i++) {
        uint64_t begin_ns = ifg_monotonic_ns();

        attach(way);
        add_ns += ifg_monotonic_ns() - begin_ns;
        CHECK(!is_clean(0));
        CHECK(await_calls());
        begin_ns = ifg_monotonic_ns();
        read_all();
        uprobe_close(engine);
        close_ns += ifg_monotonic_ns() - begin_ns;
        CHECK(is_clean(0));
        CHECK_UINT(open_files(), files);
    }
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_INT(probed_end(&target), 7);
    tap_diag("two probes: %.1f ms to open and set, %.1f ms to stop, read and close",
             (double)add_ns / 20e6, (double)close_ns / 20e6);
}

static void cycles_under_load_by_bpf(void)
{
    cycles_under_load(UPROBE_BPF);
}

static void cycles_under_load_by_perf(void)
{
    cycles_under_load(UPROBE_PERF);
}

/* Another process watches, and is killed. */
static void watcher_is_killed(enum uprobe_way way)
{
    int told[2];
    char byte;
    pid_t watcher;

    start(PROBED_PLAIN);
    CHECK_UINT(probed_ask(&target, "busy 2"), 0);
    REQUIRE(pipe(told) == 0);
    watcher = fork();
    if (watcher == 0) {
        attach(way);
        byte = 'x';
        if (write(told[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    close(told[1]);
    if (read(told[0], &byte, 1) != 1) {
        probed_end(&target);
        SKIP("this way does not work here");
    }
    CHECK(!is_clean(0));
    kill(watcher, SIGKILL);
    waitpid(watcher, NULL, 0);
    check_clean_soon(0);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_INT(probed_end(&target), 7);
}

static void watcher_is_killed_by_bpf(void)
{
    watcher_is_killed(UPROBE_BPF);
}

static void watcher_is_killed_by_perf(void)
{
    watcher_is_killed(UPROBE_PERF);
}

static void target_ends(void)
{
    start(PROBED_PLAIN);
    attach(UPROBE_ANY);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_INT(probed_end(&target), 7);
    CHECK_UINT(read_all(), 2);
    uprobe_close(engine);
}

static void target_is_killed_in_a_call(void)
{
    start(PROBED_PLAIN);
    attach(UPROBE_ANY);
    CHECK_UINT(probed_ask(&target, "busy 4"), 0);
    CHECK(await_calls());
    CHECK_UINT(probed_ask(&target, "die"), UINT64_MAX);
    CHECK_INT(probed_end(&target), -SIGKILL);
    read_all();
    uprobe_close(engine);
}

/* The new program maps the same file: the probes are there again. */
static void target_execs(void)
{
    start(PROBED_PLAIN);
    attach(UPROBE_ANY);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    probed_tell(&target, "exec");
    REQUIRE(probed_await_ready(&target));
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(read_all(), 4);
    check_clean_soon(0);
    CHECK_INT(probed_end(&target), 7);
}

static void target_forks(void)
{
    pid_t child;

    start(PROBED_PLAIN);
    attach(UPROBE_ANY);
    child = (pid_t)probed_ask(&target, "hold");
    CHECK(child > 1);
    CHECK(probed_ask(&target, "fork") > 1);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(read_all(), 2); /* children are not ours */
    CHECK(is_clean(0));
    CHECK(is_clean(child));
    CHECK_UINT(probed_ask(&target, "free"), 21);
    CHECK_INT(probed_end(&target), 7);
}

/* A child that was made while probes were set runs after they are gone, and before. */
static void child_runs_into_a_probe(void)
{
    start(PROBED_PLAIN);
    attach(UPROBE_ANY);
    CHECK(probed_ask(&target, "hold") > 1);
    CHECK_UINT(probed_ask(&target, "free"), 21);
    CHECK_UINT(read_all(), 0);
    CHECK_INT(probed_end(&target), 7);
}

static void deleted_library(void)
{
    start(PROBED_PLAIN);
    CHECK_UINT(probed_ask(&target, "unlink"), 1);
    CHECK_INT(attach_to(UPROBE_ANY, probed_file(&target)), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "cannot open");
    uprobe_close(engine);
    CHECK_INT(attach_to(UPROBE_ANY, probed_map_file(&target, "work_inner")), IFG_OK);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(read_all(), 2);
    CHECK(is_clean(0));
    CHECK_INT(probed_end(&target), 7);
}

static void other_namespaces(enum uprobe_way way)
{
    start(PROBED_OWN_FILES | PROBED_OWN_PIDS);
    CHECK(access(target.library, F_OK) < 0); /* not here */
    CHECK_INT(target.own_pid, 1);
    attach(way);
    CHECK_UINT(probed_ask(&target, "six 1 10"), 1);
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(read_all(), 12);
    CHECK_INT(last.pid, target.pid);
    CHECK_INT(last.tid, target.pid);
    CHECK_INT(last.own_pid, 1);
    CHECK_INT(last.own_tid, 1);
    CHECK(is_clean(0));
    CHECK_INT(probed_end(&target), 7);
}

static void other_namespaces_by_bpf(void)
{
    other_namespaces(UPROBE_BPF);
}

static void other_namespaces_by_perf(void)
{
    other_namespaces(UPROBE_PERF);
}

static void behind_a_filter(void)
{
    start(PROBED_PLAIN);
    CHECK_UINT(probed_ask(&target, "filter"), 1);
    if (uprobe_sandbox_trial(&err)) {
        tap_diag("%s", err.message);
        CHECK_INT(attach_to(UPROBE_ANY, probed_file(&target)), IFG_UNSUPPORTED);
    } else {
        attach(UPROBE_ANY);
        CHECK_UINT(probed_ask(&target, "outer 1"), 104);
        CHECK_UINT(read_all(), 2);
    }
    CHECK_INT(probed_end(&target), 7);
}

static void what_makes_no_sense(void)
{
    struct uprobe_spec spec = { .flags = UPROBE_RETURN };

    start(PROBED_PLAIN);
    if (uprobe_open(NULL, &engine, &err))
        SKIP("probes: %s", err.message);
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 1, &err), IFG_INVALID);
    spec.file = "/nowhere/at/all";
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 1, &err), IFG_NOT_FOUND);
    spec.file = "/proc";
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 1, &err), IFG_INVALID);
    spec.file = probed_file(&target);
    spec.offset = 1 << 30;
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 1, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "another version of the file?");
    spec.offset = probed_offset(&target, "work_inner");
    spec.text_argument = 7;
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 1, &err), IFG_INVALID);
    spec.text_argument = 0;
    CHECK_INT(uprobe_add(engine, 0, &spec, 1, &err), IFG_INVALID);
    CHECK_INT(uprobe_add(engine, target.pid, &spec, 0, &err), IFG_INVALID);
    CHECK_INT(uprobe_add(engine, 0x3ffffff, &spec, 1, &err), IFG_NOT_FOUND);
    /* The first of two is taken back when the second fails. */
    CHECK_INT(uprobe_add(engine, target.pid,
                         (struct uprobe_spec[]){ spec, { .file = "/proc/self/mem" } }, 2, &err),
              IFG_INVALID);
    CHECK(is_clean(0));
    uprobe_close(engine);
    uprobe_close(NULL);
    CHECK_INT(probed_end(&target), 7);
}

static void memory_runs_out(void)
{
    struct uprobe_options options = { .way = UPROBE_ANY };
    struct uprobe_spec spec = { .id = 1, .flags = UPROBE_RETURN };
    bool failed = true;

    start(PROBED_PLAIN);
    spec.file = probed_file(&target);
    spec.offset = probed_offset(&target, "work_inner");
    for (int way = UPROBE_BPF; way <= UPROBE_PERF; way++) {
        options.way = (enum uprobe_way)way;
        if (uprobe_open(&options, &engine, &err))
            continue; /* not here */
        uprobe_close(engine);
        for (long successes = 0; successes < 100; successes++) {
            enum ifg_status status;

            ifg_alloc_fail_after(successes);
            status = uprobe_open(&options, &engine, &err);
            if (!status)
                status = uprobe_add(engine, target.pid, &spec, 1, &err);
            ifg_alloc_fail_after(-1);
            failed = status != IFG_OK;
            if (failed)
                CHECK_INT(status, IFG_NO_MEMORY);
            if (failed)
                CHECK(is_clean(0));
            uprobe_close(engine);
            if (!failed)
                break;
        }
        CHECK(!failed);
    }
    CHECK(is_clean(0));
    CHECK_INT(probed_end(&target), 7);
}

static void ordinary_user(void)
{
    struct uprobe_rights rights;

    if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
        SKIP("cannot become an ordinary user");
    uprobe_check(&rights);
    if (rights.perf.works)
        SKIP("this user may set probes");
    CHECK(!rights.bpf.works);
    CHECK_CONTAINS(rights.perf.message, "CAP_PERFMON");
    CHECK_CONTAINS(rights.perf.message, "inferogram record -- COMMAND");
    CHECK(!rights.memory.works);
    CHECK_CONTAINS(rights.memory.message, "belongs to somebody else");
    if (!strstr(rights.bpf.message, "this build"))
        CHECK_CONTAINS(rights.bpf.message, "CAP_BPF and CAP_PERFMON");
    CHECK_INT(uprobe_open(NULL, &engine, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "CAP_PERFMON");
    tap_diag("%s", err.message);
}

static void refuse_call(int number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void we_are_behind_a_filter(void)
{
    struct uprobe_rights rights;

    start(PROBED_PLAIN);
    uprobe_check(&rights);
    if (!rights.perf.works)
        SKIP("probes: %s", rights.perf.message);
    refuse_call(SYS_bpf);
    attach(UPROBE_ANY); /* falls back */
    CHECK_INT(uprobe_way(engine), UPROBE_PERF);
    if (rights.bpf.works)
        CHECK_CONTAINS(uprobe_why(engine), "seccomp");
    CHECK_UINT(probed_ask(&target, "outer 1"), 104);
    CHECK_UINT(read_all(), 2);
    uprobe_close(engine);
    refuse_call(SYS_perf_event_open);
    CHECK_INT(uprobe_open(NULL, &engine, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "seccomp");
    CHECK_INT(probed_end(&target), 7);
}

static void root_may(void)
{
    struct uprobe_rights rights;

    if (geteuid() != 0)
        SKIP("root: not root");
    uprobe_check(&rights);
    tap_diag("bpf: %s", rights.bpf.works ? "works" : rights.bpf.message);
    tap_diag("perf: %s", rights.perf.works ? "works" : rights.perf.message);
    CHECK(rights.bpf.works || rights.bpf.message[0]);
    CHECK(rights.perf.works || rights.perf.message[0]);
    CHECK(rights.memory.works);
}

TAP_MAIN(TAP_CASE(cycles_under_load_by_bpf), TAP_CASE(cycles_under_load_by_perf),
         TAP_CASE(watcher_is_killed_by_bpf), TAP_CASE(watcher_is_killed_by_perf),
         TAP_CASE(target_ends), TAP_CASE(target_is_killed_in_a_call), TAP_CASE(target_execs),
         TAP_CASE(target_forks), TAP_CASE(child_runs_into_a_probe), TAP_CASE(deleted_library),
         TAP_CASE(other_namespaces_by_bpf), TAP_CASE(other_namespaces_by_perf),
         TAP_CASE(behind_a_filter), TAP_CASE(what_makes_no_sense), TAP_CASE(memory_runs_out),
         TAP_CASE(ordinary_user), TAP_CASE(we_are_behind_a_filter), TAP_CASE(root_may))
