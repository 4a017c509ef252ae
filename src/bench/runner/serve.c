// SPDX-License-Identifier: Apache-2.0
/* One question after the other: see serve.h. */
#include "bench/runner/serve.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/ticks.h"
#include "bench/runner/ort/ort.h"
#include "bench/runner/loops.h"
#include "bench/runner/plugin.h"
#include "bench/runner/reference.h"

#define ALIGNMENT 64u

/* The tensors of an input set. What was replaced stays on `older` until the model goes if the
 * runtime refused its successor: nobody knows which of the two it points to then. */
struct bound {
    struct bound *older;
    struct tensor_list tensors;
    struct ifg_bench_tensor *given; /* what the runtime got, aligned */
    void *passed;                   /* the same, in elements of the size that it knows */
};

struct slot {
    ifg_bench_model *model;
    struct bound **sets;
    size_t set_count; /* in use */
    size_t set_room;
    uint32_t workers;
};

struct server {
    struct channel channel;
    struct shared_area *shared;
    struct message question;
    struct ifg_bytes answer;
    struct ifg_bench_runtime runtime;
    ifg_bench_context *context;
    bool opened;
    struct slot slots[PROTOCOL_SLOTS_MAX];
};

/* ---- answers ---- */

static enum ifg_status answer_failed(struct server *server, enum ifg_status status,
                                     const char *text, struct ifg_error *err)
{
    ifg_bytes_clear(&server->answer);
    ifg_bytes_put_varint(&server->answer, (uint64_t) - (int)status);
    protocol_put_text(&server->answer, text);
    return protocol_send(&server->channel, MESSAGE_FAILED, &server->answer, err);
}

static enum ifg_status answer(struct server *server, enum message_kind kind, struct ifg_error *err)
{
    if (server->answer.failed)
        return answer_failed(server, IFG_NO_MEMORY, "the answer is too large", err);
    return protocol_send(&server->channel, kind, &server->answer, err);
}

static enum ifg_status status_of(int code)
{
    switch (code) {
    case IFG_BENCH_OK:
        return IFG_OK;
    case IFG_BENCH_UNAVAILABLE:
        return IFG_UNSUPPORTED;
    case IFG_BENCH_BAD_MODEL:
        return IFG_CORRUPT;
    case IFG_BENCH_BAD_INPUT:
        return IFG_INVALID;
    default:
        return IFG_INTERNAL;
    }
}

/* Resident memory, as /proc tells it. */
static uint64_t resident_bytes(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    uint64_t pages = 0;
    const char *at;

    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    at = strchr(text, ' '); /* the second number */
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (uint64_t)(*at - '0');
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct slot *get_slot(struct server *server, struct ifg_cursor *cursor)
{
    struct slot *slot = &server->slots[protocol_get_number(cursor, PROTOCOL_SLOTS_MAX - 1)];

    return !cursor->failed && slot->model ? slot : NULL;
}

static enum ifg_status fail_question(struct ifg_error *err)
{
    return ifg_fail(err, IFG_CORRUPT, "a question of the tool makes no sense");
}

static enum ifg_status answer_no_slot(struct server *server, const struct ifg_cursor *cursor,
                                      struct ifg_error *err)
{
    if (cursor->failed)
        return fail_question(err);
    return answer_failed(server, IFG_INVALID, "there is no such model here", err);
}

/* ---- opening ---- */

static enum ifg_status pin(int64_t cpu, struct ifg_error *err)
{
    cpu_set_t set;

    if (cpu < 0)
        return IFG_OK;
    CPU_ZERO(&set);
    if (cpu < CPU_SETSIZE)
        CPU_SET((size_t)cpu, &set);
    if (cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof set, &set) < 0)
        return ifg_fail(err, IFG_INVALID, "there is no CPU %lld that this process may use",
                        (long long)cpu);
    return IFG_OK;
}

static enum ifg_status choose_runtime(struct server *server, const char *plugin,
                                      struct ifg_error *err)
{
    if (plugin[0])
        return plugin_load(plugin, &server->runtime, err);
    return plugin_take(BENCH_ORT_NAME, &bench_ort_runtime, &server->runtime, err);
}

static enum ifg_status open_runtime(struct server *server, const char *plugin, const char *library,
                                    struct ifg_error *err)
{
    char text[1024] = "";
    enum ifg_status status = choose_runtime(server, plugin, err);
    int code;

