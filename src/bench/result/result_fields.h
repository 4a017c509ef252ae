// SPDX-License-Identifier: Apache-2.0
/* Which key of a result's JSON document becomes which value: the table that the reader follows. */
#ifndef IFG_BENCH_RESULT_FIELDS_H
#define IFG_BENCH_RESULT_FIELDS_H

#include "bench/result/result.h"

enum object {
    TOP,
    MODEL,
    RUNTIME,
    OPTIONS,
    HOST,
    ROW,
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

struct field {
    const char *key;
    enum type type;
    size_t offset;
    size_t count;       /* where a list's count is */
    size_t limit;       /* elements of a list, bytes of CHARS */
    enum object object; /* of a list's elements, or inside */
};

/* By object; the fields end with a NULL key. `bytes` is the size of a list's element. */
struct fields {
    const struct field *fields;
    size_t bytes;
};
extern const struct fields result_objects[OBJECTS];

#endif
