// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine and the recorded processes use (record --resources), and their resident memory
 * every 10 ms (--memory): the recorder's side of collect/proc. Threads of their own look, because a
 * driver or a large process may take its time: one at /proc, one at devices, one at resident
 * memory; the loop only takes over what they found.
 *
 * Values become counters of a process "system" (pid 0), and of the recorded processes, each on a
 * thread "resources" (tid 0) that no system has.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "record/sources/proc_internal.h"
#include "record/source.h"
#include "trace/keys.h"

#define HOLD_NS       (SECOND_NS) /* until a process that nobody defined is defined here */
#define FLUSH_NS      (SECOND_NS)
#define OWNERS_MAX    1024u
#define LOCATIONS_MAX 4096u
#define HELD_MAX      8192u
#define STACK_BYTES   (1024u * 1024u)
#define LAST_LOOK_NS  5000000000ull
#define FIRST_LOOK_NS 1000000000ull

/* ---- whose they are ---- */

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
    streams_thread_destroy(owner->thread);
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

static void begin_stream(struct resource_watch *watch, struct owner *owner, uint32_t process,
                         uint32_t clock)
{
    owner->process = process;
    owner->clock = clock;
    owner->defined = true;
    owner->thread = streams_thread_create(&watch->recording->sink, process, 0, "resources",
                                          sizeof *owner->thread);
}

/* A process that carries nothing of ours: told of only by what it uses. */
static void define_process(struct resource_watch *watch, struct owner *owner, uint64_t ns)
{
    struct sink_process process = {
        .pid = (pid_t)owner->pid,
        .clock = SINK_CLOCK_MONOTONIC,
        .start = ns,
        .program = owner->pid ? owner->program : "system",
    };
    uint32_t index;

    if (owner->pid && !process_exists((pid_t)owner->pid))
        name_owner(watch, owner);
    index = sink_process(&watch->recording->sink, &process);
    begin_stream(watch, owner, index, process.clock);
    owner->ours = true;
}

/* Where the counters of a process go: into the process that somebody else told of, if any. An exec
 * puts another one in its place. */
static void settle(struct resource_watch *watch, struct owner *owner, bool define)
{
    if (owner->known && (!owner->defined || owner->process != owner->known - 1)) {
        leave_place(owner);
        begin_stream(watch, owner, owner->known - 1, owner->known_clock);
    }
    if (!owner->defined && define)
        define_process(watch, owner, owner->first_ns);
}

/* The number of a counter. Looks give the same names in the same order, mostly. */
static uint32_t location_of(struct resource_watch *watch, struct owner *owner, const char *name)
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
        &watch->recording->sink, (struct trace_location){ .process = owner->process,
                                                          .kind = TRACE_LOCATION_COUNTER,
                                                          .name = owner->locations[at].name });
    return owner->locations[at].location;
}

static void lose_value(struct resource_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->lost++;
    pthread_mutex_unlock(&watch->lock);
}

/* The last look comes a little after the end, and counts as the end. */
static void write_value(struct resource_watch *watch, struct owner *owner,
                        const struct value *value)
{
    uint32_t location = owner->thread ? location_of(watch, owner, value->name) : 0;
    bool is_monotonic = owner->clock == SINK_CLOCK_MONOTONIC;
    uint64_t until =
        watch->recording->sink.until[is_monotonic ? SINK_CLOCK_MONOTONIC : SINK_CLOCK_COUNTER];
    uint64_t at = is_monotonic ? value->ns : value->ticks;

    if (location)
        trace_stream_event(owner->thread->stream, TRACE_EVENT_COUNTER,
                           until && at > until ? until : at, location, &value->value,
                           sizeof value->value);
    else
        lose_value(watch);
}

static void write_held(struct resource_watch *watch, struct owner *owner)
{
    for (size_t i = 0; owner->defined && i < owner->held.count; i++)
        write_value(watch, owner, &owner->held.items[i]);
    if (owner->defined) {
        ifg_free(owner->held.items);
        owner->held = (struct values){ 0 };
    }
}

