// SPDX-License-Identifier: Apache-2.0
/* The life of watched processes: finding runtimes in them, setting probes, letting go. */
#include "collect/ort_attach/attach_internal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "collect/ort_attach/names.h"
#include "system/process_folder.h"
#include "system/process_status.h"

#define MS 1000000ull

#define LOOK_SOON_NS (240 * MS) /* while nothing is known of a process */
#define LOOK_NS      (1000 * MS)
#define CHECK_NS     (100 * MS) /* whether it is gone, or another program */
#define RING_BYTES   ((size_t)8 << 20)
#define WAKE_BYTES   ((size_t)256 << 10)
#define KEPT_MAX     8192u

/* ---- the engine ---- */

enum ifg_status ort_attach_prepare(struct ort_attach *attach, struct ifg_error *err)
{
    const struct uprobe_options options = {
        .way = attach->way,
        .ring_bytes = RING_BYTES,
        .wake_bytes = WAKE_BYTES,
    };

    return attach->engine ? IFG_OK : uprobe_open(&options, &attach->engine, err);
}

enum ifg_status ort_attach_open(enum uprobe_way way, struct ort_attach **out_attach,
                                struct ifg_error *err)
{
    struct ort_attach *attach = ifg_alloc(1, sizeof *attach);

    *out_attach = attach;
    if (!attach)
        return ifg_fail_no_memory(err, NULL);
    attach->way = way;
    return IFG_OK;
}

void ort_attach_ops(struct ort_attach *attach, uint32_t every)
{
    attach->ops = every;
}

void ort_attach_ask_first(struct ort_attach *attach)
{
    attach->asks_first = true;
}

void ort_attach_since(struct ort_attach *attach, uint64_t since_ns)
{
    attach->since_ns = since_ns;
}

void ort_attach_until(struct ort_attach *attach, uint64_t until_ns)
{
    attach->until_ns = until_ns;
    if (attach->engine)
        uprobe_until(attach->engine, until_ns);
}

void ort_attach_set_message_callback(struct ort_attach *attach,
                                     void (*say)(void *user, const char *text), void *user)
{
    attach->say = say;
    attach->say_user = user;
}

struct attach_process *attach_by_slot(struct ort_attach *attach, uint32_t slot)
{
    if (attach->latest < attach->process_count && attach->processes[attach->latest]->slot == slot)
        return attach->processes[attach->latest];
    for (size_t i = 0; i < attach->process_count; i++) {
        if (attach->processes[i]->slot == slot) {
            attach->latest = i;
            return attach->processes[i];
        }
    }
    return NULL;
}

/* Calls that show that a session is being created; of a process that may have had some before we
 * looked, its runs do not. */
static bool shows_creation(const struct attach_process *process, uint32_t number)
{
    uint32_t last = process->is_earlier ? ATTACH_CREATE_ARRAY : ATTACH_RUN_ASYNC;

    if (number >= ATTACH_INNER)
        return !process->is_earlier || number != ATTACH_PYTHON_RUN;
    return number < attach_probe_count && attach_probes[number].function <= last;
}

/* Nobody knows yet whether this process is the one that is waited for. */
static void keep(struct attach_process *process, const struct uprobe_event *event)
{
    uint32_t number = ATTACH_ID_PROBE(event->id);
    struct attach_kept *kept;

    if (process->is_earlier && !process->created && !shows_creation(process, number) &&
        (number >= ATTACH_INNER || attach_probes[number].function <= ATTACH_RELEASE))
        return; /* a server at work would fill all memory with its runs */
    if (!IFG_ARRAY_ROOM(process->kept, process->kept_capacity, process->kept_count + 1, KEPT_MAX)) {
        process->lost++;
        return;
    }
    kept = &process->kept[process->kept_count++];
    kept->event = *event;
    snprintf(kept->text, sizeof kept->text, "%s", event->text ? event->text : "");
    /* Who runs one has created it, even if that was not seen. */
    if (shows_creation(process, number))
        process->created = true;
}

