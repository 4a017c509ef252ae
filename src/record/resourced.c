// SPDX-License-Identifier: Apache-2.0
/* See resourced.h. */
#include "record/resourced.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/proc/proc.h"
#include "collect/streams.h"
#include "record/session_internal.h"

#define SECOND_NS     1000000000ull
#define DEVICES_NS    (SECOND_NS / 10) /* NVML takes milliseconds */
#define HOLD_NS       (SECOND_NS)      /* until a process that nobody defined is defined here */
#define FLUSH_NS      (SECOND_NS)
#define RESIDENT_NS   (SECOND_NS / 100)
#define GAP_NS        (3 * RESIDENT_NS) /* so much between two looks is said */
#define COST_TIMES    20u  /* steps are longer than so many looks take: 5 % of a core */
#define NAMES_KEPT    256u /* of processes, for those that are over soon */
#define OWNERS_MAX    1024u
#define LOCATIONS_MAX 4096u
#define QUEUE_MAX     65536u
#define HELD_MAX      8192u
#define STACK_BYTES   (1024u * 1024u)
#define LAST_LOOK_S   5
#define CLOSE_LOOK_NS 40000000ull /* a last look sooner after another one tells nothing */

struct value {
    uint64_t ns, ticks; /* the same moment on both clocks */
    uint32_t pid;
    char name[PROC_NAME_BYTES];
    double value;
};

struct values {
    struct value *items;
    size_t count, capacity;
};

struct counter {
    char name[PROC_NAME_BYTES];
    uint32_t location;
};

/* Whose counters they are. */
struct owner {
    uint32_t pid;
    bool defined;   /* has a place in the trace */
    bool seen;      /* in the latest list */
    uint32_t known; /* process that somebody else defined, + 1 */
    uint32_t known_clock;
    bool ours;         /* defined here, because nobody else did */
    uint32_t process;  /* index in the trace */
    uint32_t clock;    /* of that process */
    uint64_t first_ns; /* of its values */
    struct thread_stream *thread;
    struct counter *locations;
    size_t location_count, location_capacity, hint;
    struct values held; /* until it is defined */
    char program[512];  /* when it was first seen */
};

struct process_name {
    uint32_t pid;
    char name[PROC_COMM_BYTES];
};

/* Resident memory has a thread of its own: other looks take milliseconds, and it comes every 10. */
struct resident_watch {
    pthread_t thread;
    bool running;
    struct proc_resident *resident; /* only the thread */
    uint64_t looks, gaps, longest_ns;
    uint64_t cpu_ns, wall_ns;              /* when it has ended */
    struct process_name names[NAMES_KEPT]; /* the latest of each; guarded by the lock */
    size_t name_count;
};

struct resource_watch {
    pthread_t thread;
    bool running;
    uint64_t every_ns; /* 0: only resident memory */
    struct proc_collector *collector;
    struct resident_watch fast;

    pthread_mutex_t looking; /* the collector, but for its devices */
    pthread_mutex_t lock;    /* the rest up to here */
    pthread_cond_t wake;
    bool stop;
    pid_t pids[PROC_PROCESSES_MAX];
    size_t pid_count;
    struct values queue;
    uint64_t lost;
    size_t too_many; /* processes */
    uint64_t last_look_ns;
    uint64_t cpu_ns;
    bool told;        /* what there is and what not, below */
    char words[1024]; /* of the instrument */
    char gpu[200], npu[200];

    /* only the loop: */
    struct values taken;
    struct owner *owners;
    size_t owner_count, owner_capacity;
    bool reported;
    uint64_t next_flush_ns;
};

/* ---- the thread ---- */

struct moment {
    struct resource_watch *watch;
    uint64_t ns, ticks;
};

static bool push(struct values *values, const struct value *value, size_t most)
{
    if (!IFG_ARRAY_ROOM(values->items, values->capacity, values->count + 1, most))
        return false;
    values->items[values->count++] = *value;
    return true;
}