/* Writes what was taken. With define, all whom nobody defined so far are. */
static void write_values(struct resource_watch *watch, bool define)
{
    for (size_t i = 0; i < watch->taken.count; i++) {
        const struct value *value = &watch->taken.items[i];
        struct owner *owner = take_owner(watch, value->pid);

        if (value->ns < watch->recording->since_ns)
            continue;
        if (!owner) {
            lose_value(watch);
            continue;
        }
        if (!owner->first_ns)
            owner->first_ns = value->ns;
        if (!i || watch->taken.items[i - 1].pid != value->pid)
            settle(watch, owner, !value->pid || value->ns >= owner->first_ns + HOLD_NS);
        write_held(watch, owner);
        if (owner->defined)
            write_value(watch, owner, value);
        else if (!proc_push(&owner->held, value, HELD_MAX))
            lose_value(watch);
    }
    watch->taken.count = 0;
    for (size_t i = 0; define && i < watch->owner_count; i++) {
        struct owner *owner = &watch->owners[i];

        if (!owner->held.count)
            continue;
        settle(watch, owner, true);
        write_held(watch, owner);
    }
}

/* ---- the loop ---- */

static void put_fact(struct trace_writer *writer, const struct proc_device_info *info,
                     const char *what, const char *value)
{
    char key[80];

    if (!*value)
        return;
    snprintf(key, sizeof key, TRACE_FACT_GPU "%u%s", info->number, what);
    trace_writer_fact(writer, key, value);
}

static void put_number(struct trace_writer *writer, const struct proc_device_info *info,
                       const char *what, unsigned value)
{
    char text[16] = "";

    if (value)
        snprintf(text, sizeof text, "%u", value);
    put_fact(writer, info, what, text);
}

/* What a device can do at most: analysis holds what was done against it. */
static void report_limits(struct trace_writer *writer, const struct proc_device_info *info)
{
    if (!*info->id)
        return;
    put_fact(writer, info, TRACE_GPU_ID, info->id);
    put_fact(writer, info, TRACE_GPU_NAME, info->name);
    put_fact(writer, info, TRACE_GPU_COMPUTE_CAPABILITY, info->capability);
    put_number(writer, info, TRACE_GPU_CORES, info->cores);
    put_number(writer, info, TRACE_GPU_CLOCK_MHZ, info->clock_mhz);
    put_number(writer, info, TRACE_GPU_MEMORY_CLOCK_MHZ, info->memory_clock_mhz);
    put_number(writer, info, TRACE_GPU_MEMORY_BUS_BITS, info->memory_bus_bits);
    if (info->is_mig)
        put_fact(writer, info, TRACE_GPU_MIG, "yes");
}

static void report(struct resource_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    sink_instrument(&watch->recording->sink, "resources", TRACE_INSTRUMENT_ON, watch->words);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_RESOURCES_GPU, watch->gpu);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_RESOURCES_NPU, watch->npu);
    for (size_t i = 0; i < watch->info_count; i++)
        report_limits(watch->recording->sink.writer, &watch->infos[i]);
    pthread_mutex_unlock(&watch->lock);
    watch->reported = true;
}

static void tell(struct resource_watch *watch, const char *instrument,
                 enum trace_instrument_state state, const char *reason)
{
    sink_instrument(&watch->recording->sink, instrument, state, reason);
}

static enum ifg_status open_source(struct recording *recording, void **out_state,
                                   struct ifg_error *err)
{
    struct resource_watch *watch = ifg_alloc(1, sizeof *watch);

    *out_state = watch;
    if (!watch)
        return ifg_fail_no_memory(err, NULL);
    watch->recording = recording;
    pthread_mutex_init(&watch->looking, NULL);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
    return IFG_OK;
}

/* What the machine takes while the program that is to be recorded does not run yet. */
static void measure_idle(struct resource_watch *watch)
{
    const struct session_options *options = watch->recording->options;
    struct moment moment = proc_moment(watch);
    const struct proc_sink sink = { proc_take_value, &moment, proc_take_time };

    if (options->preparing)
        options->preparing("measuring idle power", options->user);
    proc_measure_idle(watch->collector, options->idle_s, &sink);
}

