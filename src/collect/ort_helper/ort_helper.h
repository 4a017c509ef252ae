// SPDX-License-Identifier: Apache-2.0
/*
 * What must be found out by running an ONNX Runtime, found out in a process that is thrown away:
 * where a stripped library executes one kernel, where sessions run and are made inside a Python
 * module, and what the nodes of a model are called.
 *
 * The library's code is executed, by inferogram-ort-helper, with limits, as the user of the program
 * that has it loaded (run_as.h), never as anybody else, without capabilities and in a sandbox. A
 * library that crashes, hangs or is none costs a sentence and the time limit.
 */
#ifndef IFG_COLLECT_ORT_HELPER_ORT_HELPER_H
#define IFG_COLLECT_ORT_HELPER_ORT_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

#define ORT_HELPER_NODES_MAX 200000

/* A function. Arguments are counted from 1 in the order of the registers (x86-64: 1 = rdi, 2 = rsi,
 * 3 = rdx ...; aarch64: 1 = x0 ...), with what C++ passes behind the scenes included. */
struct ort_point {
    uint64_t file_offset;  /* 0: not found */
    uint64_t probe_offset; /* the same, or past endbr64 or bti */
    unsigned argument;     /* execute_kernel: index of the node; others: the session */
    unsigned path;         /* argument that points to a std::string with the model's path; or 0 */
    unsigned checked;      /* calls in which that was seen to be so */
};

/* From an argument of execute_kernel to the name of the node, in the memory of the watched process:
 *
 *     state = *(argument + offsets[0])    lives as long as the session, one for each graph
 *     nodes = *(*(state + offsets[1]) + offsets[2])
 *     node = nodes[index]
 *     name = *(node + offsets[3]), type of the operator = *(node + offsets[4])    texts, NUL at end
 *
 * Checked with graphs inside of others: this tells the two branches of an If apart, which have the
 * same indices. */
struct ort_name_path {
    unsigned argument;   /* 0: not found */
    unsigned offsets[5]; /* the last is 0 if types cannot be had */
    unsigned checked;    /* names that were right; none was wrong */
};

struct ort_backtrace {
    char version[32];
    char build_id[132]; /* "" without one */
    struct ort_point execute_kernel;
    struct ort_name_path names;
    struct ort_point run;        /* every way to run leads through it, on the thread of the run */
    struct ort_point api_run;    /* OrtApi::Run; not found where Python is the caller */
    struct ort_point initialize; /* the second and last part of making a session */
    struct ort_point load;       /* the first part; every way leads through it */
    struct ort_point load_path;  /* from a file */
    struct ort_point load_array; /* from memory */
    char missing[400];           /* why there is no execute_kernel; "" if there is one */
};

/* A node that ran. Index is what execute_kernel gets. Nodes of the bodies of If, Loop and Scan have
 * indices of their own: `parent` is the path of indices that leads to them, such as 12 or 12/3, and
 * "" for the main graph. An If has two bodies with the same indices and only one of them ran: where
 * the program takes the other one, these names are wrong. See is_in_branch. */
struct ort_node {
    uint64_t index;
    const char *parent;
    const char *name;
    const char *type;
    const char *provider;
    bool is_ambiguous;     /* another name was seen for the same parent and index */
    bool is_in_branch;     /* inside of an If, or of something inside of an If */
    bool is_of_failed_run; /* seen only in an attempt with inputs that did not fit */
};

struct ort_nodes {
    struct ort_node *items; /* by parent, index */
    size_t count;
    bool complete;  /* a run with random inputs succeeded */
    char note[400]; /* why not */
    struct ifg_bytes texts;
};

struct credentials;

struct ort_helper_options {
    const struct credentials *who;  /* the program's user; NULL: this process is the program */
    int library_fd;                 /* the library, already opened; 0: by its name */
    int python_fd;                  /* the interpreter, already opened; 0: by its name */
    const char *python;             /* interpreter, if the library is a Python module; or NULL */
    const char *const *python_path; /* its sys.path, NULL at the end; or NULL */
    const char *helper;             /* program; NULL: found beside this one */
    unsigned timeout_s;             /* 0: 20 */
    bool no_cache;
    bool only_cache; /* IFG_NOT_FOUND without a message, instead of running anything */
    /* for nodes, as the program set them */
    int level;                    /* graph optimization: 0, 1, 2, 99; -1: ONNX Runtime's default */
    int threads;                  /* 0: 1 */
    const char *const *providers; /* NULL at the end; or NULL */
};

#define ORT_HELPER_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .level = -1                                                                                \
    }

/* options may be NULL. The answer comes from the cache if this library was asked about before. */
enum ifg_status ort_helper_backtrace(const char *library, const struct ort_helper_options *options,
                                     struct ort_backtrace *out_backtrace,
                                     struct ifg_error *err) IFG_MUST_CHECK;

enum ifg_status ort_helper_nodes(const char *library, const char *model,
                                 const struct ort_helper_options *options,
                                 struct ort_nodes *out_nodes, struct ifg_error *err) IFG_MUST_CHECK;
void ort_nodes_fini(struct ort_nodes *nodes);

/* The node of the run that succeeded before others; NULL: there is none. */
const struct ort_node *ort_nodes_find(const struct ort_nodes *nodes, const char *parent,
                                      uint64_t index);

#endif
