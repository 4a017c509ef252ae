// SPDX-License-Identifier: Apache-2.0
/* How a timeline is put together; shared by the files of this room while they build one. */
#ifndef IFG_TIMELINE_INTERNAL_H
#define IFG_TIMELINE_INTERNAL_H

#include <pthread.h>

#include "base/strings.h"
#include "timeline/timeline.h"

struct timeline_allocations;
struct timeline_kept_devices;
struct timeline_kept_inputs;
struct timeline_profile;
struct trace_sample;

/* From a process's location ids to positions in the location table. */
struct location_map {
    uint32_t *by_id; /* NULL: ids are too far apart; search instead */
    uint32_t limit;
};

struct timeline_builder {
    struct timeline timeline; /* what the user gets; first, so that one can be cast to the other */
    const struct trace_tables *tables;
    unsigned workers;
    struct ifg_strings strings; /* live as long as the timeline */
    struct location_map *maps;  /* per process */

    /* the columns, writable */
    uint64_t *start_ns;
    uint32_t *duration_ns;
    uint32_t *location;
    uint16_t *depth;
    size_t column_slots; /* allocated */
    struct timeline_thread *threads;
    struct timeline_model_function *functions;

    pthread_mutex_t profile_lock;
    struct timeline_profile *profile; /* made when first asked for */
    struct timeline_allocations *heap;
    struct timeline_kept_inputs *inputs;
    struct timeline_kept_devices *devices;
};

/* A point of a flow, before it is known to which flow it belongs. */
struct taken_flow_point {
    struct timeline_flow_point point;
    const char *name; /* interned: the same name is the same pointer */
    uint32_t process; /* TIMELINE_NONE: any */
};

uint32_t timeline_builder_location(const struct timeline_builder *builder, uint32_t process,
                                   uint32_t location);
uint32_t timeline_builder_clock(const struct timeline_builder *builder, uint32_t thread);

/* Each does one part and returns IFG_NO_MEMORY if it cannot. */
enum ifg_status timeline_build_tables(struct timeline_builder *builder);
enum ifg_status timeline_build_slices(struct timeline_builder *builder);

/* Gives models of the same name and of different files names that tell them apart. */
enum ifg_status timeline_name_models(struct timeline_builder *builder,
                                     struct timeline_model *models, size_t count);

/* Sorts the slices of one block by start, the longer ones first. False: no memory. */
bool timeline_order_slices(struct timeline_builder *builder, size_t first, size_t end);

/* Depths of one thread from its times alone: late slices lie anywhere, and some overlap. */
enum ifg_status timeline_walk_depths(struct timeline_builder *builder,
                                     const struct timeline_thread *thread);

enum ifg_status timeline_build_events(struct timeline_builder *builder);
enum ifg_status timeline_build_flows(struct timeline_builder *builder,
                                     struct taken_flow_point *points, size_t count);

/* The samples' own: functions of the program (false: no memory), and the end. Accepts NULL. */
bool timeline_profile_functions(struct timeline_profile *profile);
void timeline_profile_destroy(struct timeline_profile *profile);
void timeline_heap_destroy(struct timeline_allocations *heap);
void timeline_inputs_destroy(struct timeline_kept_inputs *kept);
void timeline_devices_destroy(struct timeline_kept_devices *kept);

struct trace_switch;
struct timeline_thread_state;
/* The states of one thread, whose changes are order[0 .. count), by time; returns how many there
 * are, at most count. The last change begins a state whose end was not seen: it is left out. */
size_t timeline_profile_walk_states(const struct trace_switch *switches, const uint32_t *order,
                                    size_t count, uint32_t thread,
                                    struct timeline_thread_state *out);

/* Threads, order and join of profile->sample_count moments that are like samples, into an empty
 * profile. False: no memory. */
bool timeline_profile_join(const struct timeline *timeline, const struct trace_sample *samples,
                           struct timeline_profile *profile);

/* Columns are large: straight from the kernel, in huge pages where it has them. */
void *timeline_column_alloc(size_t count, size_t size);
void timeline_column_free(void *column, size_t count, size_t size);

#endif
