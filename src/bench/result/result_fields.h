// SPDX-License-Identifier: Apache-2.0
/* Which key of a result's JSON document is which value, in the order of the document: the table
 * that the writer and the reader follow. A new field is a row of it. */
#ifndef IFG_BENCH_RESULT_FIELDS_H
#define IFG_BENCH_RESULT_FIELDS_H

#include "base/json.h"
#include "bench/result/result.h"

enum object {
    TOP,
    MODEL,
    RUNTIME,
    OPTIONS,
    HOST,
    ROW,
    INTERVALS,
    MEMORY,
    OPEN_LOOP,
    ENERGY,
    TRUST,
    LINE,
    PROCESS,
    BLOCK,
    OPERATOR,
    PLACEMENT,
    OBJECTS
};

enum type {
    TEXT,   /* char *, owned */
    CHARS,  /* char[limit] */
    NUMBER, /* double; null is NAN */
    TIME,   /* double, not negative; null is NAN */
    U64,
    U32,
    SIZE,
    I64, /* null is 0 */
    BOOLEAN,
    LEVEL,  /* enum trust_level, by name */
    KEPT,   /* const char *, owned by the result */
    TIMES,  /* list of double, count at `count` */
    LIST,   /* of objects */
    FIXED,  /* the same, in place, at most `limit` */
    INSIDE, /* an object whose values are part of this struct */
    RULE,   /* "linear", "nearest" */
};

/* When a value is written as null. */
enum null_if {
    NEVER, /* but a number that is none */
    ZERO,
    UNMEASURED, /* the row has no samples */
};

struct writing {
    struct ifg_json json;
    const struct bench_result *result;
    struct statistics_summary service; /* of the open loop that is being written; 0 if unmeasured */
    bool measured;                     /* ... has samples */
    enum ifg_status status;
    struct ifg_error *err;
};

struct field {
    const char *key;
    enum type type;
    size_t offset;
    size_t count;       /* where a list's count is */
    size_t limit;       /* elements of a list, bytes of CHARS */
    enum object object; /* of a list's elements, or inside */
    bool derived;       /* follows from the others: written, and computed again when read */
    enum null_if null;
    void (*put)(struct writing *writing, const struct field *field, const char *base); /* or NULL */
};

/* By object; the fields end with a NULL key. `bytes` is the size of a list's element. */
struct fields {
    const struct field *fields;
    size_t bytes;
};
extern const struct fields result_objects[OBJECTS];

/* Writes every field of a struct; between the braces of the caller. */
void result_put_fields(struct writing *writing, enum object object, const void *base);
void result_open_key(struct writing *writing, const char *key, char bracket);

#endif
