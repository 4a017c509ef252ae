// SPDX-License-Identifier: Apache-2.0
/* What the files of this room share while one trace is imported. */
#ifndef IFG_IMPORT_IMPORT_INTERNAL_H
#define IFG_IMPORT_IMPORT_INTERNAL_H

#include "base/bytes.h"
#include "import/event.h"
#include "import/import.h"
#include "base/strings.h"
#include "import/store.h"
#include "trace/format.h"
#include "trace/writer.h"

/* Times are kept as nanoseconds plus this, so that they may be negative. */
#define TIME_ZERO  (UINT64_C(1) << 62)
#define TIME_LIMIT (INT64_C(1) << 62)

#define THREADS_MAX    65536u
#define LOCATIONS_MAX  131072u
#define KEYS_MAX       65536u
#define NAME_MAX_BYTES 4096u
#define KEY_MAX_BYTES  256u
#define TEXT_MAX_BYTES 65536u
#define FACTS_MAX      64u

struct known_process {
    int64_t pid;    /* -1: was a text */
    uint32_t name;  /* in texts; IFG_STRINGS_NONE: none */
    uint64_t first; /* earliest time */
};

struct known_thread {
    uint32_t process;
    int64_t tid; /* -1: was a text */
    uint32_t name;
};

/* Texts are numbers in importer->texts, IFG_STRINGS_NONE: none. */
struct identity {
    uint32_t process;
    uint32_t kind;     /* enum trace_location_kind */
    uint32_t category; /* enum trace_category */
    uint32_t cat;      /* the category as the file had it */
    uint32_t model;
    uint32_t function;
    uint32_t file;
    uint32_t line;
};

/* What an event is an instance of. */
struct meaning {
    enum trace_location_kind kind;
    enum trace_category category;
    const char *name;
    size_t name_bytes;
    const struct value *cat; /* NULL: says nothing */
    const struct value *model;
    const struct value *function;
    const struct value *file;
    uint32_t line;
    bool from_ort;
    bool is_of_file; /* its model is called like the file */
    bool unfinished;
    bool is_ours; /* written by `inferogram export`: some arguments are part of the meaning */
};

struct importer {
    const struct import_options *options;
    struct import_result *result;
    struct ifg_error *err;
    bool no_memory; /* noticed where no status is returned */
    struct store *store;
    struct ifg_strings process_keys;
    struct ifg_strings thread_keys;
    struct ifg_strings location_keys; /* a struct identity, then the name */
    struct ifg_strings texts;         /* names of processes and threads, categories */
    struct ifg_strings keys;          /* of details */
    struct ifg_strings flow_names;
    uint64_t *flow_realms; /* of each name: the category and scope that it was first seen in */
    size_t flow_capacity;
    struct known_process *processes;
    struct known_thread *threads;
    size_t process_capacity;
    size_t thread_capacity;
    struct ifg_bytes scratch; /* details of one event, encoded */
    struct ifg_bytes name;    /* a name while it is put together */
    struct ifg_bytes facts;   /* key and value strings for the trace */
    uint32_t fact_count;
    uint64_t offset; /* of the event in the text */
    uint64_t first;  /* earliest and latest time */
    uint64_t last;
    int64_t base_realtime_ns; /* 0: unknown */
    char model_name[256];
};

/* Counts, and remembers where it was first. */
void import_count(struct importer *importer, enum import_reason reason, uint64_t count);

/* A fact about the file; one too many or too large is counted. */
void import_fact(struct importer *importer, const char *prefix, const char *key, size_t key_bytes,
                 const struct value *value);

/* The number of a process, thread or location; IFG_STRINGS_NONE (counted) when there are too
 * many. */
uint32_t import_process(struct importer *importer, const struct value *pid);
uint32_t import_thread(struct importer *importer, uint32_t process, const struct value *tid);
uint32_t import_location(struct importer *importer, uint32_t process,
                         const struct meaning *meaning);
const char *import_location_get(const struct importer *importer, uint32_t location,
                                struct identity *out_identity);

/* A copy of foreign text that fits and has no NUL in it; what was cut is counted. The result is in
 * importer->name until the next call. */
const char *import_clean(struct importer *importer, const char *text, size_t bytes, size_t most,
                         size_t *out_bytes);

/* Chrome tells flows apart by name, id, category and scope, we by name and id. So the id changes
 * where a name is used in a second category or scope. */
uint64_t import_flow_id(struct importer *importer, const struct event *event, const char *name,
                        size_t name_bytes, uint64_t id);
uint64_t import_hash(const char *text, size_t bytes);

bool import_parse_time(const struct value *value, int64_t *out_ns);
bool import_parse_integer(const char *text, size_t bytes, int64_t *out_value);
bool import_parse_number(const char *text, size_t bytes, double *out_value);

/* Details into importer->scratch. */
void import_put_text(struct importer *importer, const char *key, size_t key_bytes, const char *text,
                     size_t bytes);
void import_put_value(struct importer *importer, const char *key, size_t key_bytes,
                      const struct value *value, bool numbers_in_strings);

/* What an event means if ONNX Runtime, or we, wrote it; false: neither did. */
bool understand_ort(const struct event *event, bool surely, struct meaning *out_meaning);
bool understand_ours(const struct event *event, struct meaning *out_meaning);

/* Is this argument part of the meaning already? */
bool understand_uses(const struct meaning *meaning, const struct event_arg *arg);

/* ONNX Runtime does not say which model it was; its file name is the next best. */
void understand_model_name(const char *path, char *out, size_t size);

/* Takes one parsed event over. Fails only for lack of memory or disk. */
enum ifg_status import_event(struct importer *importer, const struct event *event) IFG_MUST_CHECK;

/* Writes everything that was taken over. */
enum ifg_status import_write(struct importer *importer) IFG_MUST_CHECK;

#endif
