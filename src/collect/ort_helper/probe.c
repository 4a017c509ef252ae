// SPDX-License-Identifier: Apache-2.0
/* Seeing which functions of ONNX Runtime lead to an operator: see probe.h. */
#include "collect/ort_helper/probe.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "collect/ort_helper/made_model.h"
#include "collect/ort_helper/node_names.h"
#include "collect/ort_helper/tell.h"
#include "collect/ort_helper/traps.h"

#define CHAIN_MAX   48
#define LABEL_BYTES 32
#define LOG_FATAL   4
#define FLOAT       1

enum probe_event { EVENT_INFER, EVENT_KERNEL, EVENT_COMPUTE, EVENT_COUNT };

struct operator_at {
    struct ort_custom_op op; /* first: what the runtime gets is a pointer to this */
    size_t position;
};

static struct {
    ort_table api;
    unsigned minor;
    uintptr_t base;  /* what the loader added */
    uintptr_t start; /* of its code */
    uintptr_t end;
    const char *label; /* NULL: that of the environment */
    char seen_label[LABEL_BYTES];
    bool seen[EVENT_COUNT];
    bool checking; /* traps are set again after each operator */
    bool can_check;
    bool may_fail;
    const char *path;
    void *env;
    void *memory;
    struct operator_at operators[MADE_MODEL_NODES];
} state;

/* ---- chains ---- */

struct walk {
    uintptr_t functions[CHAIN_MAX];
    size_t count;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *user)
{
    struct walk *walk = user;
    uintptr_t pc = (uintptr_t)_Unwind_GetIP(context);
    uintptr_t function = (uintptr_t)_Unwind_GetRegionStart(context);

    if (walk->count < CHAIN_MAX && pc >= state.start && pc <= state.end &&
        function >= state.start && function < state.end)
        walk->functions[walk->count++] = function;
    return _URC_NO_REASON;
}

static const char *current_label(void)
{
    const char *label = state.label ? state.label : getenv(PROBE_LABEL_VARIABLE);

    return label ? label : "none";
}

/* What is done with the nested model is about names only. */
static bool is_nested(void)
{
    return strstr(current_label(), "nested") != NULL;
}

/* Once for each label and event. */
static void tell_chain(enum probe_event event)
{
    static const char *const names[EVENT_COUNT] = { "infer", "kernel", "compute" };
    const char *label = current_label();
    struct walk walk = { .count = 0 };
    struct tell line;

    if (strncmp(label, state.seen_label, LABEL_BYTES - 1) != 0) {
        snprintf(state.seen_label, sizeof state.seen_label, "%s", label);
        memset(state.seen, 0, sizeof state.seen);
    }
    if (state.seen[event] || is_nested())
        return;
    state.seen[event] = true;
    _Unwind_Backtrace(take_frame, &walk);
    tell_begin(&line, "chain");
    tell_text(&line, label);
    tell_word(&line, names[event]);
    for (size_t i = 0; i < walk.count; i++) {
        tell_hex(&line, walk.functions[i] - state.base);
        traps_add(walk.functions[i]);
    }
    tell_end(&line);
}

/* ---- entries ---- */

/* std::string, of both kinds that libstdc++ has, begins with a pointer to its characters. */
static bool is_path(uint64_t argument)
{
    char text[64];
    size_t bytes = strlen(state.path) + 1;
    uint64_t characters;

    return bytes <= sizeof text && node_names_peek(argument, &characters, sizeof characters) &&
           node_names_peek(characters, text, bytes) && memcmp(text, state.path, bytes) == 0;
}

static void on_entered(uintptr_t function, const uint64_t arguments[TRAPS_ARGUMENTS])
{
    struct tell line;

    node_names_entered(function, arguments);
    if (is_nested())
        return;
    tell_begin(&line, "enter");
    tell_text(&line, current_label());
    tell_hex(&line, function - state.base);
    for (size_t i = 0; i < TRAPS_ARGUMENTS; i++)
        tell_hex(&line, arguments[i]);
    for (size_t i = 0; i < TRAPS_ARGUMENTS && state.path; i++) {
        if (!is_path(arguments[i]))
            continue;
        tell_word(&line, (const char *const[]){ "path=1", "path=2", "path=3", "path=4", "path=5",
                                                "path=6" }[i]);
        break;
    }
    tell_end(&line);
}