static void on_event(const struct uprobe_event *event, void *user)
{
    struct ort_attach *attach = user;
    struct attach_process *process = attach_by_slot(attach, ATTACH_ID_SLOT(event->id));

    if (!process)
        return;
    if (ATTACH_ID_PROBE(event->id) == ATTACH_KERNEL) {
        if (attach->begun)
            attach_op_seen(process, event);
    } else if (!attach->begun) {
        keep(process, event);
    } else if (attach->lags) {
        attach_queue_add(process, event);
    } else {
        attach_event(process, event);
    }
}

static size_t take_events(struct ort_attach *attach)
{
    size_t count = attach->engine ? uprobe_read(attach->engine, on_event, attach) : 0;

    if (attach->begun && attach->queue_count)
        attach_queue_pass(attach);
    return count;
}

/* ---- processes ---- */

/* A number that is another after exec. 0: cannot be told. */
static uint64_t image_of(pid_t pid)
{
    uint64_t image = 1469598103934665603ull;
    struct process_stat now;
    struct stat program;

    if (!process_stat_of(pid, &now) || !process_entry(pid, "exe", &program))
        return 0;
    image = (image ^ program.st_ino) * 1099511628211ull;
    image = (image ^ now.code_start) * 1099511628211ull;
    image = (image ^ now.code_end) * 1099511628211ull;
    return (image ^ now.stack_start) * 1099511628211ull;
}

static struct attach_process *find(struct ort_attach *attach, pid_t pid)
{
    for (size_t i = 0; i < attach->process_count; i++)
        if (attach->processes[i]->pid == pid)
            return attach->processes[i];
    return NULL;
}

static char *directory_of(pid_t pid)
{
    char path[PATH_MAX];

    if (!names_process_absolute(pid, "x", path, sizeof path))
        return NULL;
    path[strlen(path) - 2] = '\0'; /* without "/x" */
    return ifg_strdup(path);
}

bool attach_absolute(const struct attach_process *process, const char *path, char *out, size_t size)
{
    if (names_process_absolute(process->pid, path, out, size))
        return true;
    if (!process->directory || !path[0])
        return false;
    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    return (size_t)snprintf(out, size, "%s/%s", process->directory, path) < size;
}

static struct attach_process *add_process(struct ort_attach *attach, pid_t pid)
{
    struct attach_process *process;

    if (!IFG_ARRAY_ROOM(attach->processes, attach->process_capacity, attach->process_count + 1,
                        ATTACH_PROCESSES_MAX))
        return NULL;
    process = ifg_alloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->attach = attach;
    process->pid = pid;
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->image = image_of(pid);
    process->directory = directory_of(pid);
    attach->processes[attach->process_count++] = process;
    return process;
}

/* Frees it, and takes it out of the list. */
static void drop(struct ort_attach *attach, struct attach_process *process)
{
    size_t at = 0;

    while (attach->processes[at] != process)
        at++;
    attach->processes[at] = attach->processes[--attach->process_count];
    if (process->slot && attach->engine)
        uprobe_remove(attach->engine, process->pid);
    streams_fini(&process->threads);
    attach_models_free(process);
    attach_nodes_free(process);
    if (process->pidfd >= 0)
        close(process->pidfd);
    ifg_free(process->kept);
    ifg_free(process->directory);
    ifg_free(process);
}

static void end_process(struct ort_attach *attach, struct attach_process *process,
                        enum trace_process_fate fate, uint32_t code)
{
    uint64_t now_ns = ifg_monotonic_ns();

    if (attach->begun && attach->queue_count) { /* those that wait, and those that came with them */
        attach_queue_pass(attach);
        attach_queue_pass(attach);
    }
    if (process->watched_count && !process->in_time && !process->saw_environment)
        attach_note_late(process);
    attach->counts.dropped += process->lost + process->ops_lost + process->stray_ops;
    if (process->defined) {
        streams_flush(&process->threads, now_ns, true);
        if (process->lost)
            trace_writer_loss(attach->sink->writer, process->index,
                              "calls that there was no memory for", process->lost);
        if (process->ops_lost)
            trace_writer_loss(attach->sink->writer, process->index,
                              "operators of runs inside of others, or of more than there is room "
                              "for",
                              process->ops_lost);
        if (process->stray_ops)
            trace_writer_loss(attach->sink->writer, process->index,
                              "operators on other threads than the run that they belong to",
                              process->stray_ops);
        trace_writer_process_end(attach->sink->writer, process->index, now_ns, fate, code);
    }
    drop(attach, process);
}