    if (status)
        return status;
    if (strchr(library, '/') && access(library, F_OK) < 0)
        return ifg_fail(err, IFG_NOT_FOUND, "there is no library %s", library);
    code = server->runtime.open(library[0] ? library : NULL, &server->context, text, sizeof text);
    text[sizeof text - 1] = '\0';
    if (code != IFG_BENCH_OK)
        return ifg_fail(err, status_of(code), "%s",
                        text[0] ? text : "the runtime could not be opened and gave no reason");
    server->opened = true;
    return IFG_OK;
}

static enum ifg_status handle_open(struct server *server, struct ifg_cursor *cursor,
                                   struct ifg_error *err)
{
    uint64_t version = ifg_cursor_varint(cursor);
    char *plugin = protocol_get_text(cursor);
    char *library = protocol_get_text(cursor);
    int64_t cpu = ifg_unzigzag(ifg_cursor_varint(cursor));
    struct ifg_error reason = { 0 };
    enum ifg_status status;
    uint64_t start_ns;

    if (cursor->failed || server->opened) {
        status = fail_question(err);
    } else if (version != PROTOCOL_VERSION) {
        status = answer_failed(server, IFG_UNSUPPORTED,
                               "inferogram-bench-runner belongs to another version of inferogram; "
                               "install both from one package",
                               err);
    } else {
        status = pin(cpu, &reason);
        start_ns = ifg_monotonic_ns();
        if (!status)
            status = open_runtime(server, plugin, library, &reason);
        ifg_bytes_put_varint(&server->answer, PROTOCOL_VERSION);
        ifg_bytes_put_varint(&server->answer, ifg_monotonic_ns() - start_ns);
        ifg_bytes_put_varint(&server->answer, resident_bytes());
        if (!status) {
            protocol_put_text(&server->answer, server->runtime.name);
            protocol_put_text(&server->answer, server->runtime.version(server->context));
        }
        status = status ? answer_failed(server, status, reason.message, err)
                        : answer(server, MESSAGE_OPENED, err);
    }
    ifg_free(plugin);
    ifg_free(library);
    return status;
}

/* ---- loading ---- */

static void free_settings(struct ifg_bench_setting *settings, size_t count)
{
    for (size_t i = 0; settings && i < count; i++) {
        ifg_free((void *)(uintptr_t)settings[i].key);
        ifg_free((void *)(uintptr_t)settings[i].value);
    }
    ifg_free(settings);
}

static struct ifg_bench_setting *get_settings(struct ifg_cursor *cursor, size_t *out_count)
{
    size_t count = (size_t)protocol_get_number(cursor, PROTOCOL_LIST_MAX);
    struct ifg_bench_setting *settings = ifg_alloc(count + 1, sizeof *settings);

    *out_count = count;
    if (!settings)
        cursor->failed = true;
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        settings[i].key = protocol_get_text(cursor);
        settings[i].value = protocol_get_text(cursor);
    }
    return settings;
}

/* Inputs or outputs, in elements of our size; owned by the caller. */
static struct ifg_bench_port *get_ports(const struct server *server, const struct slot *slot,
                                        size_t (*tell)(const ifg_bench_model *,
                                                       const struct ifg_bench_port **),
                                        size_t *out_count)
{
    const struct ifg_bench_port *told = NULL;

    *out_count = tell(slot->model, &told);
    return *out_count > PROTOCOL_LIST_MAX
               ? NULL
               : plugin_array(told, server->runtime.port_size, sizeof *told, *out_count);
}

static bool are_ports_sane(const struct ifg_bench_port *ports, size_t count)
{
    if (count > PROTOCOL_LIST_MAX || (count && !ports))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ports[i].rank > IFG_BENCH_RANK_MAX)
            return false;
    return true;
}

static void put_placement(struct server *server, struct slot *slot)
{
    const struct ifg_bench_placement *told = NULL;
    struct ifg_bench_placement *entries = NULL;
    const char *reason = NULL;
    size_t count = 0;

    if (server->runtime.placement)
        count = server->runtime.placement(slot->model, &told, &reason);
    else
        reason = "this runtime does not tell";
    if (count <= PROTOCOL_LIST_MAX)
        entries = plugin_array(told, server->runtime.placement_size, sizeof *told, count);
    count = entries ? count : 0;
    ifg_bytes_put_varint(&server->answer, count);
    for (size_t i = 0; i < count; i++) {
        protocol_put_text(&server->answer, entries[i].provider);
        ifg_bytes_put_varint(&server->answer, entries[i].nodes);
    }
    protocol_put_text(&server->answer, count ? "" : reason);
    ifg_free(entries);
}