static void set_traps(void)
{
    const char *why = traps_set();

    if (!why)
        return;
    state.checking = false;
    tell_sentence("unchecked", why, NULL);
}

/* ---- the operator ---- */

static void *create_kernel(const struct ort_custom_op *op, ort_table api, const void *info)
{
    (void)api;
    (void)info;
    tell_chain(EVENT_KERNEL);
    return (void *)(uintptr_t)op;
}

static const char *get_name(const struct ort_custom_op *op)
{
    return made_model_ops[((const struct operator_at *)(const void *)op)->position];
}

static const char *get_provider(const struct ort_custom_op *op)
{
    (void)op;
    return NULL;
}

static int get_type(const struct ort_custom_op *op, size_t i)
{
    (void)op;
    (void)i;
    return FLOAT;
}

static size_t get_one(const struct ort_custom_op *op)
{
    (void)op;
    return 1;
}

static int get_zero_at(const struct ort_custom_op *op, size_t i)
{
    (void)op;
    (void)i;
    return 0;
}

static int get_int_one(const struct ort_custom_op *op)
{
    (void)op;
    return 1;
}

/* The names of nodes, at this one. What was entered before the first node of the nested graph was
 * entered for the graph around it. */
static void look_at_names(size_t position)
{
    const char *type = made_model_ops[position];

    if (!is_nested())
        node_names_computed(MADE_MODEL_NODES - 1 - position, MADE_MODEL_PREFIX, MADE_MODEL_NODES,
                            type);
    else if (position)
        node_names_computed(position, MADE_MODEL_NESTED_PREFIX, MADE_MODEL_NODES, type);
    else
        node_names_begin();
}

static void compute(void *kernel, void *context)
{
    const struct operator_at *own = kernel;
    int64_t shape = 1;
    void *output = NULL;
    void *data = NULL;
    struct tell line;

    tell_chain(EVENT_COMPUTE);
    if (!is_nested()) {
        tell_begin(&line, "compute");
        tell_text(&line, current_label());
        tell_number(&line, MADE_MODEL_NODES - 1 - own->position);
        tell_end(&line);
    }
    if (state.checking)
        look_at_names(own->position);
    if (!ORT(state.api, ORT_KernelContext_GetOutput, void *,
             (void *, size_t, const int64_t *, size_t, void **))(context, 0, &shape, 1, &output) &&
        !ORT(state.api, ORT_GetTensorMutableData, void *, (void *, void **))(output, &data))
        *(float *)data = 1;
    if (state.checking)
        set_traps();
}

static void destroy_kernel(void *kernel)
{
    (void)kernel;
}

static void *infer_shape(const struct ort_custom_op *op, void *context)
{
    (void)op;
    (void)context;
    tell_chain(EVENT_INFER);
    return NULL;
}

static int get_highest(const struct ort_custom_op *op)
{
    (void)op;
    return INT32_MAX;
}

static void make_operators(void)
{
    for (size_t position = 0; position < MADE_MODEL_NODES; position++)
        state.operators[position] = (struct operator_at){
            .op = {
                .version = state.minor >= 17 ? 17 : ORT_ABI_OLDEST,
                .create_kernel = create_kernel,
                .get_name = get_name,
                .get_provider = get_provider,
                .get_input_type = get_type,
                .get_input_count = get_one,
                .get_output_type = get_type,
                .get_output_count = get_one,
                .compute = compute,
                .destroy_kernel = destroy_kernel,
                .get_input_characteristic = get_zero_at,
                .get_output_characteristic = get_zero_at,
                .get_input_memory_type = get_zero_at,
                .get_variadic_input_min = get_int_one,
                .get_variadic_input_homogeneity = get_int_one,
                .get_variadic_output_min = get_int_one,
                .get_variadic_output_homogeneity = get_int_one,
                .infer_shape = infer_shape,
                .get_start_version = get_int_one,
                .get_end_version = get_highest,
            },
            .position = position,
        };
}

