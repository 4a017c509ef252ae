// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime's C interface as far as the hooks use it: opaque types and the positions of
 * functions in its table. The table only ever grows at its end (slot numbers are the same in every
 * release since 1.8), so no header and no library of ONNX Runtime is needed to build this.
 */
#ifndef IFG_HOOKS_ORT_API_H
#define IFG_HOOKS_ORT_API_H

#include <stddef.h>
#include <stdint.h>

struct ort_status;
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_run_options;
struct ort_value;
struct ort_memory_info;
struct ort_allocator;
struct ort_io_binding;
struct ort_ep_device;
struct ort_shape_info;
struct ort_container;
struct ort_threading_options;
struct ort_env_options;
struct ort_stream;
struct ort_key_values;

typedef void (*ort_slot)(void);

struct ort_api_base {
    const ort_slot *(*get_api)(uint32_t version);
    const char *(*get_version_string)(void);
};

typedef void ort_async_callback(void *user, struct ort_value **outputs, size_t output_count,
                                struct ort_status *status);

/* Position in the table. Some names are shortened: ...PrepackedWeightsContainer is ...Container,
 * SessionOptionsAppend... is Append..., and so on. */
enum ort_slot_number {
    ORT_GetErrorMessage = 2,
    ORT_CreateEnv = 3,
    ORT_CreateEnvWithCustomLogger = 4,
    ORT_CreateSession = 7,
    ORT_CreateSessionFromArray = 8,
    ORT_Run = 9,
    ORT_CreateSessionOptions = 10,
    ORT_SetOptimizedModelFilePath = 11,
    ORT_CloneSessionOptions = 12,
    ORT_SetSessionExecutionMode = 13,
    ORT_EnableProfiling = 14,
    ORT_DisableProfiling = 15,
    ORT_SetSessionLogSeverityLevel = 22,
    ORT_SetSessionGraphOptimizationLevel = 23,
    ORT_SetIntraOpNumThreads = 24,
    ORT_SetInterOpNumThreads = 25,
    ORT_SessionGetInputCount = 30,
    ORT_SessionGetOutputCount = 31,
    ORT_CreateRunOptions = 39,
    ORT_RunOptionsSetRunLogVerbosityLevel = 40,
    ORT_RunOptionsSetRunLogSeverityLevel = 41,
    ORT_RunOptionsSetRunTag = 42,
    ORT_RunOptionsSetTerminate = 46,
    ORT_RunOptionsUnsetTerminate = 47,
    ORT_CreateTensor = 48,
    ORT_CreateTensorWithData = 49,
    ORT_FillStringTensor = 52,
    ORT_GetDimensionsCount = 61,
    ORT_GetDimensions = 62,
    ORT_GetTensorTypeAndShape = 65,
    ORT_CreateCpuMemoryInfo = 69,
    ORT_MemoryInfoGetName = 71,
    ORT_AllocatorFree = 76,
    ORT_GetAllocatorWithDefaultOptions = 78,
    ORT_CreateValue = 82,
    ORT_ReleaseEnv = 92,
    ORT_ReleaseStatus = 93,
    ORT_ReleaseMemoryInfo = 94,
    ORT_ReleaseSession = 95,
    ORT_ReleaseRunOptions = 97,
    ORT_ReleaseTensorTypeAndShapeInfo = 99,
    ORT_ReleaseSessionOptions = 100,
    ORT_SessionEndProfiling = 110,
    ORT_CreateEnvWithGlobalThreadPools = 119,
    ORT_DisablePerSessionThreads = 120,
    ORT_AddSessionConfigEntry = 130,
    ORT_CreateAllocator = 131,
    ORT_ReleaseAllocator = 132,
    ORT_RunWithBinding = 133,
    ORT_CreateIoBinding = 134,
    ORT_ReleaseIoBinding = 135,
    ORT_BindInput = 136,
    ORT_BindOutput = 137,
    ORT_BindOutputToDevice = 138,
    ORT_CreateEnvWithLoggerAndPools = 151,
    ORT_AppendExecutionProvider_CUDA = 152,
    ORT_AppendExecutionProvider_ROCM = 153,
    ORT_AppendExecutionProvider_OpenVINO = 154,
    ORT_AppendExecutionProvider_TensorRT = 159,
    ORT_AddRunConfigEntry = 165,
    ORT_CreateSessionWithContainer = 168,
    ORT_CreateSessionFromArrayWithContainer = 169,
    ORT_AppendExecutionProvider_TensorRT_V2 = 170,
    ORT_SynchronizeBoundInputs = 202,
    ORT_SynchronizeBoundOutputs = 203,
    ORT_AppendExecutionProvider_CUDA_V2 = 204,
    ORT_AppendExecutionProvider_MIGraphX = 209,
    ORT_AppendExecutionProvider = 216,
    ORT_AppendExecutionProvider_CANN = 220,
    ORT_AppendExecutionProvider_Dnnl = 239,
    ORT_RunAsync = 260,
    ORT_AppendExecutionProvider_OpenVINO_V2 = 275,
    ORT_AppendExecutionProvider_VitisAI = 276,
    ORT_RunOptionsAddActiveLoraAdapter = 283,
    ORT_GetModelEditorApi = 291,
    ORT_CreateTensorWithDeleter = 292,
    ORT_GetKeyValue = 297,
    ORT_ReleaseKeyValuePairs = 300,
    ORT_RegisterProviderLibrary = 301,
    ORT_GetEpDevices = 303,
    ORT_AppendExecutionProvider_V2 = 304,
    ORT_SetEpSelectionPolicy = 305,
    ORT_SetEpSelectionPolicyDelegate = 306,
    ORT_EpDevice_EpName = 312,
    ORT_GetEpApi = 317,
    ORT_AllocatorGetStats = 319,
    ORT_SessionGetMemoryInfoForInputs = 380,
    ORT_SessionGetMemoryInfoForOutputs = 381,
    ORT_CopyTensors = 386,
    ORT_CreateEnvWithOptions = 406,
    ORT_GetAssignmentInfo = 407,
    ORT_EpAssignedSubgraph_GetEpName = 408,
    ORT_EpAssignedSubgraph_GetNodes = 409,
    ORT_RunOptionsSetSyncStream = 413,
    ORT_GetShapeReference = 414,
    ORT_RunOptionsEnableProfiling = 415,
    ORT_RunOptionsDisableProfiling = 416,
};

/* The model editor's own table (1.22 and later), reached by GetModelEditorApi. */
enum { ORT_EDITOR_CreateSessionFromModel = 14, ORT_EDITOR_SLOTS = 20 };

#endif
