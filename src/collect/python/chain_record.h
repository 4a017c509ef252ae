// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel's side of Python frames is told and what it answers (chain.bpf.c): where an
 * interpreter keeps the calls of its threads, and the chain of calls of one thread at the moment of
 * a sample.
 */
#ifndef IFG_COLLECT_PYTHON_CHAIN_RECORD_H
#define IFG_COLLECT_PYTHON_CHAIN_RECORD_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u64 chain_u64;
typedef __u32 chain_u32;
#else
#include <stdint.h>
typedef uint64_t chain_u64;
typedef uint32_t chain_u32;
#endif

#define CHAIN_FRAMES  1024 /* of one chain; deeper ones are cut, and say so */
#define CHAIN_THREADS 512  /* of an interpreter that are looked at */
/* Before Linux 5.17: each more is time that the kernel needs to check the program. */
#define CHAIN_FRAMES_OLD  96
#define CHAIN_THREADS_OLD 32
#define CHAIN_PROCESSES   4096
#define CHAIN_BLOB        128 /* bytes of a frame that are read at once; offsets lie inside */
#define CHAIN_FRAME_LEAST 80  /* bytes that every frame has */
#define CHAIN_CODE        88  /* bytes of code that are read at once */

/* Offsets are bytes. */
struct chain_process {
    chain_u64 threads;         /* the address of the pointer to the first thread */
    chain_u32 thread_next;     /* in a thread's state */
    chain_u32 thread_id;       /* what pthread_self() gives */
    chain_u32 thread_frame;    /* the innermost frame, or what leads to it */
    chain_u32 thread_indirect; /* 1: that is a structure, with the frame at the next offset */
    chain_u32 indirect_frame;
    chain_u32 frame_code;
    chain_u32 frame_previous;
    chain_u32 frame_instruction;
    chain_u32 frame_owner; /* a byte; 0: there is none */
    chain_u32 code_from;   /* in the code: from here on CHAIN_CODE bytes are read at once */
    chain_u32 code_line;   /* its fingerprint is in them, all four from the code's begin */
    chain_u32 code_file;
    chain_u32 code_name;
    chain_u32 code_version;     /* a number that no other code has; 0: there is none */
    chain_u32 text_hash;        /* in the name, where there is no such number */
    chain_u32 instruction_bits; /* 32: a number, 64: an address */
    chain_u32 shim_owner;       /* from this owner on a frame is no call; 0: all are */
};

struct chain_frame {
    chain_u64 code; /* as it is stored: low bits may be set; of a shim, its own address */
    chain_u64 instruction;
    chain_u32 print; /* of the code: chain_print() */
    chain_u32 owner;
};

enum { CHAIN_WHOLE = 1 }; /* it leads to the thread's first call */

struct chain_record {
    chain_u64 time_ns;
    chain_u64 ip; /* where the sample was */
    chain_u32 pid, tid;
    chain_u32 count;
    chain_u32 flags;
    struct chain_frame frames[CHAIN_FRAMES]; /* the innermost first; only `count` are sent */
};

#define CHAIN_HEAD 32 /* bytes before the frames */

/* What reading chains has cost. */
struct chain_cost {
    chain_u64 chains, ns, lost;
};

struct chain_settings {
    chain_u64 device, inode; /* of the recorder's pid namespace; inode 0: the initial one */
};

/* What tells that the code at an address is still the one that was called. Addresses come back into
 * use, also those of its texts; the number of its version, or the hash of its name, does not. */
static inline chain_u32 chain_print(chain_u64 line, chain_u64 file, chain_u64 name, chain_u64 own)
{
    chain_u64 print = line * 0x9e3779b97f4a7c15ull;

    print = (print ^ file) * 0xff51afd7ed558ccdull;
    print = (print ^ name) * 0xc4ceb9fe1a85ec53ull;
    print ^= own * 0x9e3779b97f4a7c15ull;
    return (chain_u32)(print ^ print >> 32);
}

#endif
