// SPDX-License-Identifier: Apache-2.0
/*
 * What is said about failures, and which functions are called for which setting, with a table of
 * functions that is made up: every function that a version does not have ends the test.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/runner/ort/ort_internal.h"
#include "tap.h"

#define SLOTS 512

struct fake_status {
    int code;
    const char *message;
};

static ort_function table[SLOTS];
static struct ifg_bench_context context;
static char text[1024];
static const struct ort_error told = { text, sizeof text };
static char calls[2048]; /* what was called, in order */
static int released;

static void trap(void)
{
    tap_diag("a function that this version does not have was called after: %s", calls);
    abort();
}

static void note_call(const char *format, ...)
{
    size_t length = strlen(calls);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(calls + length, sizeof calls - length, format, arguments);
    va_end(arguments);
}

/* ---- functions ---- */

static int code_of(const void *status)
{
    return ((const struct fake_status *)status)->code;
}

static const char *message_of(const void *status)
{
    return ((const struct fake_status *)status)->message;
}

static void release_status(void *status)
{
    (void)status;
    released++;
}

static void *make_object(void **out)
{
    *out = calls;
    return NULL;
}

static void drop_object(void *object)
{
    (void)object;
}

static void *set_int(void *options, int value)
{
    (void)options;
    note_call("set %d;", value);
    return NULL;
}

static void *set_config(void *options, const char *key, const char *value)
{
    (void)options;
    note_call("%s=%s;", key, value);
    return NULL;
}

static void *update(void *object, const char *const *keys, const char *const *values, size_t count)
{
    (void)object;
    for (size_t i = 0; i < count; i++)
        note_call("%s=%s;", keys[i], values[i]);
    return NULL;
}

static void *append(void *options, const void *object)
{
    (void)options;
    (void)object;
    note_call("append;");
    return NULL;
}

static void *append_pairs(void *options, const char *const *keys, const char *const *values,
                          size_t count)
{
    note_call("append pairs;");
    return update(options, keys, values, count);
}

static void *append_name(void *options, const char *name, const char *const *keys,
                         const char *const *values, size_t count)
{
    note_call("append %s;", name);
    return update(options, keys, values, count);
}

static void *register_library(void *env, const char *name, const char *path)
{
    (void)env;
    note_call("%s from %s;", name, path);
    return NULL;
}

static void *no_devices(const void *env, void *const **out_devices, size_t *out_count)
{
    (void)env;
    *out_devices = NULL;
    *out_count = 0;
    return NULL;
}

static void put(unsigned slot, ort_function function, unsigned since)
{
    if (context.minor >= since)
        table[slot] = function;
}

#define PUT(slot, function, since) put(slot, (ort_function)(void (*)(void))(function), since)