static void take_value(void *user, uint32_t pid, const char *name, double number)
{
    const struct moment *moment = user;
    struct resource_watch *watch = moment->watch;
    struct value value = { .ns = moment->ns, .ticks = moment->ticks, .pid = pid, .value = number };

    snprintf(value.name, sizeof value.name, "%s", name);
    pthread_mutex_lock(&watch->lock);
    if (!push(&watch->queue, &value, QUEUE_MAX))
        watch->lost++;
    pthread_mutex_unlock(&watch->lock);
}

static struct moment moment_now(struct resource_watch *watch)
{
    return (struct moment){ watch, ifg_monotonic_ns(), ifg_counter_read() };
}

static void look(struct resource_watch *watch, bool last, bool devices)
{
    struct moment moment = moment_now(watch);
    const struct proc_sink sink = { take_value, &moment };
    pid_t pids[PROC_PROCESSES_MAX];
    size_t count;

    pthread_mutex_lock(&watch->looking);
    pthread_mutex_lock(&watch->lock);
    count = watch->pid_count;
    memcpy(pids, watch->pids, count * sizeof pids[0]);
    watch->last_look_ns = moment.ns;
    pthread_mutex_unlock(&watch->lock);
    proc_follow(watch->collector, pids, count);
    proc_look(watch->collector, moment.ns, last, &sink);
    pthread_mutex_unlock(&watch->looking);
    if (devices) {
        moment = moment_now(watch);
        proc_look_devices(watch->collector, pids, count, moment.ns, &sink);
    }
}

/* What there is, for the instrument; said again when a look found more or less of it. */
static void describe(struct resource_watch *watch)
{
    char missing[800];
    double hz = (double)SECOND_NS / (double)watch->every_ns;

    proc_missing(watch->collector, missing, sizeof missing);
    pthread_mutex_lock(&watch->lock);
    snprintf(watch->words, sizeof watch->words, "%.3g Hz%s%s", hz, *missing ? "; " : "", missing);
    snprintf(watch->gpu, sizeof watch->gpu, "%s", proc_gpu_words(watch->collector));
    snprintf(watch->npu, sizeof watch->npu, "%s", proc_npu_words(watch->collector));
    watch->told = true;
    pthread_mutex_unlock(&watch->lock);
}

