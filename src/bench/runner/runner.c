// SPDX-License-Identifier: Apache-2.0
/* Talking to the process that runs models: see runner.h. */
#include "bench/runner/runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "bench/runner/runner_internal.h"

#define SECOND          UINT64_C(1000000000)
#define END_NS          (2 * SECOND)  /* for a process to end when asked */
#define RECORDER_END_NS (60 * SECOND) /* for a recorder to finish its file */
#define SAMPLES_MAX     (UINT64_C(1) << 26)

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* ---- when it goes wrong ---- */

/* "inference number 5 of model.onnx" */
static void describe_inference(const struct runner *runner, uint64_t query, char *out, size_t size)
{
    const struct runner_slot *slot = &runner->slots[runner->slot];

    if (runner->work.per_query > 1)
        snprintf(out, size, "query number %llu (%u inferences each) of %s",
                 (unsigned long long)(slot->inferences / runner->work.per_query + query + 1),
                 runner->work.per_query, slot->name);
    else
        snprintf(out, size, "inference number %llu of %s",
                 (unsigned long long)(slot->inferences + query + 1), slot->name);
}

static void describe_doing(const struct runner *runner, char *out, size_t size)
{
    uint64_t begun = runner->running ? atomic_load(&runner->shared->begun) : 0;
    char what[160];

    if (!runner->running) {
        snprintf(out, size, "%s", runner->doing);
        return;
    }
    if (runner->work.queries && begun > runner->work.queries)
        begun = runner->work.queries;
    describe_inference(runner, begun ? begun - 1 : 0, what, sizeof what);
    snprintf(out, size, "%s%s",
             runner->work.workers > 1 ? "several workers ran up to " : "running ", what);
}

/* The channel gave up: says what happened to the process, and sees that there is none any more. */
static enum ifg_status lost(struct runner *runner, enum ifg_status status, struct ifg_error *err)
{
    struct ifg_error why = err ? *err : (struct ifg_error){ 0 };
    const char *name = runner->runtime[0] ? runner->runtime : "the runtime";
    char words[256], doing[256];

    if (runner->ended && status != IFG_IO)
        return status;
    describe_doing(runner, doing, sizeof doing);
    if (status == IFG_CORRUPT || status == IFG_NO_MEMORY)
        runner_kill(runner);
    runner_reap(runner, runner->prefixed ? RECORDER_END_NS : END_NS);
    runner_last_words(runner, words, sizeof words);
    if (status == IFG_CANCELLED)
        return ifg_fail(err, IFG_CANCELLED,
                        "stopped; the process was killed because %s had not ended 2 s later",
                        doing);
    if (status == IFG_BUSY)
        snprintf(runner->how, sizeof runner->how, "hung and was killed after %llu s",
                 (unsigned long long)(runner->patience_ns / SECOND));
    else if (status == IFG_CORRUPT)
        snprintf(runner->how, sizeof runner->how, "sent what is not understood and was killed");
    else if (!runner->how[0])
        snprintf(runner->how, sizeof runner->how, "%s",
                 runner->killed ? "broke off the connection and was killed" : "ended by itself");
    ifg_fail(err, status == IFG_NO_MEMORY ? IFG_NO_MEMORY : IFG_INTERNAL,
             "the process with %s %s while %s%s%s%s%s", name, runner->how, doing,
             status == IFG_CORRUPT ? ": " : "", status == IFG_CORRUPT ? why.message : "",
             words[0] ? "; it said: " : "", words);
    return status == IFG_NO_MEMORY ? IFG_NO_MEMORY : IFG_INTERNAL;
}

/* ---- questions and answers ---- */

static enum ifg_status begin(struct runner *runner, struct ifg_error *err)
{
    if (runner->ended)
        return ifg_fail(err, IFG_INTERNAL, "the process with %s %s before", runner->runtime,
                        runner->how[0] ? runner->how : "was ended");
    ifg_bytes_clear(&runner->question);
    runner->stop_seen_ns = 0;
    runner->progress_ns = ifg_monotonic_ns();
    return IFG_OK;
}

