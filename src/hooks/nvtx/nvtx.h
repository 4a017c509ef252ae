// SPDX-License-Identifier: Apache-2.0
/* What the files of the NVTX injection share: see calls.c and inject.c. */
#ifndef IFG_HOOKS_NVTX_H
#define IFG_HOOKS_NVTX_H

#include "hooks/annotations/annotations.h"
#include "hooks/nvtx/nvtx_abi.h"

/* The functions of an injection that was configured before ours; NULL where it has none. */
extern nvtx_function *nvtx_next_core[NVTX_CORE_COUNT];
extern nvtx_function *nvtx_next_core2[NVTX_CORE2_COUNT];

/* Ours, by their numbers; NULL: not for us. */
extern nvtx_function *const nvtx_core_functions[NVTX_CORE_COUNT];
extern nvtx_function *const nvtx_core2_functions[NVTX_CORE2_COUNT];

/* For a program that asks before it makes an effort: does somebody want this domain? */
typedef uint8_t nvtx_is_enabled_function(const void *domain);
extern nvtx_is_enabled_function *nvtx_next_is_enabled;
nvtx_is_enabled_function nvtx_is_enabled;

#endif
