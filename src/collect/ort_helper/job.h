// SPDX-License-Identifier: Apache-2.0
/* What the process with the foreign library is to do, handed over as one text. */
#ifndef IFG_COLLECT_ORT_HELPER_JOB_H
#define IFG_COLLECT_ORT_HELPER_JOB_H

#include <stdbool.h>

#define JOB_RESULT_FD    3 /* lines go there */
#define JOB_MODEL_FD     4 /* a file with the made model */
#define JOB_NESTED_FD    5 /* one with the nested model */
#define JOB_LIBRARY_FD   6 /* the library, or the module of Python */
#define JOB_SCRIPT_FD    7 /* for Python: helper.py */
#define JOB_OPERATORS_FD 8 /* for Python: libinferogram-backtrace.so */
#define JOB_VARIABLE     "INFEROGRAM_ORT_HELPER_JOB"
#define JOB_BYTES        16384

/*
 * The text is "backtrace", or "nodes" and then, each on a line of its own:
 *     model PATH
 *     profile PREFIX     of the file that ONNX Runtime writes
 *     level N            graph optimization
 *     threads N          of the session
 *     provider NAME      to be added, in this order
 *     size N             for dimensions that the model leaves open
 * False: told why.
 */
bool job_do(const char *text);

#endif
