// SPDX-License-Identifier: Apache-2.0
/* Profiles and streams: which inferences are in which report, when reports come, and what holds
 * when everything happens at once. HANDLES_STRESS_SECONDS makes the last case longer. */
#include <inferogram/handles.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "client/event_tap.h"
#include "handles/handle.h"

#include "tap.h"

#define REPORTS 256

/* What callbacks were given. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    size_t count;
    uint64_t samples[REPORTS];
    uint64_t requested[REPORTS];
    uint64_t at_ns[REPORTS];
    char last[200000];
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static pthread_t program_thread;

static void collect(const ifg_report *report, void *user)
{
    (void)user;
    CHECK(!pthread_equal(pthread_self(), program_thread));
    CHECK_UINT(strlen(report->text), report->length);
    pthread_mutex_lock(&seen.lock);
    if (seen.count < REPORTS) {
        seen.at_ns[seen.count] = ifg_realtime_ns();
        seen.samples[seen.count] = report->samples;
        seen.requested[seen.count] = report->requested;
        snprintf(seen.last, sizeof seen.last, "%s", report->text);
    }
    seen.count++;
    pthread_cond_broadcast(&seen.more);
    pthread_mutex_unlock(&seen.lock);
}

static void await_reports(size_t count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.count < count)
        pthread_cond_wait(&seen.more, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static uint64_t sum(const uint64_t *values)
{
    uint64_t total = 0;

    for (size_t i = 0; i < seen.count && i < REPORTS; i++)
        total += values[i];
    return total;
}

/* The clock that reports follow, which a test may set. */
static int64_t clock_step_ns;

uint64_t handles_realtime_ns(void)
{
    return ifg_realtime_ns() + (uint64_t)__atomic_load_n(&clock_step_ns, __ATOMIC_RELAXED);
}

static ifg_model *model_named(const char *name)
{
    ifg_model_options options = { .struct_size = sizeof options, .name = name };

    program_thread = pthread_self();
    return ifg_model_create(&options);
}

static void infer(ifg_model *model, int times)
{
    for (int i = 0; i < times; i++) {
        IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
        IFG_EVENT_END(event);
    }
}

static ifg_profile *profile_of(ifg_model *model, uint64_t samples, enum ifg_report_type type)
{
    ifg_profile_options options = { .struct_size = sizeof options,
                                    .model = model,
                                    .samples = samples,
                                    .type = type,
                                    .callback = collect };
    ifg_profile *profile;

    REQUIRE_INT(ifg_profile_create(&options, &profile), 0);
    return profile;
}

static ifg_stream *stream_with(ifg_stream_options options)
{
    ifg_stream *stream;

    options.struct_size = sizeof options;
    options.callback = collect;
    REQUIRE_INT(ifg_stream_create(&options, &stream), 0);
    return stream;
}

/* ---- profiles ---- */

static void a_profile_takes_the_first_ten_and_can_start_again(void)
{
    ifg_model *model = model_named("m");
    ifg_profile *profile = profile_of(model, 10, IFG_REPORT_LATENCY);

    infer(model, 3); /* before: nobody wants them */
    REQUIRE_INT(ifg_profile_start(profile), 0);
    CHECK_INT(ifg_profile_start(profile), -EALREADY);
    infer(model, 25);
    await_reports(1);
    CHECK_INT(ifg_profile_stop(profile), 0);
    CHECK_UINT(seen.count, 1);
    CHECK_UINT(seen.samples[0], 10);
    CHECK_UINT(seen.requested[0], 10);
    CHECK_CONTAINS(seen.last, "Profiling Data\nProgramId:1\nProgramName: m\nNumSamples collected: "
                              "10 Num Requested: 10\n");

    REQUIRE_INT(ifg_profile_start(profile), 0);
    infer(model, 4);
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    CHECK_UINT(seen.count, 2);
    CHECK_UINT(seen.samples[1], 4);
    CHECK_CONTAINS(seen.last, "NumSamples collected: 4 Num Requested: 10\n");

    REQUIRE_INT(ifg_profile_start(profile), 0);
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    CHECK_UINT(seen.count, 2);
    ifg_profile_destroy(profile);
    infer(model, 5);
    CHECK_UINT(seen.count, 2);
}

