// SPDX-License-Identifier: Apache-2.0
/*
 * The numbers of docs/trace-format.md. Nothing outside this room includes file offsets; the enums
 * are shared because they are the vocabulary of a trace.
 */
#ifndef IFG_TRACE_FORMAT_H
#define IFG_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAJOR 1
#define TRACE_MINOR 4

/* Block limits: a block is small enough to lose, large enough to compress. */
#define TRACE_BLOCK_LIMIT 16384u /* zones or events */
#define TRACE_PAYLOAD_MAX (16u << 20)
#define TRACE_COLUMNS_MAX 16u
#define TRACE_OPEN_MAX    1024u

enum trace_block_type {
    TRACE_BLOCK_DEFINITIONS = 1,
    TRACE_BLOCK_CLOCK = 2,
    TRACE_BLOCK_ZONES = 3,
    TRACE_BLOCK_EVENTS = 4,
    TRACE_BLOCK_FOOTER = 5,
    TRACE_BLOCK_MODULES = 6,
    TRACE_BLOCK_FRAMES = 7,
    TRACE_BLOCK_STACKS = 8,
    TRACE_BLOCK_SAMPLES = 9,
    TRACE_BLOCK_SWITCHES = 10,
    TRACE_BLOCK_SYMBOLS = 11,
    TRACE_BLOCK_CODE = 12,
    TRACE_BLOCK_SOURCE = 13,
    TRACE_BLOCK_ALLOCATIONS = 14,
    TRACE_BLOCK_THREAD_NAMES = 15,
    TRACE_BLOCK_CLOCKED_ZONES = 16,  /* of streams with a clock of their own; read as ZONES, */
    TRACE_BLOCK_CLOCKED_EVENTS = 17, /* and these as EVENTS */
    TRACE_BLOCK_INPUT_BYTES = 18,
    TRACE_BLOCK_INPUTS = 19,
    TRACE_BLOCK_TYPES = 20,
};

enum trace_definition_kind {
    TRACE_DEF_PROCESS = 1,
    TRACE_DEF_PROCESS_END = 2,
    TRACE_DEF_THREAD = 3,
    TRACE_DEF_LOCATION = 4,
    TRACE_DEF_MODEL = 5,
    TRACE_DEF_MODEL_PROPERTY = 6,
    TRACE_DEF_CLOCK = 7,
    TRACE_DEF_INSTRUMENT = 8,
    TRACE_DEF_FACT = 9,
    TRACE_DEF_LOSS = 10,
    TRACE_DEF_STREAM_CLOCK = 11,
    TRACE_DEF_DEVICE_STREAM = 12,
};

enum trace_process_fate {
    TRACE_FATE_UNKNOWN = 0,
    TRACE_FATE_EXITED = 1,
    TRACE_FATE_KILLED = 2,
    TRACE_FATE_EXEC = 3,
    TRACE_FATE_RUNNING = 4,
};

enum trace_location_kind {
    TRACE_LOCATION_ZONE = 1,
    TRACE_LOCATION_ML = 2,
    TRACE_LOCATION_OP = 3,
    TRACE_LOCATION_STAGE = 4,
    TRACE_LOCATION_COUNTER = 5,
    TRACE_LOCATION_POOL = 6,
    TRACE_LOCATION_FRAME = 7,
    TRACE_LOCATION_ASYNC = 8,
    TRACE_LOCATION_FLOW = 9,
    TRACE_LOCATION_DEVICE = 10, /* work of a device; its function is one of TRACE_WORK_... */
    TRACE_LOCATION_DRIVER = 11, /* a call of a device's driver; likewise */
    TRACE_LOCATION_KINDS = 12,
};

enum trace_category {
    TRACE_CATEGORY_NONE = 0,
    TRACE_CATEGORY_PREPARE_EP = 1,
    TRACE_CATEGORY_SPECIALIZATION = 2,
    TRACE_CATEGORY_LOAD = 3,
    TRACE_CATEGORY_SETUP = 4,
    TRACE_CATEGORY_INFERENCE = 5,
    TRACE_CATEGORIES = 6,
};

enum trace_event_kind {
    TRACE_EVENT_MESSAGE = 1,
    TRACE_EVENT_COUNTER = 2,
    TRACE_EVENT_ASYNC_BEGIN = 3,
    TRACE_EVENT_ASYNC_END = 4,
    TRACE_EVENT_ALLOC = 5,
    TRACE_EVENT_FREE = 6,
    TRACE_EVENT_FRAME = 7,
    TRACE_EVENT_ATTRIBUTE = 8,
    TRACE_EVENT_FLOW_BEGIN = 9,
    TRACE_EVENT_FLOW_STEP = 10,
    TRACE_EVENT_FLOW_END = 11,
};

/* Of a point of a flow, behind its id. */
enum trace_flow_flag {
    TRACE_FLOW_NEXT = 1,  /* belongs to the slice that begins next on its thread */
    TRACE_FLOW_WORLD = 2, /* the id means the same in every process */
};

enum trace_value_type {
    TRACE_VALUE_STRING = 1,
    TRACE_VALUE_SIGNED = 2,
    TRACE_VALUE_F64 = 3,
    TRACE_VALUE_UNSIGNED = 4,
};

enum trace_clock_kind {
    TRACE_CLOCK_TSC = 1,
    TRACE_CLOCK_MONOTONIC = 2,
    TRACE_CLOCK_CNTVCT = 3,
    TRACE_CLOCK_DEVICE = 4, /* of a GPU or whatever else counts on its own */
    TRACE_CLOCK_KINDS = 5,
};

enum trace_instrument_state {
    TRACE_INSTRUMENT_OFF = 0,
    TRACE_INSTRUMENT_ON = 1,
    TRACE_INSTRUMENT_UNAVAILABLE = 2,
};

/* Definitions that are the same on the way in and out. Written, strings may be NULL; read, they
 * belong to the reader and are never NULL. */
struct trace_location {
    uint32_t process;
    uint32_t id;
    enum trace_location_kind kind;
    enum trace_category category;
    uint32_t color;
    uint32_t line;
    uint32_t model;
    const char *name;
    const char *function;
    const char *file;
};

/* A thread of a trace that is a stream of a device. */
struct trace_device_stream {
    uint32_t thread;
    uint32_t device;  /* its number in the process */
    uint32_t context; /* 0: there is no such notion */
    uint32_t stream;
    const char *api;       /* what drives it: CUDA */
    const char *name;      /* of the device: NVIDIA H200 */
    const char *device_id; /* that which is the same in every process */
};

struct trace_model {
    uint32_t process;
    uint32_t id;
    const char *name;
    const char *path;
    const char *content_id;
    const char *runtime;
    const char *requested_devices;
    const char *actual_devices;
};

#endif
