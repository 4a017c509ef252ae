// SPDX-License-Identifier: Apache-2.0
/* What the files of libinferogram-cupti.so share. */
#ifndef IFG_HOOKS_CUPTI_HOOK_H
#define IFG_HOOKS_CUPTI_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hooks/cupti/abi.h"
#include "hooks/device/device.h"

#define HOOK_REASON 512u

extern struct cupti cupti; /* once loaded */

/* load.c: false with the reason: there is none, or none that can be used. */
bool cupti_load(char *reason, size_t size);
void cupti_version_text(uint32_t version, char *out, size_t size);
/* The library that is most likely to have CUPTI now; "": nobody knows. */
const char *cupti_owner(void);
/* Name and id of a device, as the driver tells them; empty where it does not. */
void cupti_device_describe(uint32_t device, char *name, size_t name_size, char *id, size_t id_size);

unsigned cupti_device_count(void); /* 0: not known */

/* pool.c: buffers for records. All there is, once and for all; what is not used takes no memory. */
#define POOL_BUFFERS      32u
#define POOL_BUFFER_BYTES ((size_t)512 << 10)
bool pool_create(void);
void *pool_take(void); /* NULL: all are in use */
void pool_give(void *buffer);
unsigned pool_used(void);

/* contexts.c: which device a context is of, as records tell. */
void contexts_learn(uint32_t context, uint32_t device);
bool contexts_device(uint32_t context, uint32_t *out_device); /* false: not known yet */

/* work.c: records that CUPTI has completed, into the trace. */
struct work_counts {
    uint64_t buffers; /* asked for */
    uint64_t refused; /* and not given */
    uint64_t records;
    uint64_t dropped; /* by CUPTI */
};
extern struct work_counts work_counts;
uint64_t work_now(void);             /* CLOCK_MONOTONIC */
void work_begin(bool has_own_clock); /* false: CUPTI's own clock has to be converted */
void work_end_memory(void);          /* nobody tells of it any more */
void work_request(uint8_t **out_buffer, size_t *out_size, size_t *out_most);
void work_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* calls.c: calls of the driver, on the threads that make them. */
struct calls_counts {
    uint64_t launches; /* of kernels, copies, sets, graphs */
};
extern struct calls_counts calls_counts;
int calls_enable(void *subscriber, bool on);
void calls_callback(void *user, int domain, uint32_t id, const void *data);

#endif
