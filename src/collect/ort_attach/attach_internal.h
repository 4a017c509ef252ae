// SPDX-License-Identifier: Apache-2.0
/* The insides of watched processes, shared by attach.c (life), events.c (what calls mean),
 * functions.c (what is asked of the helper), models.c (sessions and models), nodes.c (names of
 * operators), ops.c (operators), python.c (Python's module) and threads.c (streams). */
#ifndef IFG_COLLECT_ORT_ATTACH_ATTACH_INTERNAL_H
#define IFG_COLLECT_ORT_ATTACH_ATTACH_INTERNAL_H

#include "base/strings.h"
#include "collect/ort_attach/attach.h"
#include "collect/ort_attach/libraries.h"
#include "collect/ort_helper/ort_helper.h"
#include "collect/streams.h"

#define ATTACH_OPEN_MAX      4 /* loads inside of loads */
#define ATTACH_PREPARES      32
#define ATTACH_OPTIONS       64
#define ATTACH_PROVIDERS     8
#define ATTACH_TEXT          UPROBE_TEXT_MAX
#define ATTACH_PROCESSES_MAX 4096u
#define ATTACH_SESSIONS_MAX  65536u
#define ATTACH_MODELS_MAX    4096u
#define ATTACH_SLOTS_MAX     (1u << 20)

enum attach_function {
    ATTACH_CREATE_FILE,
    ATTACH_CREATE_ARRAY,
    ATTACH_RUN,
    ATTACH_RUN_ASYNC,
    ATTACH_RELEASE,
    ATTACH_ENVIRONMENT,
    ATTACH_PROVIDER,
    ATTACH_PROVIDER_LIBRARY,
    ATTACH_OPTIONS_RELEASED,
};

/* Numbers of probes that are not at functions of the table, but inside of the runtime. */
enum attach_inner {
    ATTACH_INNER = 56,
    ATTACH_PYTHON_RUN = ATTACH_INNER,
    ATTACH_PYTHON_LOAD,
    ATTACH_PYTHON_PATH,
    ATTACH_PYTHON_INITIALIZE,
    ATTACH_KERNEL,
};

/* One function of the table that is probed; numbers of arguments from 1, 0: none. */
struct attach_probe {
    uint16_t slot;
    uint8_t function; /* enum attach_function */
    uint8_t flags;    /* enum uprobe_flags */
    uint8_t text;
    uint8_t out;
    uint8_t options;      /* the session options */
    const char *provider; /* whom the function is for; NULL: a text says it */
};

extern const struct attach_probe attach_probes[];
extern const size_t attach_probe_count;

struct attach_model {
    uint32_t id;
    char *name;
    char *path;
    char *content; /* the hash of a model from memory; "" if it was not read */
    char *runtime;
    char *devices;
    uint32_t locations[TRACE_CATEGORIES]; /* 0: not defined yet */
    uint32_t async_location;
};

struct attach_session {
    uint64_t address;
    uint32_t number;
    uint32_t runs; /* since the probes at its kernels are there */
    struct attach_model *model;
};

/* A kernel that ran; its run has not ended yet, or has not been written. */
struct attach_op {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t state;   /* of its graph; 0: not known */
    uint64_t read_ns; /* when its name was read; 0: it has none */
    uint32_t index;
    uint32_t node; /* number of its name */
};

/* A name of a node; the location is that of the model whose session ran it. */
struct attach_node {
    const char *name;
    const char *type;
    uint32_t model; /* 0: none yet */
    uint32_t location;
};

/* Where a name was found. */
struct attach_seat {
    uint64_t state;
    uint64_t read_ns;
    uint32_t index;
    uint32_t node;
};

struct attach_nodes {
    struct attach_node *items; /* number i + 1 at i */
    size_t count, capacity;
    struct ifg_index index;
    struct ifg_strings texts; /* names and types */
    struct attach_seat *seats;
    size_t seat_count, seat_capacity;
    struct ifg_index seat_index;
};

/* How the kernels of a watched library tell of themselves. */
struct attach_kernels {
    uint64_t since_ns; /* when the probe was there; 0: there is none */
    uint8_t index;     /* argument */
    unsigned offsets[5];
};

/* A session that ended, or another that began: from then on its memory may be somebody else's. */
struct attach_turn {
    uint64_t session; /* 0: any */
    uint64_t at_ns;
};

#define ATTACH_TURNS 256

/* A load of Python, which comes in two parts. */
struct attach_python_load {
    uint64_t session; /* 0: none */
    uint64_t start_ns;
    char path[PATH_MAX];
};

/* A load that has begun. */
struct attach_load {
    uint64_t start_ns;
    uint32_t probe;
    uint32_t library;
    uint32_t location; /* 0: its model is not known yet */
    uint64_t named_ns; /* when the name of a model in memory was read */
    struct attach_model *model;
    char text[PATH_MAX]; /* its path, or the name of its graph */
    char content[20];    /* of a model in memory */
    bool is_mapped;      /* a model in memory that is a file: text is its path */
    char devices[256];
};

