// SPDX-License-Identifier: Apache-2.0
/* Finding the hooks and naming them to a program: see hooks.h. */
#include "record/hooks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/process_folder.h"
#include "wire/device.h"
#include "wire/heap.h"
#include "wire/wire.h"

#define PRELOAD_LIBRARY "libinferogram-preload.so"
#define RUNTIME_LIBRARY "libinferogram-ort.so"
#define MEMORY_LIBRARY  "libinferogram-memory.so"
#define NOTES_LIBRARY   "libinferogram-annotations.so"
#define DEVICE_LIBRARY  "libinferogram-cupti.so"
#define CUDA_INJECTION  "CUDA_INJECTION64_PATH"
#define ROCM_LIBRARY    "libinferogram-rocm.so"
#define ROCM_TOOLS      "ROCP_TOOL_LIBRARIES"
#define ROCM_REGISTER   "ROCPROFILER_REGISTER_LIBRARY"

/* A sanitized program does not start with any preloaded library, unless it is told to. */
#define SANITIZER_WORD "verify_asan_link_order=0"

enum ifg_status hooks_add_variable(struct hooks *hooks, const char *name, const char *value,
                                   struct ifg_error *err)
{
    size_t bytes = strlen(value) + 1;
    char *copy = ifg_alloc(bytes, 1);

    if (!copy)
        return ifg_fail_no_memory(err, NULL);
    memcpy(copy, value, bytes);
    hooks->variables[hooks->variable_count++] = (struct launch_variable){ name, copy };
    return IFG_OK;
}

void hooks_fini(struct hooks *hooks)
{
    for (size_t i = 0; i < hooks->variable_count; i++)
        ifg_free(hooks->variables[i].value);
    memset(hooks, 0, sizeof *hooks);
}

static bool is_there(const char *directory, const char *name)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, R_OK) == 0;
}

/* Beside the installed command, or in the build tree. */
static bool find_beside_us(char out[PATH_MAX])
{
    static const char *const folders[] = { IFG_HOOKS_FROM_BIN, "../../hooks" };
    char self[PATH_MAX];

    if (!process_own_program_folder(self))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[2 * PATH_MAX];

        snprintf(path, sizeof path, "%s%s%s", folders[i][0] == '/' ? "" : self,
                 folders[i][0] == '/' ? "" : "/", folders[i]);
        if (realpath(path, out))
            return true;
    }
    return false;
}

bool hooks_find_directory(char out[PATH_MAX], char *reason, size_t size)
{
    const char *named = secure_getenv("IFG_HOOKS_DIR");

    if (named && *named && !realpath(named, out)) {
        snprintf(reason, size, "there is no directory %.256s (IFG_HOOKS_DIR)", named);
        return false;
    }
    if ((!named || !*named) && !find_beside_us(out)) {
        snprintf(reason, size,
                 "the hooks are not installed; install all of Inferogram, or set "
                 "IFG_HOOKS_DIR to where they are");
        return false;
    }
    if (strpbrk(out, ": \t\n$")) {
        snprintf(reason, size,
                 "the loader cannot be told of a directory with a blank, a colon or "
                 "a dollar sign in its name (%.256s)",
                 out);
        return false;
    }
    return true;
}

/* Whether one of the parts of a list is this one. */
static bool list_has(const char *list, const char *separators, const char *part)
{
    size_t bytes = strlen(part);

    for (const char *at = list; (at = strstr(at, part)); at++)
        if ((at == list || strchr(separators, at[-1])) &&
            (!at[bytes] || strchr(separators, at[bytes])))
            return true;
    return false;
}

/* The user's own value stays; ours comes before or behind it. Once is enough: a recorder may have
 * been started by another one. */
static enum ifg_status add_to_list(struct hooks *hooks, const char *name, const char *separators,
                                   const char *ours, bool first, struct ifg_error *err)
{
    const char *own = getenv(name);
    enum ifg_status status;
    size_t bytes;
    char *value;

    if (!own || !*own)
        return hooks_add_variable(hooks, name, ours, err);
    if (list_has(own, separators, ours))
        return IFG_OK;
    bytes = strlen(own) + strlen(ours) + 2;
    value = ifg_alloc(bytes, 1);
    if (!value)
        return ifg_fail_no_memory(err, NULL);
    snprintf(value, bytes, "%s:%s", first ? ours : own, first ? own : ours);
    status = hooks_add_variable(hooks, name, value, err);
    ifg_free(value);
    return status;
}

/* "$LIB" is for the loader of the GNU C library, which puts the folder of its machine there; all of
 * them lead to the same file. The loader of musl takes it as it is, finds nothing, and goes on. */
static enum ifg_status add_preload(struct hooks *hooks, const char *directory,
                                   struct ifg_error *err)
{
    char path[PATH_MAX + 64];
    enum ifg_status status;