__attribute__((format(printf, 2, 3))) static void set_doing(struct runner *runner,
                                                            const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(runner->doing, sizeof runner->doing, format, arguments);
    va_end(arguments);
}

static enum ifg_status send_question(struct runner *runner, enum message_kind kind,
                                     struct ifg_error *err)
{
    struct ifg_error own = { 0 };
    enum ifg_status status;

    err = err ? err : &own;
    if (runner->question.failed)
        return ifg_fail_no_memory(err, "for a message");
    status = protocol_send(&runner->channel, kind, &runner->question, err);
    return status ? lost(runner, status, err) : IFG_OK;
}

/* The answer of that kind, or what FAILED says. */
static enum ifg_status get_answer(struct runner *runner, enum message_kind kind,
                                  struct ifg_cursor *out_cursor, struct ifg_error *err)
{
    struct ifg_error own = { 0 };
    enum ifg_status status;

    err = err ? err : &own;
    status = protocol_receive(&runner->channel, &runner->answer, err);
    if (status)
        return lost(runner, status, err);
    *out_cursor = ifg_cursor_over(runner->answer.body.data, runner->answer.body.size);
    if (runner->answer.kind == (uint8_t)kind)
        return IFG_OK;
    if (runner->answer.kind == MESSAGE_FAILED) {
        status = protocol_get_status(out_cursor, err);
        if (status && !out_cursor->failed)
            return status;
    }
    ifg_fail(err, IFG_CORRUPT, "a message of kind %u instead of %u", runner->answer.kind, kind);
    return lost(runner, IFG_CORRUPT, err);
}

static enum ifg_status ask(struct runner *runner, enum message_kind question,
                           enum message_kind answer, struct ifg_cursor *out_cursor,
                           struct ifg_error *err)
{
    enum ifg_status status = send_question(runner, question, err);

    return status ? status : get_answer(runner, answer, out_cursor, err);
}

static enum ifg_status fail_nonsense(struct runner *runner, struct ifg_error *err)
{
    struct ifg_error own = { 0 };

    err = err ? err : &own;
    ifg_fail(err, IFG_CORRUPT, "an answer that makes no sense");
    return lost(runner, IFG_CORRUPT, err);
}

/* ---- start and end ---- */

static enum ifg_status greet(struct runner *runner, const struct runner_options *options,
                             struct runner_facts *facts, struct ifg_error *err)
{
    const char *plugin = options->runtime ? options->runtime : "";
    const char *library = options->library ? options->library : "";
    struct ifg_cursor cursor;
    enum ifg_status status = begin(runner, err);

    if (status)
        return status;
    snprintf(facts->library, sizeof facts->library, "%s", file_name(library[0] ? library : plugin));
    set_doing(runner, "opening %s", facts->library[0] ? facts->library : "the runtime");
    ifg_bytes_put_varint(&runner->question, PROTOCOL_VERSION);
    protocol_put_text(&runner->question, plugin);
    protocol_put_text(&runner->question, library);
    ifg_bytes_put_varint(&runner->question, ifg_zigzag(options->pin_cpu));
    status = ask(runner, MESSAGE_OPEN, MESSAGE_OPENED, &cursor, err);
    if (status)
        return status;
    if (ifg_cursor_varint(&cursor) != PROTOCOL_VERSION)
        cursor.failed = true;
    facts->open_ns = ifg_cursor_varint(&cursor);
    facts->rss_bytes = ifg_cursor_varint(&cursor);
    protocol_get_line(&cursor, facts->runtime, sizeof facts->runtime);
    protocol_get_line(&cursor, facts->version, sizeof facts->version);
    runner_meet(runner, runner->channel.peer);
    if (cursor.failed || runner->pid <= 0)
        return fail_nonsense(runner, err);
    facts->pid = runner->pid;
    snprintf(runner->runtime, sizeof runner->runtime, "%s", facts->runtime);
    return IFG_OK;
}

enum ifg_status runner_start(const struct runner_options *options, struct runner **out_runner,
                             struct runner_facts *out_facts, struct ifg_error *err)
{
    struct runner *runner = ifg_alloc(1, sizeof *runner);
    const char *verbose = getenv("IFG_BENCH_VERBOSE");
    enum ifg_status status;
    uint64_t start_ns;

