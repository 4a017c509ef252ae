// SPDX-License-Identifier: Apache-2.0
/*
 * Operators of a running program: a probe at the function that executes one kernel. What it saw
 * waits for the end of its run, which comes later and says whose it was.
 *
 * Names are read after the fact. They are believed only if the session was not released before
 * they had been read: therefore calls wait for one more reading of what the probes saw.
 */
#include "collect/ort_attach/attach_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "trace/keys.h"

#define OPS_MAX   (1u << 18) /* of one run */
#define QUEUE_MAX (1u << 18)

#define PATIENCE_NS 1000000000ull /* for runs that were under way when the probe was set */

/* ---- the probe ---- */

void attach_ops_tell(const struct attach_process *process)
{
    const struct ort_attach *attach = process->attach;
    struct sink *sink = attach->sink;
    char reason[256];
    bool any = false;

    if (!attach->ops || !attach->begun)
        return;
    for (size_t i = 0; i < process->watched_count; i++)
        any |= process->kernels[i].since_ns != 0;
    if (attach->ops == 1)
        snprintf(reason, sizeof reason,
                 "every inference, uprobes; they cost about 2 µs for every kernel");
    else
        snprintf(reason, sizeof reason,
                 "kept of every %uth inference, uprobes; they cost about 2 µs for every kernel of "
                 "every inference",
                 attach->ops);
    if (any)
        sink_instrument(sink, "operators", TRACE_INSTRUMENT_ON, reason);
    else if (process->ops_reason[0])
        sink_instrument(sink, "operators", TRACE_INSTRUMENT_UNAVAILABLE, process->ops_reason);
}

/* Whether what the helper says can be used. */
static bool take_functions(struct attach_kernels *kernels, const struct ort_backtrace *functions,
                           struct uprobe_spec *spec)
{
    const struct ort_point *kernel = &functions->execute_kernel;

    if (!kernel->file_offset || kernel->argument < 1 || kernel->argument > UPROBE_ARGUMENTS)
        return false;
    spec->offset = kernel->file_offset;
    kernels->index = (uint8_t)kernel->argument;
    /* The word that the argument points to, and no other, can be had at the return. */
    if (functions->names.argument >= 1 && functions->names.argument <= UPROBE_ARGUMENTS &&
        functions->names.offsets[0] == 0) {
        spec->out_argument = (uint8_t)functions->names.argument;
        memcpy(kernels->offsets, functions->names.offsets, sizeof kernels->offsets);
    }
    return true;
}

static void note_reason(struct attach_process *process, const char *runtime, const char *reason)
{
    snprintf(process->ops_reason, sizeof process->ops_reason, "%.40s: %.500s", runtime, reason);
}

/* An exception out of an operator of the program's own would end it while kernels are probed. */
static enum ifg_status check_operators(pid_t pid, struct ifg_error *err)
{
    char custom[128];

    if (!attach_has_custom_operators(pid, custom, sizeof custom))
        return IFG_OK;
    return ifg_fail(err, IFG_UNSUPPORTED,
                    "the program has operators of its own (%s): an exception out of one of them "
                    "would end it while kernels are probed",
                    custom);
}

bool attach_ops_find(struct attach_process *process, const struct ort_library *library,
                     const char *runtime, struct ort_backtrace *out_functions)
{
    struct ifg_error err = { .message = "" };
    enum ifg_status status = check_operators(process->pid, &err);

    if (!status)
        status = attach_functions_find(process->attach, process->pid, library, false, out_functions,
                                       &err);
    if (status)
        note_reason(process, runtime, err.message);
    return !status;
}

void attach_ops_watch(struct attach_process *process, const struct ort_library *library,
                      size_t number, const struct ort_backtrace *functions)
{
    struct ort_attach *attach = process->attach;
    struct attach_kernels kernels = { 0 };
    struct uprobe_spec spec = {
        .file = library->file,
        .id = attach_id(process->slot, number, ATTACH_KERNEL),
        .flags = UPROBE_RETURN,
    };
    struct ifg_error err = { .message = "" };
    enum ifg_status status;

    if (!attach->ops)
        return;
    if (functions) {
        status = check_operators(process->pid, &err);
        if (!status && !take_functions(&kernels, functions, &spec))
            status =
                ifg_fail(&err, IFG_UNSUPPORTED, "%s",
                         functions->missing[0] ? functions->missing
                                               : "the function that runs a kernel was not found");
        if (!status)
            status = uprobe_add(attach->engine, process->pid, &spec, 1, &err);
        if (status) {
            note_reason(process, process->runtimes[number], err.message);
        } else {
            kernels.since_ns = ifg_monotonic_ns();
            process->kernels[number] = kernels;
            attach->lags = true;
        }
    }
    attach_ops_tell(process);
}