void attach_define(struct attach_process *process)
{
    struct ort_attach *attach = process->attach;
    struct sink *sink = attach->sink;

    if (!attach->begun || !process->watched_count)
        return;
    if (!process->defined) {
        process->index = sink_process(
            sink, &(struct sink_process){ .pid = process->pid, .clock = SINK_CLOCK_MONOTONIC });
        process->defined = true;
        attach->counts.processes++;
        attach_threads_begin(process);
    }
    for (size_t i = 0; i < process->watched_count; i++) {
        char name[64];
        char how[160];

        /* "ONNX Runtime 1.20.1", as the models say it, or "onnxruntime (Python) 1.20.1". */
        snprintf(name, sizeof name, "%s%s", process->is_python[i] ? "onnxruntime (Python) " : "",
                 process->runtimes[i] + (process->is_python[i] ? strlen("ONNX Runtime ") : 0));
        snprintf(how, sizeof how, "attached by uprobes (%s)",
                 uprobe_way(attach->engine) == UPROBE_BPF ? "BPF" : "perf");
        if (process->is_untried[i])
            snprintf(how + strlen(how), sizeof how - strlen(how),
                     "; newer than 1.%d, the newest that this Inferogram was tested with",
                     ORT_ABI_TRIED);
        sink_instrument(sink, name, TRACE_INSTRUMENT_ON, how);
    }
    sink_instrument(sink, "models", TRACE_INSTRUMENT_ON, "");
    attach_ops_tell(process);
}

static void tell_late(struct ort_attach *attach)
{
    sink_instrument(
        attach->sink, "first calls", TRACE_INSTRUMENT_UNAVAILABLE,
        "a process used ONNX Runtime before probes could be set in it, and what it did until then "
        "may be missing; programs that are started with 'inferogram record -- CMD' have hooks "
        "from the beginning");
}

void attach_note_late(struct attach_process *process)
{
    struct ort_attach *attach = process->attach;

    if (!attach->from_start || process->is_earlier || process->is_late || !process->defined)
        return;
    process->is_late = true;
    tell_late(attach);
}

/* ---- runtimes ---- */

static void tell_refused(const struct attach_process *process)
{
    struct sink *sink = process->attach->sink;

    if (process->attach->begun && process->sight.refused)
        sink_instrument(sink, process->refused_python ? "onnxruntime (Python)" : "ONNX Runtime",
                        TRACE_INSTRUMENT_UNAVAILABLE, process->sight.reason);
}

void attach_refuse(struct attach_process *process, const struct ort_library *library,
                   enum ifg_status status, const char *reason)
{
    if (process->refused_count < ORT_LIBRARIES_MAX)
        process->refused[process->refused_count++] = library->key;
    if (!process->sight.refused++) {
        process->sight.why = status;
        snprintf(process->sight.reason, sizeof process->sight.reason, "%s", reason);
        tell_refused(process);
    }
}

static size_t describe_probes(const struct ort_table *table, const struct ort_library *library,
                              uint32_t slot, size_t number, struct uprobe_spec *specs)
{
    size_t count = 0;

    for (size_t i = 0; i < attach_probe_count; i++) {
        const struct attach_probe *probe = &attach_probes[i];
        bool folded = false;

        if (probe->slot >= table->slot_count)
            continue;
        /* Identical functions may be one: then it is the first of these, and no other. */
        for (size_t k = 0; k < count; k++)
            folded |= specs[k].offset == table->slots[probe->slot].file_offset;
        if (folded)
            continue;
        specs[count++] = (struct uprobe_spec){
            .file = library->file,
            .offset = table->slots[probe->slot].file_offset,
            .id = attach_id(slot, number, i),
            .flags = probe->flags,
            .text_argument = probe->text,
            .out_argument = probe->out,
        };
    }
    return count;
}

