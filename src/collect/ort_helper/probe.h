// SPDX-License-Identifier: Apache-2.0
/*
 * Running ONNX Runtime on a made model to see which of its functions lead to our operator, and with
 * which arguments they are called. Runs in a process that is thrown away. What is seen is told as
 * lines (tell.h); addresses are those of the library's file:
 *
 *     ort VERSION
 *     api run ADDRESS                  the table's function Run
 *     session LABEL POINTER            the session that LABEL uses
 *     chain LABEL EVENT ADDRESS...     functions of the library, innermost first; EVENT is
 *                                      infer (the model is being loaded), kernel (the session is
 *                                      being initialized) or compute
 *     enter LABEL ADDRESS A1 ... A6 [path=K]   a function was entered: its arguments; argument K is
 *                                      a string with the path of the model
 *     compute LABEL INDEX              the operator of this node runs now
 *     names ADDRESS ARGUMENT O1 O2 O3 O4 O5 TIMES   see node_names.h
 *     unchecked SENTENCE               there will be no `enter`
 *     note SENTENCE                    something else that could not be had
 *     error SENTENCE
 */
#ifndef IFG_COLLECT_ORT_HELPER_PROBE_H
#define IFG_COLLECT_ORT_HELPER_PROBE_H

#include <stdbool.h>

#include "ort_abi/custom_op.h"

/* Takes the library that `base` belongs to. False: told why. */
bool probe_open(const struct ort_base *base);

/* All that can be seen through the table: sessions made from memory and from a file, Run and
 * RunWithBinding; labels are array, path, run, bind, then check-array, check-path, check-run and
 * check-bind with the session of check-array, check-other with that of check-path; nested is the
 * model with a graph inside of another one, of which only names are told. model_fd: a file
 * with the made model. False: told why. */
bool probe_table(int model_fd, bool may_fail);

/* From now on the functions that were seen tell their arguments, once, and again after each
 * operator. path: of the model that is being loaded, or NULL. */
void probe_check(const char *path);

/* Tells the ways to names (node_names.h) that were right so far. */
void probe_tell_names(void);

/* Adds our operators to options of somebody else's session. From then on the label is that of the
 * environment variable. */
bool probe_add_operators(void *session_options);
#define PROBE_LABEL_VARIABLE "INFEROGRAM_ORT_HELPER_LABEL"

/* For jobs that need the table only. */
ort_table probe_api(void);
unsigned probe_minor(void);
bool probe_ok(void *status, const char *what); /* tells and releases a status that is none */

#endif