/* A version with all providers that there are, or only the CPU's. */
static void set_up(unsigned minor, bool has_all)
{
    static char *all[] = { "TensorrtExecutionProvider", "CUDAExecutionProvider",
                           "MIGraphXExecutionProvider", "ROCMExecutionProvider",
                           "OpenVINOExecutionProvider", "DnnlExecutionProvider",
                           "QNNExecutionProvider",      "VitisAIExecutionProvider",
                           "CANNExecutionProvider",     "XnnpackExecutionProvider",
                           "AzureExecutionProvider",    ORT_CPU };
    static char *cpu[] = { ORT_CPU };
    static const unsigned creates[][2] = { { ORT_CreateCUDAProviderOptions, 11 },
                                           { ORT_CreateTensorRTProviderOptions, 9 },
                                           { ORT_CreateCANNProviderOptions, 13 },
                                           { ORT_CreateDnnlProviderOptions, 15 },
                                           { ORT_CreateROCMProviderOptions, 16 } };

    for (size_t i = 0; i < SLOTS; i++)
        table[i] = trap;
    for (size_t i = 0; i < context.registered_count; i++)
        ifg_free(context.registered[i]);
    context = (struct ifg_bench_context){ .api = table, .minor = minor };
    snprintf(context.version, sizeof context.version, "1.%u.0", minor);
    context.providers = has_all ? all : cpu;
    context.provider_count = has_all ? (int)(sizeof all / sizeof *all) : 1;
    calls[0] = '\0';
    text[0] = '\0';
    released = 0;
    PUT(ORT_GetErrorCode, code_of, 1);
    PUT(ORT_GetErrorMessage, message_of, 1);
    PUT(ORT_ReleaseStatus, release_status, 1);
    PUT(ORT_CreateSessionOptions, make_object, 1);
    PUT(ORT_ReleaseSessionOptions, drop_object, 1);
    PUT(ORT_SetSessionExecutionMode, set_int, 1);
    PUT(ORT_SetSessionGraphOptimizationLevel, set_int, 1);
    PUT(ORT_SetIntraOpNumThreads, set_int, 1);
    PUT(ORT_SetInterOpNumThreads, set_int, 1);
    PUT(ORT_AddSessionConfigEntry, set_config, 5);
    PUT(ORT_SetEpSelectionPolicy, set_int, 22);
    PUT(ORT_GetEpDevices, no_devices, 22);
    PUT(ORT_RegisterProviderLibrary, register_library, 22);
    for (size_t i = 0; i < sizeof creates / sizeof *creates; i++) {
        PUT(creates[i][0], make_object, creates[i][1]);
        PUT(creates[i][0] + 1, update, creates[i][1]);
        PUT(creates[i][0] + 3, drop_object, creates[i][1]);
    }
    PUT(ORT_AppendExecutionProvider_CUDA_V2, append, 11);
    PUT(ORT_AppendExecutionProvider_TensorRT_V2, append, 9);
    PUT(ORT_AppendExecutionProvider_CANN, append, 13);
    PUT(ORT_AppendExecutionProvider_Dnnl, append, 15);
    PUT(ORT_AppendExecutionProvider_ROCM, append, 6);
    PUT(ORT_AppendExecutionProvider_MIGraphX, append, 11);
    PUT(ORT_AppendExecutionProvider, append_name, 12);
    PUT(ORT_AppendExecutionProvider_OpenVINO_V2, append_pairs, 17);
    PUT(ORT_AppendExecutionProvider_VitisAI, append_pairs, 18);
}

/* ---- what is said ---- */

static int load_fails(int code, const char *message)
{
    struct fake_status status = { code, message };

    return ort_say_load(&context, &status, "m.onnx", true, &told);
}

static void says_whose_fault_it_is(void)
{
    set_up(30, false);
    CHECK_INT(load_fails(3, "Load model m.onnx failed. File doesn't exist"), IFG_BENCH_BAD_MODEL);
    CHECK_INT(load_fails(7, "Load model from m.onnx failed:Protobuf parsing failed."),
              IFG_BENCH_BAD_MODEL);
    CHECK_STR(text, "m.onnx cannot be read as a model: Protobuf parsing failed");
    CHECK_INT(load_fails(10, "This is an invalid model. Type Error"), IFG_BENCH_BAD_MODEL);
    CHECK_INT(load_fails(10, "Error No Op registered for Foo with domain_version of 13"),
              IFG_BENCH_FAILED);
    CHECK_CONTAINS(text, "ONNX Runtime 1.30.0 does not have the operator Foo: ");
    CHECK_INT(load_fails(1, "Fatal error: com.x:Foo(-1) is not a registered function/op"),
              IFG_BENCH_FAILED);
    CHECK_CONTAINS(text, "does not have the operator com.x:Foo: ");
    CHECK_INT(load_fails(9, "Could not find an implementation for Bar(11) node with name 'b'"),
              IFG_BENCH_FAILED);
    CHECK_CONTAINS(text, "does not implement the operator Bar as the model uses it: ");
    CHECK_INT(load_fails(1, "x Opset 30 is under development x is till opset 26."),
              IFG_BENCH_FAILED);
    CHECK_STR(text, "the model needs version 30 of the operators; ONNX Runtime 1.30.0 has up to "
                    "version 26");
    CHECK_INT(load_fails(1, "Unsupported model IR version: 99"), IFG_BENCH_FAILED);
    CHECK_INT(load_fails(6, "strange"), IFG_BENCH_FAILED);
    CHECK_INT(load_fails(6, ""), IFG_BENCH_FAILED);
    CHECK_STR(text, "ONNX Runtime 1.30.0 cannot load the model: it does not say why");
    CHECK_INT(released, 10); /* every status, once */
}

