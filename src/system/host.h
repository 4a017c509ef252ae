// SPDX-License-Identifier: Apache-2.0
/* What machine this is: told by recordings, by results of benchmarks and by doctor. */
#ifndef IFG_SYSTEM_HOST_H
#define IFG_SYSTEM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the system's files are: "/proc", "/sys"; tests have trees of their own. */
struct host_roots {
    const char *proc;
    const char *sys;
};
extern const struct host_roots host_system;

/* Texts are "" where nothing is told, and hold nothing that a terminal obeys. */
struct host_facts {
    char name[72];
    char machine[32]; /* "x86_64" */
    char cpu[128];    /* at least the machine */
    char kernel[96];
    char distribution[96];
    char hypervisor[48]; /* "" if none */
    char governor[32];
    char clock_source[32];
    char load[64];    /* as in /proc/loadavg */
    char boot_id[96]; /* whoever has the same one has the same CLOCK_MONOTONIC */
    uint32_t cpus;    /* that this process may use */
    uint32_t online;  /* CPUs that the machine runs */
    uint64_t memory_bytes;
    uint64_t cgroup_cpu_permille; /* quota; 0: none */
    bool aslr;
    bool tells_flags; /* of its CPU: only then no hypervisor means that there is none */
    uint32_t numa_nodes;
};
void host_read(const struct host_roots *roots, struct host_facts *out_host);

/* Only that. */
void host_read_boot(const struct host_roots *roots, char *out, size_t size);

#endif
