// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptions of runtimes, written as text by people (docs/probes.md): which exported functions of
 * which library do what with which model. A description knows nothing of processes; watch.h follows
 * them with it.
 *
 * Everything in a parsed description is checked: numbers of arguments are 1 to 6, every event has a
 * model, one text and one stored word per function, no text is empty.
 */
#ifndef IFG_COLLECT_PROBE_FILE_PROBE_FILE_H
#define IFG_COLLECT_PROBE_FILE_PROBE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format.h"

#define PROBE_FILE_BYTES_MAX (64u << 10)
#define PROBE_LINE_MAX       512u
#define PROBE_LIBRARIES_MAX  8u
#define PROBE_RULES_MAX      128u
#define PROBE_ATTRIBUTES_MAX 4u
#define PROBE_NAME_MAX       127u /* of a runtime, model, function, zone, attribute, library */
#define PROBE_SYMBOL_MAX     255u
#define PROBE_NOTE_MAX       255u

enum probe_shows {
    PROBE_SHOWS_NOTHING, /* only teaches which pointer belongs to which model */
    PROBE_SHOWS_EVENT,   /* one of the five categories */
    PROBE_SHOWS_ZONE,
};

enum probe_model_from {
    PROBE_MODEL_NONE,
    PROBE_MODEL_TEXT,    /* the text in argument `model_argument`: a path, or a name */
    PROBE_MODEL_OBJECT,  /* that of the pointer in argument `model_argument` */
    PROBE_MODEL_NAME,    /* `model_name` */
    PROBE_MODEL_UNNAMED, /* a new one, known only by the object that the call makes */
};

enum probe_object_from {
    PROBE_OBJECT_NONE,
    PROBE_OBJECT_RESULT,
    PROBE_OBJECT_STORED,   /* through argument `object_argument` */
    PROBE_OBJECT_ARGUMENT, /* argument `object_argument` itself */
};

/* What of the result is compared: a C int, a C bool, a pointer or 64-bit integer. */
enum probe_width {
    PROBE_INT,
    PROBE_BOOL,
    PROBE_LONG,
    PROBE_POINTER,
};

enum probe_comparison {
    PROBE_NEVER, /* no call fails */
    PROBE_EQUAL,
    PROBE_UNEQUAL,
    PROBE_LESS,
    PROBE_LESS_EQUAL,
    PROBE_GREATER,
    PROBE_GREATER_EQUAL,
};

struct probe_attribute {
    char *key;
    uint8_t argument; /* 1 to 6 */
    bool is_text;     /* else a signed integer */
};

struct probe_rule {
    char *symbol; /* a pattern if it has * or ? */
    unsigned line;
    enum probe_shows shows;
    enum trace_category category; /* of an event */
    char *zone;                   /* name of a zone */
    enum probe_model_from model_from;
    enum probe_object_from object_from;
    uint8_t model_argument;
    uint8_t object_argument;
    uint8_t forget_argument;   /* the pointer that is nobody's afterwards; 0: none */
    uint8_t function_argument; /* a text; 0: `function` */
    uint8_t text_argument;     /* the one that is needed as a text; 0: none */
    char *model_name;
    char *function; /* NULL: main */
    enum probe_comparison failed;
    enum probe_width width;
    int64_t failed_value;
    struct probe_attribute attributes[PROBE_ATTRIBUTES_MAX];
    size_t attribute_count;
};

struct probe_library {
    char *pattern;   /* of the file name; of the whole path if it has a slash */
    bool executable; /* the program itself, whatever it is called */
};

struct probe_file {
    char *name; /* for messages: the path, or what the caller called it */
    char *runtime;
    char *note; /* NULL without one */
    struct probe_library libraries[PROBE_LIBRARIES_MAX];
    size_t library_count;
    struct probe_rule *rules;
    size_t rule_count, rule_capacity;
};

/* IFG_CORRUPT with "NAME:LINE: what is wrong; what to do". */
enum ifg_status probe_file_parse(const char *name, const void *bytes, size_t size,
                                 struct probe_file **out_file,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Finds and parses one. A name with a slash, or of an existing file, is that file; any other is
 * NAME.probe in `folders`, which are separated by colons, the first that has it. */
enum ifg_status probe_file_load(const char *name, const char *folders, struct probe_file **out_file,
                                struct ifg_error *err) IFG_MUST_CHECK;

void probe_file_free(struct probe_file *file); /* accepts NULL */

/* Whether a result means that the call failed, and what is told of it then ("-1", "null"). */
bool probe_rule_failed(const struct probe_rule *rule, uint64_t result, char *out_text, size_t size);

/* Whether the file that a process maps is one of the libraries. */
bool probe_file_wants(const struct probe_file *file, const char *path, bool is_executable);

#endif
