// SPDX-License-Identifier: Apache-2.0
/* The insides of a recorded process image, shared by target.c (life), drain.c (rings) and
 * definitions.c. */
#ifndef IFG_RECORD_TARGET_INTERNAL_H
#define IFG_RECORD_TARGET_INTERNAL_H

#include <sys/stat.h>

#include "base/ticks.h"
#include "collect/device/device.h"
#include "record/fault.h"
#include "record/target.h"
#include "wire/wire.h"

#define RING_CUT_MAX 16

/* A ring while one thread has it. */
struct ring_reader {
    struct ifg_wire_ring *ring;
    uint32_t slots;
    uint32_t generation;       /* 0: nobody has it */
    uint32_t ended_generation; /* whose thread has been dealt with; 0 before the first */
    uint32_t thread;           /* index in the trace */
    uint32_t tid;              /* as it calls itself */
    uint32_t shown_tid; /* as samples and others call it: not the same in another pid namespace */
    char name[32];
    struct trace_stream *stream;
    uint64_t tail; /* ours; the shared copy is only for the producer */
    uint64_t dropped;
    uint64_t head_now;  /* as seen at the beginning of a pass */
    uint64_t oldest_ns; /* when the oldest unwritten event was taken; 0 none */
    uint64_t open_written_ns;
    uint64_t open_signature; /* of the open zones that were written last */
    uint64_t idle_since_ns;
    struct trace_open_zone cut[RING_CUT_MAX]; /* those that were open when all was over */
    uint32_t cut_count;
};

/* A thread that has ended, for what is known of it later. */
struct ended_thread {
    uint32_t tid;
    uint32_t thread; /* index in the trace */
    uint64_t zones;
    uint64_t dropped;
};

/* A file that the process wants us to read. */
struct handed_file {
    uint32_t model;
    char name[128]; /* in the session's directory */
};

struct target {
    struct target *next;
    struct target_context *context;
    pid_t pid;
    int pidfd;
    int fd; /* holds the lock that makes us the only recorder */
    struct stat identity;
    uint64_t start_ns;
    struct ifg_wire_control *control;
    struct fault_guard guard;
    uint64_t start_ticks; /* of the library in that process; as it was when we came */
    uint32_t process;     /* index in the trace */
    uint64_t definitions_at;
    uint64_t stuck_at; /* an entry that is not published yet, and since when */
    uint64_t stuck_since_ns;
    bool program_ended; /* nobody will publish it any more */
    uint64_t definitions_lost_before;
    uint64_t ringless_before;
    uint64_t events;
    uint64_t lost_records;  /* nonsense found in rings */
    uint64_t ended_dropped; /* by threads that have ended */
    uint64_t unbalanced;
    uint32_t models;
    uint32_t threads;
    bool told_runtime;
    uint64_t inferences;
    uint32_t inference_first; /* locations of inferences: those that the bits tell, from here */
    uint32_t inference_span;  /* up to so many behind; 0: there are none */
    uint8_t *inference_bits;  /* of locations 0 .. INFERENCE_LOCATIONS - 1 */
    uint32_t ring_count;      /* readers that there are */
    size_t ring_capacity;
    struct ring_reader *rings;
    struct ended_thread *ended;
    size_t ended_count;
    size_t ended_capacity;
    struct device_cost cost_before, cost_seen;
    struct device_streams *devices; /* NULL: none has worked */
    struct handed_file *files;
    size_t file_count;
    size_t file_capacity;
    uint64_t files_lost;
    uint64_t ops_lost;
    bool seen_confined; /* from outside */
    bool told_confined;
    bool left_alone; /* nothing is recorded of it any more */
    bool definitions_given;
    uint64_t next_confined_look_ns;
    uint8_t ring_memory[IFG_WIRE_RINGS]; /* given to a confined program: 0 none, 1 some, 2 all */
};

/* The clock of its events in the trace. */
static inline uint32_t target_clock(const struct target *target)
{
    return target->control->tick_source == IFG_TICKS_MONOTONIC ? SINK_CLOCK_MONOTONIC
                                                               : SINK_CLOCK_COUNTER;
}

/* Locations that are added to a process must not meet those of its library. */
_Static_assert(IFG_WIRE_DEFINITIONS_BYTES / sizeof(struct ifg_wire_location) < SINK_LOCATIONS_ADDED,
               "the definition log has room for more locations");

#define CONFINED_INSTRUMENT "confined programs"

/* confined.c: why the process cannot be recorded without harm; NULL: it can. Before the first
 * event. */
const char *target_refuses(struct target *target);
/* While it is recorded: leaves it alone if need be, gives it memory that it cannot ask for. */
void target_watch_confinement(struct target *target, uint64_t now_ns);

/* Inferences at locations with higher numbers are not counted while they are recorded. */
#define INFERENCE_LOCATIONS (1u << 20)

/* 1 if the location is one of inferences. For almost all zones of a program this is one look. */
static inline uint64_t target_is_inference(const struct target *target, uint32_t location)
{
    if (__builtin_expect(location - target->inference_first >= target->inference_span, 1))
        return 0;
    return target->inference_bits[location >> 3] >> (location & 7) & 1;
}

/* target.c: those of the process. NULL: no memory. */
struct device_streams *target_devices(struct target *target);

/* definitions.c: passes on what was defined since the last call. */
void target_read_definitions(struct target *target, uint64_t now_ns);

/* handed_over_files.c */
bool target_note_file(struct target *target, uint32_t model, const char *kind, const char *path);
void target_note_ended(struct target *target, uint32_t tid, uint32_t thread, uint64_t zones,
                       uint64_t dropped);

/* drain.c */
void target_ring_count_dropped(struct ring_reader *reader);
void target_ring_drain(struct target *target, struct ring_reader *reader, uint64_t now_ns);
void target_ring_flush(struct target *target, struct ring_reader *reader, uint64_t now_ns,
                       bool final);

#endif