static void put_nodes(struct server *server, struct slot *slot)
{
    const struct ifg_bench_node *told = NULL;
    struct ifg_bench_node *nodes = NULL;
    size_t before = server->answer.size;
    size_t count = 0;

    if (server->runtime.nodes)
        count = server->runtime.nodes(slot->model, &told);
    if (count <= PROTOCOL_NODES_MAX)
        nodes = plugin_array(told, server->runtime.node_size, sizeof *told, count);
    count = nodes ? count : 0;
    ifg_bytes_put_varint(&server->answer, count);
    for (size_t i = 0; i < count; i++) {
        protocol_put_text(&server->answer, nodes[i].name);
        protocol_put_text(&server->answer, nodes[i].op_type);
        protocol_put_text(&server->answer, nodes[i].provider);
    }
    ifg_free(nodes);
    if (server->answer.failed && before) { /* rather none than no answer */
        server->answer.failed = false;
        server->answer.size = before;
        ifg_bytes_put_varint(&server->answer, 0);
    }
}

static enum ifg_status answer_loaded(struct server *server, struct slot *slot, uint64_t load_ns,
                                     struct ifg_error *err)
{
    const struct ifg_bench_runtime *runtime = &server->runtime;
    struct ifg_bench_port *inputs, *outputs;
    size_t input_count, output_count;

    ifg_bytes_put_varint(&server->answer, (uint64_t)(slot - server->slots));
    ifg_bytes_put_varint(&server->answer, load_ns);
    ifg_bytes_put_varint(&server->answer,
                         runtime->specialization_ns ? runtime->specialization_ns(slot->model) : 0);
    ifg_bytes_put_varint(&server->answer, resident_bytes());
    inputs = get_ports(server, slot, runtime->inputs, &input_count);
    outputs = get_ports(server, slot, runtime->outputs, &output_count);
    if (!are_ports_sane(inputs, input_count) || !are_ports_sane(outputs, output_count)) {
        ifg_free(inputs);
        ifg_free(outputs);
        runtime->unload(slot->model);
        slot->model = NULL;
        return answer_failed(server, IFG_UNSUPPORTED,
                             "the model has more inputs, outputs or dimensions than are supported",
                             err);
    }
    protocol_put_ports(&server->answer, inputs, input_count);
    protocol_put_ports(&server->answer, outputs, output_count);
    ifg_free(inputs);
    ifg_free(outputs);
    put_placement(server, slot);
    put_nodes(server, slot);
    return answer(server, MESSAGE_LOADED, err);
}

static enum ifg_status load(struct server *server, const char *path,
                            const struct ifg_bench_setting *settings, size_t setting_count,
                            struct ifg_error *err)
{
    char text[1024] = "";
    struct slot *slot = server->slots;
    struct slot *end = server->slots + PROTOCOL_SLOTS_MAX;
    uint64_t start_ns, load_ns;
    void *passed;
    int code;

    while (slot < end && slot->model)
        slot++;
    if (slot == end)
        return answer_failed(server, IFG_BUSY, "too many models are loaded at once", err);
    passed = plugin_array(settings, sizeof *settings, server->runtime.setting_size, setting_count);
    if (!passed)
        return answer_failed(server, IFG_NO_MEMORY, "not enough memory for the settings", err);
    start_ns = ifg_monotonic_ns();
    code = server->runtime.load(server->context, path, passed, setting_count, &slot->model, text,
                                sizeof text);
    load_ns = ifg_monotonic_ns() - start_ns;
    ifg_free(passed);
    text[sizeof text - 1] = '\0';
    if (code == IFG_BENCH_OK && !slot->model) {
        code = IFG_BENCH_FAILED;
        snprintf(text, sizeof text, "the runtime loaded the model and gave nothing back");
    }
    if (code != IFG_BENCH_OK) {
        slot->model = NULL;
        return answer_failed(server, status_of(code), text, err);
    }
    return answer_loaded(server, slot, load_ns, err);
}

static enum ifg_status handle_load(struct server *server, struct ifg_cursor *cursor,
                                   struct ifg_error *err)
{
    char *path = protocol_get_text(cursor);
    size_t count = 0;
    struct ifg_bench_setting *settings = get_settings(cursor, &count);
    enum ifg_status status =
        cursor->failed ? fail_question(err) : load(server, path, settings, count, err);

