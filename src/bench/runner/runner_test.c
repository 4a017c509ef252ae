// SPDX-License-Identifier: Apache-2.0
/* The process that runs models: what it measures and what it tells. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>

#include "base/alloc.h"
#include "bench/runner/runner_fixture.h"

static int open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    REQUIRE(directory != NULL);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static void list_devices(struct runner *runner)
{
    char **lines;
    size_t count;

    REQUIRE_INT(runner_devices(runner, &lines, &count, &err), IFG_OK);
    CHECK_UINT(count, 2);
    for (size_t i = 0; i < count; i++)
        ifg_free(lines[i]);
    ifg_free(lines);
}

static void a_whole_life(void)
{
    struct runner_options options = fake_options();
    struct runner_facts facts;
    struct runner_loaded loaded;
    struct runner_samples samples = { 0 };
    struct runner_work work = { .queries = 50 };
    struct tensor x = input();
    struct tensor_list set = { &x, 1 };
    struct tensor_list results;
    struct runner *runner;
    int before = open_descriptors();
    uint64_t reference = 0;

    make_model();
    runner = start(&options, &facts);
    CHECK(facts.pid > 0 && kill(facts.pid, 0) == 0);
    CHECK(facts.start_ns > facts.open_ns && facts.open_ns > 0);
    CHECK(facts.rss_bytes > 100000);
    CHECK_STR(facts.runtime, "Fake Runtime");
    CHECK_STR(facts.version, "1.2.3");
    CHECK_STR(facts.library, "bench_fake.so");
    REQUIRE_INT(load(runner, "run_us=200 load_us=5000 special_us=7 scale=3", &loaded), IFG_OK);
    CHECK(loaded.load_ns >= 5000000);
    CHECK_UINT(loaded.specialization_ns, 7000);
    CHECK_STR(loaded.inputs.items[0].dim_names[0], "batch");
    CHECK(loaded.inputs.items[0].dim_names[1] == NULL);
    CHECK_INT(loaded.inputs.items[0].dims[0], -1);
    CHECK_UINT(loaded.placement_count, 1);
    CHECK_STR(loaded.placements[0].provider, "FakeProvider");
    CHECK_UINT(loaded.node_count, 3);
    CHECK_STR(loaded.nodes[1].op_type, "Mul");
    REQUIRE_INT(runner_bind(runner, loaded.slot, &set, 1, 1, &err), IFG_OK);
    REQUIRE_INT(runner_run(runner, loaded.slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 50);
    CHECK_UINT(samples.start_ns[0], 0);
    for (size_t i = 0; i < samples.count; i++) {
        CHECK(samples.end_ns[i] - samples.start_ns[i] >= 200000);
        CHECK(samples.due_ns[i] == samples.start_ns[i]);
        CHECK(i == 0 || samples.start_ns[i] >= samples.end_ns[i - 1]);
    }
    CHECK_UINT(samples.wall_ns, samples.end_ns[49]);
    CHECK(!samples.stopped);
    REQUIRE_INT(runner_run(runner, loaded.slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 100);
    CHECK(samples.start_ns[50] > samples.end_ns[49]);
    CHECK(samples.wall_ns < samples.end_ns[99]);
    REQUIRE_INT(runner_results(runner, loaded.slot, 0, &results, &err), IFG_OK);
    REQUIRE_UINT(results.count, 1);
    CHECK_STR(results.items[0].name, "y");
    REQUIRE_UINT(results.items[0].bytes, 16);
    CHECK(tensor_value(&results.items[0], 3) == 12.0);
    tensor_list_fini(&results);
    CHECK_INT(runner_reference(runner, &reference, &err), IFG_OK);
    CHECK(reference > 100000 && reference < 1000000000);
    tap_diag("the reference took %.3f ms", (double)reference / 1e6);
    list_devices(runner);
    CHECK_INT(runner_unload(runner, loaded.slot, &err), IFG_OK);
    CHECK_INT(runner_unload(runner, loaded.slot, &err), IFG_INVALID);
    CHECK(runner_crashed(runner) == NULL);
    runner_loaded_fini(&loaded);
    runner_samples_fini(&samples);
    runner_stop(runner);
    CHECK(kill(facts.pid, 0) < 0 && errno == ESRCH);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    CHECK_INT(open_descriptors(), before);
    unlink(model_path);
}

/* ---- loops ---- */

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The p-th part in order of size of ends minus froms. */
static uint64_t part_of(const struct runner_samples *samples, const uint64_t *froms, double p)
{
    uint64_t *took = malloc(samples->count * sizeof *took);
    uint64_t result;

    REQUIRE(took != NULL && samples->count > 0);
    for (size_t i = 0; i < samples->count; i++)
        took[i] = samples->end_ns[i] - froms[i];
    qsort(took, samples->count, sizeof *took, compare_numbers);
    result = took[(size_t)(p * (double)(samples->count - 1))];
    free(took);
    return result;
}

