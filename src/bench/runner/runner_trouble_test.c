// SPDX-License-Identifier: Apache-2.0
/* The process that runs models crashes, hangs, lies, is stopped or cannot even be started. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "bench/runner/runner_fixture.h"

/* ---- trouble ---- */

static void a_crash_while_running(void)
{
    struct runner_samples samples;
    struct runner *runner;
    unsigned slot;

    runner = ready("crash_at=17 run_us=10", 1, &slot);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_OK);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 100, &samples), IFG_INTERNAL);
    tap_diag("%s", err.message);
    CHECK_CONTAINS(err.message, "Fake Runtime was killed by signal 11 (Segmentation fault)");
    CHECK_CONTAINS(err.message, "running inference number 17 of inferogram-fake-");
    CHECK_CONTAINS(err.message, "it said: fake: something is very wrong");
    CHECK_STR(runner_crashed(runner), "was killed by signal 11 (Segmentation fault)");
    CHECK_UINT(samples.count, 6); /* what was measured before it */
    CHECK(!samples.stopped);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 1, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "was killed by signal 11");
    runner_stop(runner);
    runner = ready("run_us=10", 1, &slot); /* the next one is not harmed */
    CHECK_INT(run(runner, slot, 10, &samples), IFG_OK);
    CHECK_UINT(samples.count, 10);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

static void crashes_of_several_workers(void)
{
    struct runner_work work = { .workers = 4, .queries = 1000 };
    struct runner_samples samples = { 0 };
    unsigned long reached;
    const char *at;
    unsigned slot;
    struct runner *runner = ready("crash_at=200 run_us=50 how=sleep", 4, &slot);

    CHECK_INT(runner_run(runner, slot, &work, &samples, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "several workers ran up to inference number ");
    at = strstr(err.message, "number ");
    reached = at ? strtoul(at + strlen("number "), NULL, 10) : 0;
    /* The others go on until the process is gone; each may have one that is not over. */
    CHECK(reached >= 200 && reached <= 1000);
    CHECK(samples.count >= 196 && samples.count < reached);
    for (size_t i = 1; i < samples.count; i++)
        CHECK(samples.start_ns[i] >= samples.start_ns[i - 1]);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

static void an_exit_while_running(void)
{
    struct runner_samples samples;
    unsigned slot;
    struct runner *runner = ready("exit_at=3", 1, &slot);

    CHECK_INT(run(runner, slot, 10, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "ended with status 3 while running inference number 3 of");
    CHECK_STR(runner_crashed(runner), "ended with status 3");
    CHECK_UINT(samples.count, 2);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

static void trouble_while_opening(void)
{
    struct runner_options options = fake_options();
    struct runner_facts facts;
    struct runner *runner;

    options.library = "crash";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "killed by signal 11 (Segmentation fault) while opening crash");
    CHECK(runner == NULL);
    options.library = "exit";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "ended with status 3 while opening exit");
    options.library = "fail";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_UNSUPPORTED);
    CHECK_STR(err.message, "this machine has no fake");
    options.library = "/no/such/library.so";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "/no/such/library.so");
    options.library = "hang";
    options.patience_s = 1;
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "hung and was killed after 1 s while opening hang");
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void trouble_while_loading(void)
{
    struct runner_options options = fake_options();
    struct runner_model missing = { .path = "/no/such/model" };
    struct runner_facts facts;
    struct runner_loaded loaded;
    struct runner *runner;

    make_model();
    runner = start(&options, &facts);
    CHECK_INT(load(runner, "fail_in=load", &loaded), IFG_INTERNAL);
    CHECK_STR(err.message, "it was told to fail");
    CHECK_INT(load(runner, "ep=cuda", &loaded), IFG_UNSUPPORTED);
    CHECK_STR(err.message, "the fake runtime has no provider cuda, only cpu");
    CHECK_INT(runner_load(runner, &missing, &loaded, &err), IFG_CORRUPT);
    CHECK(runner_crashed(runner) == NULL); /* it lives on */
    CHECK_INT(load(runner, "crash_in=load", &loaded), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "while loading inferogram-fake-");
    CHECK(runner_crashed(runner) != NULL);
    CHECK_UINT(loaded.inputs.count, 0);
    runner_stop(runner);
    runner = start(&options, &facts);
    stop = 1;
    CHECK_INT(load(runner, "hang_in=load", &loaded), IFG_CANCELLED);
    CHECK_CONTAINS(err.message, "was killed because loading inferogram-fake-");
    CHECK(runner_crashed(runner) == NULL); /* that was us */
    runner_stop(runner);
    unlink(model_path);
}