/* NULL: there are none to be had, and why is noted; or nobody wants them. */
static struct ort_backtrace *find_operators(struct attach_process *process,
                                            const struct ort_library *library, const char *version)
{
    struct ort_backtrace *functions = process->attach->ops ? ifg_alloc(1, sizeof *functions) : NULL;
    char runtime[48];

    snprintf(runtime, sizeof runtime, "ONNX Runtime %.30s", version);
    if (!functions || attach_ops_find(process, library, runtime, functions))
        return functions;
    ifg_free(functions);
    return NULL;
}

static void watch(struct attach_process *process, const struct ort_library *library)
{
    struct ort_attach *attach = process->attach;
    struct ort_table *table = ifg_alloc(1, sizeof *table);
    struct uprobe_spec specs[64];
    struct ifg_error err = { .message = "not enough memory" };
    enum ifg_status status = table ? IFG_OK : IFG_NO_MEMORY;
    uint32_t slot = process->slot ? process->slot : attach->next_slot + 1;
    struct ort_backtrace *functions = NULL;

    if (!status) {
        status = ort_library_table(library, table, &err);
        if (status == IFG_UNSUPPORTED || status == IFG_CORRUPT)
            status = IFG_NOT_FOUND; /* one that we do not know */
    }
    if (!status && slot >= ATTACH_SLOTS_MAX)
        status = ifg_fail(&err, IFG_UNSUPPORTED, "more processes than can be told apart");
    if (!status)
        status = ort_attach_prepare(attach, &err);
    if (!status && attach->asks_first)
        functions = find_operators(process, library, table->version);
    if (!status)
        status =
            uprobe_add(attach->engine, process->pid, specs,
                       describe_probes(table, library, slot, process->watched_count, specs), &err);
    if (status) {
        attach_refuse(process, library, status, err.message);
    } else {
        if (!process->slot)
            process->slot = ++attach->next_slot;
        process->watched[process->watched_count] = library->key;
        process->is_untried[process->watched_count] = table->untried;
        snprintf(process->runtimes[process->watched_count++], sizeof process->runtimes[0],
                 "ONNX Runtime %s", table->version);
        process->sight.watched++;
        attach_define(process);
        if (!attach->asks_first)
            functions = find_operators(process, library, table->version);
        attach_ops_watch(process, library, process->watched_count - 1, functions);
    }
    ifg_free(functions);
    ifg_free(table);
}

static enum ifg_status look(struct attach_process *process, struct ifg_error *err)
{
    struct ort_libraries *libraries = ifg_alloc(1, sizeof *libraries);
    enum ifg_status status;

    if (!libraries)
        return ifg_fail_no_memory(err, NULL);
    status = ort_libraries_find(process->pid, &process->attach->known, libraries, err);
    process->sight.hooked = libraries->hooked;
    process->sight.python = libraries->python;
    process->sight.python_hooked = libraries->python_hooked;
    for (size_t i = 0; i < libraries->count && !libraries->hooked; i++) {
        const struct ort_library *library = &libraries->found[i];

        if (process->watched_count < ORT_LIBRARIES_MAX &&
            !runtime_files_key_is_in(library->key, process->watched, process->watched_count) &&
            !runtime_files_key_is_in(library->key, process->refused, process->refused_count))
            watch(process, library);
    }
    if (libraries->python && !libraries->hooked && !libraries->python_hooked &&
        process->watched_count < ORT_LIBRARIES_MAX &&
        !runtime_files_key_is_in(libraries->module.key, process->watched, process->watched_count) &&
        !runtime_files_key_is_in(libraries->module.key, process->refused, process->refused_count))
        attach_python_watch(process, &libraries->module);
    ifg_free(libraries);
    return status;
}