    free_settings(settings, count);
    ifg_free(path);
    return status;
}

/* ---- inputs ---- */

static void bound_free(struct bound *bound)
{
    while (bound) {
        struct bound *older = bound->older;

        tensor_list_fini(&bound->tensors);
        ifg_free(bound->given);
        ifg_free(bound->passed);
        ifg_free(bound);
        bound = older;
    }
}

static void slot_empty(struct server *server, struct slot *slot)
{
    if (slot->model)
        server->runtime.unload(slot->model);
    for (size_t i = 0; i < slot->set_room; i++)
        bound_free(slot->sets[i]);
    ifg_free(slot->sets);
    memset(slot, 0, sizeof *slot);
}

/* Places for the data, whole cache lines from the start of one; NULL without memory. */
static struct bound *bound_create(struct tensor_list *tensors)
{
    struct bound *bound = ifg_alloc(1, sizeof *bound);

    if (!bound)
        return NULL;
    bound->tensors = *tensors;
    *tensors = (struct tensor_list){ 0 };
    bound->given = ifg_alloc(bound->tensors.count + 1, sizeof *bound->given);
    for (size_t i = 0; i < bound->tensors.count && bound->given; i++) {
        struct tensor *tensor = &bound->tensors.items[i];
        struct ifg_bench_tensor *given = &bound->given[i];

        tensor->data = ifg_alloc(tensor->bytes + ALIGNMENT, 1);
        if (!tensor->data) {
            bound_free(bound);
            return NULL;
        }
        given->name = tensor->name;
        given->type = tensor->type;
        given->rank = tensor->rank;
        memcpy(given->dims, tensor->dims, sizeof given->dims);
        given->data = tensor->data + (ALIGNMENT - (uintptr_t)tensor->data % ALIGNMENT) % ALIGNMENT;
        given->bytes = tensor->bytes;
    }
    if (!bound->given) {
        bound_free(bound);
        return NULL;
    }
    return bound;
}

/* The data that follows is read in any case: the next question comes after it. */
static enum ifg_status receive_tensors(struct server *server, const struct bound *bound,
                                       const size_t *sizes, size_t count, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < count && !status; i++)
        status = protocol_receive_data(&server->channel,
                                       bound ? (void *)(uintptr_t)bound->given[i].data : NULL,
                                       sizes[i], err);
    return status;
}

static bool make_room(struct slot *slot, size_t set)
{
    return IFG_ARRAY_ROOM_ZEROED(slot->sets, slot->set_room, set + 1, IFG_ARRAY_ANY);
}

static enum ifg_status bind(struct server *server, struct slot *slot, size_t set, uint32_t workers,
                            struct bound *bound, struct ifg_error *err)
{
    char text[1024] = "";
    int code;

    for (size_t i = 0; i < bound->tensors.count; i++) {
        struct tensor view = bound->tensors.items[i];

        view.data = (uint8_t *)(uintptr_t)bound->given[i].data;
        if (!protocol_texts_fit(&view)) {
            bound_free(bound);
            return answer_failed(server, IFG_INVALID, "texts and their shape do not agree", err);
        }
    }
    bound->passed = plugin_array(bound->given, sizeof *bound->given, server->runtime.tensor_size,
                                 bound->tensors.count);
    if (!bound->passed || !make_room(slot, set)) {
        bound_free(bound);
        return answer_failed(server, IFG_NO_MEMORY, "not enough memory for the inputs", err);
    }
    bound->older = slot->sets[set];
    slot->sets[set] = bound;
    code = server->runtime.bind(slot->model, set, bound->passed, bound->tensors.count, workers,
                                text, sizeof text);
    text[sizeof text - 1] = '\0';
    if (code != IFG_BENCH_OK)
        return answer_failed(server, status_of(code), text, err);
    bound_free(bound->older);
    bound->older = NULL;
    slot->set_count = set + 1;
    slot->workers = workers;
    return answer(server, MESSAGE_DONE, err);
}

static enum ifg_status handle_bind(struct server *server, struct ifg_cursor *cursor,
                                   struct ifg_error *err)
{
    struct slot *slot = get_slot(server, cursor);
    size_t set = (size_t)protocol_get_number(cursor, PROTOCOL_SETS_MAX - 1);
    uint32_t workers = (uint32_t)protocol_get_number(cursor, PROTOCOL_WORKERS_MAX);
    struct tensor_list tensors = { 0 };
    struct bound *bound;
    enum ifg_status status;
    size_t *sizes;
    size_t count;

