// SPDX-License-Identifier: Apache-2.0
/*
 * Samples, context switches, and what is needed to understand them on another machine: modules,
 * frames, stacks, names, code and sources. Each kind is a block of its own (docs/trace-format.md,
 * "Samples"); a reader that does not know them steps over them.
 *
 * Numbers: modules, frames and stack nodes are numbered from 1 in the order in which they are
 * written; 0 means none. What refers to a number comes after it. Times are CLOCK_MONOTONIC ns.
 */
#ifndef IFG_TRACE_SAMPLES_H
#define IFG_TRACE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct trace_reader;
struct trace_writer;

enum trace_module_kind {
    TRACE_MODULE_FILE = 1,    /* a program or library; address: of the file */
    TRACE_MODULE_KERNEL = 2,  /* address: as the kernel has it */
    TRACE_MODULE_RUNTIME = 3, /* code generated at run time; address: of the process */
    TRACE_MODULE_VDSO = 4,
};

struct trace_module {
    enum trace_module_kind kind;
    uint32_t pid;         /* of code generated at run time; else 0 */
    const char *path;     /* "" if it has none */
    const char *build_id; /* hexadecimal, or "" */
    const char *note;     /* how it was read: "", "deleted file", "memory of the process" */
};

struct trace_frame {
    uint32_t module; /* 0: unknown memory */
    uint64_t address;
};

struct trace_stack_node {
    uint32_t parent; /* the caller's node; 0: this is a root */
    uint32_t frame;
    bool inferred; /* the way from here to the root is not certain */
};

enum trace_stack_end { /* why the walk to the root ended; of a sample */
                       TRACE_STACK_ROOT = 0,
                       TRACE_STACK_CUT = 1,
                       TRACE_STACK_LOST = 2,
};

struct trace_sample {
    uint64_t time_ns;
    uint32_t pid, tid;
    uint32_t cpu;
    uint32_t stack; /* node of the innermost frame; 0: nothing is known */
    bool in_kernel;
    uint8_t end; /* enum trace_stack_end */
};

enum trace_switch_kind {
    TRACE_SWITCH_IN = 0,      /* it runs on this CPU from now on */
    TRACE_SWITCH_BLOCKED = 1, /* it waits for something */
    TRACE_SWITCH_PREEMPTED = 2,
    TRACE_SWITCH_WOKEN = 3, /* runnable again; `other` is who woke it */
    TRACE_SWITCH_DISK = 4,  /* BLOCKED so that nothing interrupts it: a disk, a kernel lock */
};

struct trace_switch {
    uint64_t time_ns;
    uint32_t pid, tid;
    uint32_t cpu;
    uint8_t kind;       /* enum trace_switch_kind */
    uint32_t other_pid; /* 0: an interrupt, or not known */
    uint32_t other_tid;
};

/* What the kernel calls a thread: one of those above, or one that woke one of them. */
struct trace_thread_name {
    uint32_t pid, tid;
    const char *name;
};

/* An allocation that was picked: the more bytes, the likelier. It stands for `weight` bytes, of
 * which most were not picked. A free is told for picked ones only. */
struct trace_allocation {
    uint64_t time_ns;
    uint32_t pid, tid;
    uint64_t address;
    uint64_t bytes;  /* as asked for; of a free 0 */
    uint64_t weight; /* of a free 0 */
    uint32_t stack;  /* node of the innermost frame; of a free 0 */
    bool freed;      /* this is the end of the one at that address */
};

/* What a frame is called. Inlined functions come first: the same frame several times, the innermost
 * first; the last one is the function that has code of its own. */
struct trace_symbol {
    uint32_t frame;
    const char *function; /* for people, demangled; "" if it has no name */
    uint64_t start;       /* of the function with code of its own, in the module; size 0: unknown */
    uint64_t size;
    const char *file; /* "" unknown */
    uint32_t line;    /* 0 unknown */
    bool guessed;     /* a name that was recovered (RTTI), not one that the file has */
    bool inlined;
};

struct trace_code {
    uint32_t module;
    uint64_t address;
    const uint8_t *bytes;
    size_t size;
};

struct trace_source {
    const char *path;
    const char *sha256; /* of the whole file */
    const char *text;   /* not NUL-terminated when written; NUL-terminated when read */
    size_t size;
};

/* ---- writing ---- Each call makes one or more blocks; nothing waits. */

void trace_writer_modules(struct trace_writer *writer, const struct trace_module *modules,
                          size_t count);
void trace_writer_frames(struct trace_writer *writer, const struct trace_frame *frames,
                         size_t count);
void trace_writer_stacks(struct trace_writer *writer, const struct trace_stack_node *nodes,
                         size_t count);
/* lost: records that the kernel had no room for, in all so far. */
void trace_writer_samples(struct trace_writer *writer, const struct trace_sample *samples,
                          size_t count, uint64_t lost);
void trace_writer_switches(struct trace_writer *writer, const struct trace_switch *switches,
                           size_t count);
void trace_writer_thread_names(struct trace_writer *writer, const struct trace_thread_name *names,
                               size_t count);
/* lost: picked ones that there was no room for, in all so far. */
void trace_writer_allocations(struct trace_writer *writer,
                              const struct trace_allocation *allocations, size_t count,
                              uint64_t lost);
void trace_writer_symbols(struct trace_writer *writer, const struct trace_symbol *symbols,
                          size_t count);
void trace_writer_code(struct trace_writer *writer, const struct trace_code *code, size_t count);
void trace_writer_source(struct trace_writer *writer, const struct trace_source *source);

/* ---- reading ---- */

/* Everything but samples and switches, in memory; strings are valid UTF-8 and never NULL. Entry i
 * is number i + 1. Every number is inside its array or 0, and a node's parent comes before it: what
 * a hostile file says otherwise is left out and counted. */
struct trace_profile {
    struct trace_module *modules;
    size_t module_count;
    struct trace_frame *frames;
    size_t frame_count;
    struct trace_stack_node *nodes;
    size_t node_count;
    struct trace_symbol *symbols; /* sorted by frame, inlined ones first */
    size_t symbol_count;
    struct trace_code *code; /* sorted by module and address */
    size_t code_count;
    struct trace_source *sources; /* sorted by path */
    size_t source_count;
    struct trace_thread_name *thread_names; /* sorted by thread; the last one of each */
    size_t thread_name_count;
    uint64_t damaged; /* entries that made no sense */
    void *memory;     /* the decoder's own */
};

/* A trace without samples has an empty one. */
enum ifg_status trace_profile_read(const struct trace_reader *reader,
                                   struct trace_profile *out_profile,
                                   struct ifg_error *err) IFG_MUST_CHECK;
void trace_profile_fini(struct trace_profile *profile);

/* All samples, or switches, of the trace in order of time. Free with ifg_free. Stack numbers of
 * samples are checked against profile. */
enum ifg_status trace_samples_read(const struct trace_reader *reader,
                                   const struct trace_profile *profile,
                                   struct trace_sample **out_samples, size_t *out_count,
                                   uint64_t *out_lost, struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_switches_read(const struct trace_reader *reader,
                                    struct trace_switch **out_switches, size_t *out_count,
                                    struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status trace_allocations_read(const struct trace_reader *reader,
                                       const struct trace_profile *profile,
                                       struct trace_allocation **out_allocations, size_t *out_count,
                                       uint64_t *out_lost, struct ifg_error *err) IFG_MUST_CHECK;

#endif
