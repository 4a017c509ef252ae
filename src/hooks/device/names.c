// SPDX-License-Identifier: Apache-2.0
/*
 * Locations of work. A kernel's name is a text of the vendor's library that may be gone later, so
 * that it is found by what it says. The table is bounded: kernels that find it full share one
 * location.
 */
#include <pthread.h>
#include <string.h>

#include "client/device.h"
#include "hooks/device/device.h"

#define SLOTS         16384u /* a power of two */
#define MOST          12000u
#define NAME_MAX_READ (2 * IFG_WIRE_STRING_MAX)

static struct {
    uint64_t hash; /* 0: free */
    uint32_t location;
} slots[SLOTS];
static uint32_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Two different names with the same hash would be one: with 64 bits that does not happen. */
static uint64_t hash_of(const char *text, uint64_t hash)
{
    size_t left = strnlen(text, NAME_MAX_READ);

    hash ^= left;
    while (left) {
        size_t part = left < 8 ? left : 8;
        uint64_t word = 0;

        memcpy(&word, text, part);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        text += part;
        left -= part;
    }
    return hash;
}

uint32_t names_location(const char *name, const char *what)
{
    uint64_t hash = hash_of(name, hash_of(what, 0x51ed270b7f4a7c15u)) | 1;
    uint32_t at = (uint32_t)(hash >> 20) & (SLOTS - 1);
    uint32_t location;

    pthread_mutex_lock(&lock);
    while (slots[at].hash && slots[at].hash != hash)
        at = (at + 1) & (SLOTS - 1);
    if (!slots[at].hash && count >= MOST) {
        static uint32_t other;

        if (!other)
            other = ifg_device_location(0, "(more names than fit)", what);
        location = other;
        pthread_mutex_unlock(&lock);
        return location;
    }
    if (!slots[at].hash) {
        slots[at].hash = hash;
        slots[at].location = ifg_device_location(0, name, what);
        count++;
    }
    location = slots[at].location;
    pthread_mutex_unlock(&lock);
    return location;
}
