// SPDX-License-Identifier: Apache-2.0
/*
 * Perfetto's protobuf in two parts: packets, sequences and tracks here and in perfetto_tracks.c,
 * the events of a trace in perfetto.c. Numbers of fields are those of Perfetto's .proto files.
 */
#ifndef IFG_EXPORT_PERFETTO_INTERNAL_H
#define IFG_EXPORT_PERFETTO_INTERNAL_H

#include <zstd.h>

#include "base/strings.h"
#include "export/export_internal.h"
#include "base/proto.h"

enum packet_field {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_ZSTD = 133,
};

enum event_field {
    EVENT_CATEGORY_IIDS = 3,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK_UUID = 11,
    EVENT_NAME = 23,
    EVENT_SOURCE_IID = 34,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW_IDS = 47,
    EVENT_LAST_FLOW_IDS = 48,
    EVENT_CORRELATION_ID = 52,
};

enum event_type { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

enum interned_field {
    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_SOURCES = 4,
};

enum annotation_field {
    ANNOTATION_NAME_IID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,
};

/* Interned again whenever a sequence starts over. */
enum category_iid {
    CAT_ZONE = 1,
    CAT_ML,
    CAT_OP,
    CAT_STAGE,
    CAT_ASYNC,
    CAT_MESSAGE,
    CAT_FRAME,
    CAT_DEVICE,
    CAT_DRIVER,
    CATS
};
enum key_iid { KEY_MODEL = 1, KEY_FUNCTION, KEY_CATEGORY, KEY_UNFINISHED, KEY_LEVEL, KEY_ID, KEYS };

enum track_kind {
    TRACK_PROCESS = 1,
    TRACK_THREAD,
    TRACK_ML,
    TRACK_MODEL,
    TRACK_FUNCTION, /* one for each thread; the same name makes them one row */
    TRACK_COUNTER,
    TRACK_ASYNC,   /* one for each span at a time, likewise */
    TRACK_OVERLAP, /* slices that do not nest, likewise */
    TRACK_STATE,   /* whether a thread runs */
};

static inline uint64_t track_uuid(enum track_kind kind, uint64_t a, uint64_t b)
{
    return (uint64_t)kind << 58 | a << 29 | b;
}

/* Tracks side by side, for spans that may overlap: each span goes where the one before has ended.
 */
struct lane {
    uint64_t end_ns;
    uint32_t number;
    uint32_t generation; /* in which its descriptor was written */
};

struct lanes {
    struct lane *items; /* a heap by end */
    size_t count;
    size_t capacity;
};

#define PERFETTO_KEYS 512

/* The name of an attribute. */
struct perfetto {
    struct export_job *job;
    const struct timeline *timeline;
    struct export_ids ids;
    struct export_flows flows;
    struct export_launches launches;
    struct export_texts starts; /* per location: what is the same in each begin event */
    uint32_t *same_names;

    struct ifg_bytes packet;
    struct ifg_bytes event;
    struct ifg_bytes interned;
    struct ifg_bytes part;
    struct ifg_bytes inner;
    struct ifg_bytes batch; /* packets that wait for compression */
    struct ifg_bytes compressed;
    ZSTD_CCtx *zstd;
    bool failed;

    uint32_t sequence;
    uint64_t default_track;
    uint32_t generation;
    uint64_t since_reset; /* bytes */
    uint32_t
        *location_seen; /* generation in which a location's name was interned, a function's... */
    uint32_t *function_seen;
    uint32_t *counter_seen;
    struct ifg_strings keys;
    uint32_t key_seen[PERFETTO_KEYS]; /* in which generation */
    bool described;
    uint64_t overlapping;
    uint64_t no_numbers;
    uint64_t flows_left_out; /* points */
};

/* Starts packet and event over; the packet gets time, sequence and flags. */
void perfetto_packet_begin(struct perfetto *p, uint64_t ns);

/* Writes packet, with the event and what was interned if there is any. */
void perfetto_packet_end(struct perfetto *p);
void perfetto_flush(struct perfetto *p);

/* A sequence of packets whose events lie on default_track unless they say otherwise. Forgets what
 * was interned, and writes the descriptors of processes, threads and models once more. */
void perfetto_sequence(struct perfetto *p, uint32_t sequence, uint64_t default_track);

/* The same again if much was written since: so that whatever part of a file is left can be read.
 * Only between packets. */
void perfetto_refresh(struct perfetto *p);

void perfetto_clock(struct perfetto *p);
void perfetto_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name);
void perfetto_counter_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name,
                            bool bytes);

/* Between packet_begin and packet_end. */
void perfetto_intern_location(struct perfetto *p, uint32_t location);

/* The same for an attribute's name; 0 if there are too many of them. */
uint32_t perfetto_intern_key(struct perfetto *p, const char *name);

/* perfetto_samples.c */
enum ifg_status perfetto_samples(struct perfetto *p, uint32_t sequence);

/* states.c */
void perfetto_states(struct perfetto *p, uint32_t sequence);

/* NULL if memory is short. */
struct lane *perfetto_lane(struct lanes *lanes, uint64_t start_ns, uint64_t end_ns);

#endif
