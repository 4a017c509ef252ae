// SPDX-License-Identifier: Apache-2.0
/*
 * The hooks that a launched program gets: where they are installed, and the environment by which
 * the system's loader and Python find them.
 */
#ifndef IFG_RECORD_HOOKS_H
#define IFG_RECORD_HOOKS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "record/launch.h"
#include "record/program.h"

#define HOOKS_VARIABLES 24

struct hooks {
    bool preload;             /* the loader puts our library into the program and its children */
    bool python;              /* Python programs find our import hook */
    char reason[512];         /* why there is no preload; "" if there is */
    bool annotations;         /* NVTX and ITT of the program lead to our library */
    char no_annotations[512]; /* why not; "" if they do */
    struct launch_variable variables[HOOKS_VARIABLES];
    size_t variable_count;
};

/* Adds a variable to those that the command gets. */
enum ifg_status hooks_add_variable(struct hooks *hooks, const char *name, const char *value,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* Prepares the environment for a program. It is IFG_OK if nothing can be hooked; reason tells why.
 * ops: 0, or operators of every so many inferences. */
enum ifg_status hooks_prepare(struct hooks *hooks, const struct program *program, uint32_t ops,
                              struct ifg_error *err) IFG_MUST_CHECK;

/* Adds the library that follows allocations, in front of whatever is preloaded, so that it is asked
 * first and a malloc that the user preloads second. False with the reason: it cannot be. */
bool hooks_add_memory(struct hooks *hooks, const struct program *program, const char *ring,
                      char *reason, size_t size);

/* Names our library of annotations to NVTX and ITT, and remembers one that the user had named.
 * domains: those that are wanted, NULL for all. It is IFG_OK if that cannot be; no_annotations
 * tells why. */
enum ifg_status hooks_add_annotations(struct hooks *hooks, const struct program *program,
                                      const char *domains, struct ifg_error *err) IFG_MUST_CHECK;

/* Names the library that follows GPUs to CUDA's driver. One that the user has configured is called
 * by it. False with the reason: it cannot be. */
bool hooks_add_device(struct hooks *hooks, const struct program *program, bool full, char *reason,
                      size_t size);

/* Names the library that follows AMD GPUs to ROCm, behind tools that the user has configured. It is
 * also the one that ROCm loads in place of rocprofiler-sdk: hooks/rocm/sdk.c says why. False with
 * the reason: it cannot be. */
bool hooks_add_rocm(struct hooks *hooks, const struct program *program, bool full, char *reason,
                    size_t size);

void hooks_fini(struct hooks *hooks);

/* Where they are installed. False, with the reason, if there is no directory that can be named to
 * the loader. */
bool hooks_find_directory(char out[PATH_MAX], char *reason, size_t size);

#endif
