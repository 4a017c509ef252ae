// SPDX-License-Identifier: Apache-2.0
/*
 * The program of probes, put into the kernel with nothing but bpf(2): the object file is part of
 * this program, so there is no need for a library that can read any.
 */
#ifndef IFG_COLLECT_PRIVILEGED_LOAD_H
#define IFG_COLLECT_PRIVILEGED_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loaded {
    int events, stacks, texts, namespaces, permitted, settings, counts, zeros; /* maps */
    int programs[3]; /* in the order of the steps: leave, enter, point */
    int execs;       /* a link: who executes a program is permitted no more */
    bool many;       /* one link for many probes: Linux 6.12 */
};

struct probe_settings;

/* 0, or an errno. Whatever was made stays open until the process ends. */
int load_program(struct loaded *out, uint64_t ring_bytes, const struct probe_settings *settings);

/* A link, or -1 and errno. Without loaded->many, one place. `path`: /proc/self/fd/N. */
int load_link(const struct loaded *loaded, unsigned step, pid_t pid, const char *path,
              const uint64_t *offsets, const uint64_t *cookies, uint32_t count);

bool load_put(int map, uint32_t key, const void *value, uint64_t flags);
void load_delete(int map, uint32_t key);

#endif
