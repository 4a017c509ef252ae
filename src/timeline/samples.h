// SPDX-License-Identifier: Apache-2.0
/*
 * The samples of a trace on the timeline's clock: where threads were, and what ran on them then.
 *
 * Each sample is joined with the innermost slice of its thread at that moment. Threads without any
 * slice of their own (the workers of a runtime) borrow: what a model did in their process at that
 * moment, marked as such.
 *
 * Made when first asked for; a trace without samples costs nothing. Read-only, the timeline's own.
 */
#ifndef IFG_TIMELINE_SAMPLES_H
#define IFG_TIMELINE_SAMPLES_H

#include "timeline/timeline.h"
#include "trace/samples.h"

enum timeline_join {
    TIMELINE_JOIN_NONE,    /* nothing ran that is known */
    TIMELINE_JOIN_OWN,     /* on the same thread */
    TIMELINE_JOIN_LENT,    /* on another thread of the process; this one has no slices at all */
    TIMELINE_JOIN_SEVERAL, /* the same, but several models ran: whose work it is is not known */
};

struct timeline_sample {
    uint64_t ns;
    size_t slice;    /* innermost one; SIZE_MAX: none, or not known which */
    uint32_t thread; /* index into timeline_profile.threads */
    uint32_t cpu;
    uint32_t stack; /* node of the innermost frame, 0: nothing is known */
    uint32_t ml;    /* location of the ML event around, or TIMELINE_NONE */
    uint32_t op;    /* location of the operator around, or TIMELINE_NONE */
    uint8_t join;   /* enum timeline_join */
    uint8_t end;    /* enum trace_stack_end */
    bool in_kernel;
};

enum timeline_state { TIMELINE_RUNNING, TIMELINE_RUNNABLE, TIMELINE_BLOCKED, TIMELINE_STATES };

struct timeline_thread_state {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t thread; /* index into timeline_profile.threads */
    uint32_t cpu;    /* of the change that began it */
    uint32_t waker;  /* thread number of who made it runnable; 0: an interrupt, or not known */
    uint8_t state;   /* enum timeline_state */
    bool woken;      /* runnable by a wakeup, and not because it was preempted */
    bool disk;       /* blocked, and nothing interrupts it: a disk, a page, a lock of the kernel */
    bool untold;     /* blocked until it ran: its wakeup was not reported */
};

/* A thread that was sampled or switched, whether it has slices or not. */
struct timeline_sampled_thread {
    uint32_t pid;
    uint32_t tid;
    uint32_t process;    /* index into model->processes, or TIMELINE_NONE */
    uint32_t thread;     /* index into model->threads, or TIMELINE_NONE */
    const char *name;    /* "" */
    size_t first_sample; /* of by_thread */
    size_t sample_count;
    size_t first_state;
    size_t state_count;
};

/* A function of the program (functions of models are another matter), as far as it was sampled. */
struct timeline_function {
    uint32_t module; /* number; 0: unknown memory */
    uint64_t start;  /* in the module; size 0: not known */
    uint64_t size;
    const char *name; /* "" */
    bool guessed;     /* a recovered name */
};

struct timeline_profile {
    const struct timeline_sample *samples; /* by time */
    size_t sample_count;
    const uint32_t *by_thread;                     /* samples thread by thread, by time in each */
    const struct timeline_sampled_thread *threads; /* by pid and tid */
    size_t thread_count;
    const struct timeline_thread_state *states; /* thread by thread, by start in each */
    size_t state_count;
    size_t switch_count;
    /* Wakeups were recorded. Without them, and after those that the kernel did not tell (some do
     * not tell what interrupts of idle CPUs wake), the wait till it runs counts as blocked. */
    bool has_wakers;

    const struct trace_profile *trace; /* modules, frames, nodes, symbols, code, sources */
    const uint32_t *first_symbol;      /* of frame i: first_symbol[i] .. first_symbol[i + 1] */
    const struct timeline_function *functions;
    size_t function_count;
    const uint32_t *function_of; /* of frame i, 0 for "no frame": index into functions */

    uint64_t lost;     /* samples that the kernel had no room for */
    double hz;         /* 0: not known */
    double on_share;   /* of the time, in which samples were taken at this rate */
    bool by_timer;     /* a clock took them: the address is that of the next instruction */
    uint64_t begin_ns; /* first and last time of a sample or switch */
    uint64_t end_ns;
};

/* Whether there are samples or switches; costs next to nothing. */
bool timeline_has_profile(const struct timeline *timeline);
bool timeline_has_samples(const struct timeline *timeline); /* not only switches */

/* NULL if the trace has neither samples nor switches nor allocations. */
enum ifg_status timeline_profile_get(const struct timeline *timeline,
                                     const struct timeline_profile **out_profile,
                                     struct ifg_error *err) IFG_MUST_CHECK;

/* The names of a frame (its number), innermost inlined function first, the function with the code
 * last; returns how many there are. */
size_t timeline_frame_symbols(const struct timeline_profile *profile, uint32_t frame,
                              const struct trace_symbol **out_first);

/* "libonnxruntime.so.1", "[kernel]", "[vdso]", "[generated code]", "[unknown]" */
const char *timeline_module_name(const struct timeline_profile *profile, uint32_t module);

/* Its name, or where it is: "libx.so+0x1234", "libx.so [unknown]". */
const char *timeline_function_name(const struct timeline_profile *profile, uint32_t function,
                                   char *out, size_t size);

/* The bytes of code at an address, as many as are in one piece; NULL: they are not in the trace. */
const uint8_t *timeline_code_at(const struct timeline_profile *profile, uint32_t module,
                                uint64_t address, size_t *out_size);

/* The name of the model whose work a sample is, or NULL. */
const struct timeline_model *timeline_sample_of(const struct timeline *timeline,
                                                const struct timeline_sample *sample);
const char *timeline_sample_model(const struct timeline *timeline,
                                  const struct timeline_sample *sample);

const char *timeline_state_name(enum timeline_state state);

/* What the kernel calls a thread, also one that only woke others; "" if that is not known. */
const char *timeline_kernel_name(const struct timeline_profile *profile, uint32_t tid);

#endif
