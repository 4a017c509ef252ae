// SPDX-License-Identifier: Apache-2.0
/* The state of a watch, shared by watch.c (processes and probes), calls.c (events) and models.c. */
#ifndef IFG_COLLECT_PROBE_FILE_WATCH_INTERNAL_H
#define IFG_COLLECT_PROBE_FILE_WATCH_INTERNAL_H

#include "base/strings.h"
#include "collect/probe_file/watch.h"
#include "collect/streams.h"

#define WATCH_MODELS_MAX    1024u  /* of one process; the last one stands for all others */
#define WATCH_LOCATIONS_MAX 8192u  /* the same */
#define WATCH_OBJECTS_MAX   65536u /* pointers of one process whose model is known */
#define WATCH_THREADS_MAX   16384u
#define WATCH_LIBRARIES_MAX 64u
#define WATCH_FUNCTIONS_MAX 16384u /* of all processes together */
#define WATCH_WORDS_MAX     16u

struct watched_location {
    uint32_t model; /* 0: a zone of no model */
    enum trace_category category;
    const char *name; /* of the function, or of the zone */
    uint32_t id;      /* in the trace */
};

struct watched_object {
    uint64_t address;
    uint32_t model;
    uint32_t session;
};

/* What is known of a process. */
struct watched_names {
    struct ifg_strings models; /* what they were called by: a path, a name, an address. Their ids
                                  are the numbers + 1 */
    struct watched_location *locations;
    size_t location_count, location_capacity;
    struct watched_object *objects;
    size_t object_count, object_capacity;
    struct ifg_index object_index;
    uint32_t sessions;
};

struct open_call {
    uint64_t start;
    uint32_t function;
    uint32_t model; /* 0: not known yet */
    uint32_t session;
    uint32_t location; /* 0: nothing is shown, or not known yet */
    bool hidden;       /* part of a call of the same category and model */
};

struct watched_thread {
    struct thread_stream base;
    struct open_call open[UPROBE_DEPTH_MAX];
};

/* A file in which probes are set, or cannot be. */
struct watched_library {
    const struct probe_file *file;
    uint64_t inode;
    char *path;
};

struct watched_process {
    struct watched_process *next;
    struct probe_watch *watch;
    pid_t pid;
    uint32_t process; /* in the trace */
    bool defined;
    struct watched_names names;
    struct streams threads;
    struct watched_library libraries[WATCH_LIBRARIES_MAX];
    size_t library_count;
    uint64_t followed_ns;
    uint64_t next_scan_ns;
};

/* What the number in an event means. */
struct watched_function {
    struct watched_process *process; /* NULL: it has ended */
    const struct probe_file *file;
    const struct probe_rule *rule;
    char *symbol;
};

/* An instrument's word, kept until there is somebody to hear it. */
struct watched_word {
    const struct probe_file *file;
    enum trace_instrument_state state;
    char reason[512];
};

struct probe_watch {
    struct probe_file *const *files;
    size_t file_count;
    struct sink *sink; /* NULL before it begins and after it is finished */
    struct uprobe *engine;
    struct map_watch *maps; /* tells of new libraries at once; NULL: not allowed, or not needed */
    int poll_fd;            /* both of them */
    uint64_t opened_ns;
    struct watched_process *processes;
    uint32_t process_count;
    struct watched_function *functions;
    uint32_t function_count;
    size_t function_capacity;
    struct watched_word words[WATCH_WORDS_MAX];
    size_t word_count;
    struct sink_counts counts; /* without what was dropped */
    uint64_t unnamed;          /* events for which there was no location */
    uint64_t now_ns;           /* of the drain that runs */
    uint32_t first_process;    /* in the trace: losses are told with it */
};

/* models.c: ids, 0 when there is no memory, or when a text that was read late is no file's name */
uint32_t watch_model_by_text(struct watched_process *process, const struct probe_file *file,
                             const char *text, bool is_late);
uint32_t watch_model_by_name(struct watched_process *process, const struct probe_file *file,
                             const char *name);
uint32_t watch_model_by_address(struct watched_process *process, const struct probe_file *file,
                                uint64_t address);
uint32_t watch_location(struct watched_process *process, const struct watched_function *function,
                        uint32_t model, const char *function_name);
struct watched_object *watch_object(struct watched_names *names, uint64_t address);
bool watch_learn(struct watched_names *names, uint64_t address, uint32_t model, uint32_t session);
void watch_forget(struct watched_names *names, uint64_t address);
void watch_names_fini(struct watched_names *names);

/* calls.c */
void watch_seen(const struct uprobe_event *event, void *user);

#endif
