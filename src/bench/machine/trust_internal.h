// SPDX-License-Identifier: Apache-2.0
/* What the files behind trust.h share: finding a control group. */
#ifndef IFG_BENCH_TRUST_INTERNAL_H
#define IFG_BENCH_TRUST_INTERNAL_H

#include "bench/machine/trust.h"

/* Where the CPU group of a process ("self", "42") is: its hierarchy's mount and its path in it. */
bool trust_find_cgroup(const struct trust_roots *roots, const char *pid, bool *out_unified,
                       char *out_mount, size_t mount_size, char *out_group, size_t group_size);

#endif