static void trouble_with_inputs(void)
{
    struct runner_samples samples = { 0 };
    struct tensor x = input();
    struct tensor_list set = { &x, 1 };
    struct runner_work many = { .workers = 2, .queries = 1 };
    unsigned slot;
    struct runner *runner = ready("", 1, &slot);

    x.name = (char *)"z";
    CHECK_INT(runner_bind(runner, slot, &set, 1, 1, &err), IFG_INVALID);
    CHECK_STR(err.message, "the model takes x, float32 batch x 4");
    x = input();
    x.bytes = 12;
    CHECK_INT(runner_bind(runner, slot, &set, 1, 1, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "12 bytes");
    CHECK_INT(runner_bind(runner, slot, &set, 0, 1, &err), IFG_INVALID);
    CHECK_INT(runner_bind(runner, 99, &set, 1, 1, &err), IFG_INVALID);
    CHECK_INT(runner_bind(runner, 9999, &set, 1, 1, &err), IFG_INVALID);
    CHECK_INT(runner_run(runner, slot, &many, &samples, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "workers");
    CHECK_INT(run(runner, slot, 3, &samples), IFG_OK); /* nothing of it did harm */
    runner_samples_fini(&samples);
    runner_stop(runner);
    runner = ready("fail_at=5", 1, &slot);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "inference number 5 of inferogram-fake-");
    CHECK_CONTAINS(err.message, ": no more today");
    CHECK_UINT(samples.count, 4);
    CHECK(runner_crashed(runner) == NULL);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_OK);
    CHECK_UINT(samples.count, 10);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

/* ---- stopping ---- */

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static pid_t stop_later(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    REQUIRE(pid >= 0);
    if (pid == 0) {
        usleep(100000);
        kill(parent, SIGUSR1);
        _exit(0);
    }
    return pid;
}

static void the_user_stops(void)
{
    static const struct {
        const char *settings;
        struct runner_work work;
        enum ifg_status status;
    } ways[] = {
        { "run_us=1000 how=sleep", { .workers = 1 }, IFG_OK },
        { "run_us=1000 how=sleep",
          { .workers = 3, .duration_ns = UINT64_C(900000000000) },
          IFG_OK },
        { "run_us=1000", { .kind = RUNNER_OPEN, .rate_hz = 0.5, .queries = 100 }, IFG_OK },
        { "hang_at=5", { .queries = 100 }, IFG_CANCELLED },
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct runner_samples samples = { 0 };
        unsigned slot;
        struct runner *runner = ready(ways[i].settings, 3, &slot);
        pid_t other;

        signal(SIGUSR1, on_signal);
        other = stop_later();
        CHECK_INT(runner_run(runner, slot, &ways[i].work, &samples, &err), ways[i].status);
        while (waitpid(other, NULL, 0) < 0 && errno == EINTR)
            continue;
        CHECK(samples.stopped);
        CHECK(samples.count >= 1);
        if (ways[i].status) {
            CHECK_UINT(samples.count, 4);
            CHECK_CONTAINS(err.message, "running inference number 5 of");
        }
        runner_samples_fini(&samples);
        runner_stop(runner);
    }
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void a_hang(void)
{
    struct runner_options options = fake_options();
    struct runner_samples samples;
    struct runner *runner;
    unsigned slot;

    options.patience_s = 1;
    runner = ready_with(&options, "hang_at=3", 1, &slot);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "hung and was killed after 1 s while running inference number 3");
    CHECK_UINT(samples.count, 2);
    CHECK(!samples.stopped);
    runner_samples_fini(&samples);
    runner_stop(runner);
    options.patience_s = 2;
    runner = ready_with(&options, "run_us=100000 how=sleep", 1, &slot);
    CHECK_INT(run(runner, slot, 25, &samples), IFG_OK); /* long is not the same as hanging */
    runner_samples_fini(&samples);
    runner_stop(runner);
}

/* In a process of its own that is killed: nobody is left behind. */
static void it_dies_with_its_parent(void)
{
    int pipe_ends[2];
    pid_t parent, pid = 0;

    REQUIRE(pipe(pipe_ends) == 0);
    parent = fork();
    REQUIRE(parent >= 0);
    if (parent == 0) {
        struct runner_samples samples = { 0 };
        struct runner_options options = fake_options();
        struct runner_facts facts;
        struct runner_loaded loaded;
        struct runner_work forever = { .workers = 1 };
        struct tensor x = input();
        struct tensor_list set = { &x, 1 };
        struct runner *runner;

        make_model();
        if (runner_start(&options, &runner, &facts, &err) || load(runner, "", &loaded) ||
            runner_bind(runner, loaded.slot, &set, 1, 1, &err))
            _exit(1);
        unlink(model_path);
        if (write(pipe_ends[1], &facts.pid, sizeof facts.pid) < 0 ||
            runner_run(runner, loaded.slot, &forever, &samples, &err))
            _exit(1);
        _exit(0);
    }
    REQUIRE(read(pipe_ends[0], &pid, sizeof pid) == (ssize_t)sizeof pid);
    CHECK(pid > 0 && kill(pid, 0) == 0);
    CHECK(kill(pid, SIGTERM) == 0 && kill(pid, SIGINT) == 0); /* not for it */
    usleep(50000);
    CHECK(kill(pid, 0) == 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < 6000 && kill(pid, 0) == 0; i++) {
        char path[64], text[256] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        file = fopen(path, "r");
        if (!file || !fgets(text, sizeof text, file) || strstr(text, ") Z ")) {
            if (file)
                fclose(file);
            close(pipe_ends[0]);
            return; /* gone, or waiting for somebody else to collect it */
        }
        fclose(file);
        usleep(10000);
    }
    CHECK(kill(pid, 0) < 0);
}

/* ---- the surroundings ---- */

static void not_a_runtime(void)
{
    struct runner_options options = fake_options();
    struct runner_facts facts;
    struct runner *runner;

    options.runtime = "/no/such/runtime.so";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_NOT_FOUND);
    CHECK_STR(err.message, "there is no runtime /no/such/runtime.so");
    options.runtime = "/proc/self/status";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "the runtime /proc/self/status cannot be loaded: ");
    options.runtime = PROGRAMS "/client_plugin.so";
    if (access(options.runtime, F_OK) < 0)
        options.runtime = PROGRAMS "/libclient_plugin.so";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "client_plugin.so is no runtime for bench: it does not export");
    options.runtime = PROGRAMS "/bench_fake_small.so";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "bench_fake_small.so is no runtime for bench: struct_size");
    options.runtime = PROGRAMS "/bench_fake_lacking.so";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "bench_fake_lacking.so is no runtime for bench: "
                                "ifg_bench_runtime_1 has no `run`");
    options = fake_options();
    options.pin_cpu = 1000;
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "no CPU 1000");
    options.pin_cpu = 0;
    runner = start(&options, &facts);
    runner_stop(runner);
}

