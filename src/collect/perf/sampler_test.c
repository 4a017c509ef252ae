// SPDX-License-Identifier: Apache-2.0
/* When samples of a real child are told: at once, or patiently, but in order with its mappings. */
#include "collect/perf/sampler.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "tap.h"

#define HZ      997
#define STACK   1024 /* so that a ring holds all that a child makes between two looks */
#define FOREVER (UINT64_MAX / 2)

static struct {
    size_t samples, switches, asked;
    uint64_t first_ns, last_ns; /* samples */
    uint64_t mapped_ns;         /* the last one */
    size_t before_mapping;      /* samples that were told by then */
    bool hurries;
} told;

static void on_sample(const struct sampler_sample *sample, void *user)
{
    (void)user;
    CHECK(sample->time_ns >= told.last_ns);
    if (!told.samples++)
        told.first_ns = sample->time_ns;
    told.last_ns = sample->time_ns;
}

static void on_mapping(const struct sampler_mapping *mapping, void *user)
{
    (void)user;
    CHECK(mapping->time_ns >= told.last_ns);
    told.mapped_ns = mapping->time_ns;
    told.before_mapping = told.samples;
}

static void on_switch(const struct sampler_switch *change, void *user)
{
    (void)user;
    (void)change;
    told.switches++;
}

static bool on_coming(uint32_t pid, uint64_t ip, void *user)
{
    (void)user;
    CHECK(pid != 0 && ip != 0);
    told.asked++;
    return told.hurries;
}

static const struct sampler_events events = {
    .sample = on_sample, .mapped = on_mapping, .switched = on_switch, .hurries = on_coming
};

/* CPU time: a busy machine changes nothing. Fewer samples than wait for no others. */
static void spin(void)
{
    static volatile uint64_t sink;
    struct timespec now;
    int64_t until;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    until = now.tv_sec * 1000000000ll + now.tv_nsec + 40000000;
    do {
        for (int i = 0; i < 10000; i++)
            sink = sink * 31 + (uint64_t)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000000000ll + now.tv_nsec < until);
}

/* Does one thing for each byte it gets, and answers. */
static void be_child(int in, int out)
{
    char what;

    while (read(in, &what, 1) == 1) {
        if (what == 's')
            spin();
        else if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                 MAP_FAILED)
            _exit(1);
        if (write(out, &what, 1) != 1)
            break;
    }
    _exit(0);
}

static int to_child, from_child;
static pid_t child;
static struct sampler *sampler;

static void begin(uint64_t patience_ns)
{
    struct sampler_options options = { .hz = HZ, .stack_bytes = STACK, .patience_ns = patience_ns };
    struct sampler_facts facts;
    struct ifg_error err = { 0 };
    int in[2], out[2];
    enum ifg_status status;

    REQUIRE(pipe(in) == 0 && pipe(out) == 0);
    child = fork();
    REQUIRE(child >= 0);
    if (!child) {
        close(in[1]);
        be_child(in[0], out[1]);
    }
    close(in[0]);
    to_child = in[1];
    from_child = out[0];
    options.pid = child;
    status = sampler_open(&options, &sampler, &facts, &err);
    if (status == IFG_PERMISSION || status == IFG_UNSUPPORTED)
        SKIP("samples: %s", err.message);
    REQUIRE(status == IFG_OK);
    sampler_pause(sampler, false);
    sampler_read(sampler, false, &events);
}

/* Lets the child do something; what it made is in our copies then, and all of it may be told. */
static void let(char what)
{
    char answer;

    REQUIRE(write(to_child, &what, 1) == 1);
    REQUIRE(read(from_child, &answer, 1) == 1);
    sampler_read(sampler, false, &events);
    sampler_read(sampler, false, &events);
}

static void end(void)
{
    struct sampler_counts counts;

    sampler_pause(sampler, true);
    sampler_read(sampler, true, &events);
    sampler_count(sampler, &counts);
    CHECK_UINT(counts.samples, told.samples);
    CHECK_UINT(counts.lost, 0);
    sampler_close(sampler);
    close(to_child);
    close(from_child);
    waitpid(child, NULL, 0);
}

static void told_at_once(void)
{
    begin(0);
    let('s');
    CHECK(told.samples > 10);
    CHECK(sampler_told_ns(sampler) > told.last_ns);
    CHECK_UINT(told.asked, 0); /* nobody waits here */
    end();
}

static void told_with_the_next_mapping(void)
{
    size_t switches;

    begin(FOREVER);
    let('s');
    CHECK_UINT(told.samples, 0);
    CHECK(told.switches > 0); /* which do not wait */
    CHECK(told.asked > 10);
    CHECK_UINT(sampler_told_ns(sampler), 0);
    switches = told.switches;
    let('m');
    CHECK(told.mapped_ns != 0);
    CHECK(told.before_mapping > 10);
    CHECK(told.switches > switches);
    let('s');
    CHECK_UINT(told.samples, told.before_mapping);
    end();
    CHECK(told.samples > told.before_mapping + 10);
    CHECK(told.first_ns < told.mapped_ns && told.last_ns > told.mapped_ns);
}

static void told_in_a_hurry(void)
{
    size_t before;

    begin(FOREVER);
    told.hurries = true;
    let('s');
    CHECK(told.samples > 10);
    CHECK(sampler_told_ns(sampler) > told.last_ns);
    told.hurries = false;
    sampler_read(sampler, false, &events);
    before = told.samples;
    let('s');
    CHECK_UINT(told.samples, before);
    sampler_hurry(sampler);
    sampler_read(sampler, false, &events);
    CHECK(told.samples > before + 10);
    end();
}

static void told_when_many_wait(void)
{
    size_t before = 0;

    begin(FOREVER);
    for (int i = 0; i < 5 && told.samples == 0; i++) { /* 40 each */
        before = told.asked;
        let('s');
    }
    CHECK(told.samples >= before && told.samples > 80); /* but the newest ones */
    end();
}

static void told_when_time_is_up(void)
{
    begin(1000000);
    let('s');
    usleep(2000);
    sampler_read(sampler, false, &events);
    CHECK(told.samples > 10);
    end();
}

TAP_MAIN(TAP_CASE(told_at_once), TAP_CASE(told_with_the_next_mapping), TAP_CASE(told_in_a_hurry),
         TAP_CASE(told_when_many_wait), TAP_CASE(told_when_time_is_up))