static void a_stall_is_not_omitted(void)
{
    struct runner_work work = { .kind = RUNNER_OPEN, .rate_hz = 200, .queries = 300, .seed = 1 };
    struct runner_samples samples = { 0 };
    unsigned slot;
    struct runner *runner = ready("run_us=200 how=sleep stall_at=100 stall_ms=400", 1, &slot);
    uint64_t service, latency;

    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 300); /* none was skipped */
    CHECK_UINT(samples.due_ns[0], 0);
    for (size_t i = 0; i < samples.count; i++) {
        CHECK(samples.start_ns[i] >= samples.due_ns[i]);
        CHECK(i == 0 || samples.due_ns[i] >= samples.due_ns[i - 1]);
    }
    service = part_of(&samples, samples.start_ns, 0.99);
    latency = part_of(&samples, samples.due_ns, 0.99);
    tap_diag("p99: %.3f ms of work, %.3f ms from when it was due", (double)service / 1e6,
             (double)latency / 1e6);
    CHECK(latency >= 300000000);
    CHECK(service < latency / 2);
    CHECK_UINT(samples.unserved, 0);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

/* As bench/runner/loops.h says, written down a second time. */
static void check_schedule(const uint64_t *due_ns, size_t count, uint64_t seed, double rate)
{
    double at = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t z;
        double difference = (double)due_ns[i] - at * 1e9;

        REQUIRE(difference > -2 && difference < 2);
        seed += 0x9e3779b97f4a7c15;
        z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        z ^= z >> 31;
        at += -log((double)((z >> 11) + 1) / 9007199254740992.0) / rate;
    }
}

static void a_schedule_depends_on_its_seed(void)
{
    struct runner_work work = { .kind = RUNNER_OPEN, .rate_hz = 20000, .queries = 2000, .seed = 7 };
    struct runner_samples samples[3] = { 0 };
    uint64_t differences = 0;
    unsigned slot;
    struct runner *runner = ready("run_us=0", 2, &slot);

    work.workers = 2;
    for (int i = 0; i < 3; i++) {
        work.seed = i == 2 ? 8 : 7;
        REQUIRE_INT(runner_run(runner, slot, &work, &samples[i], &err), IFG_OK);
        REQUIRE_UINT(samples[i].count, 2000);
        qsort(samples[i].due_ns, 2000, sizeof(uint64_t), compare_numbers);
    }
    for (size_t i = 0; i < 2000; i++) {
        CHECK(samples[0].due_ns[i] == samples[1].due_ns[i]);
        differences += samples[0].due_ns[i] != samples[2].due_ns[i];
    }
    CHECK(differences > 1900);
    check_schedule(samples[0].due_ns, 2000, 7, work.rate_hz);
    check_schedule(samples[2].due_ns, 2000, 8, work.rate_hz);
    /* 2000 gaps of 50 us on average: three standard deviations of the sum are 6.7 %. */
    CHECK(samples[0].due_ns[1999] > 93000000 && samples[0].due_ns[1999] < 107000000);
    for (int i = 0; i < 3; i++)
        runner_samples_fini(&samples[i]);
    runner_stop(runner);
}

static void overload_is_told(void)
{
    struct runner_work work = {
        .kind = RUNNER_OPEN, .rate_hz = 1000, .duration_ns = 100000000, .seed = 3
    };
    struct runner_samples samples = { 0 };
    unsigned slot;
    struct runner *runner = ready("run_us=20000 how=sleep", 1, &slot);

    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    CHECK(samples.count >= 1 && samples.count <= 17);
    CHECK(samples.unserved > 40 && samples.unserved + samples.count < 160);
    runner_samples_fini(&samples);
    work.rate_hz = 0;
    CHECK_INT(runner_run(runner, slot, &work, &samples, &err), IFG_INVALID);
    work.rate_hz = 1e9;
    work.duration_ns = UINT64_C(3600000000000);
    CHECK_INT(runner_run(runner, slot, &work, &samples, &err), IFG_NO_MEMORY);
    CHECK_CONTAINS(err.message, "lower rate");
    runner_stop(runner);
}