/* Sleeps until then; true when it is to end. */
static bool wait_until(struct resource_watch *watch, uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };
    bool stop;

    pthread_mutex_lock(&watch->lock);
    while (!watch->stop &&
           pthread_cond_clockwait(&watch->wake, &watch->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    stop = watch->stop;
    pthread_mutex_unlock(&watch->lock);
    return stop;
}

/* A program that is over soon shall be seen too: the first second has looks of its own. */
static void *run(void *user)
{
    static const uint64_t early_ns[] = { 0, 50000000, 300000000, 600000000 };
    struct resource_watch *watch = user;
    uint64_t begin_ns = ifg_monotonic_ns();
    uint64_t next_ns = begin_ns;
    uint64_t next_devices_ns = 0;
    size_t early = 0;
    struct timespec used;
    bool stop;

    prctl(PR_SET_NAME, "resources");
    prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0);
    do {
        uint64_t now_ns = ifg_monotonic_ns();
        bool devices = now_ns >= next_devices_ns;

        look(watch, false, devices);
        if (devices) {
            next_devices_ns =
                now_ns + (watch->every_ns > DEVICES_NS ? watch->every_ns / 2 : DEVICES_NS);
            describe(watch);
        }
        while (early < sizeof early_ns / sizeof early_ns[0] && begin_ns + early_ns[early] <= now_ns)
            early++;
        while (next_ns <= now_ns)
            next_ns += watch->every_ns;
        if (early < sizeof early_ns / sizeof early_ns[0] && begin_ns + early_ns[early] < next_ns)
            stop = wait_until(watch, begin_ns + early_ns[early]);
        else
            stop = wait_until(watch, next_ns);
    } while (!stop);
    if (ifg_monotonic_ns() >= watch->last_look_ns + CLOSE_LOOK_NS)
        look(watch, true, true);
    describe(watch);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    watch->cpu_ns = (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
    return NULL;
}

/* ---- the thread for resident memory ---- */

/* Names of those that are there: the loop may come too late for them. */
static void keep_names(struct resource_watch *watch)
{
    struct resident_watch *fast = &watch->fast;
    const char *name;
    uint32_t pid;

    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; proc_resident_name(fast->resident, i, &pid, &name); i++) {
        size_t at = 0, used = fast->name_count < NAMES_KEPT ? fast->name_count : NAMES_KEPT;

        while (at < used && fast->names[at].pid != pid)
            at++;
        if (at == used)
            at = fast->name_count++ % NAMES_KEPT;
        fast->names[at].pid = pid;
        memcpy(fast->names[at].name, name, PROC_COMM_BYTES);
    }
    pthread_mutex_unlock(&watch->lock);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

static void *run_fast(void *user)
{
    struct resource_watch *watch = user;
    struct resident_watch *fast = &watch->fast;
    uint64_t begin_ns = ifg_monotonic_ns(), next_ns = begin_ns, before_ns = 0;
    size_t there = 0;
    bool stop = false;

    prctl(PR_SET_NAME, "resident");
    prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0);
    while (!stop) {
        struct moment moment;
        const struct proc_sink sink = { take_value, &moment };
        pid_t pids[PROC_PROCESSES_MAX];
        uint64_t cpu_ns = own_cpu_ns(), cost_ns;
        size_t count;

        pthread_mutex_lock(&watch->lock);
        count = watch->pid_count;
        memcpy(pids, watch->pids, count * sizeof pids[0]);
        pthread_mutex_unlock(&watch->lock);
        moment = moment_now(watch);
        if (there && moment.ns - before_ns > GAP_NS)
            fast->gaps++;
        if (there && moment.ns - before_ns > fast->longest_ns)
            fast->longest_ns = moment.ns - before_ns;
        there = proc_resident_look(fast->resident, pids, count, &sink);
        keep_names(watch);
        before_ns = moment.ns;
        fast->looks++;
        cost_ns = COST_TIMES * (own_cpu_ns() - cpu_ns); /* many processes: not so often */
        next_ns += cost_ns > RESIDENT_NS ? cost_ns : RESIDENT_NS;
        if (next_ns <= ifg_monotonic_ns()) /* late: the next one is a whole step away */
            next_ns = ifg_monotonic_ns() + RESIDENT_NS;
        stop = wait_until(watch, next_ns);
    }
    fast->cpu_ns = own_cpu_ns();
    fast->wall_ns = ifg_monotonic_ns() - begin_ns;
    return NULL;
}

/* What a process that is gone was called in the end; it may have run another program before. */
static void name_owner(struct resource_watch *watch, struct owner *owner)
{
    const char *slash = strrchr(owner->program, '/');
    const char *known = slash ? slash + 1 : owner->program;

    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; i < watch->fast.name_count && i < NAMES_KEPT; i++) {
        const struct process_name *name = &watch->fast.names[i];

        if (name->pid != owner->pid || !name->name[0])
            continue;
        if (strncmp(known, name->name, PROC_COMM_BYTES - 1) != 0)
            snprintf(owner->program, sizeof owner->program, "%s", name->name);
        break;
    }
    pthread_mutex_unlock(&watch->lock);
}

/* ---- the loop: whose they are ---- */

static struct owner *find_owner(struct resource_watch *watch, uint32_t pid)
{
    for (size_t i = 0; i < watch->owner_count; i++)
        if (watch->owners[i].pid == pid)
            return &watch->owners[i];
    return NULL;
}

static struct owner *take_owner(struct resource_watch *watch, uint32_t pid)
{
    struct owner *owner = find_owner(watch, pid);
    struct process_info info = { 0 };

    if (owner)
        return owner;
    if (!IFG_ARRAY_ROOM(watch->owners, watch->owner_capacity, watch->owner_count + 1, OWNERS_MAX))
        return NULL;
    owner = &watch->owners[watch->owner_count++];
    *owner = (struct owner){ .pid = pid, .seen = true };
    /* Its name, while it has one: it may be gone when it is written. */
    if (pid && process_describe((pid_t)pid, &info, NULL) == IFG_OK)
        snprintf(owner->program, sizeof owner->program, "%s",
                 info.program[0] ? info.program : info.name);
    return owner;
}

