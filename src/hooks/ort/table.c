// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram-ort.so: hands out a table of ONNX Runtime's functions in which some are ours.
 *
 * A table is taken only if everything about it is as known: its version, and that each slot leads
 * into one and the same library. Otherwise the program gets the real one, and the trace says why.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/observer.h"
#include "hooks/ort/wrap.h"

struct ort_runtime ort_runtimes[ORT_RUNTIMES_MAX] = {
    [0 ... ORT_RUNTIMES_MAX - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER, .log_level = 2 },
};
bool ort_late;
struct ort_map ort_sessions = ORT_MAP_INIT;
struct ort_map ort_options_map = ORT_MAP_INIT;
struct ort_map ort_bindings = ORT_MAP_INIT;

static pthread_mutex_t runtimes_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned runtime_count;

/* Whether every slot leads into the library that the base came from. */
static bool is_one_library(const struct ort_base *base, const ort_function *api, unsigned slots)
{
    Dl_info home;
    Dl_info there;

    if (!dladdr((void *)(uintptr_t)base->get_api, &home))
        return false;
    for (unsigned i = 0; i < slots; i++)
        if (!api[i] || !dladdr((void *)(uintptr_t)api[i], &there) ||
            there.dli_fbase != home.dli_fbase)
            return false;
    return true;
}

/* Finds the segment that `at` is in. */
struct segment {
    uintptr_t at;
    uintptr_t end;
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *user)
{
    struct segment *segment = user;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type == PT_LOAD && segment->at >= begin && segment->at < end) {
            segment->end = end;
            return 1;
        }
    }
    return 0;
}

/*
 * A program that was built for a newer version may call functions behind those that we know. What
 * lies there is copied as it is, whether or not it still belongs to the table.
 */
static void copy_table(struct ort_runtime *rt)
{
    struct segment segment = { .at = (uintptr_t)rt->api };
    size_t words = rt->slots;

    if (ort_abi_is_longer(rt->minor) && dl_iterate_phdr(find_segment, &segment))
        words = (segment.end - segment.at) / sizeof *rt->api;
    if (words > ORT_TABLE_WORDS)
        words = ORT_TABLE_WORDS;
    memcpy(rt->table, rt->api, (words > rt->slots ? words : rt->slots) * sizeof *rt->api);
}

static void stand_aside(const char *version, const char *reason)
{
    char name[64];

    snprintf(name, sizeof name, "ONNX Runtime %.24s", version ? version : "?");
    ifg_instrument_report(name, IFG_INSTRUMENT_UNAVAILABLE, reason);
}

/* NULL: it is not wrapped, and the trace says why. */
static struct ort_runtime *take(const struct ort_base *real, const char *how)
{
    const char *version = real->get_version ? real->get_version() : NULL;
    struct ort_runtime *rt;
    const ort_function *api;
    unsigned minor = 0;
    char reason[192];

    if (!ort_abi_parse_version(version, &minor) || !ort_abi_slots_of(minor)) {
        snprintf(reason, sizeof reason,
                 "this Inferogram knows the functions of 1.%d and later; version %.24s is left "
                 "alone",
                 ORT_ABI_OLDEST, version ? version : "?");
        stand_aside(version, reason);
        return NULL;
    }
    if (runtime_count == ORT_RUNTIMES_MAX) {
        stand_aside(version, "too many different ONNX Runtimes in one process (4 are watched)");
        return NULL;
    }
    api = real->get_api(minor);
    if (!api || !is_one_library(real, api, ort_abi_slots_of(minor))) {
        stand_aside(version, "its table of functions is not as expected for this version");
        return NULL;
    }
    rt = &ort_runtimes[runtime_count];
    rt->real_base = real;
    rt->api = api;
    rt->slots = ort_abi_slots_of(minor);
    rt->minor = minor;
    rt->untried = ort_abi_is_untried(minor);
    snprintf(rt->version, sizeof rt->version, "%s", version);
    snprintf(rt->name, sizeof rt->name, "ONNX Runtime %.31s", version);
    copy_table(rt);
    ort_wrap_table(rt, runtime_count);
    snprintf(
        reason, sizeof reason,
        "%s; newer than 1.%d, the newest that this Inferogram was tested with: watched without "
        "operators and parts of loads",
        how, ORT_ABI_TRIED);
    ifg_instrument_report(rt->name, IFG_INSTRUMENT_ON, rt->untried ? reason : how);
    return rt;
}