static void workers_share_the_queries(void)
{
    struct runner_work work = { .workers = 4, .queries = 400 };
    struct runner_samples samples = { 0 };
    uint64_t overlaps = 0;
    unsigned slot;
    struct runner *runner = ready("run_us=500 how=sleep", 4, &slot);

    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 400);
    for (size_t i = 1; i < samples.count; i++) {
        CHECK(samples.start_ns[i] >= samples.start_ns[i - 1]);
        overlaps += samples.start_ns[i] < samples.end_ns[i - 1];
    }
    CHECK(overlaps > 200);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

/* Far more than the shared memory holds, and a stop by time. */
static void many_short_queries(void)
{
    struct runner_work work = { .workers = 1, .queries = 150000 };
    struct runner_samples samples = { 0 };
    unsigned slot;
    struct runner *runner = ready("run_us=0", 2, &slot);

    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 150000);
    for (size_t i = 1; i < samples.count; i++)
        if (samples.start_ns[i] < samples.end_ns[i - 1])
            REQUIRE(samples.start_ns[i] >= samples.end_ns[i - 1]);
    tap_diag("p50 %llu ns", (unsigned long long)part_of(&samples, samples.start_ns, 0.5));
    runner_samples_fini(&samples);
    work.workers = 2;
    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 150000);
    runner_samples_fini(&samples);
    work = (struct runner_work){ .duration_ns = 50000000 };
    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    CHECK(samples.count >= 1);
    CHECK(samples.count < 2 ||
          samples.end_ns[samples.count - 2] <= 50000000); /* then no other began */
    runner_samples_fini(&samples);
    runner_stop(runner);
}

static void what_is_counted(void)
{
    struct runner_work work = { .queries = 10, .per_query = 2 };
    struct runner_samples samples = { 0 };
    unsigned slot;
    struct runner *runner = ready("run_us=300 finish_us=20000 how=sleep fail_at=26", 1, &slot);

    REQUIRE_INT(runner_run(runner, slot, &work, &samples, &err), IFG_OK);
    REQUIRE_UINT(samples.count, 10);
    for (size_t i = 0; i < 10; i++) /* two runs, and what is cleaned up between them */
        CHECK(samples.end_ns[i] - samples.start_ns[i] >= 20600000);
    CHECK(part_of(&samples, samples.start_ns, 0) < 40000000); /* not after the last */
    runner_samples_fini(&samples);
    CHECK_INT(runner_run(runner, slot, &work, &samples, &err), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "query number 13 (2 inferences each)");
    CHECK_UINT(samples.count, 2);
    runner_samples_fini(&samples);
    runner_stop(runner);
}

static void input_sets_take_turns(void)
{
    float data[3][4] = { { 1, 0, 0, 0 }, { 2, 0, 0, 0 }, { 3, 0, 0, 0 } };
    struct tensor tensors[3] = { input(), input(), input() };
    struct tensor_list sets[3] = { { &tensors[0], 1 }, { &tensors[1], 1 }, { &tensors[2], 1 } };
    struct tensor_list results;
    struct runner_samples samples;
    unsigned slot;
    struct runner *runner = ready("outputs=2", 1, &slot);

    for (int i = 0; i < 3; i++)
        tensors[i].data = (uint8_t *)data[i];
    REQUIRE_INT(runner_bind(runner, slot, sets, 3, 1, &err), IFG_OK);
    memset(data, 0, sizeof data); /* it has its own */
    CHECK_INT(run(runner, slot, 7, &samples), IFG_OK);
    runner_samples_fini(&samples);
    for (size_t i = 0; i < 3; i++) {
        REQUIRE_INT(runner_results(runner, slot, i, &results, &err), IFG_OK);
        REQUIRE_UINT(results.count, 2);
        CHECK_STR(results.items[1].name, "y1");
        CHECK(tensor_value(&results.items[1], 0) == (double)(i + 1));
        tensor_list_fini(&results);
    }
    REQUIRE_INT(runner_bind(runner, slot, sets, 1, 1, &err), IFG_OK); /* now there is one */
    CHECK_INT(runner_results(runner, slot, 1, &results, &err), IFG_INVALID);
    REQUIRE_INT(runner_results(runner, slot, 0, &results, &err), IFG_OK);
    CHECK(tensor_value(&results.items[0], 0) == 0.0);
    tensor_list_fini(&results);
    runner_stop(runner);
}

