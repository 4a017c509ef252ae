// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder's side of inferogram-privileged: events and probes of one's own processes for a user
 * who has no rights to open them. The helper decides; see docs/permissions.md.
 */
#ifndef IFG_COLLECT_PRIVILEGED_PRIVILEGED_H
#define IFG_COLLECT_PRIVILEGED_PRIVILEGED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct perf_event_attr;
struct privileged;

/* What the helper may do, asked by starting it once. */
enum privileged_state {
    PRIVILEGED_ABSENT,    /* it is not installed */
    PRIVILEGED_FORBIDDEN, /* this user may not execute it */
    PRIVILEGED_POWERLESS, /* nobody gave it capabilities */
    PRIVILEGED_SAMPLES,   /* and no probes */
    PRIVILEGED_READY,
    PRIVILEGED_READY_KERNEL, /* with samples of the kernel */
};

enum privileged_state privileged_look(char out_path[PATH_MAX]);

/* The commands of an administrator that give the installed helper its rights, for the members of a
 * group; "" where it is not installed. See docs/permissions.md. */
void privileged_setup(char *out, size_t size);

/* IFG_PERMISSION, IFG_NOT_FOUND: see privileged_look. Root and who has rights of his own need none,
 * and get IFG_UNSUPPORTED. */
enum ifg_status privileged_start(struct privileged **out, struct ifg_error *err) IFG_MUST_CHECK;
void privileged_end(struct privileged *helper); /* accepts NULL */

/* As perf_event_open: a descriptor, or -1 and errno. One helper for all of this process. */
int privileged_event(const struct perf_event_attr *attr, pid_t tid, int cpu);

#define PRIVILEGED_MAPS       3  /* ring, counts, stacks */
#define PRIVILEGED_PROBES_MAX 64 /* of one link */

/* 0, or an errno. out_many: how many places a link takes. */
int privileged_load(struct privileged *helper, size_t ring_bytes, size_t wake_bytes,
                    int out_fds[PRIVILEGED_MAPS], uint32_t *out_many);
int privileged_link(struct privileged *helper, pid_t pid, unsigned step, int file,
                    const uint64_t *offsets, const uint64_t *cookies, uint32_t count, int *out_fd,
                    struct ifg_error *err);
int privileged_permit(struct privileged *helper, pid_t pid, struct ifg_error *err);
void privileged_forbid(struct privileged *helper, pid_t pid);

#endif
