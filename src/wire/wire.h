// SPDX-License-Identifier: Apache-2.0
/*
 * What the watched process and the recorder share: one region of memory per process.
 *
 *   control page  who I am, who records me, is recording on
 *   ring states   one word per ring: free, in use, its thread has gone
 *   definitions   an append-only log: locations, models; kept for the life of the process, so that
 *                 a recorder that comes late, or a second one, learns everything
 *   rings         fixed places of five sizes; each has a header page (indices, the stack of open
 *                 zones) and a power of two of 16-byte slots
 *
 * The region is 64 MiB of address space and sparse: only what is used costs memory, and it cannot
 * grow. Each ring has one producer (its thread, and the signal handlers that interrupt it) and one
 * consumer. Either side may die at any instruction; the other side never waits for it and never
 * trusts it: every index and length that comes out of this memory is checked before use.
 *
 * Both sides must agree on every byte here: a change of layout is a change of IFG_WIRE_VERSION.
 */
#ifndef IFG_WIRE_WIRE_H
#define IFG_WIRE_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define IFG_WIRE_MAGIC   0x31657269774746ffull /* ff "FGwire1" */
#define IFG_WIRE_VERSION 1u
#define IFG_WIRE_NAME    "inferogram" /* the memfd's name: /memfd:inferogram in /proc/PID/fd */

#define IFG_WIRE_PAGE 4096u
#define IFG_WIRE_SLOT 16u

/* Names in the environment. */
#define IFG_ENV_SESSION "IFG_SESSION" /* PID:FLAGS:DIRECTORY of the recorder that launched us */
#define IFG_ENV_WAIT    "IFG_WAIT"    /* record from the start, wait at exit to be drained */
#define IFG_ENV_TIMEOUT "IFG_WAIT_TIMEOUT" /* seconds, default 30 */
#define IFG_ENV_DEBUG   "IFG_DEBUG"        /* say on stderr what the library does */
#define IFG_ENV_OFF     "IFG_OFF"          /* do nothing at all */
#define IFG_ENV_CLOCK   "IFG_CLOCK"        /* "monotonic": do not use the CPU's counter */
#define IFG_ENV_PROFILE "IFG_PROFILE"      /* profiling handles: src/handles/command.h */
#define IFG_ENV_OPS     "IFG_OPS" /* hooks: operators of every Nth inference; not set: none */

#define IFG_ENV_ANNOTATIONS "IFG_ANNOTATIONS" /* domains of NVTX and ITT; not set: all */
#define IFG_ENV_NVTX_NEXT   "IFG_NVTX_NEXT"   /* injection library configured before ours */
#define IFG_ENV_ITT_NEXT    "IFG_ITT_NEXT"    /* the same for ITT */

/* ---- rings --------------------------------------------------------------------------------------
 */

/* One finished zone is one slot. location < 2^31; the top bit marks a longer record. */
struct ifg_wire_zone {
    uint64_t start;
    uint32_t duration;
    uint32_t location;
};

/* The first slot of a longer record; `slots` counts this one too. The rest is payload. The slots of
 * a record may wrap around the end of the ring like any others. */
struct ifg_wire_record {
    uint64_t ticks;
    uint32_t reference;
    uint32_t tag; /* IFG_WIRE_LONG | kind << 16 | slots */
};

#define IFG_WIRE_LONG           0x80000000u
#define IFG_WIRE_RECORD_SLOTS   128u /* the longest record: 2 KiB */
#define IFG_WIRE_TAG(kind, n)   (IFG_WIRE_LONG | (uint32_t)(kind) << 16 | (uint32_t)(n))
#define IFG_WIRE_TAG_KIND(tag)  (((tag) & ~IFG_WIRE_LONG) >> 16)
#define IFG_WIRE_TAG_SLOTS(tag) ((tag)&0xffffu)