    *out_runner = NULL;
    memset(out_facts, 0, sizeof *out_facts);
    if (!runner)
        return ifg_fail_no_memory(err, NULL);
    ifg_bytes_init(&runner->question, PROTOCOL_MESSAGE_MAX);
    ifg_bytes_init(&runner->answer.body, PROTOCOL_MESSAGE_MAX);
    runner->stop = options->stop;
    runner->patience_ns = options->patience_s * SECOND;
    runner->verbose = verbose && verbose[0] && strcmp(verbose, "0") != 0;
    start_ns = ifg_monotonic_ns();
    status = runner_spawn(runner, options, err);
    if (!status)
        status = greet(runner, options, out_facts, err);
    out_facts->start_ns = ifg_monotonic_ns() - start_ns;
    if (status) {
        runner_stop(runner);
        return status;
    }
    *out_runner = runner;
    return IFG_OK;
}

const char *runner_crashed(const struct runner *runner)
{
    return runner->how[0] ? runner->how : NULL;
}

void runner_stop(struct runner *runner)
{
    struct ifg_error ignored;

    if (!runner)
        return;
    if (!runner->ended && runner->channel.fd >= 0) {
        /* Bounded by the wait: it may hang. */
        runner->stop = NULL;
        runner->patience_ns = END_NS;
        runner->progress_ns = ifg_monotonic_ns();
        if (protocol_send(&runner->channel, MESSAGE_QUIT, NULL, &ignored))
            runner_kill(runner);
        runner_reap(runner, runner->prefixed ? RECORDER_END_NS : END_NS);
    }
    runner_release(runner);
    ifg_free(runner);
}

/* ---- models and inputs ---- */

enum ifg_status runner_load(struct runner *runner, const struct runner_model *model,
                            struct runner_loaded *out_loaded, struct ifg_error *err)
{
    struct ifg_cursor cursor;
    enum ifg_status status = begin(runner, err);
    struct runner_slot *slot;

    memset(out_loaded, 0, sizeof *out_loaded);
    if (status)
        return status;
    set_doing(runner, "loading %s", file_name(model->path));
    protocol_put_text(&runner->question, model->path);
    ifg_bytes_put_varint(&runner->question, model->setting_count);
    for (size_t i = 0; i < model->setting_count; i++) {
        protocol_put_text(&runner->question, model->settings[i].key);
        protocol_put_text(&runner->question, model->settings[i].value);
    }
    status = ask(runner, MESSAGE_LOAD, MESSAGE_LOADED, &cursor, err);
    if (status)
        return status;
    if (!protocol_get_loaded(&cursor, out_loaded))
        return fail_nonsense(runner, err);
    slot = &runner->slots[out_loaded->slot];
    memset(slot, 0, sizeof *slot);
    snprintf(slot->name, sizeof slot->name, "%s", file_name(model->path));
    return IFG_OK;
}

static enum ifg_status check_slot(unsigned slot, struct ifg_error *err)
{
    return slot < PROTOCOL_SLOTS_MAX ? IFG_OK
                                     : ifg_fail(err, IFG_INVALID, "there is no model %u", slot);
}

static enum ifg_status bind_set(struct runner *runner, unsigned slot, size_t set,
                                const struct tensor_list *tensors, uint32_t workers,
                                struct ifg_error *err)
{
    struct ifg_error own = { 0 };
    struct ifg_cursor cursor;
    enum ifg_status status = begin(runner, err);

