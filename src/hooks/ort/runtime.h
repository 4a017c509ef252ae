// SPDX-License-Identifier: Apache-2.0
/*
 * One ONNX Runtime in this process, and what the hooks know of its objects.
 *
 * A program asks for the table of functions and gets a copy in which some are ours. Each of ours
 * has one thunk per runtime (wrap.c), because the arguments alone do not tell which runtime they
 * belong to. What is remembered of sessions and options is found by their address, without a lock.
 *
 * Nothing here may change what the program sees: errors of ONNX Runtime are passed on untouched,
 * our own are kept to ourselves, and errno survives.
 */
#ifndef IFG_HOOKS_ORT_RUNTIME_H
#define IFG_HOOKS_ORT_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inferogram/inferogram.h>

#include "hooks/ort/api.h"
#include "hooks/ort/map.h"

#define ORT_RUNTIMES_MAX 4
#define ORT_TABLE_WORDS  1024 /* of a table whose length is not known, as much as is copied */

#define ORT_TEXT      256
#define ORT_PREPARES  8
#define ORT_CACHES    4
#define ORT_PROVIDERS 8

#define ORT_CPU "CPUExecutionProvider"

/* A step that made a provider ready, before it is known for which model. */
struct ort_prepare {
    uint64_t start;
    uint64_t end;
    uint64_t thread;
    char provider[64];
    char library[ORT_TEXT];
    char status[ORT_TEXT]; /* empty: it worked */
};

struct ort_prepares {
    struct ort_prepare items[ORT_PREPARES];
    unsigned count;
};

struct ort_runtime {
    const struct ort_base *real_base;
    const ort_function *api; /* the real table */
    unsigned slots;
    unsigned minor;
    bool untried;                       /* newer than any that was tested: watch, add nothing */
    int log_level;                      /* of its environment; 2: warnings */
    const struct ort_env *observed_env; /* where the observer is registered */
    const struct ort_ep_device *const *shown_devices;
    size_t shown_count;
    char version[32];
    char name[48]; /* "ONNX Runtime 1.30.0" */
    struct ort_base base;
    ort_function table[ORT_TABLE_WORDS];
    bool arena_said;                /* whether it tells of its arenas */
    const ort_function *editor_api; /* the real one */
    ort_function editor_table[ORT_EDITOR_SLOTS];
    pthread_mutex_t lock;
    struct ort_prepares prepares; /* under the lock */

    /* patch.c: the program kept the real table, and ours are put into it. `api` is a copy then. */
    bool injected;
    bool patched;  /* they are in it now */
    void *library; /* kept open */
    ort_function *real_table;
    ort_function original[ORT_ABI_SLOTS_MAX];
};

extern struct ort_runtime ort_runtimes[ORT_RUNTIMES_MAX];
extern bool ort_late; /* a table was patched: there may be objects that we did not see made */

/* Calls a function of the real table: ORT_FN(rt, CreateEnv, int, const char *, void **)(2, "",
 * &e). */
#define ORT_FN(rt, slot, ...) ((struct ort_status * (*)(__VA_ARGS__))(rt)->api[ORT_##slot])
#define ORT_VOID(rt, slot)    ((void (*)(void *))(rt)->api[ORT_##slot])

static inline bool ort_has(const struct ort_runtime *rt, unsigned slot)
{
    return slot < rt->slots;
}

/* Session options, as the program has set them. */
struct ort_options {
    int graph_optimization; /* 0, 1, 2, 3, 99 (everything, the default) */
    int execution_mode;
    int intra_threads; /* 0: as many as there are cores */
    int inter_threads;
    int log_severity; /* -1: as the environment */
    int policy;       /* -1: none; -2: a function of the program decides */
    bool profiling;   /* the program's own */
    bool no_cpu_fallback;
    bool env_allocators; /* shared with other sessions, perhaps the program's own */
    bool global_threads;
    bool saves_optimized;
    bool writes_context; /* the model as providers compiled it, beside the model or as told */
    bool unknown;        /* made before we were there: nothing here is certain */
    unsigned provider_count;
    char providers[ORT_PROVIDERS][48];
    char failed[ORT_PROVIDERS][2][ORT_TEXT]; /* provider, error */
    unsigned failed_count;
    char caches[ORT_CACHES][ORT_TEXT]; /* directories and files where providers keep engines */
    unsigned cache_count;
    uint64_t config_hash; /* of all entries and provider options */
    struct ort_prepares prepares;
};