/* ---- what the program calls ---- */

static const ort_function *get_api(struct ort_runtime *rt, uint32_t version)
{
    /* Every version up to its own has the same table; the real one refuses the others, and says
     * so. */
    const ort_function *real = rt->real_base->get_api(version);

    return real == rt->api ? rt->table : real;
}

static const ort_function *get_api_0(uint32_t version)
{
    return get_api(&ort_runtimes[0], version);
}
static const ort_function *get_api_1(uint32_t version)
{
    return get_api(&ort_runtimes[1], version);
}
static const ort_function *get_api_2(uint32_t version)
{
    return get_api(&ort_runtimes[2], version);
}
static const ort_function *get_api_3(uint32_t version)
{
    return get_api(&ort_runtimes[3], version);
}

const struct ort_base *ifg_ort_wrap_base(const struct ort_base *real)
{
    static const ort_function *(*const get_apis[ORT_RUNTIMES_MAX])(uint32_t) = {
        get_api_0,
        get_api_1,
        get_api_2,
        get_api_3,
    };
    static const struct ort_base *refused[8];
    const struct ort_base *result = real;
    int saved_errno = errno;

    pthread_mutex_lock(&runtimes_lock);
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i] == real)
            goto out;
    for (unsigned i = 0; i < runtime_count; i++)
        if (ort_runtimes[i].real_base == real) {
            if (!ort_runtimes[i].injected) /* ours are in the real table otherwise */
                result = &ort_runtimes[i].base;
            goto out;
        }
    if (take(real, "launch hooks")) {
        struct ort_runtime *rt = &ort_runtimes[runtime_count];

        rt->base.get_api = get_apis[runtime_count];
        rt->base.get_version = real->get_version;
        runtime_count++;
        result = &rt->base;
    } else {
        for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++)
            if (!refused[i]) {
                refused[i] = real;
                break;
            }
    }
out:
    pthread_mutex_unlock(&runtimes_lock);
    errno = saved_errno;
    return result;
}

struct ort_runtime *ort_take_in_place(const struct ort_base *real)
{
    struct ort_runtime *rt = NULL;

    pthread_mutex_lock(&runtimes_lock);
    for (unsigned i = 0; i < runtime_count && !rt; i++)
        if (ort_runtimes[i].real_base == real)
            rt = &ort_runtimes[i];
    if (!rt && (rt = take(real, "injected"))) {
        memcpy(rt->original, rt->api, rt->slots * sizeof *rt->api);
        rt->real_table = (ort_function *)(uintptr_t)rt->api;
        rt->api = rt->original;
        rt->injected = true;
        rt->log_level = 0; /* not known: take the most talkative, to be quiet */
        ort_late = true;
        runtime_count++;
    }
    pthread_mutex_unlock(&runtimes_lock);
    return rt;
}

void ort_status_text(const struct ort_runtime *rt, struct ort_status *status, char *out,
                     size_t size)
{
    const char *text = NULL;

    if (status)
        text = ((const char *(*)(struct ort_status *))rt->api[ORT_GetErrorMessage])(status);
    snprintf(out, size, "error: %s", text ? text : "?");
}

bool ort_ok(const struct ort_runtime *rt, struct ort_status *status)
{
    if (status)
        ORT_VOID(rt, ReleaseStatus)(status);
    return !status;
}