struct attach_thread {
    struct thread_stream base;
    const struct ort_attach *attach;
    struct attach_load open[ATTACH_OPEN_MAX];
    struct attach_op *ops; /* by their ends */
    size_t op_count, op_capacity;
    struct attach_python_load python;
};

/* A step before there is a session; it waits for the next one. */
struct attach_prepare {
    pid_t tid;
    pid_t own_tid;
    uint64_t start_ns;
    uint64_t end_ns;
    bool failed;
    char provider[64];
};

struct attach_options {
    uint64_t address;
    char devices[256]; /* comma between them */
};

struct attach_kept {
    struct uprobe_event event;
    char text[ATTACH_TEXT];
};

struct attach_process {
    struct ort_attach *attach;
    uint32_t slot;  /* in the ids of its probes; never given twice. 0: it has none */
    uint32_t index; /* in the trace; valid if defined */
    pid_t pid;
    int pidfd;
    char *directory; /* where it was when we found it, for paths of a process that is gone */
    bool defined;
    bool is_earlier;      /* it had a runtime before somebody began to wait for the next session */
    bool in_time;         /* its probes were there before it could use its runtime */
    bool saw_environment; /* its first call of all */
    bool is_late;         /* said that its first calls may be missing */
    uint64_t image;       /* changes with exec */
    uint64_t next_look_ns;
    uint64_t next_check_ns; /* of its image */
    struct ort_attach_sight sight;
    struct file_key watched[ORT_LIBRARIES_MAX];
    char runtimes[ORT_LIBRARIES_MAX][48]; /* "ONNX Runtime 1.20.1" */
    bool is_python[ORT_LIBRARIES_MAX];
    bool is_untried[ORT_LIBRARIES_MAX]; /* newer than any that was tested */
    struct attach_kernels kernels[ORT_LIBRARIES_MAX];
    struct attach_nodes nodes;
    struct attach_turn turns[ATTACH_TURNS];
    size_t turn_count;  /* all that there were; the last ones are kept */
    uint64_t stray_ops; /* kernels on threads that have no run */
    uint64_t ops_lost;
    char ops_reason[600]; /* why there are no operators */
    size_t watched_count;
    struct file_key refused[ORT_LIBRARIES_MAX];
    size_t refused_count;
    bool refused_python;             /* the first of them */
    struct attach_session *sessions; /* by address */
    size_t session_count, session_capacity;
    uint32_t next_session;
    struct attach_model **models;
    size_t model_count, model_capacity;
    uint32_t release_location;
    uint32_t read_location, initialize_location;
    struct streams threads;
    struct attach_prepare prepares[ATTACH_PREPARES];
    size_t prepare_count;
    struct attach_options options[ATTACH_OPTIONS];
    size_t options_next;
    struct attach_kept *kept;
    size_t kept_count, kept_capacity;
    bool created; /* a session, among what is kept */
    uint64_t lost;
};

struct ort_attach {
    enum uprobe_way way;
    struct uprobe *engine;
    struct sink *sink; /* once it has begun */
    bool begun;
    uint64_t now_ns; /* of this pass */
    struct attach_process **processes;
    size_t process_count, process_capacity;
    size_t latest; /* whose event came last */
    uint32_t next_slot;
    struct known_files known;
    struct sink_counts counts;
    uint32_t ops;    /* of every so many inferences; 0: none */
    bool lags;       /* calls wait */
    bool asks_first; /* the helper, before it sets a probe */
    bool from_start; /* processes are to be watched from their first call on */
    uint64_t begun_ns;
    uint64_t since_ns; /* nothing of before is written */
    uint64_t until_ns; /* nor of after; 0: without end */
    bool muted;        /* this event tells of sessions, and is not written */
    uint64_t stop_ns;  /* when the probes began to be taken out; 0: not yet */
    void (*say)(void *user, const char *text);
    void *say_user;
    /* With operators and with Python, calls wait for one pass, so that it is known what happened
     * before their names were read. */
    struct attach_kept *queue;
    size_t queue_count, queue_capacity;
    size_t queue_ready; /* those that have waited */
};

/* threads.c */
struct attach_thread *attach_thread_of(struct attach_process *process, pid_t tid, pid_t own_tid);
void attach_threads_begin(struct attach_process *process); /* when it has its place in the trace */

/* attach.c */
struct attach_process *attach_by_slot(struct ort_attach *attach, uint32_t slot);
void attach_refuse(struct attach_process *process, const struct ort_library *library,
                   enum ifg_status status, const char *reason);
void attach_define(struct attach_process *process);
/* The process does what it cannot have begun with. */
void attach_note_late(struct attach_process *process);

