// SPDX-License-Identifier: Apache-2.0
/* What the BPF program and its loader share: the record in the ring and the maps' values. */
#ifndef IFG_COLLECT_UPROBE_RECORD_INTERNAL_H
#define IFG_COLLECT_UPROBE_RECORD_INTERNAL_H

#include <linux/types.h>

#include "collect/uprobe/calls_internal.h"

#define PROBE_TEXT_MAX   256
#define PROBE_THREADS    1024 /* with an entry in the map of stacks */
#define PROBE_NAMESPACES 64
#define PROBE_PROCESSES  1024 /* that may be watched, where not all may */

/* Values of the map of processes: see process_execs in probe.bpf.c. */
#define PROBE_ASKED     1u
#define PROBE_PERMITTED 2u

enum probe_kind {
    PROBE_POINT,
    PROBE_BEGIN,
    PROBE_CALL,
};

struct probe_record {
    __u64 cookie;
    __u64 start_ns;
    __u64 end_ns;
    __u64 arguments[CALL_ARGUMENTS];
    __u64 result;
    __u64 out_word;
    __u32 pid, tid;
    __u32 own_pid, own_tid;
    __u32 kind;
    __u32 depth;
    __s32 out_status;  /* 0, or why the word could not be read */
    __s32 text_status; /* length with the final zero, or why there is none */
};

struct probe_text {
    __s64 status;
    char bytes[PROBE_TEXT_MAX];
};

struct probe_text_record {
    struct probe_record head;
    char text[PROBE_TEXT_MAX];
};

struct probe_namespace {
    __u64 device;
    __u64 inode;
};

struct probe_settings {
    __u64 wake_bytes;     /* 0: at once */
    __u64 only_permitted; /* processes in the map of them, and no others */
    __u64 device, inode;  /* the pid namespace of that map's numbers; 0: the initial one */
};

struct probe_counts {
    __u64 ring_full;
    __u64 too_deep;
    __u64 too_many;
    __u64 stacks_made;
    __u64 executed; /* permitted processes that ran another program, and are permitted no more */
};

#endif
