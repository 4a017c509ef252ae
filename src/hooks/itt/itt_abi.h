// SPDX-License-Identifier: Apache-2.0
/*
 * ITT as a collector sees it: the structures that a program's static part hands over. Written down
 * from the published interface; nothing of Intel's is needed to build this.
 */
#ifndef IFG_HOOKS_ITT_ABI_H
#define IFG_HOOKS_ITT_ABI_H

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* A function of the interface: where the program keeps its pointer, and what stands there while
 * nobody collects. The list ends with a name of NULL; functions are found by their names, since
 * every release has more of them. */
struct itt_api {
    const char *name;
    void **function;
    void *initial;
    void *none;
    int group;
};

struct itt_id {
    unsigned long long words[3];
};

/* These two belong to whoever made them, and are read by everybody. */
struct itt_domain {
    volatile int flags; /* 0: the program does not call */
    const char *name;
    void *name_wide;
    int extra1;
    void *extra2;
    struct itt_domain *next;
};

struct itt_string {
    const char *text;
    void *text_wide;
    int extra1;
    void *extra2;
    struct itt_string *next;
};

struct itt_global {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long state[3];
    pthread_mutex_t mutex;
    void *library;
    void *error_handler;
    const char **path;
    struct itt_api *functions;
    struct itt_global *next;
    void *threads;
    struct itt_domain *domains; /* made before there was a collector */
    struct itt_string *strings;
};

#define ITT_MAGIC_0 0xedu
#define ITT_MAGIC_1 0xabu

#if defined(__x86_64__)
static_assert(offsetof(struct itt_global, functions) == 120, "layout");
#endif
static_assert(sizeof(struct itt_api) == 40, "layout");

enum itt_type {
    ITT_U64 = 1,
    ITT_S64 = 2,
    ITT_U32 = 3,
    ITT_S32 = 4,
    ITT_U16 = 5,
    ITT_S16 = 6,
    ITT_FLOAT = 7,
    ITT_DOUBLE = 8,
};

#endif
