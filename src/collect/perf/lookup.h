// SPDX-License-Identifier: Apache-2.0
/*
 * Looking up names of many frames at once, in child processes; and the lists that people and
 * runtimes leave in text files: /proc/kallsyms, /tmp/perf-PID.map (see jit_code.h).
 *
 * libdw opens what a file's debug information names: separate debug files, those shared by several
 * (dwz), split ones. So for each owner of modules (owners.h) there is a child with his rights,
 * below his root directory, which can name nothing but frames of his modules. If it dies of a file
 * or waits for it, another child goes on with the next one.
 */
#ifndef IFG_COLLECT_PERF_LOOKUP_H
#define IFG_COLLECT_PERF_LOOKUP_H

#include "base/bytes.h"
#include "collect/perf/modules.h"
#include "trace/samples.h"

/* Symbols of all frames, those of one frame together. */
struct lookup {
    struct trace_symbol *symbols;
    size_t count, room;
    struct ifg_bytes *texts; /* of each child's answer; symbols point into them */
    size_t text_count, text_capacity;
    size_t bytes; /* of all answers */
    char problem[200];
};

/* Fills symbols; frames without any name have none. Never fails: problem tells. */
void lookup_run(struct lookup *lookup, const struct modules *modules,
                const struct trace_frame *frames, size_t frame_count, unsigned timeout_s);
void lookup_fini(struct lookup *lookup);

/* ---- lists in text: "START SIZE NAME" in hexadecimal, or kallsyms ---- */

struct name_list;

enum name_list_kind { NAME_LIST_PERF_MAP, NAME_LIST_KALLSYMS };

/* NULL: there is none, or nothing in it. */
struct name_list *name_list_read(const char *path, enum name_list_kind kind);
/* From the begin of an open file, which stays open. */
struct name_list *name_list_read_fd(int fd, enum name_list_kind kind);
/* The same from text that is not ours; it is not changed. */
struct name_list *name_list_parse(const char *text, size_t size, enum name_list_kind kind);
void name_list_destroy(struct name_list *list);
bool name_list_find(const struct name_list *list, uint64_t address, const char **out_name,
                    uint64_t *out_start, uint64_t *out_size);

#endif