enum ifg_status ort_attach_look(struct ort_attach *attach, pid_t pid, bool now,
                                struct ort_attach_sight *out_sight, struct ifg_error *err)
{
    struct attach_process *process = find(attach, pid);
    uint64_t now_ns = ifg_monotonic_ns();
    enum ifg_status status = IFG_OK;
    uint64_t image;

    /* What is found now belongs to the program that it is now: `env` is gone when its command has
     * loaded a runtime. */
    if (process && now) {
        image = image_of(pid);
        if (image && process->image && image != process->image) {
            end_process(attach, process, TRACE_FATE_EXEC, 0);
            process = NULL;
        }
    }
    if (!process)
        process = add_process(attach, pid);
    if (!process)
        return ifg_fail_no_memory(err, NULL);
    if (now || now_ns >= process->next_look_ns) {
        status = look(process, err);
        process->next_look_ns =
            now_ns + (process->watched_count || process->refused_count || process->sight.hooked
                          ? LOOK_NS
                          : LOOK_SOON_NS);
    }
    if (out_sight)
        *out_sight = process->sight;
    return status;
}

/* ---- work ---- */

static bool is_gone(const struct attach_process *process)
{
    struct pollfd ended = { process->pidfd, POLLIN, 0 };

    if (ended.fd >= 0)
        return poll(&ended, 1, 0) > 0;
    return !process_thread_exists(process->pid, process->pid);
}

/* True if the process was taken out of the list. */
static bool check(struct ort_attach *attach, struct attach_process *process, uint64_t now_ns)
{
    uint32_t code = 0;
    uint64_t image;

    process->next_check_ns = now_ns + CHECK_NS;
    if (!attach->begun && process->created) /* it may be the one that was waited for */
        return false;
    if (is_gone(process)) {
        enum trace_process_fate fate = TRACE_FATE_UNKNOWN;

        take_events(attach);
        if (attach->begun)
            fate = attach->sink->calls->fate(attach->sink->user, process->pid, &code);
        end_process(attach, process, fate, code);
        return true;
    }
    image = image_of(process->pid);
    if (image && process->image && image != process->image) {
        end_process(attach, process, TRACE_FATE_EXEC, 0);
        return true;
    }
    streams_sweep(&process->threads, now_ns);
    return false;
}

bool ort_attach_work(struct ort_attach *attach, uint64_t now_ns)
{
    bool any;

    attach->now_ns = now_ns;
    any = take_events(attach) > 0;

    for (size_t i = attach->process_count; i > 0; i--) {
        struct attach_process *process = attach->processes[i - 1];

        if (now_ns >= process->next_check_ns && check(attach, process, now_ns))
            continue;
        streams_flush(&process->threads, now_ns, false);
    }
    return any;
}

void ort_attach_begin(struct ort_attach *attach, struct sink *sink, pid_t only)
{
    attach->sink = sink;
    attach->begun = true;
    attach->now_ns = ifg_monotonic_ns();
    attach->begun_ns = attach->now_ns;
    for (size_t i = attach->process_count; i > 0; i--) {
        struct attach_process *process = attach->processes[i - 1];

        if (only && process->pid != only) {
            drop(attach, process);
            continue;
        }
        attach_define(process);
        tell_refused(process);
        for (size_t k = 0; process->defined && k < process->kept_count; k++) {
            struct attach_kept *kept = &process->kept[k];

            kept->event.text = kept->event.text ? kept->text : NULL;
            attach_event(process, &kept->event);
        }
        ifg_free(process->kept);
        process->kept = NULL;
        process->kept_count = process->kept_capacity = 0;
    }
}

void ort_attach_from_start(struct ort_attach *attach)
{
    attach->from_start = true;
}

void ort_attach_in_time(struct ort_attach *attach, pid_t pid)
{
    struct attach_process *process = find(attach, pid);

    if (process)
        process->in_time = true;
}

void ort_attach_too_late(struct ort_attach *attach, pid_t pid)
{
    const struct attach_process *process = find(attach, pid);

    /* While it ends, it has no image any more and is still there. */
    if (attach->begun && attach->from_start &&
        (!process || (!process->watched_count && !process->sight.hooked &&
                      (is_gone(process) || !image_of(pid)))))
        tell_late(attach);
}