static void a_profile_is_about_one_model(void)
{
    ifg_model *one = model_named("one");
    ifg_model *other = model_named("other");
    ifg_profile *profile = profile_of(one, 5, IFG_REPORT_LATENCY);

    REQUIRE_INT(ifg_profile_start(profile), 0);
    infer(other, 50);
    infer(one, 2);
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    CHECK_UINT(seen.samples[0], 2);
    ifg_profile_destroy(profile);
}

static void what_is_wrong_is_said(void)
{
    ifg_profile_options profile = { .struct_size = sizeof profile, .callback = collect };
    ifg_stream_options stream = { .struct_size = sizeof stream, .callback = collect };
    ifg_profile *no_profile;
    ifg_stream *no_stream;

    CHECK_INT(ifg_profile_create(&profile, &no_profile), -EINVAL);
    CHECK(no_profile == NULL);
    profile.model = model_named("m");
    CHECK_INT(ifg_profile_create(&profile, &no_profile), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "samples");
    stream.regex = "*";
    CHECK_INT(ifg_stream_create(&stream, &no_stream), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "position 0");
    stream.regex = NULL;
    stream.report_ms = 1;
    CHECK_INT(ifg_stream_create(&stream, &no_stream), -EINVAL);
    CHECK_CONTAINS(ifg_handle_error(), "report_ms");
    CHECK_INT(ifg_stream_start(NULL), -EINVAL);
    CHECK(ifg_model_find("m") == profile.model);
    CHECK(ifg_model_find("n") == NULL);
}

/* ---- streams ---- */

static void every_sixteenth_is_taken(void)
{
    ifg_model *model = model_named("m");
    ifg_stream *stream =
        stream_with((ifg_stream_options){ .report_ms = 60000, .sampling = IFG_SAMPLING_SIXTEENTH });

    REQUIRE_INT(ifg_stream_add(stream, model), 0);
    CHECK_INT(ifg_stream_add(stream, model), -EALREADY);
    REQUIRE_INT(ifg_stream_start(stream), 0);
    infer(model, 160);
    REQUIRE_INT(ifg_stream_flush(stream), 0);
    CHECK_UINT(seen.count, 1);
    CHECK_UINT(seen.samples[0], 10);
    CHECK_UINT(seen.requested[0], 160);
    CHECK_CONTAINS(seen.last, "\n                   0, ");
    CHECK_CONTAINS(seen.last, "\n                  16, ");
    CHECK_CONTAINS(seen.last, "\n                 144, ");
    REQUIRE_INT(ifg_stream_stop(stream), 0);
    CHECK_UINT(seen.count, 1);
    CHECK_INT(ifg_stream_flush(stream), -EINVAL);
    ifg_stream_destroy(stream);
}

static void reports_come_at_the_boundaries_of_the_clock(void)
{
    ifg_stream *stream = stream_with((ifg_stream_options){ .report_ms = 100 });
    ifg_model *model = model_named("m");
    uint64_t first_ns;

    REQUIRE_INT(ifg_stream_add(stream, model), 0);
    first_ns = handle_boundary(ifg_realtime_ns(), 100000000u);
    REQUIRE_INT(ifg_stream_start(stream), 0);
    infer(model, 7);
    await_reports(4);
    REQUIRE_INT(ifg_stream_stop(stream), 0);
    CHECK_UINT(sum(seen.samples), 7);
    for (size_t i = 0; i < 4; i++) /* late on a busy machine, but never early */
        tap_note("report %zu at %llu", i, (unsigned long long)seen.at_ns[i]);
    for (size_t i = 0; i < 4; i++)
        CHECK(seen.at_ns[i] >= first_ns + i * 100000000u);
    CHECK_CONTAINS(seen.last, "NumSamples collected: 0 Num Requested: 0\n");
    ifg_stream_destroy(stream);
}

