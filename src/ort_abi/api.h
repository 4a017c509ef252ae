// SPDX-License-Identifier: Apache-2.0
/*
 * ONNX Runtime's C interface: its versions, and the positions of the functions that we call or
 * watch. No header and no library of ONNX Runtime is needed to build with it.
 *
 * The interface is one table of functions. By ONNX Runtime's own rule, which its build checks, a
 * release only appends to it; so the functions that we know stand where they stood in every later
 * version, and only the length of a newer table is unknown. One exception: 1.8 inserted a function,
 * and what is older is left alone.
 */
#ifndef IFG_ORT_ABI_API_H
#define IFG_ORT_ABI_API_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ORT_ABI_OLDEST    8
#define ORT_ABI_COUNTED   30  /* up to here the length of the table is known */
#define ORT_ABI_TRIED     31  /* up to here tests run the real library */
#define ORT_ABI_SLOTS_MAX 425 /* functions whose place is known */

/* 1.MINOR, and then nothing or a dot. */
static inline bool ort_abi_parse_version(const char *text, unsigned *out_minor)
{
    unsigned long minor;
    char *end;

    *out_minor = 0;
    if (!text || strncmp(text, "1.", 2) != 0 || text[2] < '0' || text[2] > '9')
        return false;
    minor = strtoul(text + 2, &end, 10);
    if (minor > 999 || (*end && *end != '.'))
        return false;
    *out_minor = (unsigned)minor;
    return true;
}

/* How many functions of 1.minor are known; 0 for versions that are too old. */
static inline unsigned ort_abi_slots_of(unsigned minor)
{
    static const uint16_t slots[ORT_ABI_COUNTED + 1] = {
        [8] = 170,
        [9] = 192,
        [10] = 204,
        [11] = 210,
        [12] = 219,
        [13] = 225,
        [14] = 239,
        [15] = 255,
        [16] = 266,
        [17] = 276,
        [18] = 280,
        [19] = 280,
        [20] = 285,
        [21] = 285,
        [22] = 318,
        [23] = 390,
        [24] = 415,
        [25] = 419,
        [26] = 419,
        [27] = 422,
        [28] = 424,
        [29] = 425,
        [30] = ORT_ABI_SLOTS_MAX,
    };

    return minor > ORT_ABI_COUNTED ? ORT_ABI_SLOTS_MAX : slots[minor];
}

/* Whether the table may have more functions than those. */
static inline bool ort_abi_is_longer(unsigned minor)
{
    return minor > ORT_ABI_COUNTED;
}

/* Whether nobody has tried this version: its table is used if it checks out, and marked. */
static inline bool ort_abi_is_untried(unsigned minor)
{
    return minor > ORT_ABI_TRIED;
}

typedef void (*ort_function)(void);
typedef const ort_function *ort_table;