/* ---- the library ---- */

bool probe_ok(void *status, const char *what)
{
    const char *why;

    if (!status)
        return true;
    why = ORT(state.api, ORT_GetErrorMessage, const char *, (const void *))(status);
    if (state.may_fail)
        tell_sentence("note", what, why);
    else
        tell_sentence("error", what, why);
    ORT(state.api, ORT_ReleaseStatus, void, (void *))(status);
    return false;
}

ort_table probe_api(void)
{
    return state.api;
}

unsigned probe_minor(void)
{
    return state.minor;
}

static int take_library(struct dl_phdr_info *info, size_t size, void *user)
{
    uintptr_t inside = *(const uintptr_t *)user;
    uintptr_t start = UINTPTR_MAX;
    uintptr_t end = 0;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr;

        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        start = first < start ? first : start;
        end = first + header->p_memsz > end ? first + header->p_memsz : end;
    }
    if (inside < start || inside >= end)
        return 0;
    state.base = info->dlpi_addr;
    state.start = start;
    state.end = end;
    return 1;
}

bool probe_open(const struct ort_base *base)
{
    const char *version = base->get_version();
    uintptr_t inside = (uintptr_t)base->get_api;
    const char *why;
    char *end = NULL;

    if (strncmp(version, "1.", 2) == 0)
        state.minor = (unsigned)strtoul(version + 2, &end, 10);
    if (!end || *end != '.' || state.minor < ORT_ABI_OLDEST) {
        tell_sentence("error", "this version of ONNX Runtime is not supported", version);
        return false;
    }
    tell_pair("ort", version);
    state.api = base->get_api(state.minor);
    if (!state.api) {
        tell_sentence("error", "ONNX Runtime has no interface of its own version", NULL);
        return false;
    }
    if (!dl_iterate_phdr(take_library, &inside)) {
        tell_sentence("error", "the loader does not know where the library is", NULL);
        return false;
    }
    make_operators();
    why = traps_init(on_entered);
    if (why)
        tell_sentence("unchecked", why, NULL);
    state.can_check = !why;
    return true;
}

void probe_check(const char *path)
{
    state.path = path;
    state.checking = state.can_check;
    node_names_begin();
    if (state.checking)
        set_traps();
}

bool probe_add_operators(void *options)
{
    void *domain = NULL;
    ort_table api = state.api;

    if (!probe_ok(ORT(api, ORT_CreateCustomOpDomain, void *,
                      (const char *, void **))(MADE_MODEL_DOMAIN, &domain),
                  "no domain for operators can be made"))
        return false;
    for (size_t position = 0; position < MADE_MODEL_NODES; position++)
        if (!probe_ok(ORT(api, ORT_CustomOpDomain_Add, void *,
                          (void *, const void *))(domain, &state.operators[position]),
                      "an operator cannot be added"))
            return false;
    return probe_ok(ORT(api, ORT_AddCustomOpDomain, void *, (void *, void *))(options, domain),
                    "operators cannot be registered");
}

void probe_tell_names(void)
{
    node_names_tell(state.base);
}

/* ---- what is done ---- */

static void tell_session(const char *label, const void *session)
{
    struct tell line;

    tell_begin(&line, "session");
    tell_text(&line, label);
    tell_hex(&line, (uintptr_t)session);
    tell_end(&line);
}

static void *create_session(const char *label, const char *path)
{
    ort_table api = state.api;
    uint8_t model[MADE_MODEL_BYTES];
    size_t bytes = strstr(label, "nested") ? made_model_nested(model) : made_model(model);
    void *options = NULL;
    void *session = NULL;
    bool done;

    state.label = label;
    state.path = path;
    if (!probe_ok(ORT(api, ORT_CreateSessionOptions, void *, (void **))(&options),
                  "no session options can be made") ||
        !probe_ok(ORT(api, ORT_SetIntraOpNumThreads, void *, (void *, int))(options, 1),
                  "one thread cannot be asked for") ||
        !probe_ok(ORT(api, ORT_SetSessionGraphOptimizationLevel, void *, (void *, int))(options, 0),
                  "optimizations cannot be turned off") ||
        !probe_add_operators(options))
        return NULL;
    if (path)
        done =
            probe_ok(ORT(api, ORT_CreateSession, void *, (void *, const char *, void *, void **))(
                         state.env, path, options, &session),
                     "no session can be made from a file");
    else
        done = probe_ok(ORT(api, ORT_CreateSessionFromArray, void *,
                            (void *, const void *, size_t, void *, void **))(
                            state.env, model, bytes, options, &session),
                        "no session can be made from memory");
    state.path = NULL;
    if (!done)
        return NULL;
    tell_session(label, session);
    return session;
}