    snprintf(path, sizeof path, "%s/$LIB/" PRELOAD_LIBRARY, directory);
    status = add_to_list(hooks, "LD_PRELOAD", ": ", path, false, err);
    if (!status)
        status = add_to_list(hooks, "ASAN_OPTIONS", ":, ", SANITIZER_WORD, false, err);
    hooks->preload = !status;
    return status;
}

enum ifg_status hooks_prepare(struct hooks *hooks, const struct program *program, uint32_t ops,
                              struct ifg_error *err)
{
    char directory[PATH_MAX];
    char python[PATH_MAX + 16];
    char number[16];
    enum ifg_status status = IFG_OK;

    if (program->kind != PROGRAM_ORDINARY) {
        program_reason(program, hooks->reason, sizeof hooks->reason);
        return IFG_OK;
    }
    if (!hooks_find_directory(directory, hooks->reason, sizeof hooks->reason))
        return IFG_OK;
    if (!is_there(directory, PRELOAD_LIBRARY) || !is_there(directory, RUNTIME_LIBRARY))
        snprintf(hooks->reason, sizeof hooks->reason, "%s is missing in %.256s",
                 is_there(directory, PRELOAD_LIBRARY) ? RUNTIME_LIBRARY : PRELOAD_LIBRARY,
                 directory);
    else
        status = add_preload(hooks, directory, err);
    snprintf(python, sizeof python, "%s/python", directory);
    if (!status && is_there(python, "sitecustomize.py")) {
        status = add_to_list(hooks, "PYTHONPATH", ":", python, true, err);
        hooks->python = !status;
    }
    if (!status && ops && (hooks->preload || hooks->python)) {
        snprintf(number, sizeof number, "%u", ops);
        status = hooks_add_variable(hooks, IFG_ENV_OPS, number, err);
    }
    return status;
}

/* Puts a library in front of what is preloaded, be it the user's or ours. */
static enum ifg_status preload_first(struct hooks *hooks, const char *path, struct ifg_error *err)
{
    for (size_t i = 0; i < hooks->variable_count; i++) {
        struct launch_variable *variable = &hooks->variables[i];
        size_t bytes = strlen(path) + strlen(variable->value) + 2;
        char *value;

        if (strcmp(variable->name, "LD_PRELOAD") != 0)
            continue;
        value = ifg_alloc(bytes, 1);
        if (!value)
            return ifg_fail_no_memory(err, NULL);
        snprintf(value, bytes, "%s:%s", path, variable->value);
        ifg_free(variable->value);
        variable->value = value;
        return IFG_OK;
    }
    if (add_to_list(hooks, "LD_PRELOAD", ": ", path, true, err) != IFG_OK)
        return IFG_NO_MEMORY;
    return add_to_list(hooks, "ASAN_OPTIONS", ":, ", SANITIZER_WORD, false, err);
}

bool hooks_add_memory(struct hooks *hooks, const struct program *program, const char *ring,
                      char *reason, size_t size)
{
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];
    struct ifg_error err = { .message = "" };

    if (program->kind != PROGRAM_ORDINARY) {
        program_reason(program, reason, size);
        return false;
    }
    if (!hooks_find_directory(directory, reason, size))
        return false;
    if (!is_there(directory, MEMORY_LIBRARY)) {
        snprintf(reason, size, MEMORY_LIBRARY " is missing in %.256s", directory);
        return false;
    }
    snprintf(path, sizeof path, "%s/$LIB/" MEMORY_LIBRARY, directory);
    if (preload_first(hooks, path, &err) != IFG_OK ||
        hooks_add_variable(hooks, IFG_ENV_MEMORY, ring, &err) != IFG_OK) {
        snprintf(reason, size, "%.500s", err.message);
        return false;
    }
    return true;
}

/* Puts ours in the place of what the user has, which ours calls then. A recorder that was started
 * by another one finds ours there. */
static enum ifg_status take_variable(struct hooks *hooks, const char *name, const char *next,
                                     const char *ours, struct ifg_error *err)
{
    const char *own = getenv(name);
    enum ifg_status status = IFG_OK;

    if (own && strcmp(own, ours) == 0)
        return IFG_OK;
    if (own && *own)
        status = hooks_add_variable(hooks, next, own, err);
    return status ? status : hooks_add_variable(hooks, name, ours, err);
}

