// SPDX-License-Identifier: Apache-2.0
/* Running foreign code on a job, in a process of its own: see helper.h. */
#include "collect/ort_helper/helper.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/ort_helper/child.h"
#include "collect/ort_helper/fields.h"
#include "collect/ort_helper/job.h"
#include "collect/ort_helper/made_model.h"
#include "collect/ort_helper/probe.h"
#include "collect/ort_helper/tell.h"

#define MEMORY_BYTES  (UINT64_C(16) << 30)
#define PROFILE_BYTES (UINT64_C(256) << 20)

#define TEXT_OF(number) QUOTE(number)
#define QUOTE(number)   #number

struct work {
    const char *library;
    const char *job;
};

/* In the child, where the library is one with OrtGetApiBase. */
static int load_and_do(void *user)
{
    static const char opened[] = "/proc/self/fd/" TEXT_OF(JOB_LIBRARY_FD);
    const struct work *work = user;
    void *library;
    void *symbol;
    const struct ort_base *(*get_base)(void);
    const struct ort_base *base;

    tell_to(JOB_RESULT_FD);
    library = dlopen(opened, RTLD_NOW | RTLD_LOCAL);
    /* One that looks for others beside itself, where its name says it is. */
    if (!library)
        library = dlopen(work->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        tell_sentence("error", "the library cannot be loaded", dlerror());
        return 1;
    }
    symbol = dlsym(library, "OrtGetApiBase");
    if (!symbol) {
        tell_sentence("error", work->library, "this is no ONNX Runtime: it has no OrtGetApiBase");
        return 1;
    }
    memcpy(&get_base, &symbol, sizeof get_base);
    base = get_base();
    if (!base || !probe_open(base) || !job_do(work->job))
        return 1;
    tell_sentence("end", "", NULL);
    return 0;
}

static enum ifg_status make_model_file(bool nested, int *out_fd, struct ifg_error *err)
{
    uint8_t model[MADE_MODEL_BYTES];
    size_t bytes = nested ? made_model_nested(model) : made_model(model);
    int fd = memfd_create("model.onnx", MFD_CLOEXEC);

    *out_fd = fd;
    if (fd < 0 || fchmod(fd, 0444) < 0 || write(fd, model, bytes) != (ssize_t)bytes)
        return ifg_fail_errno(err, "a model of %zu bytes cannot be kept in memory", bytes);
    return IFG_OK;
}

/* The first failure that was told, as the reason. */
static enum ifg_status told_failure(const struct ifg_bytes *words, struct ifg_error *err)
{
    const char *at = (const char *)words->data;
    const char *end = at + words->size;

    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct fields fields;
        char sentence[400];

        if (!stop)
            break;
        if (stop - at > 6 && memcmp(at, "error ", 6) == 0) {
            fields_over(&fields, at + 6, (size_t)(stop - at) - 6);
            fields_rest(&fields, sentence, sizeof sentence);
            return ifg_fail(err, IFG_UNSUPPORTED, "%s", sentence);
        }
        at = stop + 1;
    }
    return IFG_OK;
}

/* What the foreign code finds in its environment: where libraries are, and the job. */
static void fill_environment(const char *job, char *job_text, size_t size, const char **out)
{
    static char library_path[8192];
    const char *libraries = getenv("LD_LIBRARY_PATH");
    size_t count = 0;

    snprintf(job_text, size, "%s=%s", JOB_VARIABLE, job);
    out[count++] = job_text;
    out[count++] = "PATH=/usr/local/bin:/usr/bin:/bin";
    out[count++] = "LC_ALL=C.UTF-8";
    out[count++] = "HOME=/nonexistent";
    out[count++] = "PYTHONDONTWRITEBYTECODE=1";
    if (libraries) {
        snprintf(library_path, sizeof library_path, "LD_LIBRARY_PATH=%s", libraries);
        out[count++] = library_path;
    }
    out[count] = NULL;
}

enum ifg_status helper_run_job(const struct helper *helper, const char *job,
                               struct ifg_bytes *out_words, struct ifg_error *err)
{
    char what[256], text[JOB_BYTES + 64];
    struct work work = { helper->library, job };
    const char *argv[HELPER_PATHS_MAX + 8] = { helper->python,
                                               "-I",
                                               "-B",
                                               "/proc/self/fd/" TEXT_OF(JOB_SCRIPT_FD),
                                               "/proc/self/fd/" TEXT_OF(JOB_OPERATORS_FD),
                                               helper->library };
    const char *environment[8];
    struct child child = {
        .what = what,
        .argv = helper->python ? argv : NULL,
        .program_fd = helper->python_fd,
        .function = load_and_do,
        .user = &work,
        .environment = environment,
        .result_fd = JOB_RESULT_FD,
        .inputs = { -1, -1, helper->library_fd, helper->script_fd, helper->operators_fd },
        .input_count = 5,
        .timeout_s = (unsigned)helper->timeout_s,
        .memory_bytes = MEMORY_BYTES,
        .file_bytes = PROFILE_BYTES,
        .who = &helper->who,
        .is_foreign = true,
    };
    enum ifg_status status;

    for (size_t i = 0; i < helper->path_count; i++)
        argv[6 + i] = helper->paths[i];
    snprintf(what, sizeof what, "%.200s", helper->python ? helper->python : helper->library);
    fill_environment(job, text, sizeof text, environment);
    status = make_model_file(false, &child.inputs[0], err);
    if (!status)
        status = make_model_file(true, &child.inputs[1], err);
    if (!status)
        status = child_collect(&child, out_words, err);
    if (!status)
        status = told_failure(out_words, err);
    for (size_t i = 0; i < 2; i++)
        if (child.inputs[i] >= 0)
            close(child.inputs[i]);
    return status;
}