static void leave_place(struct owner *owner)
{
    thread_stream_destroy(owner->thread);
    owner->thread = NULL;
    owner->defined = owner->ours = false;
    owner->location_count = owner->hint = 0;
}

static void drop_owner(struct resource_watch *watch, struct owner *owner)
{
    leave_place(owner);
    ifg_free(owner->locations);
    ifg_free(owner->held.items);
    *owner = watch->owners[--watch->owner_count];
}

static void begin_stream(struct session *session, struct owner *owner, uint32_t process,
                         uint32_t clock)
{
    owner->process = process;
    owner->clock = clock;
    owner->defined = true;
    owner->thread = thread_stream_create(&session->recording.sink, process, 0, "resources",
                                         sizeof *owner->thread);
}

/* A process that carries nothing of ours: told of only by what it uses. */
static void define_process(struct session *session, struct owner *owner, uint64_t ns)
{
    struct sink_process process = {
        .pid = (pid_t)owner->pid,
        .clock = SINK_CLOCK_MONOTONIC,
        .start = ns,
        .program = owner->pid ? owner->program : "system",
    };
    uint32_t index;

    if (owner->pid && !process_exists((pid_t)owner->pid))
        name_owner(session->resources, owner);
    index = sink_process(&session->recording.sink, &process);
    begin_stream(session, owner, index, process.clock);
    owner->ours = true;
}

/* Where the counters of a process go: into the process that somebody else told of, if any. An exec
 * puts another one in its place. */
static void settle(struct session *session, struct owner *owner, bool define)
{
    if (owner->known && (!owner->defined || owner->process != owner->known - 1)) {
        leave_place(owner);
        begin_stream(session, owner, owner->known - 1, owner->known_clock);
    }
    if (!owner->defined && define)
        define_process(session, owner, owner->first_ns);
}

/* The number of a counter. Looks give the same names in the same order, mostly. */
static uint32_t location_of(struct session *session, struct owner *owner, const char *name)
{
    size_t at = owner->hint;

    for (size_t i = 0; i < owner->location_count; i++, at++) {
        if (at >= owner->location_count)
            at = 0;
        if (strcmp(owner->locations[at].name, name) == 0) {
            owner->hint = at + 1;
            return owner->locations[at].location;
        }
    }
    if (!IFG_ARRAY_ROOM(owner->locations, owner->location_capacity, owner->location_count + 1,
                        LOCATIONS_MAX))
        return 0;
    at = owner->location_count++;
    snprintf(owner->locations[at].name, PROC_NAME_BYTES, "%s", name);
    owner->locations[at].location = sink_location(
        &session->recording.sink, (struct trace_location){ .process = owner->process,
                                                           .kind = TRACE_LOCATION_COUNTER,
                                                           .name = owner->locations[at].name });
    return owner->locations[at].location;
}

/* The last look comes a little after the end, and counts as the end. */
static void write_value(struct session *session, struct owner *owner, const struct value *value)
{
    uint32_t location = owner->thread ? location_of(session, owner, value->name) : 0;
    bool is_monotonic = owner->clock == SINK_CLOCK_MONOTONIC;
    uint64_t until =
        session->recording.sink.until[is_monotonic ? SINK_CLOCK_MONOTONIC : SINK_CLOCK_COUNTER];
    uint64_t at = is_monotonic ? value->ns : value->ticks;

    if (location)
        trace_stream_event(owner->thread->stream, TRACE_EVENT_COUNTER,
                           until && at > until ? until : at, location, &value->value,
                           sizeof value->value);
}

static void write_held(struct session *session, struct owner *owner)
{
    for (size_t i = 0; owner->defined && i < owner->held.count; i++)
        write_value(session, owner, &owner->held.items[i]);
    if (owner->defined) {
        ifg_free(owner->held.items);
        owner->held = (struct values){ 0 };
    }
}