    err = err ? err : &own;
    if (status)
        return status;
    ifg_bytes_put_varint(&runner->question, slot);
    ifg_bytes_put_varint(&runner->question, set);
    ifg_bytes_put_varint(&runner->question, workers ? workers : 1);
    ifg_bytes_put_varint(&runner->question, tensors->count);
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];
        struct ifg_bench_tensor given = {
            .name = tensor->name, .type = tensor->type, .rank = tensor->rank, .bytes = tensor->bytes
        };

        if (!protocol_size_fits(tensor->type, tensor->dims, tensor->rank, tensor->bytes) ||
            !protocol_texts_fit(tensor))
            return ifg_fail(err, IFG_INVALID,
                            "the data for input %s has %zu bytes, which is not what its type and "
                            "shape say",
                            tensor->name, tensor->bytes);
        memcpy(given.dims, tensor->dims, sizeof given.dims);
        protocol_put_tensor(&runner->question, &given);
    }
    status = send_question(runner, MESSAGE_BIND, err);
    for (size_t i = 0; i < tensors->count && !status; i++) {
        status = protocol_send_data(&runner->channel, tensors->items[i].data,
                                    tensors->items[i].bytes, err);
        if (status)
            return lost(runner, status, err);
    }
    return status ? status : get_answer(runner, MESSAGE_DONE, &cursor, err);
}

enum ifg_status runner_bind(struct runner *runner, unsigned slot, const struct tensor_list *sets,
                            size_t set_count, uint32_t workers, struct ifg_error *err)
{
    enum ifg_status status = check_slot(slot, err);

    if (!status &&
        (set_count == 0 || set_count > PROTOCOL_SETS_MAX || workers > PROTOCOL_WORKERS_MAX))
        status = ifg_fail(err, IFG_INVALID,
                          "%zu sets of inputs for %u workers: at least 1, at most %u and %u",
                          set_count, workers, PROTOCOL_SETS_MAX, PROTOCOL_WORKERS_MAX);
    if (status)
        return status;
    set_doing(runner, "taking the inputs of %s", runner->slots[slot].name);
    for (size_t i = 0; i < set_count && !status; i++)
        status = bind_set(runner, slot, i, &sets[i], workers, err);
    return status;
}

enum ifg_status runner_unload(struct runner *runner, unsigned slot, struct ifg_error *err)
{
    struct ifg_cursor cursor;
    enum ifg_status status = check_slot(slot, err);

    if (!status)
        status = begin(runner, err);
    if (status)
        return status;
    set_doing(runner, "unloading %s", runner->slots[slot].name);
    ifg_bytes_put_varint(&runner->question, slot);
    return ask(runner, MESSAGE_UNLOAD, MESSAGE_DONE, &cursor, err);
}

/* ---- running ---- */

static uint64_t since(uint64_t value, uint64_t start)
{
    return value > start ? value - start : 0;
}

/* Each word is read once: what is in shared memory may change at any time. */
static bool take(struct runner *runner, uint64_t query)
{
    struct shared_sample *slot = &runner->shared->samples[query % SHARED_SAMPLES];
    struct runner_taken *taken;

    if (atomic_load_explicit(&slot->full, memory_order_acquire) != query + 1)
        return false;
    if (!IFG_ARRAY_ROOM(runner->taken, runner->taken_room, runner->taken_count + 1,
                        IFG_ARRAY_ANY)) {
        runner->out_of_memory = true;
        atomic_store_explicit(&slot->full, 0, memory_order_relaxed);
        return true;
    }
    taken = &runner->taken[runner->taken_count];
    taken->due_ns = atomic_load_explicit(&slot->due_ns, memory_order_relaxed);
    taken->start_ns = atomic_load_explicit(&slot->start_ns, memory_order_relaxed);
    taken->end_ns = atomic_load_explicit(&slot->end_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->full, 0, memory_order_relaxed);
    if (taken->due_ns > taken->start_ns || taken->start_ns > taken->end_ns ||
        taken->end_ns > INT64_MAX || runner->taken_count >= SAMPLES_MAX)
        runner->nonsense = true;
    else
        runner->taken_count++;
    return true;
}

size_t runner_drain(struct runner *runner, bool last)
{
    struct shared_area *shared = runner->shared;
    size_t before = runner->taken_count;
    uint64_t drained, most;

    if (!runner->running)
        return 0;
    drained = atomic_load_explicit(&shared->drained, memory_order_relaxed);
    most = since(atomic_load(&shared->begun), drained);
    for (uint64_t i = 0; i < most && i < SHARED_SAMPLES; i++) {
        if (!take(runner, drained + i) && !last)
            break;
        if (!last)
            atomic_store_explicit(&shared->drained, drained + i + 1, memory_order_release);
    }
    return runner->taken_count - before;
}