enum ifg_wire_kind {
    IFG_WIRE_LONG_ZONE = 1,   /* ticks = start, reference = location; u64 duration */
    IFG_WIRE_MESSAGE = 2,     /* reference = level; u32 length, text */
    IFG_WIRE_COUNTER = 3,     /* reference = location; f64 */
    IFG_WIRE_ASYNC_BEGIN = 4, /* reference = location; u64 id */
    IFG_WIRE_ASYNC_END = 5,
    IFG_WIRE_ALLOC = 6,     /* reference = location; u64 address, u64 bytes */
    IFG_WIRE_FREE = 7,      /* reference = location; u64 address */
    IFG_WIRE_FRAME = 8,     /* reference = location */
    IFG_WIRE_ATTRIBUTE = 9, /* ticks = start of the zone, reference = its location; struct below */
    IFG_WIRE_FLOW_BEGIN = 10, /* reference = location; u64 id */
    IFG_WIRE_FLOW_STEP = 11,
    IFG_WIRE_FLOW_END = 12,
    IFG_WIRE_CALL = 13, /* of a device's driver; reference = location; u64 duration, correlation */
    IFG_WIRE_WORK = 14, /* of a device: ticks = start, CLOCK_MONOTONIC ns; struct ifg_wire_work */
    IFG_WIRE_WAIT = 15, /* for a device; the same */
    IFG_WIRE_MEMORY = 16, /* of a device, taken or given back; the same */
    IFG_WIRE_LEVEL = 17,  /* a counter of a device: ticks as above; struct ifg_wire_level */
};

/* What a device did. Parts that are not known, or make no sense, are 0. */
struct ifg_wire_work {
    uint64_t duration_ns;
    uint64_t bytes; /* copied, set, allocated; UINT64_MAX: not known */
    uint64_t graph_node;
    uint32_t graph;
    uint32_t correlation;
    uint32_t device, context, stream; /* numbers in the process; UINT32_MAX: no stream */
    uint32_t grid[3], block[3];       /* of a kernel, from here on; grid[0] is 0: it is none */
    uint32_t registers;               /* of a thread */
    uint32_t static_shared, dynamic_shared; /* bytes */
};

/* What a counter of a device is from then on. */
struct ifg_wire_level {
    double value;
    uint32_t device;
    uint32_t reserved;
};

struct ifg_wire_attribute {
    uint8_t type; /* enum trace_value_type */
    uint8_t key_bytes;
    uint16_t value_bytes; /* strings; numbers are 8 bytes */
};                        /* then the key, then the value, unaligned */

struct ifg_wire_open {
    uint64_t start;
    uint32_t location; /* 0: it has ended, and only its place is taken */
    uint32_t reserved;
};

/* Deeper zones are recorded, but not visible while they are open. */
#define IFG_WIRE_OPEN_MAX 240u

struct ifg_wire_ring {
    /* written by the producer */
    _Alignas(64) uint64_t head; /* slots ever published */
    uint64_t limit;             /* head may not pass this before somebody looks at tail again */
    uint64_t dropped;           /* records lost because the ring was full */
    uint32_t depth;             /* open zones */
    uint32_t mask;              /* slots - 1 */
    uint64_t unbalanced;        /* zones whose end never came, or came twice */
    uint32_t tid;
    uint32_t generation; /* how many threads have had this ring */
    uint32_t populated;  /* slots whose memory is there; the rest comes as the first lap goes */
    uint32_t writing;    /* records begun and not published: one, and those of signal handlers */
    uint64_t taken;      /* slots ever handed out; head follows when they are written */

    /* written by the consumer */
    _Alignas(64) uint64_t tail; /* slots ever consumed */
    uint64_t dropped_before;    /* of `dropped`: what this recorder has nothing to do with */
    uint64_t unbalanced_before; /* the same of `unbalanced` */
    uint64_t prepared;          /* slots that the recorder has given memory to */
    uint64_t reserved_consumer[4];

    /* written by the producer, rarely */
    _Alignas(64) char name[32]; /* the thread's name, if the program gave it one */
    uint64_t reserved_rare[4];
    uint64_t reserved_line[8];

    struct ifg_wire_open open[IFG_WIRE_OPEN_MAX];
};

static_assert(sizeof(struct ifg_wire_zone) == IFG_WIRE_SLOT, "a zone is one slot");
static_assert(sizeof(struct ifg_wire_record) == IFG_WIRE_SLOT, "a record begins with one slot");
static_assert(sizeof(struct ifg_wire_work) == 5 * IFG_WIRE_SLOT, "layout");
static_assert(sizeof(struct ifg_wire_level) == IFG_WIRE_SLOT, "layout");
static_assert(offsetof(struct ifg_wire_ring, tail) == 64, "consumer has its own cache line");
static_assert(sizeof(struct ifg_wire_ring) == IFG_WIRE_PAGE, "a ring header is one page");

