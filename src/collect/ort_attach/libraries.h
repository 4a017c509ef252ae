// SPDX-License-Identifier: Apache-2.0
/*
 * Which runtimes a process has mapped: every copy of ONNX Runtime, whatever its file is called,
 * also if that was deleted or lies in another mount namespace; Python's package, which has it
 * inside; and whether our own hooks are in the process.
 */
#ifndef IFG_COLLECT_ORT_ATTACH_LIBRARIES_H
#define IFG_COLLECT_ORT_ATTACH_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "collect/runtime_files.h"
#include "system/maps.h"
#include "symbol/ort_table.h"

#define ORT_LIBRARIES_MAX 16 /* in one process */

struct ort_library {
    struct file_key key;
    char path[PATH_MAX];      /* as the process sees it */
    char file[PATH_MAX + 64]; /* opens here */
    char reason[256];         /* why it cannot be opened; "" if it can */
};

struct ort_libraries {
    struct ort_library found[ORT_LIBRARIES_MAX];
    size_t count;
    size_t overflow;           /* more than there is room for */
    bool hooked;               /* our own hooks are in the process: they tell of all of these */
    bool python;               /* the Python package onnxruntime */
    bool python_hooked;        /* our import hook is in the process and tells of it */
    struct ort_library module; /* of the package */
};

/* Looks through the mappings. The numbers of files that are no runtime are added to known, and
 * those in it are not opened again; it may be NULL. IFG_PERMISSION or IFG_NOT_FOUND, with a
 * sentence, if the process cannot be looked into. */
enum ifg_status ort_libraries_find(pid_t pid, struct known_files *known,
                                   struct ort_libraries *out_libraries,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* The functions of a library that was found. The version is there also with IFG_UNSUPPORTED, if it
 * is known. */
enum ifg_status ort_library_table(const struct ort_library *library, struct ort_table *out_table,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* The file itself, for reading: what the process has mapped, or what its user can open under that
 * name. */
enum ifg_status ort_library_open(pid_t pid, const struct ort_library *library, int *out_fd,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* Whether a process has a runtime that probes could be set in. */
bool ort_process_has_runtime(pid_t pid);

#endif
