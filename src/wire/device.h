// SPDX-License-Identifier: Apache-2.0
/* How the recorder tells the hooks of devices in a launched program (cupti, rocm) what it wants. */
#ifndef IFG_WIRE_DEVICE_H
#define IFG_WIRE_DEVICE_H

#define IFG_ENV_GPU       "IFG_GPU"            /* kernels, full; not set: kernels */
#define IFG_ENV_INJECTION "IFG_CUDA_INJECTION" /* that was configured before: to be called, too */

/* The library that ROCm was to load in place of rocprofiler-sdk before: to be called, too. */
#define IFG_ENV_ROCM_REGISTER "IFG_ROCM_REGISTER"

/* What ids of devices begin with that are not CUDA's but ROCm's. */
#define IFG_ROCM_ID "HIP "

#define IFG_GPU_INSTRUMENT "GPU kernels"

#endif