/* ---- kernels ---- */

void attach_op_seen(struct attach_process *process, const struct uprobe_event *event)
{
    size_t library = ATTACH_ID_LIBRARY(event->id);
    struct attach_thread *thread;
    const struct attach_kernels *kernels;

    if (event->kind != UPROBE_CALL || library >= process->watched_count ||
        event->end_ns < event->start_ns)
        return;
    kernels = &process->kernels[library];
    if (!kernels->since_ns)
        return;
    thread = attach_thread_of(process, event->tid, event->own_tid);
    if (!event->depth) { /* its run began before us, or on another thread */
        if (event->start_ns > kernels->since_ns + PATIENCE_NS)
            process->stray_ops++;
        if (thread)
            attach_ops_cut(thread, event); /* those inside of it */
        return;
    }
    if (!thread ||
        !IFG_ARRAY_ROOM(thread->ops, thread->op_capacity, thread->op_count + 1, OPS_MAX)) {
        process->ops_lost++;
        return;
    }
    thread->ops[thread->op_count++] = (struct attach_op){
        .start_ns = event->start_ns,
        .end_ns = event->end_ns,
        .state = event->notes & (UPROBE_OUT_MISSING | UPROBE_READ_LATE) ? 0 : event->out_word,
        .index = (uint32_t)event->arguments[kernels->index - 1],
    };
}

