// SPDX-License-Identifier: Apache-2.0
/* The insides of watched processes, shared by attach.c (life), events.c (what calls mean),
 * models.c (sessions and models) and threads.c (streams). */
#ifndef IFG_COLLECT_ORT_ATTACH_ATTACH_INTERNAL_H
#define IFG_COLLECT_ORT_ATTACH_ATTACH_INTERNAL_H

#include "collect/ort_attach/attach.h"
#include "collect/ort_attach/libraries.h"

#define ATTACH_OPEN_MAX      4 /* loads inside of loads */
#define ATTACH_PREPARES      32
#define ATTACH_OPTIONS       64
#define ATTACH_PROVIDERS     8
#define ATTACH_TEXT          UPROBE_TEXT_MAX
#define ATTACH_PROCESSES_MAX 4096u
#define ATTACH_SESSIONS_MAX  65536u
#define ATTACH_MODELS_MAX    4096u
#define ATTACH_THREADS_MAX   65536u

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
    char *runtime;
    char *devices;
    uint32_t places[TRACE_CATEGORIES]; /* 0: not defined yet */
    uint32_t async_place;
};

struct attach_session {
    uint64_t address;
    uint32_t number;
    struct attach_model *model;
};

/* A load that has begun. */
struct attach_load {
    uint64_t start_ns;
    uint32_t probe;
    uint32_t library;
    uint32_t place;    /* 0: its model is not known yet */
    uint64_t named_ns; /* when the name of a model in memory was read */
    struct attach_model *model;
    char text[PATH_MAX]; /* its path, or the name of its graph */
    char devices[256];
};

struct attach_thread {
    pid_t tid;
    pid_t own_tid;   /* in its own pid namespace; 0: not known */
    uint32_t thread; /* index in the trace */
    struct trace_stream *stream;
    uint64_t oldest_ns; /* when the oldest unwritten event was taken; 0: none */
    uint64_t seen_ns;
    bool open_changed;
    size_t open_count;
    struct attach_load open[ATTACH_OPEN_MAX];
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
    bool defined;
    uint64_t image; /* changes with exec */
    uint64_t next_look_ns;
    uint64_t next_check_ns; /* of its image */
    struct ort_attach_sight sight;
    struct file_key watched[ORT_LIBRARIES_MAX];
    char runtimes[ORT_LIBRARIES_MAX][48]; /* "ONNX Runtime 1.20.1" */
    size_t watched_count;
    struct file_key refused[ORT_LIBRARIES_MAX];
    size_t refused_count;
    struct attach_session *sessions; /* by address */
    size_t session_count, session_capacity;
    uint32_t next_session;
    uint32_t nameless; /* sessions from before us whose model is not in them */
    struct attach_model **models;
    size_t model_count, model_capacity;
    uint32_t next_place;
    uint32_t release_place;
    struct attach_thread **threads; /* by tid */
    size_t thread_count, thread_capacity;
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
    struct ort_attach_sink sink;
    bool begun;
    uint64_t now_ns; /* of this pass */
    struct attach_process **processes;
    size_t process_count, process_capacity;
    size_t latest; /* whose event came last */
    uint32_t next_slot;
    struct ort_known known;
    struct ort_attach_counts counts;
};

/* threads.c */
struct attach_thread *attach_thread_of(struct attach_process *process, pid_t tid, pid_t own_tid);
void attach_thread_flush(struct attach_process *process, struct attach_thread *thread,
                         uint64_t now_ns, bool final);
void attach_threads_flush(struct attach_process *process, uint64_t now_ns, bool final);
void attach_threads_sweep(struct attach_process *process, uint64_t now_ns);
void attach_threads_free(struct attach_process *process);

/* models.c */
struct attach_model *attach_model_of(struct attach_process *process, const char *name,
                                     const char *path, const char *runtime, const char *devices,
                                     const char *inferred);
uint32_t attach_model_place(struct attach_process *process, struct attach_model *model,
                            enum trace_category category);
uint32_t attach_async_place(struct attach_process *process, struct attach_model *model);
uint32_t attach_release_place(struct attach_process *process);
struct attach_session *attach_session_find(struct attach_process *process, uint64_t address);
struct attach_session *attach_session_add(struct attach_process *process, uint64_t address,
                                          struct attach_model *model);
void attach_session_remove(struct attach_process *process, uint64_t address);
/* A session that was there before us. */
struct attach_session *attach_session_infer(struct attach_process *process, uint64_t address,
                                            const char *runtime);
void attach_models_free(struct attach_process *process);

/* events.c */
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