/* Writes what was taken. With define, all whom nobody defined so far are. */
static void write_values(struct session *session, bool define)
{
    struct resource_watch *watch = session->resources;

    for (size_t i = 0; i < watch->taken.count; i++) {
        const struct value *value = &watch->taken.items[i];
        struct owner *owner = take_owner(watch, value->pid);

        if (!owner)
            continue;
        if (!owner->first_ns)
            owner->first_ns = value->ns;
        if (!i || watch->taken.items[i - 1].pid != value->pid)
            settle(session, owner, !value->pid || value->ns >= owner->first_ns + HOLD_NS);
        write_held(session, owner);
        if (owner->defined)
            write_value(session, owner, value);
        else
            (void)push(&owner->held, value, HELD_MAX);
    }
    watch->taken.count = 0;
    for (size_t i = 0; define && i < watch->owner_count; i++) {
        struct owner *owner = &watch->owners[i];

        if (!owner->held.count)
            continue;
        settle(session, owner, true);
        write_held(session, owner);
    }
}

/* ---- the loop ---- */

static void report(struct session *session)
{
    struct resource_watch *watch = session->resources;

    pthread_mutex_lock(&watch->lock);
    instruments_report(&session->result->instruments, session->recording.sink.writer, "resources",
                       TRACE_INSTRUMENT_ON, watch->words);
    trace_writer_fact(session->recording.sink.writer, "resources.gpu", watch->gpu);
    trace_writer_fact(session->recording.sink.writer, "resources.npu", watch->npu);
    pthread_mutex_unlock(&watch->lock);
    watch->reported = true;
}

static void tell(struct session *session, const char *instrument, enum trace_instrument_state state,
                 const char *reason)
{
    instruments_report(&session->result->instruments, session->recording.sink.writer, instrument,
                       state, reason);
}

void resourced_open(struct session *session)
{
    const struct session_options *options = session->options;
    bool all = options->resources_hz > 0;
    struct resource_watch *watch;

    if (!all)
        tell(session, "resources", TRACE_INSTRUMENT_OFF, "--no-resources was given");
    if (!all && !options->memory)
        return;
    watch = ifg_alloc(1, sizeof *watch);
    if (watch && all)
        watch->collector = proc_open(&proc_real_roots, session->recording.begin_ns);
    if (watch && options->memory)
        watch->fast.resident = proc_resident_open(&proc_real_roots);
    if (!watch || (all && !watch->collector) || (options->memory && !watch->fast.resident)) {
        proc_close(watch ? watch->collector : NULL);
        proc_resident_close(watch ? watch->fast.resident : NULL);
        ifg_free(watch);
        tell(session, "resources", TRACE_INSTRUMENT_UNAVAILABLE, "not enough memory");
        return;
    }
    if (all)
        watch->every_ns = (uint64_t)((double)SECOND_NS / options->resources_hz);
    if (all && options->no_gpu)
        proc_leave_out_devices(watch->collector);
    pthread_mutex_init(&watch->looking, NULL);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
    session->resources = watch;
}

