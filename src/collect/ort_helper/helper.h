// SPDX-License-Identifier: Apache-2.0
/* The parts of inferogram-ort-helper: what it was asked, and the two things it can find out. */
#ifndef IFG_COLLECT_ORT_HELPER_HELPER_H
#define IFG_COLLECT_ORT_HELPER_HELPER_H

#include <sys/types.h>

#include "base/bytes.h"
#include "base/status.h"
#include "system/credentials.h"

#define HELPER_PATHS_MAX     256
#define HELPER_PROVIDERS_MAX 8

struct helper {
    struct credentials who; /* as whom foreign code runs */
    int library_fd;         /* what was opened and checked is what is used */
    int python_fd;
    int script_fd;    /* helper.py */
    int operators_fd; /* libinferogram-backtrace.so */
    const char *library;
    const char *model;
    const char *python;
    const char *paths[HELPER_PATHS_MAX];
    size_t path_count;
    const char *providers[HELPER_PROVIDERS_MAX];
    size_t provider_count;
    long timeout_s;
    long level;
    long threads;
    long size;
};

/* The answer (answer.h) is appended to out. */
enum ifg_status helper_backtrace(const struct helper *helper, struct ifg_bytes *out,
                                 struct ifg_error *err) IFG_MUST_CHECK;
enum ifg_status helper_nodes(const struct helper *helper, struct ifg_bytes *out,
                             struct ifg_error *err) IFG_MUST_CHECK;

/* Runs the library, or the interpreter with it, on a job (job.h). out_words: what was told. A
 * failure that was told is an error, too. */
enum ifg_status helper_run_job(const struct helper *helper, const char *job,
                               struct ifg_bytes *out_words, struct ifg_error *err) IFG_MUST_CHECK;

#endif
