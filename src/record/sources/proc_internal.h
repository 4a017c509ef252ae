// SPDX-License-Identifier: Apache-2.0
/* The state of a watch for resources, shared by proc.c (the loop's side) and proc_looks.c (the
 * threads that look). */
#ifndef IFG_RECORD_SOURCES_PROC_INTERNAL_H
#define IFG_RECORD_SOURCES_PROC_INTERNAL_H

#include <pthread.h>

#include "collect/proc/proc.h"
#include "collect/streams.h"
#include "record/source.h"

#define SECOND_NS  1000000000ull
#define NAMES_KEPT 256u /* of processes, for those that are over soon */

struct value {
    uint64_t ns, ticks; /* the same moment on both clocks */
    uint32_t pid;
    char name[PROC_NAME_BYTES];
    double value;
};

struct values {
    struct value *items;
    size_t count, capacity;
};

struct counter {
    char name[PROC_NAME_BYTES];
    uint32_t location;
};

/* Whose counters they are. */
struct owner {
    uint32_t pid;
    bool defined;   /* has a place in the trace */
    bool seen;      /* in the latest list */
    uint32_t known; /* process that somebody else defined, + 1 */
    uint32_t known_clock;
    bool ours;         /* defined here, because nobody else did */
    uint32_t process;  /* index in the trace */
    uint32_t clock;    /* of that process */
    uint64_t first_ns; /* of its values */
    struct thread_stream *thread;
    struct counter *locations;
    size_t location_count, location_capacity, hint;
    struct values held; /* until it is defined */
    char program[512];  /* when it was first seen */
};

struct process_name {
    uint32_t pid;
    char name[PROC_COMM_BYTES];
};

/* Resident memory has a thread of its own: other looks take milliseconds, and it comes every 10. */
struct resident_watch {
    pthread_t thread;
    bool running;
    bool has_looked;                /* guarded by the lock */
    struct proc_resident *resident; /* only the thread */
    uint64_t looks, gaps, longest_ns;
    uint64_t cpu_ns, wall_ns;              /* when it has ended */
    struct process_name names[NAMES_KEPT]; /* the latest of each; guarded by the lock */
    size_t name_count;
};

/* Devices have a thread of their own too: a driver takes milliseconds for an answer, or longer. */
struct device_watch {
    pthread_t thread;
    bool running;
    uint64_t looks, longest_ns; /* when it has ended */
    uint64_t cpu_ns;
};

struct resource_watch {
    struct recording *recording;
    pthread_t thread;
    bool running;
    uint64_t every_ns; /* 0: only resident memory */
    struct proc_collector *collector;
    struct resident_watch fast;
    struct device_watch devices;

    pthread_mutex_t looking; /* the collector, but for its devices */
    pthread_mutex_t lock;    /* the rest up to here */
    pthread_cond_t wake;
    bool stop;
    bool is_stuck; /* the thread for devices does not come back, and keeps all this */
    pid_t pids[PROC_PROCESSES_MAX];
    size_t pid_count;
    struct values queue;
    uint64_t lost;
    size_t too_many; /* processes */
    uint64_t last_look_ns;
    uint64_t cpu_ns;
    bool told;        /* what there is and what not, below */
    char words[1024]; /* of the instrument */
    char gpu[200], npu[200];
    struct proc_device_info infos[PROC_DEVICE_INFOS];
    size_t info_count;

    /* only the loop: */
    struct values taken;
    struct owner *owners;
    size_t owner_count, owner_capacity;
    bool reported;
    uint64_t next_take_ns, next_flush_ns;
};

/* When it was looked, on both clocks. */
struct moment {
    struct resource_watch *watch;
    uint64_t ns, ticks;
};

bool proc_push(struct values *values, const struct value *value, size_t most);
/* For struct proc_sink: puts a value of that moment into the queue. */
void proc_take_value(void *user, uint32_t pid, const char *name, double number);
void proc_take_time(void *user); /* the moment is now */
struct moment proc_moment(struct resource_watch *watch);

/* The threads: everything but devices, devices, and resident memory. */
void *proc_look_at_all(void *user);
void *proc_look_at_devices(void *user);
void *proc_look_at_memory(void *user);

#endif