static bool start(pthread_t *thread, void *(*work)(void *), struct resource_watch *watch)
{
    pthread_attr_t attributes;
    bool started;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    started = pthread_create(thread, &attributes, work, watch) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

void resourced_begin(struct session *session)
{
    struct resource_watch *watch = session->resources;

    if (!watch)
        return;
    watch->pids[watch->pid_count++] = session->recording.root;
    if (watch->fast.resident) {
        watch->fast.running = start(&watch->fast.thread, run_fast, watch);
        tell(session, "memory",
             watch->fast.running ? TRACE_INSTRUMENT_ON : TRACE_INSTRUMENT_UNAVAILABLE,
             watch->fast.running ? "resident memory of each process every 10 ms"
                                 : "no thread could be started for it");
    }
    if (!watch->every_ns)
        return;
    watch->running = start(&watch->thread, run, watch);
    if (!watch->running)
        tell(session, "resources", TRACE_INSTRUMENT_UNAVAILABLE,
             "no thread could be started for them");
}

/* Who was over before anybody else told of it is told of by what it used. */
static void end_owner(struct session *session, struct owner *owner)
{
    if (owner->held.count) {
        settle(session, owner, true);
        write_held(session, owner);
    }
    drop_owner(session->resources, owner);
}

void resourced_look(struct session *session, const pid_t *pids, size_t count)
{
    struct resource_watch *watch = session->resources;

    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->pid_count = count < PROC_PROCESSES_MAX ? count : PROC_PROCESSES_MAX;
    watch->too_many =
        count - watch->pid_count > watch->too_many ? count - watch->pid_count : watch->too_many;
    memcpy(watch->pids, pids, watch->pid_count * sizeof watch->pids[0]);
    pthread_mutex_unlock(&watch->lock);
    for (size_t i = watch->owner_count; i-- > 0;) { /* who has gone needs no memory */
        struct owner *owner = &watch->owners[i];
        bool here = !owner->pid || owner->pid == (uint32_t)session->recording.root;

        for (size_t p = 0; !here && p < count; p++)
            here = (uint32_t)pids[p] == owner->pid;
        if (here)
            owner->seen = true;
        else if (owner->seen)
            owner->seen = false; /* values of a last look may still come */
        else
            end_owner(session, owner);
    }
}

void resourced_know(struct session *session, pid_t pid, uint32_t process, uint32_t clock)
{
    struct owner *owner = session->resources ? take_owner(session->resources, (uint32_t)pid) : NULL;

    if (!owner)
        return;
    owner->known = process + 1;
    owner->known_clock = clock;
}

void resourced_ended(struct session *session, pid_t pid)
{
    struct resource_watch *watch = session->resources;
    struct moment moment;
    const struct proc_sink sink = { take_value, &moment };

    if (!watch || !watch->running)
        return;
    pthread_mutex_lock(&watch->looking);
    moment = moment_now(watch);
    proc_look_ended(watch->collector, pid, moment.ns, &sink);
    pthread_mutex_unlock(&watch->looking);
}

static void take_queue(struct resource_watch *watch, bool *out_told)
{
    struct values empty = watch->taken;

    pthread_mutex_lock(&watch->lock);
    watch->taken = watch->queue;
    empty.count = 0;
    watch->queue = empty;
    *out_told = watch->told;
    pthread_mutex_unlock(&watch->lock);
}

static void flush(struct session *session)
{
    struct resource_watch *watch = session->resources;

    for (size_t i = 0; i < watch->owner_count; i++)
        if (watch->owners[i].thread && trace_stream_pending(watch->owners[i].thread->stream))
            trace_stream_flush(watch->owners[i].thread->stream, NULL, 0, 0);
}

void resourced_work(struct session *session, uint64_t now_ns)
{
    struct resource_watch *watch = session->resources;
    bool told;

    if (!watch || (!watch->running && !watch->fast.running) || now_ns < session->next_resources_ns)
        return;
    session->next_resources_ns = now_ns + SECOND_NS / 20;
    take_queue(watch, &told);
    if (told && !watch->reported)
        report(session);
    write_values(session, false);
    if (now_ns >= watch->next_flush_ns) {
        flush(session);
        watch->next_flush_ns = now_ns + FLUSH_NS;
    }
}

/* How well memory was looked at, and what that cost. */
static void write_memory_facts(struct session *session)
{
    const struct resident_watch *fast = &session->resources->fast;
    double seconds = (double)fast->wall_ns * 1e-9;
    double step_ms = 1e3 * seconds / (double)fast->looks;
    char text[200];

    snprintf(text, sizeof text, "%.6f", (double)fast->cpu_ns * 1e-9);
    trace_writer_fact(session->recording.sink.writer, "memory.cpu_seconds", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)fast->looks);
    trace_writer_fact(session->recording.sink.writer, "memory.looks", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)fast->gaps);
    trace_writer_fact(session->recording.sink.writer, "memory.gaps", text);
    snprintf(text, sizeof text, "%.3f", (double)fast->longest_ns * 1e-6);
    trace_writer_fact(session->recording.sink.writer, "memory.longest_gap_ms", text);
    snprintf(text, sizeof text,
             "resident memory of each process every %.0f ms%s, %.2f %% of a core; %llu sampling "
             "gap%s of more than 30 ms",
             step_ms > 15 ? step_ms : 10.0, step_ms > 15 ? " (too busy for 10)" : "",
             seconds > 0 ? (double)fast->cpu_ns * 1e-7 / seconds : 0.0,
             (unsigned long long)fast->gaps, fast->gaps == 1 ? "" : "s");
    tell(session, "memory", TRACE_INSTRUMENT_ON, text);
}

