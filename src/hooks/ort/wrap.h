// SPDX-License-Identifier: Apache-2.0
/*
 * Which functions of the table are ours. ORT_WRAPPED lists them once: S for those that return a
 * status, V for those that return nothing. wrap.c makes the thunks from it; the functions behind
 * them have the same arguments, after the runtime.
 */
#ifndef IFG_HOOKS_ORT_WRAP_H
#define IFG_HOOKS_ORT_WRAP_H

#include "hooks/ort/runtime.h"

typedef const char *ort_text;
typedef const struct ort_value *const *ort_inputs;

/* clang-format off */
#define ORT_WRAPPED(S, V) \
    S(CreateEnv, (int level, ort_text id, struct ort_env **out), (rt, level, id, out)) \
    S(CreateEnvWithCustomLogger, (void *logger, void *user, int level, ort_text id, struct \
      ort_env **out), (rt, logger, user, level, id, out)) \
    S(CreateEnvWithGlobalThreadPools, (int level, ort_text id, const void *pools, struct \
      ort_env **out), (rt, level, id, pools, out)) \
    S(CreateEnvWithLoggerAndPools, (void *logger, void *user, int level, ort_text id, const \
      void *pools, struct ort_env **out), (rt, logger, user, level, id, pools, out)) \
    S(CreateEnvWithOptions, (const void *options, struct ort_env **out), (rt, options, out)) \
    S(RegisterProviderLibrary, (struct ort_env *env, ort_text name, ort_text path), (rt, env, \
      name, path)) \
    S(GetEpDevices, (const struct ort_env *env, const struct ort_ep_device *const **devices, \
      size_t *count), (rt, env, devices, count)) \
    S(CreateSessionOptions, (struct ort_session_options **out), (rt, out)) \
    S(CloneSessionOptions, (const struct ort_session_options *from, struct ort_session_options \
      **out), (rt, from, out)) \
    V(ReleaseSessionOptions, (struct ort_session_options *options), (rt, options)) \
    S(SetOptimizedModelFilePath, (struct ort_session_options *options, ort_text path), (rt, \
      options, path)) \
    S(SetSessionExecutionMode, (struct ort_session_options *options, int mode), (rt, options, \
      mode)) \
    S(EnableProfiling, (struct ort_session_options *options, ort_text prefix), (rt, options, \
      prefix)) \
    S(DisableProfiling, (struct ort_session_options *options), (rt, options)) \
    S(SetSessionLogSeverityLevel, (struct ort_session_options *options, int level), (rt, \
      options, level)) \
    S(SetSessionGraphOptimizationLevel, (struct ort_session_options *options, int level), (rt, \
      options, level)) \
    S(SetIntraOpNumThreads, (struct ort_session_options *options, int count), (rt, options, \
      count)) \
    S(SetInterOpNumThreads, (struct ort_session_options *options, int count), (rt, options, \
      count)) \
    S(DisablePerSessionThreads, (struct ort_session_options *options), (rt, options)) \
    S(AddSessionConfigEntry, (struct ort_session_options *options, ort_text key, ort_text \
      value), (rt, options, key, value)) \
    S(AppendExecutionProvider_CUDA, (struct ort_session_options *options, const void *more), \
      (rt, options, more)) \
    S(AppendExecutionProvider_CUDA_V2, (struct ort_session_options *options, const void \
      *more), (rt, options, more)) \
    S(AppendExecutionProvider_ROCM, (struct ort_session_options *options, const void *more), \
      (rt, options, more)) \
    S(AppendExecutionProvider_OpenVINO, (struct ort_session_options *options, const void \
      *more), (rt, options, more)) \
    S(AppendExecutionProvider_TensorRT, (struct ort_session_options *options, const void \
      *more), (rt, options, more)) \
    S(AppendExecutionProvider_TensorRT_V2, (struct ort_session_options *options, const void \
      *more), (rt, options, more)) \
    S(AppendExecutionProvider_MIGraphX, (struct ort_session_options *options, const void \
      *more), (rt, options, more)) \
    S(AppendExecutionProvider_CANN, (struct ort_session_options *options, const void *more), \
      (rt, options, more)) \
    S(AppendExecutionProvider_Dnnl, (struct ort_session_options *options, const void *more), \
      (rt, options, more)) \
    S(AppendExecutionProvider, (struct ort_session_options *options, ort_text name, const \
      ort_text *keys, const ort_text *values, size_t count), (rt, options, name, keys, values, \
      count)) \
    S(AppendExecutionProvider_OpenVINO_V2, (struct ort_session_options *options, const \
      ort_text *keys, const ort_text *values, size_t count), (rt, options, keys, values, count)) \
    S(AppendExecutionProvider_VitisAI, (struct ort_session_options *options, const ort_text \
      *keys, const ort_text *values, size_t count), (rt, options, keys, values, count)) \
    S(AppendExecutionProvider_V2, (struct ort_session_options *options, struct ort_env *env, \
      const struct ort_ep_device *const *devices, size_t devices_count, const ort_text *keys, \
      const ort_text *values, size_t count), (rt, options, env, devices, devices_count, keys, \
      values, count)) \
    S(SetEpSelectionPolicy, (struct ort_session_options *options, int policy), (rt, options, \
      policy)) \
    S(SetEpSelectionPolicyDelegate, (struct ort_session_options *options, void *function, void \
      *user), (rt, options, function, user)) \
    S(CreateSession, (const struct ort_env *env, ort_text path, const struct \
      ort_session_options *options, struct ort_session **out), (rt, env, path, options, out)) \
    S(CreateSessionFromArray, (const struct ort_env *env, const void *data, size_t bytes, \
      const struct ort_session_options *options, struct ort_session **out), (rt, env, data, \
      bytes, options, out)) \
    S(CreateSessionWithContainer, (const struct ort_env *env, ort_text path, const struct \
      ort_session_options *options, void *container, struct ort_session **out), (rt, env, path, \
      options, container, out)) \
    S(CreateSessionFromArrayWithContainer, (const struct ort_env *env, const void *data, \
      size_t bytes, const struct ort_session_options *options, void *container, struct \
      ort_session **out), (rt, env, data, bytes, options, container, out)) \
    V(ReleaseSession, (struct ort_session *session), (rt, session)) \
    S(SessionEndProfiling, (struct ort_session *session, struct ort_allocator *allocator, char \
      **out), (rt, session, allocator, out)) \
    S(Run, (struct ort_session *session, const struct ort_run_options *options, const ort_text \
      *input_names, ort_inputs inputs, size_t input_count, const ort_text *output_names, size_t \
      output_count, struct ort_value **outputs), (rt, session, options, input_names, inputs, \
      input_count, output_names, output_count, outputs)) \
    S(RunAsync, (struct ort_session *session, const struct ort_run_options *options, const \
      ort_text *input_names, ort_inputs inputs, size_t input_count, const ort_text \
      *output_names, size_t output_count, struct ort_value **outputs, ort_async_callback \
      *callback, void *user), (rt, session, options, input_names, inputs, input_count, \
      output_names, output_count, outputs, callback, user)) \
    S(RunWithBinding, (struct ort_session *session, const struct ort_run_options *options, \
      const struct ort_io_binding *binding), (rt, session, options, binding)) \
    S(CreateRunOptions, (struct ort_run_options **out), (rt, out)) \
    V(ReleaseRunOptions, (struct ort_run_options *options), (rt, options)) \
    S(RunOptionsSetRunLogVerbosityLevel, (struct ort_run_options *options, int level), (rt, \
      options, level)) \
    S(RunOptionsSetRunLogSeverityLevel, (struct ort_run_options *options, int level), (rt, \
      options, level)) \
    S(RunOptionsSetRunTag, (struct ort_run_options *options, ort_text tag), (rt, options, \
      tag)) \
    S(RunOptionsSetTerminate, (struct ort_run_options *options), (rt, options)) \
    S(RunOptionsUnsetTerminate, (struct ort_run_options *options), (rt, options)) \
    S(AddRunConfigEntry, (struct ort_run_options *options, ort_text key, ort_text value), (rt, \
      options, key, value)) \
    S(RunOptionsAddActiveLoraAdapter, (struct ort_run_options *options, const void *adapter), \
      (rt, options, adapter)) \
    S(RunOptionsSetSyncStream, (struct ort_run_options *options, void *stream), (rt, options, \
      stream)) \
    S(RunOptionsEnableProfiling, (struct ort_run_options *options, ort_text prefix), (rt, \
      options, prefix)) \
    S(CreateTensor, (struct ort_allocator *allocator, const int64_t *shape, size_t rank, int \
      type, struct ort_value **out), (rt, allocator, shape, rank, type, out)) \
    S(CreateTensorWithData, (const struct ort_memory_info *info, void *data, size_t bytes, \
      const int64_t *shape, size_t rank, int type, struct ort_value **out), (rt, info, data, \
      bytes, shape, rank, type, out)) \
    S(CreateTensorWithDeleter, (struct ort_allocator *deleter, void *data, size_t bytes, const \
      int64_t *shape, size_t rank, int type, struct ort_value **out), (rt, deleter, data, bytes, \
      shape, rank, type, out)) \
    S(FillStringTensor, (struct ort_value *value, const ort_text *texts, size_t count), (rt, \
      value, texts, count)) \
    S(CreateValue, (ort_inputs in, size_t count, int type, struct ort_value **out), (rt, in, \
      count, type, out)) \
    S(CopyTensors, (const struct ort_env *env, ort_inputs from, struct ort_value *const *to, \
      void *stream, size_t count), (rt, env, from, to, stream, count)) \
    S(CreateIoBinding, (struct ort_session *session, struct ort_io_binding **out), (rt, \
      session, out)) \
    V(ReleaseIoBinding, (struct ort_io_binding *binding), (rt, binding)) \
    S(BindInput, (struct ort_io_binding *binding, ort_text name, const struct ort_value \
      *value), (rt, binding, name, value)) \
    V(ClearBoundInputs, (struct ort_io_binding *binding), (rt, binding)) \
    S(BindOutput, (struct ort_io_binding *binding, ort_text name, const struct ort_value \
      *value), (rt, binding, name, value)) \
    S(BindOutputToDevice, (struct ort_io_binding *binding, ort_text name, const struct \
      ort_memory_info *info), (rt, binding, name, info)) \
    S(SynchronizeBoundInputs, (struct ort_io_binding *binding), (rt, binding)) \
    S(SynchronizeBoundOutputs, (struct ort_io_binding *binding), (rt, binding))
/* clang-format on */

#define ORT_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define ORT_DECLARE_S(name, parameters, arguments)                                                 \
    struct ort_status *ort_##name(struct ort_runtime *rt, ORT_WITHOUT_PARENTHESES parameters);
#define ORT_DECLARE_V(name, parameters, arguments)                                                 \
    void ort_##name(struct ort_runtime *rt, ORT_WITHOUT_PARENTHESES parameters);

ORT_WRAPPED(ORT_DECLARE_S, ORT_DECLARE_V)

struct ort_status *ort_CreateSessionFromModel(struct ort_runtime *rt, const struct ort_env *env,
                                              const void *model,
                                              const struct ort_session_options *options,
                                              struct ort_session **out);

/* wrap.c: puts our functions into the runtime's own copy of the table. `index` is its number. */
void ort_wrap_table(struct ort_runtime *rt, unsigned index);

#endif