static void the_next_boundary_follows_the_clock(void)
{
    const uint64_t second = 1000000000u;

    CHECK_UINT(handle_boundary(4400000000u, second / 2), 4500000000u);
    CHECK_UINT(handle_boundary(4500000000u, second / 2), 5000000000u);
    CHECK_UINT(handle_boundary(4499999999u, second / 2), 4500000000u);
    CHECK_UINT(handle_boundary(0, second), second);
}

/* Without a look at the clock, the next report would come in an hour. */
static void a_clock_that_is_set_delays_no_report(void)
{
    ifg_stream *stream = stream_with((ifg_stream_options){ .report_ms = 50 });

    program_thread = pthread_self();
    REQUIRE_INT(ifg_stream_start(stream), 0);
    await_reports(2);
    __atomic_store_n(&clock_step_ns, -3600000000000, __ATOMIC_RELAXED);
    await_reports(5);
    __atomic_store_n(&clock_step_ns, 3600000000000, __ATOMIC_RELAXED);
    await_reports(8);
    ifg_stream_destroy(stream);
}

static void models_join_by_name_and_leave_when_released(void)
{
    ifg_model *early = model_named("ocr-early");
    ifg_model *other = model_named("speech");
    ifg_stream *stream = stream_with((ifg_stream_options){ .report_ms = 60000, .regex = "^ocr" });
    ifg_model *late;

    REQUIRE_INT(ifg_stream_start(stream), 0);
    late = model_named("ocr-late");
    infer(early, 1);
    infer(late, 2);
    infer(other, 4);
    REQUIRE_INT(ifg_stream_flush(stream), 0);
    CHECK_UINT(seen.samples[0], 3);
    CHECK_CONTAINS(seen.last, "ProgramName: ocr-early\n");
    CHECK_CONTAINS(seen.last, "ProgramName: ocr-late\n");

    infer(late, 1);
    ifg_model_destroy(late);
    infer(early, 1);
    REQUIRE_INT(ifg_stream_flush(stream), 0);
    CHECK_UINT(seen.samples[1], 2); /* what it did before its release is reported */
    infer(early, 1);
    REQUIRE_INT(ifg_stream_flush(stream), 0);
    CHECK_UINT(seen.samples[2], 1);
    CHECK(strstr(seen.last, "ocr-late") == NULL);

    REQUIRE_INT(ifg_stream_remove(stream, early), 0);
    CHECK_INT(ifg_stream_remove(stream, early), -ENOENT);
    infer(early, 3);
    REQUIRE_INT(ifg_stream_flush(stream), 0);
    CHECK_UINT(seen.samples[3], 0);
    REQUIRE_INT(ifg_stream_add(stream, early), 0);
    infer(early, 2);
    REQUIRE_INT(ifg_stream_stop(stream), 0);
    CHECK_UINT(seen.samples[4], 2);
    ifg_stream_destroy(stream);
}

/* ---- what is in a report ---- */

