// SPDX-License-Identifier: Apache-2.0
/*
 * What a session is called, seen from outside: paths as the process means them, and the names of
 * sessions that were there before us. Memory of the process is hostile, and changes while it is
 * read; a name that is not certain is none.
 */
#ifndef IFG_COLLECT_ORT_ATTACH_NAMES_H
#define IFG_COLLECT_ORT_ATTACH_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Copies memory of a process; false if not all of it can be read. */
bool names_process_memory(pid_t pid, uint64_t address, void *out, size_t bytes);

/* A C string of a process, complete; false if it is longer than the room, or not readable. */
bool names_process_text(pid_t pid, uint64_t address, char *out, size_t size);

/* A path as the process itself would find it: absolute, below its own root. */
bool names_process_absolute(pid_t pid, const char *path, char *out, size_t size);

/* Whether the process would find a file there; *out_bytes is its size. */
bool names_process_has_file(pid_t pid, const char *absolute, uint64_t *out_bytes);

/* A model's name: its file name without .onnx or .ort. */
void model_name_of(const char *path, char *out, size_t size);

/* The path that a session object has inside it, if it is one that can be believed: it ends as
 * models do, it is there, and there is no other. */
bool names_session_object_path(pid_t pid, uint64_t session, char *out, size_t size);

/* The file that a model in memory is: mapped there, from its beginning to its end. A file that the
 * process merely has open says nothing about the models in its memory. */
bool names_session_mapped_file(pid_t pid, uint64_t data, uint64_t bytes, char *out, size_t size);

/* The hash of a model that lies in the memory of a process, as hooks would have it; false: not all
 * of what it takes could be read. */
bool names_session_content(pid_t pid, uint64_t data, uint64_t bytes, uint64_t *out_hash);

/* The name of the graph in a model that lies in the memory of a process; false: none is found. */
bool names_session_graph_name(pid_t pid, uint64_t data, uint64_t bytes, char *out, size_t size);

#endif
