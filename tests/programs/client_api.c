// SPDX-License-Identifier: Apache-2.0
/*
 * Every macro and function of the public header at least once, with results that a test can
 * foretell. It is compiled as C and as C++, and with IFG_DISABLE, and must do the same work each
 * time.
 */
#include <inferogram/inferogram.h>

#include <pthread.h>
#include <stdio.h>

static int checks;

/* Evaluated when recording, and never with IFG_DISABLE. */
static int counted(int value)
{
    checks++;
    return value;
}

static int zones(int n)
{
    IFG_ZONE("scoped");
    IFG_ZONE_COLOR("coloured", 0x3366ff);
    IFG_ZONE_AS(named, "as");
    IFG_NAME(named, "a name at run time");
    IFG_TEXT(named, "a text");
    IFG_VALUE(named, 18446744073709551615ull);
    IFG_COLOR(named, 0x123456);
    IFG_DETAIL_STRING(named, "string", "value");
    IFG_DETAIL_INT(named, "int", -42);
    IFG_DETAIL_FLOAT(named, "float", 0.5);
    IFG_BEGIN(part, "part");
    if (n > 0)
        n = zones(n - 1);
    IFG_END(part);
    return n + 1;
}

static int early(int way)
{
    IFG_ZONE("early");
    if (way == 0)
        return 1;
    if (way == 1)
        goto out;
    for (int i = 0; i < 3; i++) {
        IFG_ZONE("loop");
        if (i == 1)
            continue;
        if (i == 2)
            break;
    }
out:
    return 2;
}

static void events(void)
{
    static int memory;

    IFG_MESSAGE("plain");
    IFG_MESSAGE_LEVEL(IFG_LEVEL_TRACE, "trace");
    IFG_MESSAGE_LEVEL(IFG_LEVEL_DEBUG, "debug");
    IFG_MESSAGE_LEVEL(IFG_LEVEL_WARNING, "warning");
    IFG_MESSAGE_LEVEL(IFG_LEVEL_ERROR, "error");
    for (int i = 0; i < 3; i++)
        IFG_COUNTER("queue", counted(i));
    IFG_ALLOC("arena", &memory, 4096);
    IFG_FREE("arena", &memory);
    IFG_FRAME("frame");
    IFG_FRAME("frame");
}

static void *other_thread(void *unused)
{
    (void)unused;
    IFG_THREAD_NAME("finisher");
    IFG_ASYNC_END("request", 7);
    IFG_FLOW_STEP("handed on", UINT64_MAX);
    IFG_FLOW_END("handed on", UINT64_MAX);
    return NULL;
}

static void models(void)
{
    ifg_model_options options = {
        sizeof(ifg_model_options), "ocr", "/models/ocr.onnx", "abc", "ORT 1.20", "CUDA,CPU", NULL
    };
    ifg_model *model = ifg_model_create(&options);
    ifg_model *again = ifg_model_create(&options);
    uint64_t request = ifg_request_new();

    if (model != again)
        puts("the same texts made two models");
    ifg_model_property(model, "actual_devices", "CPU");
    ifg_model_property(model, "nodes.CPU", "17");
    IFG_EVENT_BEGIN(prepare, model, "main", IFG_PREPARE_EP);
    IFG_EVENT_END(prepare);
    {
        IFG_EVENT_AS(load, model, NULL, IFG_LOAD);
        IFG_EVENT_LOAD_STATE(load, IFG_LOAD_COLD);
        IFG_EVENT(model, "main", IFG_SPECIALIZATION);
    }
    IFG_EVENT_BEGIN(cached, again, "main", IFG_LOAD);
    IFG_EVENT_LOAD_STATE(cached, IFG_LOAD_CACHED);
    IFG_EVENT_END(cached);
    IFG_EVENT_BEGIN(setup, model, "encode", IFG_SETUP);
    IFG_EVENT_END(setup);
    IFG_EVENT_BEGIN(run, model, "encode", IFG_INFERENCE);
    IFG_DETAIL_INT(run, "batch", 8);
    IFG_EVENT_END(run);
    IFG_EVENT_ASYNC_BEGIN(model, "encode", IFG_INFERENCE, 99);
    IFG_EVENT_ASYNC_END(model, "encode", IFG_INFERENCE, 99);
    IFG_STAGE_BEGIN(pre, request, "pre");
    IFG_STAGE_END(pre);
    {
        IFG_STAGE(request, "inference");
        IFG_STAGE_AS(inner, request, "post");
        IFG_TEXT(inner, "nested stage");
    }
    ifg_model_destroy(again);
    ifg_model_destroy(model);
}

int main(void)
{
    pthread_t thread;

    ifg_thread_name("main thread");
    if (zones(2) != 3 || early(0) != 1 || early(1) != 2 || early(2) != 2)
        return 1;
    events();
    IFG_ASYNC_BEGIN("request", 7);
    IFG_FLOW_BEGIN("handed on", UINT64_MAX);
    if (pthread_create(&thread, NULL, other_thread, NULL))
        return 1;
    pthread_join(thread, NULL);
    models();
    printf("recording %d, evaluated %d\n", ifg_is_recording() != 0, checks);
    return 0;
}