static bool run(const char *label, void *session, bool bound)
{
    static const char *const inputs[] = { MADE_MODEL_INPUT };
    static const char *const outputs[] = { MADE_MODEL_OUTPUT };
    static float data = 1;
    static const int64_t shape = 1;
    ort_table api = state.api;
    void *value = NULL;
    void *result = NULL;
    void *binding = NULL;

    state.label = label;
    tell_session(label, session);
    if (!probe_ok(ORT(api, ORT_CreateTensorWithData, void *,
                      (void *, void *, size_t, const int64_t *, size_t, int, void **))(
                      state.memory, &data, sizeof data, &shape, 1, FLOAT, &value),
                  "no tensor can be made"))
        return false;
    if (!bound)
        return probe_ok(ORT(api, ORT_Run, void *,
                            (void *, const void *, const char *const *, void *const *, size_t,
                             const char *const *, size_t, void **))(session, NULL, inputs, &value,
                                                                    1, outputs, 1, &result),
                        "Run failed");
    return probe_ok(ORT(api, ORT_CreateIoBinding, void *, (void *, void **))(session, &binding),
                    "no binding can be made") &&
           probe_ok(ORT(api, ORT_BindInput, void *,
                        (void *, const char *, void *))(binding, inputs[0], value),
                    "an input cannot be bound") &&
           probe_ok(ORT(api, ORT_BindOutputToDevice, void *,
                        (void *, const char *, void *))(binding, outputs[0], state.memory),
                    "an output cannot be bound") &&
           probe_ok(ORT(api, ORT_RunWithBinding, void *,
                        (void *, const void *, const void *))(session, NULL, binding),
                    "RunWithBinding failed");
}

/* The same again with traps on all functions that were seen. */
static bool check_table(const char *path)
{
    void *first;
    void *second;
    bool good;

    probe_check(NULL);
    first = create_session("check-array", NULL);
    probe_check(NULL);
    second = first ? create_session("check-path", path) : NULL;
    if (!second)
        return false;
    probe_check(NULL);
    good = run("check-run", first, false);
    probe_check(NULL);
    good = good && run("check-other", second, false);
    probe_check(NULL);
    good = good && run("check-bind", first, true);
    if (good && (first = create_session("check-nested", NULL))) {
        probe_check(NULL);
        good = run("check-nested", first, false);
    }
    state.checking = false;
    traps_forget();
    if (!state.may_fail) /* else there is more to come */
        probe_tell_names();
    return good;
}

static bool look_at_table(const char *path)
{
    ort_table api = state.api;
    struct tell line;
    void *session;

    tell_begin(&line, "api run");
    tell_hex(&line, (uintptr_t)api[ORT_Run] - state.base);
    tell_end(&line);
    if (!probe_ok(ORT(api, ORT_CreateEnv, void *,
                      (int, const char *, void **))(LOG_FATAL, "inferogram", &state.env),
                  "no environment can be made") ||
        !probe_ok(
            ORT(api, ORT_CreateCpuMemoryInfo, void *, (int, int, void **))(1, 0, &state.memory),
            "memory cannot be described"))
        return false;
    session = create_session("array", NULL);
    return session && create_session("path", path) && run("run", session, false) &&
           run("bind", session, true) && (!state.can_check || check_table(path));
}

bool probe_table(int model_fd, bool may_fail)
{
    char path[32];
    bool good;

    snprintf(path, sizeof path, "/proc/self/fd/%d", model_fd);
    state.may_fail = may_fail;
    good = look_at_table(path);
    state.may_fail = false;
    state.label = NULL;
    return good || may_fail;
}