bool ort_attach_may_be(struct ort_attach *attach, pid_t pid, const char *path, uint64_t device,
                       uint64_t inode)
{
    const struct file_key key = { device, inode };
    char file[PATH_MAX + 64];

    if (runtime_file_is_named(path, &runtime_ort))
        return true;
    if (runtime_files_have(&attach->known, key))
        return false;
    snprintf(file, sizeof file, "/proc/%d/root%s", (int)pid, path);
    if (runtime_file_exports(file, &runtime_ort))
        return true;
    runtime_files_add(&attach->known, key);
    return false;
}

pid_t ort_attach_creator(const struct ort_attach *attach)
{
    const struct attach_process *first = NULL;

    for (size_t i = 0; i < attach->process_count; i++)
        if (attach->processes[i]->created && attach->processes[i]->kept_count &&
            (!first ||
             attach->processes[i]->kept[0].event.start_ns < first->kept[0].event.start_ns))
            first = attach->processes[i];
    return first ? first->pid : 0;
}

void ort_attach_was_there(struct ort_attach *attach, pid_t pid)
{
    struct attach_process *process = find(attach, pid);

    if (!process)
        process = add_process(attach, pid);
    if (process)
        process->is_earlier = true;
}

void ort_attach_forget(struct ort_attach *attach, pid_t pid)
{
    struct attach_process *process = find(attach, pid);

    if (process)
        drop(attach, process);
}

static void report_losses(struct ort_attach *attach)
{
    struct uprobe_losses losses = uprobe_lost(attach->engine);

    attach->counts.dropped +=
        losses.ring_full + losses.too_deep + losses.too_many + losses.out_of_order;
    for (size_t i = 0; i < attach->process_count; i++) {
        const struct attach_process *process = attach->processes[i];

        if (!process->defined)
            continue;
        if (losses.ring_full)
            trace_writer_loss(attach->sink->writer, process->index,
                              "calls that found the ring of the probes full", losses.ring_full);
        if (losses.too_deep + losses.too_many)
            trace_writer_loss(attach->sink->writer, process->index,
                              "calls of more threads, or deeper, than the probes follow",
                              losses.too_deep + losses.too_many);
        if (losses.out_of_order)
            trace_writer_loss(attach->sink->writer, process->index,
                              "calls that came too late to be sorted", losses.out_of_order);
        if (losses.let_go)
            trace_writer_loss(attach->sink->writer, process->index, UPROBE_LET_GO, losses.let_go);
        return; /* they are of all processes together */
    }
}

void ort_attach_finish(struct ort_attach *attach)
{
    take_events(attach);
    attach->stop_ns = ifg_monotonic_ns();
    if (attach->engine) {
        uprobe_stop(attach->engine);
        take_events(attach);
        report_losses(attach);
    }
    while (attach->process_count) {
        struct attach_process *process = attach->processes[0];
        uint32_t code = 0;
        enum trace_process_fate fate = TRACE_FATE_RUNNING;

        if (is_gone(process))
            fate = attach->begun
                       ? attach->sink->calls->fate(attach->sink->user, process->pid, &code)
                       : TRACE_FATE_UNKNOWN;
        end_process(attach, process, fate, code);
    }
}

void ort_attach_close(struct ort_attach *attach)
{
    if (!attach)
        return;
    while (attach->process_count)
        drop(attach, attach->processes[0]);
    uprobe_close(attach->engine);
    ifg_free(attach->queue);
    ifg_free(attach->processes);
    ifg_free(attach);
}

bool ort_attach_watches(const struct ort_attach *attach)
{
    for (size_t i = 0; i < attach->process_count; i++)
        if (attach->processes[i]->watched_count)
            return true;
    return false;
}

int ort_attach_fd(const struct ort_attach *attach)
{
    return attach->engine ? uprobe_fd(attach->engine) : -1;
}

struct sink_counts ort_attach_count(const struct ort_attach *attach)
{
    return attach->counts;
}