/* functions.c */
enum ifg_status attach_functions_find(struct ort_attach *attach, pid_t pid,
                                      const struct ort_library *library, bool is_python,
                                      struct ort_backtrace *out_functions,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* nodes.c */
/* The name of a node, from the memory of the process unless it is known; 0: none. */
uint32_t attach_node_of(struct attach_process *process, const struct attach_kernels *kernels,
                        uint64_t state, uint32_t index, uint64_t *out_read_ns);
/* The number of that name with a location in this model; 0: there is no memory. */
uint32_t attach_node_named(struct attach_process *process, uint32_t node, uint32_t index,
                           const struct attach_model *model);
void attach_nodes_forget_seats(struct attach_process *process);
void attach_nodes_free(struct attach_process *process);

/* ops.c */
/* Asks where the functions are. Not found: the reason is noted. */
bool attach_ops_find(struct attach_process *process, const struct ort_library *library,
                     const char *runtime, struct ort_backtrace *out_functions);
/* Sets the probe in a library that is watched already. functions may be NULL: they were not found.
 */
void attach_ops_watch(struct attach_process *process, const struct ort_library *library,
                      size_t number, const struct ort_backtrace *functions);
/* custom.c: whether a library of custom operators is loaded; its name. */
bool attach_has_custom_operators(pid_t pid, char *out_name, size_t size);

void attach_ops_tell(const struct attach_process *process);
void attach_op_seen(struct attach_process *process, const struct uprobe_event *event);
/* Reads the names of a run's kernels. */
void attach_ops_resolve(struct attach_process *process, const struct uprobe_event *run);
/* Writes the kernels of a run, which ends after them. True: its time is not its own. */
bool attach_ops_write(struct attach_process *process, struct attach_thread *thread,
                      const struct uprobe_event *run, struct attach_session *session);
/* A call will be written: kernels that ended before it cannot be any more. */
void attach_ops_cut(struct attach_thread *thread, const struct uprobe_event *event);
/* Up to when the memory of a session that was there at from_ns was its own. */
uint64_t attach_trusted_until(const struct attach_process *process, uint64_t session,
                              uint64_t from_ns);
void attach_turn_add(struct attach_process *process, uint64_t session, uint64_t at_ns);
/* Calls that wait. */
void attach_queue_add(struct attach_process *process, const struct uprobe_event *event);
void attach_queue_pass(struct ort_attach *attach);

/* python.c */
void attach_python_watch(struct attach_process *process, const struct ort_library *library);
/* The path that a session has that was made just now; result is when it was read. */
void attach_python_name(const struct attach_process *process, struct uprobe_event *event,
                        char text[ATTACH_TEXT]);
void attach_python_event(struct attach_process *process, struct attach_thread *thread,
                         const struct uprobe_event *event);

/* models.c */
uint32_t attach_node_location(struct attach_process *process, const struct attach_model *model,
                              const char *name, const char *type);
uint32_t attach_zone_location(struct attach_process *process, uint32_t *location, const char *name);
/* A path as the process would find it, also if it has ended meanwhile. */
bool attach_absolute(const struct attach_process *process, const char *path, char *out,
                     size_t size);

#define ATTACH_MODEL(name_, path_, content_, runtime_, devices_)                                   \
    ((struct attach_model){ .name = (char *)(uintptr_t)(name_),                                    \
                            .path = (char *)(uintptr_t)(path_),                                    \
                            .content = (char *)(uintptr_t)(content_),                              \
                            .runtime = (char *)(uintptr_t)(runtime_),                              \
                            .devices = (char *)(uintptr_t)(devices_) })
struct attach_model *attach_model_of(struct attach_process *process,
                                     const struct attach_model *wanted, const char *inferred);
uint32_t attach_model_location(struct attach_process *process, struct attach_model *model,
                               enum trace_category category);
uint32_t attach_async_location(struct attach_process *process, struct attach_model *model);
uint32_t attach_release_location(struct attach_process *process);
struct attach_session *attach_session_find(struct attach_process *process, uint64_t address);
struct attach_session *attach_session_add(struct attach_process *process, uint64_t address,
                                          struct attach_model *model);
void attach_session_remove(struct attach_process *process, uint64_t address);
/* A session that was there before us. */
struct attach_session *attach_session_infer(struct attach_process *process, uint64_t address,
                                            const char *runtime);
void attach_models_free(struct attach_process *process);

/* events.c */
void attach_put_text(struct attach_thread *thread, uint64_t start, uint32_t location,
                     const char *key, const char *value);
void attach_put_number(struct attach_thread *thread, uint64_t start, uint32_t location,
                       const char *key, uint32_t number);
void attach_put_zone(struct attach_process *process, struct attach_thread *thread,
                     uint64_t start_ns, uint64_t end_ns, uint32_t location);
/* A run of the session in the first argument; a result that is not 0 is a failure. */
void attach_run_ended(struct attach_process *process, struct attach_thread *thread,
                      const struct uprobe_event *event, bool is_async);
void attach_event(struct attach_process *process, const struct uprobe_event *event);
/* Gives a load whose model is not known yet one, so that it can be shown while it is open. */
void attach_load_settle(struct attach_process *process, struct attach_load *load);

static inline uint32_t attach_id(uint32_t slot, size_t library, size_t probe)
{
    return slot << 12 | (uint32_t)library << 6 | (uint32_t)probe;
}

#define ATTACH_ID_SLOT(id)    ((id) >> 12)
#define ATTACH_ID_LIBRARY(id) ((id) >> 6 & 63)
#define ATTACH_ID_PROBE(id)   ((id)&63)

#endif