static void large_tensors(void)
{
    size_t bytes = (size_t)24 << 20;
    struct tensor x = input();
    struct tensor_list set = { &x, 1 };
    struct tensor_list results;
    unsigned slot;
    struct runner *runner = ready("output_mb=40", 1, &slot);
    float *data = malloc(bytes);

    REQUIRE(data != NULL);
    for (size_t i = 0; i < bytes / sizeof *data; i++)
        data[i] = (float)(i % 1000003);
    x.data = (uint8_t *)data;
    x.bytes = bytes;
    x.dims[0] = (int64_t)(bytes / 16);
    REQUIRE_INT(runner_bind(runner, slot, &set, 1, 1, &err), IFG_OK);
    REQUIRE_INT(runner_results(runner, slot, 0, &results, &err), IFG_OK);
    REQUIRE_UINT(results.items[0].bytes, (size_t)40 << 20);
    CHECK(memcmp(results.items[0].data, data, bytes) == 0);
    tensor_list_fini(&results);
    free(data);
    runner_stop(runner);
}

/* ---- what it prints ---- */

static void chatter_stays_away(void)
{
    struct runner_samples samples;
    unsigned slot;
    int ends[2], saved = dup(STDOUT_FILENO);
    char text[16];
    struct runner *runner;

    REQUIRE(saved >= 0 && pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[1], STDOUT_FILENO) >= 0);
    runner = ready("print=200 crash_at=101 run_us=0", 1, &slot); /* megabytes */
    CHECK_INT(run(runner, slot, 100, &samples), IFG_OK);
    CHECK_UINT(samples.count, 100);
    runner_samples_fini(&samples);
    CHECK_INT(run(runner, slot, 1, &samples), IFG_INTERNAL);
    CHECK_CONTAINS(err.message, "it said: fake: something is very wrong");
    runner_stop(runner);
    dup2(saved, STDOUT_FILENO);
    CHECK(read(ends[0], text, sizeof text) < 0 && errno == EAGAIN);
}

static void chatter_on_request(void)
{
    struct runner_samples samples;
    unsigned slot;
    int ends[2], saved = dup(STDERR_FILENO);
    char text[4096] = "";
    struct runner *runner;

    setenv("IFG_BENCH_VERBOSE", "1", 1);
    REQUIRE(saved >= 0 && pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[1], STDERR_FILENO) >= 0);
    runner = ready("print=1", 1, &slot);
    CHECK_INT(run(runner, slot, 2, &samples), IFG_OK);
    runner_samples_fini(&samples);
    runner_stop(runner);
    dup2(saved, STDERR_FILENO);
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK_CONTAINS(text, "fake: inference 2 says something on stdout");
    CHECK_CONTAINS(text, "fake: inference 2 says something on stderr");
}

/* A runtime whose header knew no sizes of elements, and one whose elements are larger. */
static void built_with_other_headers(void)
{
    static const char *const plugins[] = { PROGRAMS "/bench_fake_first.so",
                                           PROGRAMS "/bench_fake_later.so" };

    make_model();
    for (size_t i = 0; i < 2; i++) {
        struct runner_options options = fake_options();
        struct runner_facts facts;
        struct runner_loaded loaded;
        struct tensor x = input();
        struct tensor_list set = { &x, 1 };
        struct tensor_list results;
        struct runner *runner;

        options.runtime = plugins[i];
        runner = start(&options, &facts);
        REQUIRE_INT(load(runner, "run_us=10 scale=3", &loaded), IFG_OK);
        REQUIRE_UINT(loaded.node_count, 3);
        CHECK_STR(loaded.nodes[1].op_type, "Mul");
        CHECK_STR(loaded.nodes[2].name, "third");
        CHECK_STR(loaded.inputs.items[0].dim_names[0], "batch");
        REQUIRE_INT(runner_bind(runner, loaded.slot, &set, 1, 1, &err), IFG_OK);
        REQUIRE_INT(runner_results(runner, loaded.slot, 0, &results, &err), IFG_OK);
        CHECK(tensor_value(&results.items[0], 3) == 12.0);
        tensor_list_fini(&results);
        runner_loaded_fini(&loaded);
        runner_stop(runner);
    }
    unlink(model_path);
}

TAP_MAIN(TAP_CASE(a_whole_life), TAP_CASE(built_with_other_headers),
         TAP_CASE(a_stall_is_not_omitted), TAP_CASE(a_schedule_depends_on_its_seed),
         TAP_CASE(overload_is_told), TAP_CASE(workers_share_the_queries),
         TAP_CASE(many_short_queries), TAP_CASE(what_is_counted), TAP_CASE(input_sets_take_turns),
         TAP_CASE(large_tensors), TAP_CASE(chatter_stays_away), TAP_CASE(chatter_on_request))