    if (!protocol_get_tensors(cursor, &tensors))
        return fail_question(err);
    count = tensors.count;
    sizes = ifg_alloc(count + 1, sizeof *sizes);
    if (!sizes) {
        tensor_list_fini(&tensors);
        return ifg_fail_no_memory(err, NULL);
    }
    for (size_t i = 0; i < count; i++)
        sizes[i] = tensors.items[i].bytes;
    bound = bound_create(&tensors);
    tensor_list_fini(&tensors);
    status = receive_tensors(server, bound, sizes, count, err);
    ifg_free(sizes);
    if (status)
        bound_free(bound);
    else if (!bound)
        status = answer_failed(server, IFG_NO_MEMORY, "not enough memory for the inputs", err);
    else if (!slot || set > slot->set_count || workers == 0) {
        bound_free(bound);
        status = slot ? answer_failed(server, IFG_INVALID, "inputs come out of order", err)
                      : answer_no_slot(server, cursor, err);
    } else {
        status = bind(server, slot, set, workers, bound, err);
    }
    return status;
}

/* ---- running ---- */

static enum ifg_status handle_run(struct server *server, struct ifg_cursor *cursor,
                                  struct ifg_error *err)
{
    struct slot *slot = get_slot(server, cursor);
    struct loop loop = { .runtime = &server->runtime, .shared = server->shared };
    struct loop_result result;
    struct ifg_error reason = { 0 };
    enum ifg_status status;

    if (!protocol_get_work(cursor, &loop.work))
        return fail_question(err);
    if (!slot)
        return answer_no_slot(server, cursor, err);
    if (slot->set_count == 0 || loop.work.workers > slot->workers)
        return answer_failed(server, IFG_INVALID,
                             "no inputs were given for as many workers as are to run", err);
    loop.model = slot->model;
    loop.sets = slot->set_count;
    status = loop_run(&loop, &result, &reason);
    if (status)
        return answer_failed(server, status, reason.message, err);
    ifg_bytes_put_varint(&server->answer, result.unserved);
    ifg_bytes_put_varint(&server->answer, result.failed_query);
    ifg_bytes_put_varint(&server->answer, (uint64_t) - (int)status_of(result.code));
    protocol_put_text(&server->answer, result.text);
    return answer(server, MESSAGE_RAN, err);
}

static enum ifg_status answer_results(struct server *server, struct slot *slot,
                                      struct ifg_error *err)
{
    const struct ifg_bench_tensor *told = NULL;
    size_t count = server->runtime.results(slot->model, &told);
    struct ifg_bench_tensor *tensors;
    enum ifg_status status;

    if (count > PROTOCOL_LIST_MAX)
        return answer_failed(server, IFG_UNSUPPORTED, "the model has too many outputs", err);
    tensors = plugin_array(told, server->runtime.tensor_size, sizeof *told, count);
    if (told && !tensors)
        return answer_failed(server, IFG_NO_MEMORY, "not enough memory for the outputs", err);
    count = tensors ? count : 0;
    ifg_bytes_put_varint(&server->answer, count);
    for (size_t i = 0; i < count; i++) {
        if (!protocol_size_fits(tensors[i].type, tensors[i].dims, tensors[i].rank,
                                tensors[i].bytes) ||
            (tensors[i].bytes && !tensors[i].data)) {
            snprintf(err->message, sizeof err->message,
                     "the runtime's output %s has %zu bytes, which is not what its type and shape "
                     "say",
                     tensors[i].name ? tensors[i].name : "", tensors[i].bytes);
            ifg_free(tensors);
            return answer_failed(server, IFG_INTERNAL, err->message, err);
        }
        protocol_put_tensor(&server->answer, &tensors[i]);
    }
    status = answer(server, MESSAGE_TENSORS, err);
    for (size_t i = 0; i < count && !status && !server->answer.failed; i++)
        status = protocol_send_data(&server->channel, tensors[i].data, tensors[i].bytes, err);
    ifg_free(tensors);
    return status;
}

