// SPDX-License-Identifier: Apache-2.0
/*
 * The runtimes that are known, one row each: what they are called, by which files a process shows
 * that it has one, how it is watched, and which of its options a finding may advise. Commands,
 * recorder and analysis take their words from here, so that none of them names a runtime.
 */
#ifndef IFG_RUNTIMES_RUNTIMES_H
#define IFG_RUNTIMES_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>

/* What findings advise in the words of a runtime. Where a row has none, the rule's own stand. */
enum runtime_advice {
    RUNTIME_GET_DEVICE,     /* a device that was asked for is not in this build */
    RUNTIME_GET_LIBRARY,    /* its library is not installed */
    RUNTIME_SEE_ERROR,      /* it failed for another reason */
    RUNTIME_SEE_PLACEMENT,  /* it got no operators, and nobody said why */
    RUNTIME_REUSE_INPUTS,   /* preparing inputs takes long */
    RUNTIME_REUSE_MEMORY,   /* each inference allocates and frees much */
    RUNTIME_LOAD_SMALLER,   /* loading takes much more memory than the model needs */
    RUNTIME_FEWER_THREADS,  /* the option for that */
    RUNTIME_SHARE_THREADS,  /* one pool for all sessions */
    RUNTIME_WAIT_PASSIVELY, /* threads that wait without spinning */
    RUNTIME_LAUNCH_LESS,    /* the host launches work too slowly for the device */
    RUNTIME_KEEP_ON_DEVICE, /* data travels between host and device in inferences */
    RUNTIME_TUNE_LESS,      /* the first inference tries out kernels */
    RUNTIME_ADVICES,
};

/* How a model is kept as it was made for a device; a row of NULL: for any other. */
struct runtime_keep {
    const char *device; /* a part of its name */
    const char *advice;
};

/* Hooks that can be loaded into a process that runs already. */
struct runtime_inject {
    const char *library; /* in the folder of the hooks */
    const char *patch;   /* its functions, and the result of them: hooks/ort/patch.h */
    const char *unpatch;
    const char *result;
};

struct runtime {
    const char *name;             /* of its models and instruments; a version may follow */
    const char *package;          /* of Python, with the runtime inside; NULL: none is known */
    const char *python;           /* the instrument of that */
    const char *module;           /* how the name of its file in a process begins; with a '/', that
                                     of the folder around it too */
    const char *const *libraries; /* how the names of its libraries begin; or NULL */
    const char *door;   /* watched from outside by this function, which a file that has the runtime
                            inside exports, whatever it is called; NULL: it is not */
    const char *probes; /* followed by this description (probes/); NULL: by hooks, or a source */
    const char *const *marks; /* one of these is in a program that it is linked into; or NULL */
    const char *const *allocators;       /* names of functions that allocate for others; or NULL */
    const struct runtime_inject *inject; /* NULL: it cannot be done */
    const char *advice[RUNTIME_ADVICES];
    const struct runtime_keep *keep; /* ends with a device of NULL; or NULL */
    bool uses_all_cores; /* a session has a thread for each, unless its options say otherwise */
};

/* table.c; ends with NULL. */
extern const struct runtime *const runtimes[];

/* The row of those that have more than words. */
extern const struct runtime runtime_ort;

/* For sentences, the names of those that are watched without being asked for: "A or B". */
enum runtime_way {
    RUNTIME_LAUNCHED, /* in programs that are started by us */
    RUNTIME_ATTACHED, /* from outside, in those that run already */
    RUNTIME_INJECTED, /* by hooks that are loaded into those */
};
struct runtime_names {
    char text[256];
};
struct runtime_names runtimes_watched(enum runtime_way way);

/* A description that comes with us and is of no runtime, but of the driver below all of them. */
#define RUNTIME_DRIVER_PROBES "cuda"

/* The descriptions that come with us, by number; NULL at the end. */
const char *runtime_described(size_t index);

/* The runtime that a model or an instrument is called by, whichever of its names that is; NULL: it
 * is none. A name may go on with a version. */
const struct runtime *runtime_called(const char *name);

/* The runtime that a file in a process belongs to, by its path or name; NULL: none.
 * *out_is_module: Python's. */
const struct runtime *runtime_of_file(const char *path, bool *out_is_module);

/* Execution providers that hand an operator to a device and go on: the time of such an operator
 * on the host is how long that took, and not how long the device was busy with it. With or without
 * "ExecutionProvider" behind the name, of so many bytes. */
bool runtime_provider_is_asynchronous(const char *name, size_t bytes);

/* Whether its nodes run on an NVIDIA device, whose energy NVML tells. */
bool runtime_provider_uses_nvidia(const char *name, size_t bytes);

/* The words beside a table of such operators. */
#define PROVIDER_HOST_TIME "host time; the device is not recorded"

#endif
