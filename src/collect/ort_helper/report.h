// SPDX-License-Identifier: Apache-2.0
/*
 * From what the process with the foreign library told (probe.h) to what is known of its functions.
 * Nothing is concluded from the position of a function in a chain alone: a function counts as
 * ExecuteKernel if, in every run, one of its arguments was the index of the node that ran next; as
 * Run, Initialize or Load if all ways led through it and one of its arguments was the session.
 */
#ifndef IFG_COLLECT_ORT_HELPER_REPORT_H
#define IFG_COLLECT_ORT_HELPER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPORT_CHAIN_MAX     48
#define REPORT_CHAINS_MAX    64
#define REPORT_ENTERS_MAX    4096
#define REPORT_COMPUTES_MAX  512
#define REPORT_SESSIONS_MAX  32
#define REPORT_NAMES_MAX     64
#define REPORT_ARGUMENTS     6
#define REPORT_LABEL_BYTES   32
#define REPORT_MESSAGE_BYTES 400

enum report_event { REPORT_INFER, REPORT_KERNEL, REPORT_COMPUTE };

struct report_chain {
    char label[REPORT_LABEL_BYTES];
    enum report_event event;
    size_t count;
    uint64_t functions[REPORT_CHAIN_MAX]; /* addresses in the library's file */
};

struct report_enter {
    char label[REPORT_LABEL_BYTES];
    size_t computes_before; /* how many lines of operators came before */
    uint64_t function;
    uint64_t arguments[REPORT_ARGUMENTS];
    unsigned path; /* which of them was the path of the model; 0 = none */
};

struct report_compute {
    char label[REPORT_LABEL_BYTES];
    uint64_t index;
};

struct report_session {
    char label[REPORT_LABEL_BYTES];
    uint64_t pointer;
};

/* From the arguments of a function to the name of a node: see node_names.h. */
struct report_names {
    uint64_t function; /* 0: not found */
    unsigned argument;
    unsigned offsets[5];
    unsigned checked;
};

struct report {
    char version[32];
    char error[REPORT_MESSAGE_BYTES];
    char unchecked[REPORT_MESSAGE_BYTES];
    uint64_t api_run;
    size_t chain_count;
    size_t enter_count;
    size_t compute_count;
    size_t session_count;
    size_t names_count;
    struct report_chain chains[REPORT_CHAINS_MAX];
    struct report_enter enters[REPORT_ENTERS_MAX];
    struct report_compute computes[REPORT_COMPUTES_MAX];
    struct report_session sessions[REPORT_SESSIONS_MAX];
    struct report_names names[REPORT_NAMES_MAX];
};

/* A function and what its arguments are, counted from 1; 0 = unknown. */
struct report_function {
    uint64_t address;  /* 0: not found */
    unsigned argument; /* the node's index (ExecuteKernel), the session (others) */
    unsigned path;
    unsigned checked; /* calls that were seen to be so */
};

struct report_verdict {
    struct report_function execute_kernel;
    struct report_function run; /* InferenceSession::Run, whatever it was called by */
    struct report_function api_run;
    struct report_function initialize;
    struct report_function load;
    struct report_function load_path; /* called with a path */
    struct report_function load_array;
    struct report_names names; /* by the arguments of execute_kernel */
};

/* Lines that make no sense are passed over; what is beyond a limit, too. */
enum ifg_status report_read(const char *text, size_t bytes, struct report **out_report,
                            struct ifg_error *err) IFG_MUST_CHECK;
void report_free(struct report *report);

void report_judge(const struct report *report, struct report_verdict *out_verdict);

/* The chain of a run, innermost first; NULL if there is none. */
const struct report_chain *report_run_chain(const struct report *report);

#endif