static void a_row_has_setup_stages_and_the_whole_trip(void)
{
    ifg_model *model = model_named("m");
    ifg_profile *profile = profile_of(model, 1, IFG_REPORT_LATENCY);
    char *at;
    double fields[16];

    REQUIRE_INT(ifg_profile_start(profile), 0);
    {
        uint64_t request = ifg_request_new();

        IFG_STAGE_BEGIN(pre, request, "pre");
        usleep(1000);
        IFG_STAGE_END(pre);
        usleep(500);
        IFG_STAGE_BEGIN(stage, request, "inference");
        IFG_EVENT_BEGIN(setup, model, "main", IFG_SETUP);
        IFG_EVENT_END(setup);
        IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
        usleep(2000);
        IFG_EVENT_END(event);
        IFG_STAGE_END(stage);
    }
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    ifg_profile_destroy(profile);
    REQUIRE_UINT(seen.count, 1);
    at = strrchr(seen.last, '\n');
    REQUIRE(at != NULL);
    *at = '\0';
    at = strrchr(seen.last, '\n') + 1;
    for (int i = 0; i < 16; i++) {
        fields[i] = strstr(at, "N/A") == at + strspn(at, " ") ? -1 : strtod(at, NULL);
        at = strchr(at, ',') ? strchr(at, ',') + 1 : at;
    }
    CHECK(fields[1] < 0 && fields[8] < 0);                  /* device, submission */
    CHECK(fields[5] >= 2000);                               /* hostRoundTripUs */
    CHECK(fields[6] >= 500);                                /* enqTimeUs */
    CHECK(fields[7] >= 1000);                               /* preProcTimeUs */
    CHECK(fields[13] >= fields[5] + fields[6] + fields[7]); /* totalRoundtripTimeUs */
    CHECK(fields[14] >= 1 && fields[14] < 2);
}

static void a_trace_is_json_of_events(void)
{
    ifg_model *model = model_named("a \"b\"\n\xff");
    ifg_profile *profile = profile_of(model, 2, IFG_REPORT_TRACE);

    REQUIRE_INT(ifg_profile_start(profile), 0);
    infer(model, 2);
    await_reports(1);
    ifg_profile_destroy(profile);
    CHECK_CONTAINS(seen.last, "\"HOST_PROC\"");
    CHECK_CONTAINS(seen.last, "\"cat\":\"inference\",\"name\":\"a \\\"b\\\"\\u000a?\"");
    CHECK_CONTAINS(seen.last, "\"sample\":1");
}

static void asynchronous_inferences_count_too(void)
{
    ifg_model *model = model_named("m");
    ifg_profile *profile = profile_of(model, 3, IFG_REPORT_LATENCY);

    REQUIRE_INT(ifg_profile_start(profile), 0);
    IFG_EVENT_ASYNC_BEGIN(model, "main", IFG_INFERENCE, 1);
    IFG_EVENT_ASYNC_BEGIN(model, "main", IFG_INFERENCE, 2);
    IFG_EVENT_ASYNC_END(model, "main", IFG_INFERENCE, 1);
    IFG_EVENT_ASYNC_END(model, "main", IFG_INFERENCE, 2);
    ifg_location_async(ifg_event_location(model, "main", IFG_INFERENCE), 3, ifg_ticks(),
                       ifg_ticks());
    await_reports(1);
    ifg_profile_destroy(profile);
    CHECK_UINT(seen.samples[0], 3);
    CHECK_CONTAINS(seen.last, "NumSamples collected: 3");
}

/* ---- inside callbacks, after a fork ---- */

static ifg_stream *self;

static void stop_from_inside(const ifg_report *report, void *user)
{
    collect(report, user);
    CHECK_INT(ifg_stream_stop(self), 0);
    CHECK_INT(ifg_stream_flush(self), -EINVAL);
    ifg_stream_destroy(self);
}