static enum ifg_status handle_results(struct server *server, struct ifg_cursor *cursor,
                                      struct ifg_error *err)
{
    struct slot *slot = get_slot(server, cursor);
    size_t set = (size_t)protocol_get_number(cursor, PROTOCOL_SETS_MAX - 1);
    char text[1024] = "";
    enum ifg_status status;
    int code;

    if (!slot || cursor->failed)
        return answer_no_slot(server, cursor, err);
    if (set >= slot->set_count)
        return answer_failed(server, IFG_INVALID, "there is no such set of inputs", err);
    if (!server->runtime.results)
        return answer_failed(server, IFG_UNSUPPORTED, "this runtime does not hand out its outputs",
                             err);
    code = server->runtime.run(slot->model, set, 0, text, sizeof text);
    text[sizeof text - 1] = '\0';
    status = code == IFG_BENCH_OK ? answer_results(server, slot, err)
                                  : answer_failed(server, status_of(code), text, err);
    server->runtime.finish(slot->model, 0);
    return status;
}

/* ---- the rest ---- */

static enum ifg_status handle_devices(struct server *server, struct ifg_error *err)
{
    const char *const *lines = NULL;
    size_t count = 0;

    if (!server->runtime.devices)
        return answer_failed(server, IFG_UNSUPPORTED, "this runtime does not tell its devices",
                             err);
    count = server->runtime.devices(server->context, &lines);
    if (!lines)
        count = 0;
    if (count > PROTOCOL_LIST_MAX)
        count = PROTOCOL_LIST_MAX;
    ifg_bytes_put_varint(&server->answer, count);
    for (size_t i = 0; i < count; i++)
        protocol_put_text(&server->answer, lines[i]);
    return answer(server, MESSAGE_LINES, err);
}

static enum ifg_status handle_unload(struct server *server, struct ifg_cursor *cursor,
                                     struct ifg_error *err)
{
    struct slot *slot = get_slot(server, cursor);

    if (!slot)
        return answer_no_slot(server, cursor, err);
    slot_empty(server, slot);
    return answer(server, MESSAGE_DONE, err);
}

static enum ifg_status handle(struct server *server, struct ifg_error *err)
{
    struct ifg_cursor cursor =
        ifg_cursor_over(server->question.body.data, server->question.body.size);

    ifg_bytes_clear(&server->answer);
    if (server->question.kind != MESSAGE_OPEN && !server->opened)
        return fail_question(err);
    switch (server->question.kind) {
    case MESSAGE_OPEN:
        return handle_open(server, &cursor, err);
    case MESSAGE_LOAD:
        return handle_load(server, &cursor, err);
    case MESSAGE_BIND:
        return handle_bind(server, &cursor, err);
    case MESSAGE_RUN:
        return handle_run(server, &cursor, err);
    case MESSAGE_RESULTS:
        return handle_results(server, &cursor, err);
    case MESSAGE_REFERENCE:
        ifg_bytes_put_varint(&server->answer, reference_measure());
        return answer(server, MESSAGE_NUMBER, err);
    case MESSAGE_DEVICES:
        return handle_devices(server, err);
    case MESSAGE_UNLOAD:
        return handle_unload(server, &cursor, err);
    default:
        return ifg_fail(err, IFG_CORRUPT, "a question of kind %u is not known",
                        server->question.kind);
    }
}

static void server_fini(struct server *server)
{
    for (size_t i = 0; i < PROTOCOL_SLOTS_MAX; i++)
        slot_empty(server, &server->slots[i]);
    if (server->opened)
        server->runtime.close(server->context);
    ifg_bytes_fini(&server->question.body);
    ifg_bytes_fini(&server->answer);
}

enum ifg_status serve(int socket_fd, struct shared_area *shared, struct ifg_error *err)
{
    struct server *server = ifg_alloc(1, sizeof *server);
    enum ifg_status status = IFG_OK;

    if (!server)
        return ifg_fail_no_memory(err, NULL);
    server->channel.fd = socket_fd;
    server->shared = shared;
    ifg_bytes_init(&server->question.body, PROTOCOL_MESSAGE_MAX);
    ifg_bytes_init(&server->answer, PROTOCOL_MESSAGE_MAX);
    while (!status) {
        status = protocol_receive(&server->channel, &server->question, err);
        if (!status && server->question.kind == MESSAGE_QUIT)
            break;
        if (!status)
            status = handle(server, err);
    }
    server_fini(server);
    ifg_free(server);
    return status == IFG_IO ? IFG_OK : status; /* the tool has gone: so do we */
}