struct ort_base {
    ort_table (*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

/* ORT(table, ORT_Run, void *, (types))(arguments): most return a status, NULL if all is well. */
#define ORT(table, slot, result, types) ((result(*) types)(table)[slot])

/* Position in the table, by the release that brought it. Some names are shortened:
 * ...PrepackedWeightsContainer is ...Container, SessionOptionsAppend... is Append..., and so on. */
enum ort_slot {
    ORT_CreateStatus = 0,
    ORT_GetErrorCode = 1,
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
    ORT_CreateCustomOpDomain = 26,
    ORT_CustomOpDomain_Add = 27,
    ORT_AddCustomOpDomain = 28,
    ORT_SessionGetInputCount = 30,
    ORT_SessionGetOutputCount = 31,
    ORT_SessionGetOverridableInitializerCount = 32,
    ORT_SessionGetInputTypeInfo = 33,
    ORT_SessionGetOutputTypeInfo = 34,
    ORT_SessionGetOverridableInitializerTypeInfo = 35,
    ORT_SessionGetInputName = 36,
    ORT_SessionGetOutputName = 37,
    ORT_SessionGetOverridableInitializerName = 38,
    ORT_CreateRunOptions = 39,
    ORT_RunOptionsSetRunLogVerbosityLevel = 40,
    ORT_RunOptionsSetRunLogSeverityLevel = 41,
    ORT_RunOptionsSetRunTag = 42,
    ORT_RunOptionsSetTerminate = 46,
    ORT_RunOptionsUnsetTerminate = 47,
    ORT_CreateTensor = 48,
    ORT_CreateTensorWithData = 49,
    ORT_IsTensor = 50,
    ORT_GetTensorMutableData = 51,
    ORT_FillStringTensor = 52,
    ORT_GetStringTensorDataLength = 53,
    ORT_GetStringTensorContent = 54,
    ORT_CastTypeInfoToTensorInfo = 55,
    ORT_GetTensorElementType = 60,
    ORT_GetDimensionsCount = 61,
    ORT_GetDimensions = 62,
    ORT_GetSymbolicDimensions = 63,
    ORT_GetTensorShapeElementCount = 64,
    ORT_GetTensorTypeAndShape = 65,
    ORT_CreateCpuMemoryInfo = 69,
    ORT_MemoryInfoGetName = 71,
    ORT_AllocatorFree = 76,
    ORT_GetAllocatorWithDefaultOptions = 78,
    ORT_CreateValue = 82,
    ORT_KernelContext_GetInput = 90,
    ORT_KernelContext_GetOutput = 91,
    ORT_ReleaseEnv = 92,
    ORT_ReleaseStatus = 93,
    ORT_ReleaseMemoryInfo = 94,
    ORT_ReleaseSession = 95,
    ORT_ReleaseValue = 96,
    ORT_ReleaseRunOptions = 97,
    ORT_ReleaseTypeInfo = 98,
    ORT_ReleaseTensorTypeAndShapeInfo = 99,
    ORT_ReleaseSessionOptions = 100,
    ORT_SessionEndProfiling = 110,
    ORT_CreateEnvWithGlobalThreadPools = 119,
    ORT_DisablePerSessionThreads = 120,
    ORT_GetAvailableProviders = 125,
    ORT_ReleaseAvailableProviders = 126,
    ORT_AddSessionConfigEntry = 130,
    ORT_CreateAllocator = 131,
    ORT_ReleaseAllocator = 132,
    ORT_RunWithBinding = 133,
    ORT_CreateIoBinding = 134,
    ORT_ReleaseIoBinding = 135,
    ORT_BindInput = 136,
    ORT_BindOutput = 137,
    ORT_BindOutputToDevice = 138,
    ORT_GetBoundOutputValues = 140,
    ORT_ClearBoundInputs = 141,
    ORT_CreateEnvWithLoggerAndPools = 151,
    ORT_AppendExecutionProvider_CUDA = 152,
    ORT_AppendExecutionProvider_ROCM = 153,
    ORT_AppendExecutionProvider_OpenVINO = 154,
    ORT_AppendExecutionProvider_TensorRT = 159,
    ORT_AddRunConfigEntry = 165,
    ORT_CreateSessionWithContainer = 168,
    ORT_CreateSessionFromArrayWithContainer = 169,
    /* 1.9 */
    ORT_AppendExecutionProvider_TensorRT_V2 = 170,
    ORT_CreateTensorRTProviderOptions = 171,
    ORT_UpdateTensorRTProviderOptions = 172,
    ORT_ReleaseTensorRTProviderOptions = 174,
    /* 1.10 */
    ORT_HasValue = 192,
    ORT_GetTensorMemoryInfo = 194,
    ORT_SynchronizeBoundInputs = 202,
    ORT_SynchronizeBoundOutputs = 203,
    /* 1.11 */
    ORT_AppendExecutionProvider_CUDA_V2 = 204,
    ORT_CreateCUDAProviderOptions = 205,
    ORT_UpdateCUDAProviderOptions = 206,
    ORT_ReleaseCUDAProviderOptions = 208,
    ORT_AppendExecutionProvider_MIGraphX = 209,
    /* 1.12 */
    ORT_AppendExecutionProvider = 216,
    /* 1.13 */
    ORT_AppendExecutionProvider_CANN = 220,
    ORT_CreateCANNProviderOptions = 221,
    ORT_UpdateCANNProviderOptions = 222,
    ORT_ReleaseCANNProviderOptions = 224,
    /* 1.14 */
    ORT_HasSessionConfigEntry = 237,
    ORT_GetSessionConfigEntry = 238,
    /* 1.15 */
    ORT_AppendExecutionProvider_Dnnl = 239,
    ORT_CreateDnnlProviderOptions = 240,
    ORT_UpdateDnnlProviderOptions = 241,
    ORT_ReleaseDnnlProviderOptions = 243,
    /* 1.16 */
    ORT_CreateROCMProviderOptions = 255,
    ORT_UpdateROCMProviderOptions = 256,
    ORT_ReleaseROCMProviderOptions = 258,
    ORT_RunAsync = 260,
    /* 1.17 */
    ORT_AppendExecutionProvider_OpenVINO_V2 = 275,
    /* 1.18 */
    ORT_AppendExecutionProvider_VitisAI = 276,
    /* 1.20 */
    ORT_RunOptionsAddActiveLoraAdapter = 283,
    /* 1.22 */
    ORT_GetModelEditorApi = 291,
    ORT_CreateTensorWithDeleter = 292,
    ORT_GetKeyValue = 297,
    ORT_ReleaseKeyValuePairs = 300,
    ORT_RegisterProviderLibrary = 301,
    ORT_GetEpDevices = 303,
    ORT_AppendExecutionProvider_V2 = 304,
    ORT_SetEpSelectionPolicy = 305,
    ORT_SetEpSelectionPolicyDelegate = 306,
    ORT_HardwareDevice_Type = 307,
    ORT_HardwareDevice_VendorId = 308,
    ORT_HardwareDevice_Vendor = 309,
    ORT_HardwareDevice_DeviceId = 310,
    ORT_EpDevice_EpName = 312,
    ORT_EpDevice_Device = 316,
    ORT_GetEpApi = 317,
    /* 1.23 */
    ORT_AllocatorGetStats = 319,
    ORT_Graph_GetNumNodes = 344,
    ORT_Graph_GetNodes = 345,
    ORT_Node_GetOperatorType = 350,
    ORT_SessionGetMemoryInfoForInputs = 380,
    ORT_SessionGetMemoryInfoForOutputs = 381,
    ORT_CopyTensors = 386,
    /* 1.24 */
    ORT_TensorTypeAndShape_HasShape = 390,
    ORT_GetNumHardwareDevices = 397,
    ORT_GetHardwareDevices = 398,
    ORT_CreateEnvWithOptions = 406,
    ORT_GetAssignmentInfo = 407,
    ORT_EpAssignedSubgraph_GetEpName = 408,
    ORT_EpAssignedSubgraph_GetNodes = 409,
    ORT_EpAssignedNode_GetName = 410,
    ORT_EpAssignedNode_GetOperatorType = 412,
    ORT_RunOptionsSetSyncStream = 413,
    ORT_GetShapeReference = 414,
    /* 1.25 */
    ORT_RunOptionsEnableProfiling = 415,
    ORT_RunOptionsDisableProfiling = 416,
};

/* The model editor's own table (1.22 and later), reached by GetModelEditorApi. */
enum { ORT_EDITOR_CreateSessionFromModel = 14, ORT_EDITOR_SLOTS = 20 };

#endif