static void write_facts(struct session *session)
{
    struct resource_watch *watch = session->resources;
    char text[32];

    if (watch->every_ns) {
        report(session);
        snprintf(text, sizeof text, "%.6f", (double)watch->cpu_ns * 1e-9);
        trace_writer_fact(session->recording.sink.writer, "resources.cpu_seconds", text);
    }
    if (watch->fast.looks)
        write_memory_facts(session);
    if (watch->too_many)
        trace_writer_loss(session->recording.sink.writer, 0,
                          "processes whose resources were not looked at", watch->too_many);
    if (watch->lost)
        trace_writer_loss(session->recording.sink.writer, 0,
                          "values of resources that found the queue full", watch->lost);
}

/* How those ended that nobody else tells of. */
static void write_ends(struct session *session)
{
    const struct session_result *result = session->result;
    uint64_t now_ns = ifg_monotonic_ns();
    int status = result->wait_status;

    for (size_t i = 0; i < session->resources->owner_count; i++) {
        const struct owner *owner = &session->resources->owners[i];

        if (!owner->ours || !owner->pid)
            continue;
        if (owner->pid == (uint32_t)session->recording.root && result->command_ended)
            trace_writer_process_end(
                session->recording.sink.writer, owner->process, now_ns,
                WIFSIGNALED(status) ? TRACE_FATE_KILLED : TRACE_FATE_EXITED,
                (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
        else if (process_exists((pid_t)owner->pid))
            trace_writer_process_end(session->recording.sink.writer, owner->process, now_ns,
                                     TRACE_FATE_RUNNING, 0);
    }
}

void resourced_finish(struct session *session)
{
    struct resource_watch *watch = session->resources;
    struct timespec until;
    bool told;

    if (!watch || (!watch->running && !watch->fast.running))
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_broadcast(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    if (watch->fast.running)
        pthread_join(watch->fast.thread, NULL);
    watch->fast.running = false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_LOOK_S;
    if (watch->running && pthread_timedjoin_np(watch->thread, NULL, &until) != 0) {
        /* A driver does not come back. The recording must: the thread keeps what it has. */
        session->resources = NULL;
        tell(session, "resources", TRACE_INSTRUMENT_UNAVAILABLE, "a device did not answer");
        return;
    }
    watch->running = false;
    take_queue(watch, &told);
    write_values(session, true);
    write_ends(session);
    write_facts(session);
    flush(session);
}

void resourced_close(struct session *session)
{
    struct resource_watch *watch = session->resources;

    if (!watch)
        return;
    if (watch->running || watch->fast.running) { /* the recording failed */
        pthread_mutex_lock(&watch->lock);
        watch->stop = true;
        pthread_cond_broadcast(&watch->wake);
        pthread_mutex_unlock(&watch->lock);
    }
    if (watch->running)
        pthread_join(watch->thread, NULL);
    if (watch->fast.running)
        pthread_join(watch->fast.thread, NULL);
    for (size_t i = 0; i < watch->owner_count; i++) { /* the streams went with the writer */
        ifg_free(watch->owners[i].locations);
        ifg_free(watch->owners[i].thread);
        ifg_free(watch->owners[i].held.items);
    }
    ifg_free(watch->owners);
    ifg_free(watch->taken.items);
    ifg_free(watch->queue.items);
    proc_close(watch->collector);
    proc_resident_close(watch->fast.resident);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    pthread_mutex_destroy(&watch->looking);
    ifg_free(watch);
    session->resources = NULL;
}
