// SPDX-License-Identifier: Apache-2.0
/* ONNX Runtime: its names and files, its hooks, and the options of it that findings advise. */
#include "runtimes/runtimes.h"

static const char *const libraries[] = { "libonnxruntime.so", NULL };

/* The name of a class, as the compiler writes it down, and of a file, for messages. */
static const char *const marks[] = { "N11onnxruntime16InferenceSessionE",
                                     "core/session/inference_session.cc", NULL };

static const char *const allocators[] = { "onnxruntime::CPUAllocator",
                                          "onnxruntime::AllocatorDefaultAlloc",
                                          "onnxruntime::BFCArena",
                                          "onnxruntime::IAllocator",
                                          "onnxruntime::IArena",
                                          "onnxruntime::StreamAwareBFCArena",
                                          "onnxruntime::utils::DefaultAlloc",
                                          NULL };

static const struct runtime_inject inject = { "libinferogram-ort.so", "ifg_ort_patch",
                                              "ifg_ort_unpatch", "ifg_ort_patch_result" };

#define COMPILED                                                                                   \
    "keep the compiled model: session option ep.context_enable=1 writes a model with the "

static const struct runtime_keep keep[] = {
    { "NvTensorR", COMPILED "engine inside; load that one" },
    { "Tensorrt", "keep the engines: provider options trt_engine_cache_enable=1, "
                  "trt_engine_cache_path=DIR and trt_timing_cache_enable=1, or "
                  "ep.context_enable=1" },
    { "OpenVINO", "keep the compiled model: provider option cache_dir=DIR, or session option "
                  "ep.context_enable=1" },
    { "QNN", COMPILED "binary inside; load that one" },
    { "VitisAI", COMPILED "binary inside; load that one" },
    { NULL, "optimize once: SetOptimizedModelFilePath (Python: optimized_model_filepath), then "
            "load that file with ORT_DISABLE_ALL on the same kind of machine; or convert to ORT "
            "format (python -m onnxruntime.tools.convert_onnx_models_to_ort)" },
};

const struct runtime runtime_ort = {
    .name = "ONNX Runtime",
    .package = "onnxruntime",
    .python = "onnxruntime (Python)",
    .module = "onnxruntime_pybind11_state",
    .libraries = libraries,
    .door = "OrtGetApiBase",
    .marks = marks,
    .allocators = allocators,
    .inject = &inject,
    .advice = {
        [RUNTIME_GET_DEVICE] = "install a build of ONNX Runtime that has it (CUDA and TensorRT: "
                               "the gpu packages), or drop the provider",
        [RUNTIME_GET_LIBRARY] =
            "its library, or one that this needs (CUDA, cuDNN), is not installed: install the gpu "
            "package of ONNX Runtime and what it asks for, or drop the provider",
        [RUNTIME_SEE_ERROR] =
            "fix the error above (library or driver missing?), or drop the provider",
        [RUNTIME_SEE_PLACEMENT] =
            "see why: log at ORT_LOGGING_LEVEL_VERBOSE names every node that it refuses; "
            "session.disable_cpu_ep_fallback=1 makes this an error",
        [RUNTIME_REUSE_INPUTS] =
            "create tensors once over your own buffers (CreateTensorWithDataAsOrtValue) and reuse "
            "them; bind them once with IoBinding and call RunWithBinding",
        [RUNTIME_REUSE_MEMORY] = "leave the arena on (enable_cpu_mem_arena), bind inputs and "
                                 "outputs once (IoBinding) and reuse the buffers",
        [RUNTIME_LOAD_SMALLER] =
            "load from a path and not from bytes; keep weights in external data, which are mapped "
            "(onnx.save_model(..., save_as_external_data=True)); or save the optimized model once "
            "(optimized_model_filepath), as .ort with "
            "session.use_ort_model_bytes_for_initializers=1",
        [RUNTIME_FEWER_THREADS] = "SetIntraOpNumThreads, intra_op_num_threads",
        [RUNTIME_SHARE_THREADS] = "CreateEnvWithGlobalThreadPools and DisablePerSessionThreads",
        [RUNTIME_LAUNCH_LESS] =
            "run the model as a CUDA graph (provider option enable_cuda_graph=1, with inputs and "
            "outputs bound by IoBinding and fixed shapes); keep graph optimizations on, so that "
            "there are fewer nodes; or give each inference a larger batch",
        [RUNTIME_KEEP_ON_DEVICE] =
            "bind inputs and outputs to device memory (IoBinding); replace the operators that the "
            "device's provider does not have, or move them to the begin or end of the model",
        [RUNTIME_TUNE_LESS] =
            "set the CUDA provider's cudnn_conv_algo_search to HEURISTIC (EXHAUSTIVE tries all), "
            "and run one inference of each shape before the first request",
        [RUNTIME_WAIT_PASSIVELY] = "session.intra_op.allow_spinning=0",
    },
    .keep = keep,
    .uses_all_cores = true,
};