/* cache_watch.h; small enough to lie in each session. */
struct ort_cache_watch {
    int fd;         /* -1: there is nothing to watch */
    char model[64]; /* the name of the model's file, or empty */
    unsigned count;
    struct {
        char path[ORT_TEXT];
        char name[64]; /* what counts begins with this; empty: all, the directory is the cache's */
        int number;    /* of the directory */
    } caches[ORT_CACHES];
};

/* arena.h: memory that a session takes through one of its allocators, as it was last told. */
struct arena_whole;

struct ort_arena_part {
    const struct ort_memory_info *info; /* the session's; NULL: the CPU's */
    struct arena_whole *whole;
    int64_t in_use;
    int64_t held;
    char memory[32];
};

#define ORT_ARENAS 3u /* the CPU's, and two of devices */

struct ort_arena {
    bool is_on;
    bool has_looked;
    unsigned count;
    uint64_t next_ns; /* when to ask again; UINT64_MAX: somebody is asking */
    struct ort_arena_part parts[ORT_ARENAS];
    char model_name[ORT_TEXT];
};

struct ort_profile; /* ops.h */

struct ort_session_state {
    struct ort_runtime *rt;
    ifg_model *model;
    uint32_t number; /* 1, 2, ... in this process */
    uint32_t inference_location;
    uint32_t setup_location;
    uint32_t no_shapes;          /* inputs that are no tensors: do not ask again */
    uint32_t runs;               /* begun */
    uint32_t observed;           /* the observer is in it: operators can be had */
    bool cpu_only;               /* no other provider was asked for: inputs are not moved */
    struct ort_profile *profile; /* old runtimes: the session profile while it is written */
    struct ort_cache_watch cache_watch;
    struct ort_arena arena;
    struct ort_session_state *next_free;
};

#define ORT_BOUND_INPUTS 8u

/* What is bound to a session's inputs. */
struct ort_binding {
    struct ort_session_state *session;
    unsigned count;
    char names[ORT_BOUND_INPUTS][64];
    size_t ranks[ORT_BOUND_INPUTS];
    int64_t sizes[ORT_BOUND_INPUTS][8];
    struct capture_bound *kept; /* capture.h; NULL: nobody wants inputs */
};

extern struct ort_map ort_sessions;
extern struct ort_map ort_options_map;
extern struct ort_map ort_bindings; /* struct ort_binding */

/* table.c: the door. */
__attribute__((visibility("default"))) const struct ort_base *
ifg_ort_wrap_base(const struct ort_base *real);

/* The same for a table that is patched where it is: never handed out. NULL: it is left alone, and
 * the trace says why. */
struct ort_runtime *ort_take_in_place(const struct ort_base *real);

/* Copies an error's text ("error: ..."); the status stays the program's. */
void ort_status_text(const struct ort_runtime *rt, struct ort_status *status, char *out,
                     size_t size);

/* Drops an error of a call that was ours. */
bool ort_ok(const struct ort_runtime *rt, struct ort_status *status);

/* session.c: a state for a session whose creation was not seen. NULL: there is no room. */
struct ort_session_state *ort_session_adopt(struct ort_runtime *rt, struct ort_session *session,
                                            ifg_model *model);

/* rundown.c: the same, with what can be found out about its model. */
struct ort_session_state *ort_rundown(struct ort_runtime *rt, struct ort_session *session);

/* options.c */
const struct ort_options *ort_options_of(const struct ort_session_options *options);
void ort_options_text(const struct ort_options *options, char *out, size_t size);
void ort_requested_text(const struct ort_options *options, char *out, size_t size);
bool ort_prepares_add(struct ort_prepares *list, const char *provider, const char *library,
                      uint64_t start, uint64_t end, const char *status);

void ort_prepares_move(struct ort_prepares *from, struct ort_prepares *to);

/* setup.c: writes what prepared a run of this session as setup events. */
void ort_setup_flush(const struct ort_session_state *session, const struct ort_value *const *inputs,
                     size_t input_count, const struct ort_io_binding *binding);

/* prepare.c: writes waiting steps as events of this model. */
void ort_prepares_write(struct ort_prepares *list, ifg_model *model);

uint64_t ort_thread_id(void);

#endif