static void says_it_without_source_files(void)
{
    static const char *const messages[][2] = {
        { "/src/core/graph/model.cc:149 onnxruntime::Model::Model(const X<a, b>&, int) No way.\n",
          "No way" },
        { "/a.h:46 void f(const std::map<std::string, int>&, bool) const [with T = int] No way",
          "No way" },
        { "/a.cc:1 f(const C&)::<lambda()> a.b == c::D was false. No\n  way", "No way" },
        { "a_b.h:187 Parse No way", "No way" },
        { "Exception during initialization: /a.cc:43 A::A(int) [ONNXRuntimeError] : 1 : FAIL : No "
          "way",
          "No way" },
        { "CUDA failure 100: no device ; GPU=-1 ; hostname=h ; file=/a.cc", "CUDA failure 100: no "
                                                                            "device" },
        { "/a.cc:1", "/a.cc:1" },
        { "/a.cc:1 f(", "/a.cc:1 f(" },
        { "Load model from ", "Load model from" },
        { "3 of 4", "3 of 4" },
        { "name: 7 things", "name: 7 things" },
    };

    set_up(30, false);
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct fake_status status = { 1, messages[i][0] };
        char expected[256];

        snprintf(expected, sizeof expected, "it: %s", messages[i][1]);
        CHECK_INT(ort_say_status(&context, &status, &told, 7, "it"), 7);
        CHECK_STR(text, expected);
    }
}

static void says_it_in_the_room_there_is(void)
{
    char huge[4096];
    char small[16];
    struct fake_status status = { 1, huge };
    struct ort_error little = { small, sizeof small };

    set_up(30, false);
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    ort_say_status(&context, &status, &little, 1, "it");
    CHECK_STR(small, "it: xxxxxxxxxxx");
    ort_say_load(&context, &status, huge, false, &told);
    CHECK_CONTAINS(text, "the provider cannot run this model here: xxx");
    CHECK(strlen(text) < sizeof text);
}

/* ---- what is called ---- */

static int create(const char *const *pairs, size_t count, struct ort_wanted *out_wanted)
{
    struct ifg_bench_setting settings[8];

    for (size_t i = 0; i < count; i++)
        settings[i] = (struct ifg_bench_setting){ pairs[2 * i], pairs[2 * i + 1] };
    calls[0] = '\0';
    text[0] = '\0';
    return ort_options_create(&context, settings, count, out_wanted, &told);
}

static int create_one(const char *key, const char *value)
{
    const char *pair[] = { key, value };
    struct ort_wanted wanted;

    return create(pair, 1, &wanted);
}

