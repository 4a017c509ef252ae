// SPDX-License-Identifier: Apache-2.0
/*
 * Where ONNX Runtime is on this machine. In this order: what the user named, IFG_ORT, the system's
 * libraries, node_modules here and above, Python's site-packages (the active environment first),
 * our own cache. Nothing is loaded: the process that runs the model does that.
 */
#ifndef IFG_BENCH_FIND_ORT_H
#define IFG_BENCH_FIND_ORT_H

#include <limits.h>

#include "base/status.h"

struct found_ort {
    char path[PATH_MAX]; /* of the library, resolved */
    char from[160];      /* "--ort", "IFG_ORT", "system library", "node_modules of /x", ... */
};

/* named: a library, or a directory that has one (node_modules, a venv, an unpacked release); NULL:
 * search. IFG_NOT_FOUND says where it looked and how to get one. */
enum ifg_status find_ort(const char *named, struct found_ort *out_found,
                         struct ifg_error *err) IFG_MUST_CHECK;

/* The libexec folder's inferogram-bench-runner, beside the tool or where it is installed. */
enum ifg_status find_runner(char out_path[PATH_MAX], struct ifg_error *err) IFG_MUST_CHECK;

#endif