/* The places for rings. The first threads get room for a burst of a few hundred thousand zones; the
 * thousandth still gets a ring. A ring is given back when its thread ends. */
#define IFG_WIRE_CLASSES 5u
#define IFG_WIRE_RINGS   1110u

struct ifg_wire_class {
    uint32_t count;
    uint32_t slots;
};

static inline const struct ifg_wire_class *ifg_wire_classes(void)
{
    static const struct ifg_wire_class classes[IFG_WIRE_CLASSES] = {
        { 2, 512u << 10 }, { 4, 128u << 10 },  { 16, 32u << 10 },
        { 64, 8u << 10 },  { 1024, 1u << 10 },
    };
    return classes;
}

/* ---- definitions --------------------------------------------------------------------------------
 */

/* Space is reserved by adding to definitions_reserved; `bytes` is stored next, so that a reader can
 * step over an entry whose writer died; `kind` is stored last, with release, and publishes the
 * entry. */
struct ifg_wire_definition {
    uint32_t bytes; /* of the whole entry, a multiple of 8 */
    uint32_t kind;
};

enum ifg_wire_definition_kind {
    IFG_WIRE_DEFINE_LOCATION = 1,   /* struct ifg_wire_location, then name, function, file */
    IFG_WIRE_DEFINE_MODEL = 2,      /* struct ifg_wire_model, then six strings */
    IFG_WIRE_DEFINE_PROPERTY = 3,   /* struct ifg_wire_property, then key, value */
    IFG_WIRE_DEFINE_INSTRUMENT = 4, /* the same: `model` is the state; name, reason */
    IFG_WIRE_DEFINE_FILE = 5,       /* the same: kind, path; the recorder takes the file over */
    IFG_WIRE_DEFINE_DEVICE = 6,     /* the same: `model` is its number; name, id */
};

#define IFG_WIRE_STRING_MAX 1024u

struct ifg_wire_location {
    uint32_t id;
    uint8_t kind;     /* enum trace_location_kind */
    uint8_t category; /* enum trace_category */
    uint16_t string_bytes[3];
    uint16_t reserved;
    uint32_t color;
    uint32_t line;
    uint32_t model;
};

struct ifg_wire_model {
    uint32_t id;
    uint16_t string_bytes[6]; /* name, path, content id, runtime, requested, actual devices */
};

struct ifg_wire_property {
    uint32_t model;
    uint16_t string_bytes[2];
};

static_assert(sizeof(struct ifg_wire_location) == 28, "layout");
static_assert(sizeof(struct ifg_wire_model) == 16, "layout");
static_assert(sizeof(struct ifg_wire_property) == 8, "layout");

/* ---- the control page ---- */

enum ifg_wire_ring_state {
    IFG_WIRE_FREE_RING = 0,
    IFG_WIRE_ACTIVE = 1,
    IFG_WIRE_EXITED = 2, /* its thread has gone; the consumer drains it and frees it */
};

#define IFG_WIRE_SESSION_MAX 192u
#define IFG_WIRE_PROGRAM_MAX 64u

/* What a library can do; a recorder of a later version must not expect more. */
#define IFG_WIRE_CAN_CONFINE 1u /* makes no system calls in a program that confined itself */
#define IFG_WIRE_IS_MEMFD    2u /* the region needs no file system: its memory is always there */

#define IFG_WIRE_RECORDING_ON   1u
#define IFG_WIRE_RECORDING_ENDS 2u /* on, but what is held back is to be handed out now */

/* Of what follows devices in the program, and hands out their work a little later. */
enum ifg_wire_devices {
    IFG_WIRE_DEVICES_NONE = 0,
    IFG_WIRE_DEVICES_FOLLOWED = 1,
    IFG_WIRE_DEVICES_TOLD = 2, /* all of it, after IFG_WIRE_RECORDING_ENDS */
};

struct ifg_wire_control {
    uint64_t magic; /* stored last, with release */
    uint32_t version;
    uint32_t pid;
    uint64_t region_bytes;
    uint32_t tick_source; /* enum ifg_tick_source */
    uint32_t parent_pid;  /* for a process that is gone before anybody looked at it */
    uint64_t start_ticks; /* when the library started in this process */
    uint64_t start_ns;    /* CLOCK_MONOTONIC at the same moment */
    char library_version[16];