static void old_versions_are_not_asked_for_news(void)
{
    static const char *const names[] = { "cpu",      "cuda",     "tensorrt", "rocm",
                                         "migraphx", "openvino", "dnnl",     "qnn",
                                         "vitisai",  "cann",     "xnnpack",  "webgpu",
                                         "azure",    "snpe",     "coreml",   "gpu",
                                         "npu",      "all",      "nobody",   "nv_tensorrt_rtx" };

    for (unsigned minor = 14; minor <= 30; minor++) {
        set_up(minor, true);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            int code = create_one("ep", names[i]);

            CHECK(code == IFG_BENCH_OK || code == IFG_BENCH_UNAVAILABLE);
            CHECK((code == IFG_BENCH_OK) == (text[0] == '\0') || strcmp(names[i], "all") == 0 ||
                  strcmp(names[i], "gpu") == 0 || strcmp(names[i], "npu") == 0);
        }
        CHECK_INT(create_one("policy", "PREFER_NPU"),
                  minor < 22 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
        CHECK_INT(create_one("ep", "rocm"), minor < 16 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
        CHECK_INT(create_one("ep", "openvino"), minor < 17 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
        CHECK_INT(create_one("ep", "vitisai"), minor < 18 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
        CHECK_INT(create_one("ep", "dnnl"), minor < 15 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
        CHECK_INT(create_one("ep_library.X", "x.so"),
                  minor < 22 ? IFG_BENCH_UNAVAILABLE : IFG_BENCH_OK);
    }
    set_up(30, true);
}

static void settings_reach_the_runtime(void)
{
    static const char *const many[] = {
        "threads",          "3", "inter_threads", "2", "parallel", "1",  "opt", "extended",
        "config.session.x", "y", "strict_ep",     "1", "ort",      "any"
    };
    static const char *const cuda[] = {
        "ep", "cuda+cpu", "ep.cuda.device_id", "1", "ep.CUDA.arena", "big", "strict_ep", "1"
    };
    struct ort_wanted wanted;

    set_up(20, true);
    CHECK_INT(create(many, 7, &wanted), IFG_BENCH_OK);
    CHECK_STR(calls, "set 3;set 2;set 1;set 2;session.x=y;");
    CHECK(wanted.is_cpu_only);
    CHECK_INT(create(cuda, 4, &wanted), IFG_BENCH_OK);
    CHECK_STR(calls, "device_id=1;arena=big;append;session.disable_cpu_ep_fallback=1;");
    CHECK(!wanted.is_cpu_only);
    CHECK_INT(create_one("ep", "qnn"), IFG_BENCH_OK);
    CHECK_STR(calls, "append QNN;");
    CHECK_INT(create_one("ep", "openvino"), IFG_BENCH_OK);
    CHECK_STR(calls, "append pairs;");
    CHECK_INT(create_one("opt", "all"), IFG_BENCH_OK);
    CHECK_STR(calls, "set 99;");
    set_up(24, true);
    CHECK_INT(create_one("policy", "min_overall_power"), IFG_BENCH_OK);
    CHECK_STR(calls, "session.record_ep_graph_assignment_info=1;set 6;");
}

static void settings_that_make_no_sense_are_refused(void)
{
    static const char *const wrong[][2] = {
        { "colour", "red" },
        { "threads", "" },
        { "threads", "3x" },
        { "threads", "99999" },
        { "threads", "-1" },
        { "parallel", "2" },
        { "opt", "" },
        { "strict_ep", "yes" },
        { "config.", "x" },
        { "ep.cuda", "1" },
        { "ep.cuda.device", "1" },
        { "policy", "" },
        { "ep_library.", "x" },
        { "Threads", "1" },
        { "ep", "cuda" },
        { "ep", "cpu+cuda+cpu" },
        { "ep", "gpu" },
        { "ep", "all" },
    };
    static const char *const both[] = { "ep", "cpu", "policy", "DEFAULT" };
    struct ort_wanted wanted;

    set_up(20, false);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(create_one(wrong[i][0], wrong[i][1]), IFG_BENCH_UNAVAILABLE);
        CHECK(text[0]);
    }
    CHECK_INT(create(both, 2, &wanted), IFG_BENCH_UNAVAILABLE);
    CHECK(!wanted.options);
    create_one("ep", "cuda");
    CHECK_STR(text,
              "CUDAExecutionProvider is not in this build of ONNX Runtime (it has: " ORT_CPU ")");
    create_one("colour", "red");
    CHECK_CONTAINS(text, "threads, inter_threads, opt, parallel, ep, ");
}

TAP_MAIN(TAP_CASE(says_whose_fault_it_is), TAP_CASE(says_it_without_source_files),
         TAP_CASE(says_it_in_the_room_there_is), TAP_CASE(old_versions_are_not_asked_for_news),
         TAP_CASE(settings_reach_the_runtime), TAP_CASE(settings_that_make_no_sense_are_refused))
