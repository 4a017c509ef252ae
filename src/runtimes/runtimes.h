// SPDX-License-Identifier: Apache-2.0
/*
 * The runtimes that are known, one row each: what they are called, by which files a process shows
 * that it has one, and how it is watched. Commands, recorder and analysis take their words from
 * here, so that none of them names a runtime.
 */
#ifndef IFG_RUNTIMES_RUNTIMES_H
#define IFG_RUNTIMES_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

struct runtime {
    const char *name;    /* of its models and instruments; a version may follow */
    const char *package; /* of Python, with the runtime inside; NULL: none is known */
    const char *python;  /* the instrument of that */
    const char *module;  /* how the name of its file in a process begins */
    const char *library; /* how the names of its libraries begin */
    const char *helpers; /* a part of the names of those that only help it; NULL: there are none */
    const char *probes;  /* followed by this description (probes/); NULL: by hooks and probes of
                            its own */
    const char *const *marks; /* one of these is in a program that it is linked into; or NULL */
    const char *const *allocators; /* names of functions that allocate for others; or NULL */
};

extern const struct runtime runtimes[];
extern const size_t runtime_count;

/* The row of those that have more than words. */
extern const struct runtime *const runtime_ort;

/* For sentences: what is watched without being asked for, and what can be asked for. */
#define RUNTIMES_WATCHED   "ONNX Runtime"
#define RUNTIMES_DESCRIBED "llama, openvino"

/* The runtime that a model or an instrument is called by, whichever of its names that is; NULL: it
 * is none. A name may go on with a version. */
const struct runtime *runtime_called(const char *name);

/* The runtime that a file in a process belongs to, by its name without folders; NULL: none. Those
 * with a description are not asked: it says where they are. *out_is_module: Python's. */
const struct runtime *runtime_of_file(const char *name, bool *out_is_module);

#endif