static void a_callback_may_end_its_own_stream(void)
{
    ifg_stream_options options = { .struct_size = sizeof options,
                                   .report_ms = 50,
                                   .callback = stop_from_inside };

    program_thread = pthread_self();
    REQUIRE_INT(ifg_stream_create(&options, &self), 0);
    REQUIRE_INT(ifg_stream_start(self), 0);
    await_reports(1);
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN true
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN false
#endif

static void a_child_of_a_fork_starts_stopped(void)
{
    ifg_model *model = model_named("m");
    ifg_profile *profile = profile_of(model, 5, IFG_REPORT_LATENCY);
    int status = -1;
    pid_t child;

    if (UNDER_TSAN)
        SKIP("ThreadSanitizer allows no threads in the child of a process with threads");
    REQUIRE_INT(ifg_profile_start(profile), 0);
    infer(model, 2);
    child = fork();
    if (child == 0) {
        infer(model, 9);
        if (ifg_wants_events() || ifg_profile_start(profile) != 0)
            _exit(1);
        infer(model, 3);
        ifg_profile_stop(profile);
        _exit(seen.count == 1 && seen.samples[0] == 3 ? 0 : 2);
    }
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    CHECK_UINT(seen.samples[0], 2);
    ifg_profile_destroy(profile);
}

/* Whether this process has a thread of the library, by its name. */
static bool has_thread(void)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    bool found = false;

    while (tasks && (task = readdir(tasks))) {
        char path[300];
        char name[32] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        file = fopen(path, "re");
        if (file && fgets(name, sizeof name, file))
            found = found || strcmp(name, "ifg-handles\n") == 0;
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

static void there_is_a_thread_only_while_a_handle_is_started(void)
{
    ifg_profile *profile = profile_of(model_named("m"), 5, IFG_REPORT_LATENCY);

    CHECK_INT(ifg_wants_events(), 0);
    CHECK(!has_thread());
    REQUIRE_INT(ifg_profile_start(profile), 0);
    while (!has_thread())
        usleep(1000);
    CHECK_INT(ifg_wants_events(), 1);
    CHECK_INT(ifg_is_recording(), 0);
    REQUIRE_INT(ifg_profile_stop(profile), 0);
    while (has_thread())
        usleep(1000);
    CHECK_INT(ifg_wants_events(), 0);
    ifg_profile_destroy(profile);
}

/* ---- everything at once ---- */

#define RUNNERS  4
#define CALLERS  4
#define STREAMS  4
#define RUNS_MAX 2000

static bool stress_ends;
static uint64_t stress_reported[STREAMS];
static uint64_t stress_callbacks;
static uint64_t stress_lost; /* of all models */
static ifg_stream *stress_streams[STREAMS];
/* Any number of calls for a stream at a time, but none while it is destroyed. */
static pthread_rwlock_t stress_locks[STREAMS];

static void count_report(const ifg_report *report, void *user)
{
    uint64_t *reported = user;

    __atomic_add_fetch(reported, report->samples, __ATOMIC_RELAXED);
    __atomic_add_fetch(&stress_lost, report->lost, __ATOMIC_RELAXED);
    __atomic_add_fetch(&stress_callbacks, 1, __ATOMIC_RELAXED);
}

static void *run_and_release(void *argument)
{
    char name[32];

    for (unsigned round = 0; !__atomic_load_n(&stress_ends, __ATOMIC_RELAXED); round++) {
        ifg_model_options options = { .struct_size = sizeof options, .name = name };
        ifg_model *model;

        snprintf(name, sizeof name, "model-%u-%u", (unsigned)(uintptr_t)argument, round % 3);
        model = ifg_model_create(&options);
        for (int i = 0; i < 20; i++) {
            infer(model, 1);
            usleep(50);
        }
        ifg_model_destroy(model);
    }
    return NULL;
}

static void *call_at_random(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;

    while (!__atomic_load_n(&stress_ends, __ATOMIC_RELAXED)) {
        unsigned which = (unsigned)rand_r(&seed) % STREAMS;
        ifg_stream_options options = { .struct_size = sizeof options,
                                       .report_ms = 50,
                                       .regex = "model",
                                       .callback = count_report,
                                       .user = &stress_reported[which] };

        unsigned action = (unsigned)rand_r(&seed) % 8;

        if (action == 0) {
            pthread_rwlock_wrlock(&stress_locks[which]);
            ifg_stream_destroy(stress_streams[which]);
            if (ifg_stream_create(&options, &stress_streams[which]) < 0)
                stress_streams[which] = NULL;
        } else {
            pthread_rwlock_rdlock(&stress_locks[which]);
            if (action == 1)
                ifg_stream_stop(stress_streams[which]);
            else if (action == 2)
                ifg_stream_flush(stress_streams[which]);
            else if (action == 3)
                ifg_stream_add(stress_streams[which], ifg_model_find("model-1-1"));
            else if (action == 4)
                ifg_stream_remove(stress_streams[which], ifg_model_find("model-1-1"));
            else
                ifg_stream_start(stress_streams[which]);
        }
        pthread_rwlock_unlock(&stress_locks[which]);
        usleep(200);
    }
    return NULL;
}

/* A model of its own, which nobody adds or removes, and a stream that is never stopped: each of its
 * inferences is reported once, whatever the others do. */
static void counts_hold_when_everything_happens_at_once(void)
{
    const char *asked = getenv("HANDLES_STRESS_SECONDS");
    uint64_t until = ifg_monotonic_ns() + (asked ? strtoull(asked, NULL, 10) : 2) * 1000000000u;
    ifg_model *model = model_named("steady");
    uint64_t reported = 0;
    uint64_t done = 0;
    ifg_stream_options options = { .struct_size = sizeof options,
                                   .report_ms = 50,
                                   .regex = "^steady$",
                                   .callback = count_report,
                                   .user = &reported };
    ifg_stream *steady;
    pthread_t threads[RUNNERS + CALLERS];

    for (int i = 0; i < STREAMS; i++)
        pthread_rwlock_init(&stress_locks[i], NULL);
    REQUIRE_INT(ifg_stream_create(&options, &steady), 0);
    REQUIRE_INT(ifg_stream_start(steady), 0);
    for (uintptr_t i = 0; i < RUNNERS + CALLERS; i++)
        REQUIRE_INT(pthread_create(&threads[i], NULL,
                                   i < RUNNERS ? run_and_release : call_at_random, (void *)i),
                    0);
    while (ifg_monotonic_ns() < until) {
        infer(model, 10);
        done += 10;
        usleep(100);
    }
    __atomic_store_n(&stress_ends, true, __ATOMIC_RELAXED);
    for (int i = 0; i < RUNNERS + CALLERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < STREAMS; i++)
        ifg_stream_destroy(stress_streams[i]);
    REQUIRE_INT(ifg_stream_stop(steady), 0);
    ifg_stream_destroy(steady);
    if (stress_lost) { /* the machine was so busy that the queue was full for a while */
        CHECK(reported <= done);
        CHECK(reported + stress_lost >= done);
    } else {
        CHECK_UINT(reported, done);
    }
    tap_diag("%llu inferences, %llu callbacks, %llu lost", (unsigned long long)done,
             (unsigned long long)stress_callbacks, (unsigned long long)stress_lost);
}

TAP_MAIN(TAP_CASE(a_profile_takes_the_first_ten_and_can_start_again),
         TAP_CASE(a_profile_is_about_one_model), TAP_CASE(what_is_wrong_is_said),
         TAP_CASE(every_sixteenth_is_taken), TAP_CASE(reports_come_at_the_boundaries_of_the_clock),
         TAP_CASE(the_next_boundary_follows_the_clock),
         TAP_CASE(a_clock_that_is_set_delays_no_report),
         TAP_CASE(models_join_by_name_and_leave_when_released),
         TAP_CASE(a_row_has_setup_stages_and_the_whole_trip), TAP_CASE(a_trace_is_json_of_events),
         TAP_CASE(asynchronous_inferences_count_too), TAP_CASE(a_callback_may_end_its_own_stream),
         TAP_CASE(a_child_of_a_fork_starts_stopped),
         TAP_CASE(there_is_a_thread_only_while_a_handle_is_started),
         TAP_CASE_TIMEOUT(counts_hold_when_everything_happens_at_once, 240))