static int compare_starts(const void *left, const void *right)
{
    const struct runner_taken *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* All three columns alike, from the one capacity that they have. */
static bool grow(struct runner_samples *samples, size_t count)
{
    size_t due = samples->capacity;
    size_t start = samples->capacity;

    return IFG_ARRAY_ROOM(samples->due_ns, due, count, IFG_ARRAY_ANY) &&
           IFG_ARRAY_ROOM(samples->start_ns, start, count, IFG_ARRAY_ANY) &&
           IFG_ARRAY_ROOM(samples->end_ns, samples->capacity, count, IFG_ARRAY_ANY);
}

static enum ifg_status append(struct runner *runner, struct runner_samples *samples,
                              struct ifg_error *err)
{
    size_t count = runner->taken_count;
    uint64_t last_ns = 0;
    uint64_t epoch_ns = UINT64_MAX;

    if (count == 0)
        return IFG_OK;
    qsort(runner->taken, count, sizeof *runner->taken, compare_starts);
    if (!grow(samples, samples->count + count))
        return ifg_fail_no_memory(err, "for %zu samples", count);
    for (size_t i = 0; i < count; i++) {
        if (runner->taken[i].due_ns < epoch_ns)
            epoch_ns = runner->taken[i].due_ns;
        if (runner->taken[i].end_ns > last_ns)
            last_ns = runner->taken[i].end_ns;
    }
    if (samples->count == 0)
        samples->epoch_ns = epoch_ns;
    for (size_t i = 0; i < count; i++) {
        const struct runner_taken *taken = &runner->taken[i];
        size_t at = samples->count + i;

        samples->due_ns[at] = since(taken->due_ns, samples->epoch_ns);
        samples->start_ns[at] = since(taken->start_ns, samples->epoch_ns);
        samples->end_ns[at] = since(taken->end_ns, samples->epoch_ns);
    }
    samples->count += count;
    samples->wall_ns += last_ns - runner->taken[0].start_ns;
    return IFG_OK;
}

static enum ifg_status ask_run(struct runner *runner, struct runner_samples *samples,
                               struct ifg_error *err)
{
    struct ifg_cursor cursor;
    uint64_t unserved, failed_query;
    enum ifg_status status = ask(runner, MESSAGE_RUN, MESSAGE_RAN, &cursor, err);

    runner_drain(runner, true); /* also after a crash: what ended before it counts */
    if (status)
        return status;
    unserved = ifg_cursor_varint(&cursor);
    failed_query = ifg_cursor_varint(&cursor);
    status = protocol_get_status(&cursor, err);
    if (cursor.failed || runner->nonsense)
        return fail_nonsense(runner, err);
    samples->unserved += unserved;
    if (runner->out_of_memory)
        return ifg_fail_no_memory(err, "for all samples");
    if (status) {
        char what[160];

        describe_inference(runner, failed_query, what, sizeof what);
        return ifg_fail_context(err, status, "%s", what);
    }
    return IFG_OK;
}

enum ifg_status runner_run(struct runner *runner, unsigned slot, const struct runner_work *work,
                           struct runner_samples *samples, struct ifg_error *err)
{
    enum ifg_status status = check_slot(slot, err);
    enum ifg_status appended;

    if (!status)
        status = begin(runner, err);
    if (!status && work->workers > PROTOCOL_WORKERS_MAX)
        status = ifg_fail(err, IFG_INVALID, "%u workers are too many: at most %u", work->workers,
                          PROTOCOL_WORKERS_MAX);
    if (!status && work->queries == 0 && work->duration_ns == 0 && !runner->stop)
        status = ifg_fail(err, IFG_INVALID, "a run needs a number of queries or a duration");
    if (status)
        return status;
    set_doing(runner, "running %s", runner->slots[slot].name);
    runner->slot = slot;
    runner->work = *work;
    runner->work.per_query = work->per_query ? work->per_query : 1;
    runner->taken_count = 0;
    runner->nonsense = runner->out_of_memory = false;
    atomic_store(&runner->shared->begun, 0);
    atomic_store(&runner->shared->drained, 0);
    atomic_store(&runner->shared->stop, runner->stop && *runner->stop ? 1u : 0u);
    ifg_bytes_put_varint(&runner->question, slot);
    protocol_put_work(&runner->question, work);
    runner->running = true;
    status = ask_run(runner, samples, err);
    runner->running = false;
    if (atomic_load(&runner->shared->stop) && status != IFG_INTERNAL)
        samples->stopped = true;
    appended = append(runner, samples, status ? NULL : err);
    runner->slots[slot].inferences += runner->taken_count * runner->work.per_query;
    return status ? status : appended;
}

void runner_samples_fini(struct runner_samples *samples)
{
    ifg_free(samples->due_ns);
    ifg_free(samples->start_ns);
    ifg_free(samples->end_ns);
    memset(samples, 0, sizeof *samples);
}

/* ---- the rest ---- */

static enum ifg_status receive_tensors(struct runner *runner, struct tensor_list *tensors,
                                       struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < tensors->count && !status; i++) {
        struct tensor *tensor = &tensors->items[i];

        tensor->data = ifg_alloc(tensor->bytes + 1, 1);
        if (!tensor->data)
            status =
                ifg_fail_no_memory(err, "for %zu bytes of output %s", tensor->bytes, tensor->name);
        else
            status = protocol_receive_data(&runner->channel, tensor->data, tensor->bytes, err);
        if (!status && !protocol_texts_fit(tensor))
            status = ifg_fail(err, IFG_CORRUPT, "the texts of output %s do not fit its shape",
                              tensor->name);
    }
    return status;
}

