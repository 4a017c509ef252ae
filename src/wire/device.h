// SPDX-License-Identifier: Apache-2.0
/* How the recorder tells the device hooks (hooks/cupti) of a launched program what it wants. */
#ifndef IFG_WIRE_DEVICE_H
#define IFG_WIRE_DEVICE_H

#define IFG_ENV_GPU       "IFG_GPU"            /* kernels, full; not set: kernels */
#define IFG_ENV_INJECTION "IFG_CUDA_INJECTION" /* that was configured before: to be called, too */

#define IFG_GPU_INSTRUMENT "GPU kernels"

#endif