    /* written by the recorder */
    _Alignas(64) uint32_t recording; /* 0 off; anything else on: IFG_WIRE_RECORDING_... */
    uint32_t lossless;               /* wait instead of dropping */
    uint32_t recorder_pid;
    uint32_t drained;         /* counts complete drains; a program that waits at exit watches it */
    uint64_t recorder_pid_ns; /* 0: recorder_pid means something here; else another namespace */
    uint32_t confined;        /* seen from outside: no system calls, please */
    uint32_t rings_prepared;  /* so many rings, from the first on, have memory (ring->prepared) */
    uint32_t definitions_prepared; /* bytes of the log that have */
    uint32_t device_less;          /* devices cost too much: follow less of them */
    uint64_t reserved1[3];
    char session[IFG_WIRE_SESSION_MAX]; /* directory where children of a fork put their regions */

    /* written by the program */
    _Alignas(64) uint64_t definitions_reserved; /* bytes handed out */
    uint64_t definitions_lost;                  /* entries that found the log full */
    uint64_t ringless_dropped;                  /* records of threads that found no ring */
    uint32_t next_location;
    uint32_t next_model;
    uint32_t rings_used;  /* high-water mark of ring indices, so that a scan is short */
    uint32_t waiting;     /* the program has ended and waits to be drained */
    uint32_t abilities;   /* IFG_WIRE_CAN_... */
    uint32_t confinement; /* enum ifg_confinement: what it did to itself, as far as we know */
    uint32_t devices;     /* enum ifg_wire_devices */
    uint32_t reserved2;
    uint64_t device_calls;      /* of drivers, that were written */
    uint64_t device_call_ticks; /* what writing so many of them took: */
    uint64_t device_calls_timed;
    uint64_t device_read_ns;            /* CPU time that work took to be read and written */
    char program[IFG_WIRE_PROGRAM_MAX]; /* for a process that is gone before anybody looked at it */
};

static_assert(sizeof(struct ifg_wire_control) <= IFG_WIRE_PAGE, "control fits its page");
static_assert(offsetof(struct ifg_wire_control, recording) == 64, "layout");

#define IFG_WIRE_STATES_OFFSET      IFG_WIRE_PAGE
#define IFG_WIRE_DEFINITIONS_OFFSET (3u * IFG_WIRE_PAGE)
#define IFG_WIRE_DEFINITIONS_BYTES  (3584u << 10)
#define IFG_WIRE_RINGS_OFFSET       (IFG_WIRE_DEFINITIONS_OFFSET + IFG_WIRE_DEFINITIONS_BYTES)

static_assert(IFG_WIRE_RINGS * sizeof(uint32_t) <= 2 * IFG_WIRE_PAGE, "states fit their pages");

/* Where ring `index` lies and how many slots it has. index < IFG_WIRE_RINGS. */
static inline size_t ifg_wire_ring_offset(uint32_t index, uint32_t *out_slots)
{
    const struct ifg_wire_class *classes = ifg_wire_classes();
    size_t offset = IFG_WIRE_RINGS_OFFSET;
    uint32_t c;

    for (c = 0; c < IFG_WIRE_CLASSES - 1 && index >= classes[c].count; c++) {
        offset +=
            (size_t)classes[c].count * (IFG_WIRE_PAGE + (size_t)classes[c].slots * IFG_WIRE_SLOT);
        index -= classes[c].count;
    }
    *out_slots = classes[c].slots;
    return offset + (size_t)index * (IFG_WIRE_PAGE + (size_t)classes[c].slots * IFG_WIRE_SLOT);
}

static inline size_t ifg_wire_region_bytes(void)
{
    uint32_t slots;
    size_t last = ifg_wire_ring_offset(IFG_WIRE_RINGS - 1, &slots);

    return last + IFG_WIRE_PAGE + (size_t)slots * IFG_WIRE_SLOT;
}

static inline uint32_t *ifg_wire_states(void *region)
{
    return (uint32_t *)((char *)region + IFG_WIRE_STATES_OFFSET);
}

static inline struct ifg_wire_zone *ifg_wire_slots(struct ifg_wire_ring *ring)
{
    return (struct ifg_wire_zone *)((char *)ring + IFG_WIRE_PAGE);
}

#endif