static bool begin(void *state)
{
    struct resource_watch *watch = state;
    const struct session_options *options = watch->recording->options;
    bool all = options->resources_hz > 0;

    if (!all)
        tell(watch, "resources", TRACE_INSTRUMENT_OFF, "--no-resources was given");
    if (all)
        watch->collector = proc_open(&host_system, watch->recording->begin_ns);
    if (options->memory)
        watch->fast.resident = proc_resident_open(&host_system);
    if ((all && !watch->collector) || (options->memory && !watch->fast.resident)) {
        tell(watch, "resources", TRACE_INSTRUMENT_UNAVAILABLE, "not enough memory");
        return false;
    }
    if (all)
        watch->every_ns = (uint64_t)((double)SECOND_NS / options->resources_hz);
    if (all && options->gpu == SESSION_GPU_OFF)
        proc_leave_out_devices(watch->collector);
    if (all && options->idle_s > 0 && watch->recording->root_waits)
        measure_idle(watch);
    return all || options->memory;
}

static bool start_thread(pthread_t *thread, void *(*look)(void *), struct resource_watch *watch)
{
    pthread_attr_t attributes;
    bool started;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    started = pthread_create(thread, &attributes, look, watch) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

/* Who is told that we record may take memory at once: what there was before must be known then. A
 * /proc that does not answer keeps nobody waiting for longer. */
static void await_first_look(struct resource_watch *watch)
{
    uint64_t until_ns = ifg_monotonic_ns() + FIRST_LOOK_NS;
    struct timespec until = { (time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS) };

    pthread_mutex_lock(&watch->lock);
    while (!watch->fast.has_looked &&
           pthread_cond_clockwait(&watch->wake, &watch->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    pthread_mutex_unlock(&watch->lock);
}

static void start(void *state)
{
    struct resource_watch *watch = state;

    watch->pids[watch->pid_count++] = watch->recording->root;
    if (watch->fast.resident) {
        watch->fast.running = start_thread(&watch->fast.thread, proc_look_at_memory, watch);
        tell(watch, "memory",
             watch->fast.running ? TRACE_INSTRUMENT_ON : TRACE_INSTRUMENT_UNAVAILABLE,
             watch->fast.running ? "resident memory of each process every 10 ms"
                                 : "no thread could be started for it");
    }
    if (watch->every_ns) {
        watch->running = start_thread(&watch->thread, proc_look_at_all, watch);
        watch->devices.running =
            watch->running && start_thread(&watch->devices.thread, proc_look_at_devices, watch);
        if (!watch->devices.running)
            tell(watch, "resources", TRACE_INSTRUMENT_UNAVAILABLE,
                 watch->running ? "no thread could be started for devices"
                                : "no thread could be started for them");
    }
    if (watch->fast.running)
        await_first_look(watch);
}

/* Who was over before anybody else told of it is told of by what it used. */
static void end_owner(struct resource_watch *watch, struct owner *owner)
{
    if (owner->held.count) {
        settle(watch, owner, true);
        write_held(watch, owner);
    }
    drop_owner(watch, owner);
}

static void processes(void *state, const pid_t *pids, size_t count)
{
    struct resource_watch *watch = state;

    pthread_mutex_lock(&watch->lock);
    watch->pid_count = count < PROC_PROCESSES_MAX ? count : PROC_PROCESSES_MAX;
    watch->too_many =
        count - watch->pid_count > watch->too_many ? count - watch->pid_count : watch->too_many;
    memcpy(watch->pids, pids, watch->pid_count * sizeof watch->pids[0]);
    pthread_mutex_unlock(&watch->lock);
    for (size_t i = watch->owner_count; i-- > 0;) { /* who has gone needs no memory */
        struct owner *owner = &watch->owners[i];
        bool here = !owner->pid || owner->pid == (uint32_t)watch->recording->root;

        for (size_t p = 0; !here && p < count; p++)
            here = (uint32_t)pids[p] == owner->pid;
        if (here)
            owner->seen = true;
        else if (owner->seen)
            owner->seen = false; /* values of a last look may still come */
        else
            end_owner(watch, owner);
    }
}

/* Its counters belong there, unless it has a clock that nothing is known of here. */
static void defined(void *state, pid_t pid, uint32_t process, uint32_t clock)
{
    struct owner *owner = clock <= SINK_CLOCK_MONOTONIC ? take_owner(state, (uint32_t)pid) : NULL;

    if (!owner)
        return;
    owner->known = process + 1;
    owner->known_clock = clock;
}

static void ended(void *state, pid_t pid)
{
    struct resource_watch *watch = state;
    struct moment moment;
    const struct proc_sink sink = { proc_take_value, &moment, NULL };

    if (!watch->running)
        return;
    pthread_mutex_lock(&watch->looking);
    moment = proc_moment(watch);
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

static void flush(struct resource_watch *watch)
{
    for (size_t i = 0; i < watch->owner_count; i++)
        if (watch->owners[i].thread && trace_stream_pending(watch->owners[i].thread->stream))
            trace_stream_flush(watch->owners[i].thread->stream, NULL, 0, 0);
}

static enum ifg_status work(void *state, uint64_t now_ns, bool *out_any, struct ifg_error *err)
{
    struct resource_watch *watch = state;
    bool told;

    (void)out_any, (void)err;
    if ((!watch->running && !watch->fast.running) || now_ns < watch->next_take_ns)
        return IFG_OK;
    watch->next_take_ns = now_ns + SECOND_NS / 20;
    take_queue(watch, &told);
    if (told && !watch->reported)
        report(watch);
    write_values(watch, false);
    if (now_ns >= watch->next_flush_ns) {
        flush(watch);
        watch->next_flush_ns = now_ns + FLUSH_NS;
    }
    return IFG_OK;
}

/* How well memory was looked at, and what that cost. */
static void write_memory_facts(struct resource_watch *watch)
{
    const struct resident_watch *fast = &watch->fast;
    double seconds = (double)fast->wall_ns * 1e-9;
    double step_ms = 1e3 * seconds / (double)fast->looks;
    char text[200];

    snprintf(text, sizeof text, "%.6f", (double)fast->cpu_ns * 1e-9);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_MEMORY_CPU_SECONDS, text);
    sink_count(&watch->recording->sink, TRACE_FACT_MEMORY_LOOKS, fast->looks);
    sink_count(&watch->recording->sink, TRACE_FACT_MEMORY_GAPS, fast->gaps);
    snprintf(text, sizeof text, "%.3f", (double)fast->longest_ns * 1e-6);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_MEMORY_LONGEST_GAP_MS, text);
    snprintf(text, sizeof text,
             "resident memory of each process every %.0f ms%s, %.2f %% of a core; %llu sampling "
             "gap%s of more than 30 ms",
             step_ms > 15 ? step_ms : 10.0, step_ms > 15 ? " (too busy for 10)" : "",
             seconds > 0 ? (double)fast->cpu_ns * 1e-7 / seconds : 0.0,
             (unsigned long long)fast->gaps, fast->gaps == 1 ? "" : "s");
    tell(watch, "memory", TRACE_INSTRUMENT_ON, text);
}

/* How often devices were asked, and how long they took for an answer. */
static void write_device_facts(struct resource_watch *watch)
{
    char text[32];

    sink_count(&watch->recording->sink, TRACE_FACT_DEVICES_LOOKS, watch->devices.looks);
    snprintf(text, sizeof text, "%.6f", (double)watch->devices.cpu_ns * 1e-9);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_DEVICES_CPU_SECONDS, text);
    snprintf(text, sizeof text, "%.3f", (double)watch->devices.longest_ns * 1e-6);
    trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_DEVICES_LONGEST_MS, text);
}