enum ifg_status hooks_add_annotations(struct hooks *hooks, const struct program *program,
                                      const char *domains, struct ifg_error *err)
{
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];
    enum ifg_status status;

    if (program->kind != PROGRAM_ORDINARY) {
        program_reason(program, hooks->no_annotations, sizeof hooks->no_annotations);
        return IFG_OK;
    }
    if (!hooks_find_directory(directory, hooks->no_annotations, sizeof hooks->no_annotations))
        return IFG_OK;
    if (!is_there(directory, NOTES_LIBRARY)) {
        snprintf(hooks->no_annotations, sizeof hooks->no_annotations,
                 NOTES_LIBRARY " is missing in %.256s", directory);
        return IFG_OK;
    }
    snprintf(path, sizeof path, "%s/" NOTES_LIBRARY, directory);
    status = take_variable(hooks, "NVTX_INJECTION64_PATH", IFG_ENV_NVTX_NEXT, path, err);
    if (!status)
        status = take_variable(hooks, "INTEL_LIBITTNOTIFY64", IFG_ENV_ITT_NEXT, path, err);
    if (!status && domains)
        status = hooks_add_variable(hooks, IFG_ENV_ANNOTATIONS, domains, err);
    hooks->annotations = !status;
    return status;
}

/* Where a library for devices is; false with the reason. */
static bool find_device_library(const struct program *program, const char *library,
                                char out[PATH_MAX + 64], char *reason, size_t size)
{
    char directory[PATH_MAX];

    if (program->kind != PROGRAM_ORDINARY) {
        program_reason(program, reason, size);
        return false;
    }
    if (!hooks_find_directory(directory, reason, size))
        return false;
    if (!is_there(directory, library)) {
        snprintf(reason, size, "%s is missing in %.256s", library, directory);
        return false;
    }
    snprintf(out, PATH_MAX + 64, "%s/%s", directory, library);
    return true;
}

static enum ifg_status add_wanted(struct hooks *hooks, bool full, struct ifg_error *err)
{
    for (size_t i = 0; i < hooks->variable_count; i++)
        if (strcmp(hooks->variables[i].name, IFG_ENV_GPU) == 0)
            return IFG_OK;
    return hooks_add_variable(hooks, IFG_ENV_GPU, full ? "full" : "kernels", err);
}

bool hooks_add_device(struct hooks *hooks, const struct program *program, bool full, char *reason,
                      size_t size)
{
    const char *own = getenv(CUDA_INJECTION);
    char path[PATH_MAX + 64];
    struct ifg_error err = { .message = "" };
    enum ifg_status status = IFG_OK;

    if (!find_device_library(program, DEVICE_LIBRARY, path, reason, size))
        return false;
    if (own && *own && strcmp(own, path) != 0)
        status = hooks_add_variable(hooks, IFG_ENV_INJECTION, own, &err);
    if (!status)
        status = hooks_add_variable(hooks, CUDA_INJECTION, path, &err);
    if (!status)
        status = add_wanted(hooks, full, &err);
    if (status)
        snprintf(reason, size, "%.500s", err.message);
    return !status;
}

/* Whether a list has it already: a recorder that was started by another one finds it there. */
static bool has_tool(const char *list, const char *path)
{
    size_t length = strlen(path);

    for (const char *at = strstr(list, path); at; at = strstr(at + 1, path))
        if ((at == list || at[-1] == ':') && (!at[length] || at[length] == ':'))
            return true;
    return false;
}

/* Behind those that are there. rocprofiler-sdk 1.0 reads what stands before a colon as soon as
 * there is one, so that the last one needs its own. */
static enum ifg_status add_tool(struct hooks *hooks, const char *path, struct ifg_error *err)
{
    const char *own = getenv(ROCM_TOOLS);
    size_t bytes = (own ? strlen(own) : 0) + strlen(path) + 3;
    enum ifg_status status;
    char *list;

    if (!own || !*own)
        return hooks_add_variable(hooks, ROCM_TOOLS, path, err);
    if (has_tool(own, path))
        return IFG_OK;
    list = ifg_alloc(bytes, 1);
    if (!list)
        return ifg_fail_no_memory(err, NULL);
    snprintf(list, bytes, "%s%s%s:", own, own[strlen(own) - 1] == ':' ? "" : ":", path);
    status = hooks_add_variable(hooks, ROCM_TOOLS, list, err);
    ifg_free(list);
    return status;
}

bool hooks_add_rocm(struct hooks *hooks, const struct program *program, bool full, char *reason,
                    size_t size)
{
    char path[PATH_MAX + 64];
    struct ifg_error err = { .message = "" };
    enum ifg_status status;

    if (!find_device_library(program, ROCM_LIBRARY, path, reason, size))
        return false;
    status = take_variable(hooks, ROCM_REGISTER, IFG_ENV_ROCM_REGISTER, path, &err);
    if (!status)
        status = add_tool(hooks, path, &err);
    if (!status)
        status = add_wanted(hooks, full, &err);
    if (status)
        snprintf(reason, size, "%.500s", err.message);
    return !status;
}
