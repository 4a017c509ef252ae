// SPDX-License-Identifier: Apache-2.0
/* The types that the functions of ONNX Runtime's table take, as far as the hooks name them. */
#ifndef IFG_HOOKS_ORT_API_H
#define IFG_HOOKS_ORT_API_H

#include <stddef.h>

#include "ort_abi/api.h"

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

typedef void ort_async_callback(void *user, struct ort_value **outputs, size_t output_count,
                                struct ort_status *status);

#endif