/* What is started instead says this on the socket. */
static void broken_process(const char *words, enum ifg_status expected, const char *part)
{
    char script[] = "/tmp/inferogram-broken-XXXXXX";
    struct runner_options options = fake_options();
    struct runner_facts facts;
    struct runner *runner;
    char text[256];
    int fd = mkstemp(script);

    REQUIRE(fd >= 0);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", words);
    REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    REQUIRE(fchmod(fd, 0700) == 0);
    close(fd);
    options.program = script;
    options.patience_s = 5;
    tap_note("%s", words);
    CHECK_INT(runner_start(&options, &runner, &facts, &err), expected);
    CHECK_CONTAINS(err.message, part);
    CHECK(runner == NULL);
    unlink(script);
}

static void broken_processes(void)
{
    struct runner_options options = fake_options();
    struct runner_facts facts;
    struct runner *runner;

    broken_process("exit 0", IFG_INTERNAL, "ended by itself while opening bench_fake.so");
    broken_process("echo no way >&2; exit 5", IFG_INTERNAL, "ended with status 5");
    CHECK_CONTAINS(err.message, "it said: no way");
    broken_process("exec 3>&-; exec sleep 60", IFG_INTERNAL, "broke off the connection");
    broken_process("head -c 4096 /dev/urandom >&3; exec sleep 60", IFG_INTERNAL, "");
    broken_process("printf '\\000\\000\\000\\000\\115' >&3; exec sleep 60", IFG_INTERNAL,
                   "sent what is not understood and was killed while opening bench_fake.so: a "
                   "message of kind 77 instead of 65");
    broken_process("printf '\\000\\000\\000\\177\\101' >&3; exec sleep 60", IFG_INTERNAL,
                   "more than any can have");
    broken_process("printf '\\002\\000\\000\\000\\101\\001\\001' >&3; exec sleep 60", IFG_INTERNAL,
                   "an answer that makes no sense");
    broken_process("printf '\\002\\000\\000\\000\\100\\177\\000' >&3; exec sleep 60", IFG_INTERNAL,
                   "not understood");
    options.program = "/no/such/program";
    CHECK_INT(runner_start(&options, &runner, &facts, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "/no/such/program cannot be started");
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void words_before_it(void)
{
    char *const prefix[] = { (char *)"sh", (char *)"-c", (char *)"\"$0\"; exit $?", NULL };
    struct runner_options options = fake_options();
    struct runner_samples samples;
    unsigned slot;
    struct runner *runner;

    options.prefix = prefix;
    runner = ready_with(&options, "crash_at=11", 1, &slot);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_OK);
    CHECK_UINT(samples.count, 10);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "was killed by signal 11 (Segmentation fault) while running "
                                "inference number 11");
    runner_stop(runner);
    runner = ready_with(&options, "hang_at=5", 1, &slot);
    stop = 1;
    CHECK_INT(run(runner, slot, 10, &samples), IFG_OK); /* at once */
    CHECK_UINT(samples.count, 0);
    CHECK(samples.stopped);
    stop = 0;
    runner_stop(runner);
    options.patience_s = 1;
    runner = ready_with(&options, "hang_at=5", 1, &slot);
    CHECK_INT(run(runner, slot, 10, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "hung and was killed");
    CHECK_UINT(samples.count, 4);
    runner_samples_fini(&samples);
    runner_stop(runner);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void through_the_recorder(void)
{
    char trace[] = "/tmp/inferogram-runner-XXXXXX";
    char *const prefix[] = { (char *)TOOL, (char *)"record",
                             (char *)"-q", (char *)"-f",
                             (char *)"-o", trace,
                             (char *)"--", NULL };
    struct runner_options options = fake_options();
    struct runner_samples samples;
    unsigned slot;
    struct runner *runner;

    if (access(TOOL, X_OK) < 0)
        SKIP("inferogram has not been built");
    close(mkstemp(trace));
    options.prefix = prefix;
    runner = ready_with(&options, "run_us=100 crash_at=51", 1, &slot);
    CHECK_INT(run(runner, slot, 50, &samples), IFG_OK);
    CHECK_UINT(samples.count, 50);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 50, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "was killed by signal 11 (Segmentation fault) while running "
                                "inference number 51");
    runner_stop(runner);
    unlink(trace);
}

/* Every allocation of ours fails once: nothing leaks, nothing crashes, and it works afterwards. */
static void without_memory(void)
{
    struct runner_options options = fake_options();
    struct runner_model model = { .path = model_path };
    struct tensor x = input();
    struct tensor_list set = { &x, 1 };
    long failures = 0;

    make_model();
    for (long i = 0; i < 200; i++) {
        struct runner *runner = NULL;
        struct runner_facts facts;
        struct runner_loaded loaded = { 0 };
        struct runner_samples samples = { 0 };
        struct runner_work work = { .queries = 3 };
        struct tensor_list results = { 0 };
        enum ifg_status status;

        tap_note("allocation %ld", i);
        ifg_alloc_fail_after(i);
        status = runner_start(&options, &runner, &facts, &err);
        if (!status)
            status = runner_load(runner, &model, &loaded, &err);
        if (!status)
            status = runner_bind(runner, loaded.slot, &set, 1, 1, &err);
        if (!status)
            status = runner_run(runner, loaded.slot, &work, &samples, &err);
        if (!status)
            status = runner_results(runner, loaded.slot, 0, &results, &err);
        ifg_alloc_fail_after(-1);
        failures += status != IFG_OK;
        CHECK(status != IFG_OK || samples.count == 3);
        tensor_list_fini(&results);
        runner_loaded_fini(&loaded);
        runner_samples_fini(&samples);
        runner_stop(runner);
        if (!status)
            break;
        CHECK(status == IFG_NO_MEMORY || status == IFG_INTERNAL);
    }
    CHECK(failures > 10 && failures < 199);
    unlink(model_path);
}

TAP_MAIN(TAP_CASE(a_crash_while_running), TAP_CASE(crashes_of_several_workers),
         TAP_CASE(an_exit_while_running), TAP_CASE(trouble_while_opening),
         TAP_CASE(trouble_while_loading), TAP_CASE(trouble_with_inputs), TAP_CASE(the_user_stops),
         TAP_CASE(a_hang), TAP_CASE(it_dies_with_its_parent), TAP_CASE(not_a_runtime),
         TAP_CASE(broken_processes), TAP_CASE(words_before_it), TAP_CASE(through_the_recorder),
         TAP_CASE(without_memory))