/* The first kernel in the list that ended after this moment. */
static size_t first_after(const struct attach_thread *thread, uint64_t at_ns)
{
    size_t low = 0;
    size_t high = thread->op_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (thread->ops[middle].end_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void attach_ops_resolve(struct attach_process *process, const struct uprobe_event *run)
{
    const struct attach_kernels *kernels = &process->kernels[ATTACH_ID_LIBRARY(run->id)];
    struct attach_thread *thread;

    if (!kernels->since_ns || !kernels->offsets[1])
        return;
    thread = attach_thread_of(process, run->tid, run->own_tid);
    if (!thread)
        return;
    for (size_t i = first_after(thread, run->start_ns); i < thread->op_count; i++) {
        struct attach_op *op = &thread->ops[i];

        if (op->end_ns > run->end_ns)
            break;
        if (!op->read_ns)
            op->node = attach_node_of(process, kernels, op->state, op->index, &op->read_ns);
    }
}

void attach_turn_add(struct attach_process *process, uint64_t session, uint64_t at_ns)
{
    process->turns[process->turn_count++ % ATTACH_TURNS] =
        (struct attach_turn){ .session = session, .at_ns = at_ns };
}

uint64_t attach_trusted_until(const struct attach_process *process, uint64_t session,
                              uint64_t from_ns)
{
    size_t count = process->turn_count < ATTACH_TURNS ? process->turn_count : ATTACH_TURNS;
    uint64_t until_ns = UINT64_MAX;

    for (size_t i = 0; i < count; i++) {
        const struct attach_turn *turn = &process->turns[i];

        if ((!turn->session || turn->session == session) && turn->at_ns >= from_ns &&
            turn->at_ns < until_ns)
            until_ns = turn->at_ns;
    }
    if (process->turn_count > ATTACH_TURNS && until_ns == UINT64_MAX &&
        process->turns[process->turn_count % ATTACH_TURNS].at_ns > from_ns)
        return 0; /* too many have come since */
    return until_ns;
}

static void write_op(struct attach_process *process, struct attach_thread *thread,
                     const struct attach_op *op, const struct attach_model *model,
                     uint64_t until_ns)
{
    uint32_t trusted = op->read_ns && op->read_ns < until_ns ? op->node : 0;
    uint32_t node = attach_node_named(process, trusted, op->index, model);
    const struct attach_node *item;

    if (!node) {
        process->ops_lost++;
        return;
    }
    item = &process->nodes.items[node - 1];
    if (item->type[0])
        attach_put_text(thread, op->start_ns, item->location, TRACE_KEY_OP_NAME, item->type);
    attach_put_number(thread, op->start_ns, item->location, TRACE_KEY_NODE_INDEX, op->index);
    attach_put_zone(process, thread, op->start_ns, op->end_ns, item->location);
}

static void forget_until(struct attach_thread *thread, size_t count)
{
    memmove(thread->ops, thread->ops + count, (thread->op_count - count) * sizeof *thread->ops);
    thread->op_count -= count;
}

bool attach_ops_write(struct attach_process *process, struct attach_thread *thread,
                      const struct uprobe_event *run, struct attach_session *session)
{
    const struct attach_kernels *kernels = &process->kernels[ATTACH_ID_LIBRARY(run->id)];
    size_t first = thread->op_count ? first_after(thread, run->start_ns) : 0;
    size_t end = first;
    uint64_t until_ns;

    if (!kernels->since_ns || run->start_ns < kernels->since_ns ||
        run->start_ns < process->attach->begun_ns ||
        (process->attach->stop_ns && run->end_ns >= process->attach->stop_ns)) {
        /* Not all of its kernels were seen. */
        attach_ops_cut(thread, run);
        return kernels->since_ns && run->end_ns > kernels->since_ns;
    }
    while (end < thread->op_count && thread->ops[end].end_ns <= run->end_ns)
        end++;
    if (session->runs++ % process->attach->ops == 0) {
        until_ns = attach_trusted_until(process, run->arguments[0], run->start_ns);
        /* Those before are of a run around this one: they cannot be written any more, later. */
        process->ops_lost += run->depth ? first : 0;
        for (size_t i = first; i < end; i++)
            write_op(process, thread, &thread->ops[i], session->model, until_ns);
    }
    if (thread->op_count)
        forget_until(thread, end);
    return true;
}

void attach_ops_cut(struct attach_thread *thread, const struct uprobe_event *event)
{
    size_t end = thread->op_count ? first_after(thread, event->end_ns) : 0;

    if (end)
        forget_until(thread, end);
}

/* ---- calls that wait ---- */

void attach_queue_add(struct attach_process *process, const struct uprobe_event *event)
{
    struct ort_attach *attach = process->attach;
    struct attach_kept *kept;

    if (!IFG_ARRAY_ROOM(attach->queue, attach->queue_capacity, attach->queue_count + 1,
                        QUEUE_MAX)) {
        process->lost++;
        return;
    }
    kept = &attach->queue[attach->queue_count++];
    kept->event = *event;
    snprintf(kept->text, sizeof kept->text, "%s", event->text ? event->text : "");
}

static bool is_run(uint32_t number)
{
    return number == ATTACH_PYTHON_RUN ||
           (number < attach_probe_count && attach_probes[number].function == ATTACH_RUN);
}

/* Sessions that end, or may have: Python does not tell when one does, but nothing else can lie at
 * its place before another is being loaded. */
static void note_turn(struct attach_process *process, const struct uprobe_event *event)
{
    uint32_t number = ATTACH_ID_PROBE(event->id);

    if (number < attach_probe_count && attach_probes[number].function == ATTACH_RELEASE &&
        event->kind == UPROBE_BEGIN)
        attach_turn_add(process, event->arguments[0], event->start_ns);
    else if (number == ATTACH_PYTHON_LOAD && event->kind == UPROBE_BEGIN)
        attach_turn_add(process, 0, event->start_ns);
}

static void read_names(struct attach_process *process, struct attach_kept *kept)
{
    struct uprobe_event *event = &kept->event;
    uint32_t number = ATTACH_ID_PROBE(event->id);

    if (event->kind != UPROBE_CALL || ATTACH_ID_LIBRARY(event->id) >= process->watched_count)
        return;
    if (is_run(number))
        attach_ops_resolve(process, event);
    else if (number == ATTACH_PYTHON_LOAD || number == ATTACH_PYTHON_INITIALIZE ||
             (number < attach_probe_count && attach_probes[number].function <= ATTACH_RELEASE))
        attach_nodes_forget_seats(process); /* another may be there from now on */
    if (number == ATTACH_PYTHON_INITIALIZE)
        attach_python_name(process, event, kept->text);
}

void attach_queue_pass(struct ort_attach *attach)
{
    size_t ready = attach->queue_ready;
    struct attach_process *process;

    for (size_t i = ready; i < attach->queue_count; i++) {
        process = attach_by_slot(attach, ATTACH_ID_SLOT(attach->queue[i].event.id));
        if (process)
            note_turn(process, &attach->queue[i].event);
    }
    for (size_t i = 0; i < ready; i++) {
        struct attach_kept *kept = &attach->queue[i];

        process = attach_by_slot(attach, ATTACH_ID_SLOT(kept->event.id));
        kept->event.text = kept->event.text ? kept->text : NULL;
        if (process)
            attach_event(process, &kept->event);
    }
    if (ready)
        memmove(attach->queue, attach->queue + ready,
                (attach->queue_count - ready) * sizeof *attach->queue);
    attach->queue_count -= ready;
    for (size_t i = 0; i < attach->queue_count; i++) {
        process = attach_by_slot(attach, ATTACH_ID_SLOT(attach->queue[i].event.id));
        if (process)
            read_names(process, &attach->queue[i]);
    }
    attach->queue_ready = attach->queue_count;
}
