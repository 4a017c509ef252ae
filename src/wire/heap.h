// SPDX-License-Identifier: Apache-2.0
/*
 * What the allocation hook (hooks/memory) and the recorder share: one file, made by the recorder,
 * that every process of a recorded program maps.
 *
 *   head      is anybody there, how often to pick, who has come
 *   stacks    a queue of picked allocations, each with a copy of the stack
 *   frees     a queue of the ends of picked allocations
 *
 * The queues are bounded, with many producers (threads of several processes) and one consumer. Each
 * cell has a number that says whose turn it is: POSITION of a producer, POSITION + 1 of the
 * consumer, POSITION + CELLS of the producer one lap later. Nobody waits: a producer that finds no
 * room counts what is lost, and a cell whose producer died in the middle is passed over.
 *
 * Both sides must agree on every byte here: a change of layout is a change of IFG_HEAP_VERSION.
 */
#ifndef IFG_WIRE_HEAP_H
#define IFG_WIRE_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IFG_ENV_MEMORY "IFG_MEMORY" /* the file's path */

#define IFG_HEAP_MAGIC   0x3170616568474fffull /* ff "OGheap1" */
#define IFG_HEAP_VERSION 1u

#define IFG_HEAP_STACKS      128u
#define IFG_HEAP_FREES       16384u
#define IFG_HEAP_STACK_BYTES 32768u /* JavaScript over ONNX Runtime's optimizer takes 30 KiB */

#define IFG_HEAP_INTERVAL (512u << 10) /* bytes between two picks, in the mean, to begin with */
#define IFG_HEAP_TRIES    64           /* of a producer, when others are quicker */

struct ifg_heap_queue {
    _Alignas(64) uint64_t head; /* the next position to be filled */
    uint64_t lost;              /* what there was no room for */
};

struct ifg_heap_head {
    uint64_t magic;
    uint32_t version;
    uint32_t open;      /* 0: nobody takes anything any more */
    uint64_t interval;  /* bytes between two picks, in the mean; the recorder changes it */
    uint32_t can_read;  /* process_vm_readv works where the recorder is */
    uint32_t processes; /* programs that have mapped this */
    uint32_t foreign;   /* of them, those whose allocations go to another malloc than ours */
    uint32_t confined;  /* of them, those that confined themselves and are left alone since */
    uint32_t filters;   /* seccomp filters that the recorder has itself */
    struct ifg_heap_queue stacks;
    struct ifg_heap_queue frees;
};

struct ifg_heap_stack {
    uint64_t turn;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t address;
    uint64_t bytes;
    uint64_t interval;   /* at which it was picked; at most `bytes`: it was certain to be */
    uint64_t ip, sp, fp; /* of the caller, as they are when the allocation returns */
    uint32_t pid, tid;
    uint32_t program; /* which of head.processes: changes with exec */
    uint32_t stack_bytes;
    uint8_t stack[IFG_HEAP_STACK_BYTES]; /* from sp on */
};

struct ifg_heap_free {
    uint64_t turn;
    uint64_t time_ns;
    uint64_t address;
    uint32_t pid, tid;
};

struct ifg_heap {
    struct ifg_heap_head head;
    _Alignas(4096) struct ifg_heap_stack stacks[IFG_HEAP_STACKS];
    _Alignas(4096) struct ifg_heap_free frees[IFG_HEAP_FREES];
};

static_assert(sizeof(struct ifg_heap_free) == 32, "layout");
static_assert(offsetof(struct ifg_heap_stack, stack) == 80, "layout");
static_assert(sizeof(struct ifg_heap_stack) % 8 == 0, "layout");
static_assert(sizeof(struct ifg_heap_head) == 192, "layout");
static_assert(offsetof(struct ifg_heap, stacks) == 4096, "layout");

/* ---- producers ---- */

/* The position of a free cell, which is the caller's from now on. False: there is no room. `turns`
 * is the turn of the first cell, `size` that of a cell. */
static inline bool ifg_heap_claim(struct ifg_heap_queue *queue, const void *turns, size_t size,
                                  uint32_t cells, uint64_t *out_position)
{
    uint64_t position = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);

    for (int i = 0; i < IFG_HEAP_TRIES; i++) {
        const uint64_t *turn =
            (const uint64_t *)(const void *)((const char *)turns + position % cells * size);
        int64_t ahead = (int64_t)(__atomic_load_n(turn, __ATOMIC_ACQUIRE) - position);

        if (ahead < 0)
            break; /* still what was put there a lap ago */
        if (ahead > 0)
            position = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
        else if (__atomic_compare_exchange_n(&queue->head, &position, position + 1, false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            *out_position = position;
            return true;
        }
    }
    __atomic_fetch_add(&queue->lost, 1, __ATOMIC_RELAXED);
    return false;
}

/* The cell is filled. Nothing happens if the recorder has given it up in the meantime. */
static inline void ifg_heap_publish(uint64_t *turn, uint64_t position)
{
    __atomic_compare_exchange_n(turn, &position, position + 1, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

/* ---- the consumer ---- Its position is its own: what is in the file may be anything. */

static inline bool ifg_heap_is_ready(const uint64_t *turn, uint64_t position)
{
    return __atomic_load_n(turn, __ATOMIC_ACQUIRE) == position + 1;
}

static inline void ifg_heap_release(uint64_t *turn, uint64_t position, uint32_t cells)
{
    __atomic_store_n(turn, position + cells, __ATOMIC_RELEASE);
}

/* A producer has claimed the cell and not filled it. */
static inline bool ifg_heap_is_claimed(const struct ifg_heap_queue *queue, const uint64_t *turn,
                                       uint64_t position)
{
    return __atomic_load_n(turn, __ATOMIC_RELAXED) == position &&
           __atomic_load_n(&queue->head, __ATOMIC_RELAXED) > position;
}

/* Passes over a cell that was claimed long ago. False: it was filled after all. */
static inline bool ifg_heap_give_up(uint64_t *turn, uint64_t position, uint32_t cells)
{
    return __atomic_compare_exchange_n(turn, &position, position + cells, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

#endif