static void write_facts(struct resource_watch *watch)
{
    char text[32];

    if (watch->every_ns) {
        report(watch);
        snprintf(text, sizeof text, "%.6f", (double)(watch->cpu_ns + watch->devices.cpu_ns) * 1e-9);
        trace_writer_fact(watch->recording->sink.writer, TRACE_FACT_RESOURCES_CPU_SECONDS, text);
    }
    if (!watch->is_stuck && watch->devices.looks > 1)
        write_device_facts(watch);
    if (watch->fast.looks)
        write_memory_facts(watch);
    if (watch->too_many)
        trace_writer_loss(watch->recording->sink.writer, 0,
                          "processes whose resources were not looked at", watch->too_many);
    if (watch->fast.resident && proc_resident_left_out(watch->fast.resident))
        trace_writer_loss(watch->recording->sink.writer, 0,
                          "processes whose resident memory was not looked at",
                          proc_resident_left_out(watch->fast.resident));
    if (watch->lost)
        trace_writer_loss(watch->recording->sink.writer, 0,
                          "values of resources that found no room", watch->lost);
}

/* How those ended that nobody else tells of. */
static void write_ends(struct resource_watch *watch)
{
    const struct session_result *result = watch->recording->result;
    uint64_t now_ns = ifg_monotonic_ns();
    int status = result->wait_status;

    for (size_t i = 0; i < watch->owner_count; i++) {
        const struct owner *owner = &watch->owners[i];

        if (!owner->ours || !owner->pid)
            continue;
        if (owner->pid == (uint32_t)watch->recording->root && result->command_ended)
            trace_writer_process_end(
                watch->recording->sink.writer, owner->process, now_ns,
                WIFSIGNALED(status) ? TRACE_FATE_KILLED : TRACE_FATE_EXITED,
                (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
        else if (process_exists((pid_t)owner->pid))
            trace_writer_process_end(watch->recording->sink.writer, owner->process, now_ns,
                                     TRACE_FATE_RUNNING, 0);
    }
}

static void wake_to_stop(struct resource_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_broadcast(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
}

/* A driver may not come back. The recording must: then the thread keeps what it has, and the rest
 * of what was seen is written. */
static void stop_devices(struct resource_watch *watch)
{
    struct timespec until = ifg_timespec(ifg_realtime_ns() + LAST_LOOK_NS);

    if (!watch->devices.running)
        return;
    watch->devices.running = false;
    if (pthread_timedjoin_np(watch->devices.thread, NULL, &until) == 0)
        return;
    watch->is_stuck = true;
    pthread_mutex_lock(&watch->lock);
    snprintf(watch->words, sizeof watch->words, "%.3g Hz; GPU: a device did not answer",
             (double)SECOND_NS / (double)watch->every_ns);
    snprintf(watch->gpu, sizeof watch->gpu, "a device did not answer");
    pthread_mutex_unlock(&watch->lock);
}

/* With a last look. The threads end before a process is forked for names. */
static void stop(void *state)
{
    struct resource_watch *watch = state;
    bool told;

    if (!watch->running && !watch->fast.running)
        return;
    wake_to_stop(watch);
    if (watch->fast.running)
        pthread_join(watch->fast.thread, NULL);
    if (watch->running)
        pthread_join(watch->thread, NULL);
    watch->fast.running = watch->running = false;
    stop_devices(watch);
    take_queue(watch, &told);
    write_values(watch, true);
    write_ends(watch);
    write_facts(watch);
    for (size_t i = 0; i < watch->owner_count; i++)
        leave_place(&watch->owners[i]);
}

static enum ifg_status finish(void *state, struct ifg_error *err)
{
    (void)err;
    stop(state);
    return IFG_OK;
}

static void close_source(void *state)
{
    struct resource_watch *watch = state;

    if (watch->is_stuck)
        return;
    if (watch->running || watch->fast.running) /* the recording failed */
        wake_to_stop(watch);
    if (watch->running)
        pthread_join(watch->thread, NULL);
    if (watch->devices.running)
        pthread_join(watch->devices.thread, NULL);
    if (watch->fast.running)
        pthread_join(watch->fast.thread, NULL);
    while (watch->owner_count)
        drop_owner(watch, watch->owners);
    ifg_free(watch->owners);
    ifg_free(watch->taken.items);
    ifg_free(watch->queue.items);
    proc_close(watch->collector);
    proc_resident_close(watch->fast.resident);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    pthread_mutex_destroy(&watch->looking);
    ifg_free(watch);
}

const struct source source_proc = {
    .name = "resources",
    .open = open_source,
    .begin = begin,
    .start = start,
    .processes = processes,
    .defined = defined,
    .ended = ended,
    .work = work,
    .stop = stop,
    .finish = finish,
    .close = close_source,
};
