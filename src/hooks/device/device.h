// SPDX-License-Identifier: Apache-2.0
/* What the hooks of devices (cupti, rocm) share; each is linked with its own copy. */
#ifndef IFG_HOOKS_DEVICE_DEVICE_H
#define IFG_HOOKS_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* memory.c: how much memory of a device the program has, and its pools; counters of the device. */
enum memory_class { MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_HOST, MEMORY_CLASSES };
struct memory_change {
    uint64_t ns; /* CLOCK_MONOTONIC */
    uint64_t address, bytes;
    uint32_t device;
    enum memory_class class;
    bool is_taken;
};
struct memory_pool {
    uint64_t ns;
    uint64_t address;    /* what it is known by */
    uint64_t size, used; /* UINT64_MAX: not known */
    uint32_t device;
    bool is_gone;
};
bool memory_begin(void); /* from nothing; false: there is no memory for it */
void memory_changed(const struct memory_change *change, uint64_t *patience_ns);
void memory_pool_changed(const struct memory_pool *pool, uint64_t *patience_ns);
/* What the program has is not known any more: records were lost, or it has too many pieces. */
void memory_lose(uint64_t ns, uint64_t *patience_ns);
/* The device, class and bytes of a piece that the program has; false: none is known. */
bool memory_find(uint64_t address, struct memory_change *out);
bool memory_is_lost(void);
void memory_end(uint64_t ns, uint64_t *patience_ns); /* nobody tells of any of it from now on */

/* names.c: locations of work by name. */
uint32_t names_location(const char *name, const char *what);

/* thread.c: one that takes no signals of the program, which does not wait for it either. */
bool device_thread_start(void *(*watch)(void *unused));

#endif
