// SPDX-License-Identifier: Apache-2.0
/*
 * NVTX version 3 as a tool sees it: what a program's copy of the header hands to an injection
 * library, and the numbers of the functions in its tables. Written down from the published
 * interface; nothing of NVIDIA's is needed to build this.
 */
#ifndef IFG_HOOKS_NVTX_ABI_H
#define IFG_HOOKS_NVTX_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef void nvtx_function(void);

enum nvtx_export { NVTX_EXPORT_CALLBACKS = 1 };
enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

/* A table is an array of pointers to the program's function pointers; entry 0 is not used. */
struct nvtx_callbacks {
    size_t struct_size;
    int (*get_module_table)(int module, nvtx_function ****out_table, unsigned *out_size);
};

typedef const void *nvtx_get_export(uint32_t id);
typedef int nvtx_initialize(nvtx_get_export *get_export);

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A = 2,
    NVTX_MARK_W = 3,
    NVTX_RANGE_START_EX = 4,
    NVTX_RANGE_START_A = 5,
    NVTX_RANGE_START_W = 6,
    NVTX_RANGE_END = 7,
    NVTX_RANGE_PUSH_EX = 8,
    NVTX_RANGE_PUSH_A = 9,
    NVTX_RANGE_PUSH_W = 10,
    NVTX_RANGE_POP = 11,
    NVTX_NAME_CATEGORY_A = 12,
    NVTX_NAME_CATEGORY_W = 13,
    NVTX_NAME_OS_THREAD_A = 14,
    NVTX_NAME_OS_THREAD_W = 15,
    NVTX_CORE_COUNT = 16,
};

enum nvtx_core2 {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_RANGE_START_EX = 2,
    NVTX_DOMAIN_RANGE_END = 3,
    NVTX_DOMAIN_RANGE_PUSH_EX = 4,
    NVTX_DOMAIN_RANGE_POP = 5,
    NVTX_DOMAIN_NAME_CATEGORY_A = 8,
    NVTX_DOMAIN_NAME_CATEGORY_W = 9,
    NVTX_DOMAIN_REGISTER_STRING_A = 10,
    NVTX_DOMAIN_REGISTER_STRING_W = 11,
    NVTX_DOMAIN_CREATE_A = 12,
    NVTX_DOMAIN_CREATE_W = 13,
    NVTX_CORE2_COUNT = 16,
};

/* What push and pop return without a tool. */
#define NVTX_NO_PUSH_POP_TRACKING (-2)

struct nvtx_event {
    uint16_t version;
    uint16_t size; /* of this struct, as the program knows it */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const void *registered;
    } message;
};

static_assert(sizeof(struct nvtx_event) == 48, "layout");
static_assert(offsetof(struct nvtx_event, payload) == 24, "layout");
static_assert(offsetof(struct nvtx_event, message) == 40, "layout");

/* An extension: the program's slots of functions are written to directly. */
struct nvtx_segment {
    size_t id;
    size_t slot_count;
    intptr_t *slots;
};

struct nvtx_extension {
    uint16_t version;
    uint16_t struct_size;
    uint16_t module;
    uint16_t compatibility;
    size_t segment_count;
    struct nvtx_segment *segments;
    intptr_t (*get_export)(uint32_t id);
    const void *info;
};

typedef int nvtx_initialize_extension(struct nvtx_extension *extension);

enum { NVTX_EXTENSION_PAYLOAD = 2 };
enum { NVTX_DOMAIN_IS_ENABLED = 7 }; /* of that extension */

enum { NVTX_COLOR_ARGB = 1 };
enum nvtx_payload_type {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64 = 2,
    NVTX_PAYLOAD_F64 = 3,
    NVTX_PAYLOAD_U32 = 4,
    NVTX_PAYLOAD_I32 = 5,
    NVTX_PAYLOAD_F32 = 6,
};
enum nvtx_message_type {
    NVTX_MESSAGE_ASCII = 1,
    NVTX_MESSAGE_WIDE = 2,
    NVTX_MESSAGE_REGISTERED = 3,
};

#endif