enum ifg_status runner_results(struct runner *runner, unsigned slot, size_t set,
                               struct tensor_list *out_tensors, struct ifg_error *err)
{
    struct ifg_error own = { 0 };
    struct ifg_cursor cursor;
    enum ifg_status status = check_slot(slot, err);

    err = err ? err : &own;
    *out_tensors = (struct tensor_list){ 0 };
    if (!status)
        status = begin(runner, err);
    if (status)
        return status;
    set_doing(runner, "running %s for its outputs", runner->slots[slot].name);
    ifg_bytes_put_varint(&runner->question, slot);
    ifg_bytes_put_varint(&runner->question, set);
    status = ask(runner, MESSAGE_RESULTS, MESSAGE_TENSORS, &cursor, err);
    if (status)
        return status;
    if (!protocol_get_tensors(&cursor, out_tensors))
        return fail_nonsense(runner, err);
    status = receive_tensors(runner, out_tensors, err);
    if (status) {
        tensor_list_fini(out_tensors);
        return lost(runner, status, err);
    }
    return IFG_OK;
}

enum ifg_status runner_reference(struct runner *runner, uint64_t *out_ns, struct ifg_error *err)
{
    struct ifg_cursor cursor;
    enum ifg_status status = begin(runner, err);

    *out_ns = 0;
    if (status)
        return status;
    set_doing(runner, "measuring the machine");
    status = ask(runner, MESSAGE_REFERENCE, MESSAGE_NUMBER, &cursor, err);
    if (status)
        return status;
    *out_ns = ifg_cursor_varint(&cursor);
    return cursor.failed ? fail_nonsense(runner, err) : IFG_OK;
}

enum ifg_status runner_devices(struct runner *runner, char ***out_lines, size_t *out_count,
                               struct ifg_error *err)
{
    struct ifg_cursor cursor;
    enum ifg_status status = begin(runner, err);

    *out_lines = NULL;
    *out_count = 0;
    if (status)
        return status;
    set_doing(runner, "listing devices");
    status = ask(runner, MESSAGE_DEVICES, MESSAGE_LINES, &cursor, err);
    if (status)
        return status;
    return protocol_get_lines(&cursor, out_lines, out_count) ? IFG_OK : fail_nonsense(runner, err);
}
