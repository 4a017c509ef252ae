// SPDX-License-Identifier: Apache-2.0
/*
 * What a session's creation tells: reading the model and initializing it apart, whether it was
 * specialized there and then, and where its nodes went.
 *
 * The parts come from ONNX Runtime's own profile, which is switched on for the creation alone and
 * ended before the first run, so that runs cost what they always cost.
 */
#include "hooks/ort/creation.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "hooks/ort/cache_watch.h"
#include "hooks/ort/ops.h"
#include "hooks/ort/session_profile.h"
#include "trace/keys.h"

#define PROFILE_BYTES   65536u
#define ASSIGNMENT_KEY  "session.record_ep_graph_assignment_info"
#define WARNING         2 /* ONNX Runtime's level; below it, its profiler talks in the log */
#define PROVIDERS_NAMED 16

void creation_clock(struct creation_time *out)
{
    out->ns = ifg_monotonic_ns();
    out->ticks = ifg_ticks();
}

static int is_provider_library(struct dl_phdr_info *info, size_t size, void *user)
{
    const char *name =
        info->dlpi_name ? strstr(info->dlpi_name, "libonnxruntime_providers_") : NULL;

    (void)size;
    (void)user;
    return name && !strstr(name, "_providers_shared");
}

/* Only the CPU can get nodes: nothing else was asked for, or all of it failed. A provider may also
 * have been asked for by a function of its own, which we do not see; its library is there then. */
static bool is_cpu_only(const struct ort_options *asked)
{
    unsigned others = 0;

    for (unsigned i = 0; i < asked->provider_count; i++)
        others += strcmp(asked->providers[i], ORT_CPU) != 0;
    return !asked->unknown && asked->policy == -1 && others <= asked->failed_count &&
           !dl_iterate_phdr(is_provider_library, NULL);
}

/* ---- questions ---- */

static bool is_quiet(const struct creation *creation)
{
    int level = creation->asked->log_severity >= 0 ? creation->asked->log_severity
                                                   : creation->rt->log_level;

    return level >= WARNING;
}

/* A profiled session whose model cannot be loaded adds a line to the log. */
static bool looks_loadable(const struct creation *creation)
{
    return creation->identity.nodes || creation->identity.is_ort_format;
}

static void ask_for_parts(struct creation *creation)
{
    static uint32_t counter;
    const char *directory = ifg_session_directory();
    char prefix[ORT_TEXT];
    int length;

    /* Other providers start profilers of their own (CUPTI) when a session is profiled. */
    if (!*directory || !looks_loadable(creation) || creation->asked->profiling ||
        !is_cpu_only(creation->asked) || !is_quiet(creation))
        return;
    length = snprintf(prefix, sizeof prefix, "%s/file-%d-%u-load", directory, (int)getpid(),
                      __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED));
    if (length < 0 || length >= (int)sizeof prefix)
        return;
    creation->has_parts =
        ort_ok(creation->rt, ORT_FN(creation->rt, EnableProfiling, struct ort_session_options *,
                                    ort_text)(creation->ours, prefix));
}

void creation_ask_nothing(void)
{
    if (ops_every)
        ifg_instrument_report("operators", IFG_INSTRUMENT_UNAVAILABLE,
                              "this version of ONNX Runtime is newer than the tested ones");
}

void creation_ask(struct creation *creation)
{
    struct ort_runtime *rt = creation->rt;

    if (ort_has(rt, ORT_GetAssignmentInfo))
        creation->has_assignment =
            ort_ok(rt, ORT_FN(rt, AddSessionConfigEntry, struct ort_session_options *, ort_text,
                              ort_text)(creation->ours, ASSIGNMENT_KEY, "1"));
    if (ops_every && looks_loadable(creation)) {
        const char *how;
        char every[16];

        creation->observed = ops_prepare(rt, creation->env, creation->asked, creation->ours, &how,
                                         &creation->profile);
        snprintf(every, sizeof every, "%u", ops_every);
        if (how && creation->is_new_model) {
            ifg_model_property(creation->model, TRACE_PROPERTY_OPS_EVERY, every);
            ifg_model_property(creation->model, TRACE_PROPERTY_OPS_HOW, how);
        }
    }
    if (!creation->profile)
        ask_for_parts(creation);
}

/* ---- the parts ---- */

struct part {
    bool found;
    uint64_t start_us;
    uint64_t duration_us;
};

static uint64_t number_after(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* One event a line, as ONNX Runtime writes them:
 * {"cat" : "Session","pid" :1,"tid" :1,"dur" :2,"ts" :3,"ph" : "X","name" :"...","args" : {}}, */
static void read_parts(char *text, struct part *reading, struct part *initializing)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct part part = { true, number_after(line, "\"ts\" :"),
                             number_after(line, "\"dur\" :") };

        if (strstr(line, "\"name\" :\"model_loading_"))
            *reading = part;
        else if (strstr(line, "\"name\" :\"session_initialization\""))
            *initializing = part;
    }
}

/* Ends the profile and takes its file. False: there is nothing to read. */
static bool take_profile(const struct creation *creation, struct ort_session *session, char *out,
                         size_t size)
{
    struct ort_runtime *rt = creation->rt;
    struct ort_allocator *allocator = NULL;
    char *name = NULL;
    ssize_t got = -1;
    int fd;

    if (!ort_ok(rt,
                ORT_FN(rt, GetAllocatorWithDefaultOptions, struct ort_allocator **)(&allocator)) ||
        !ort_ok(rt, ORT_FN(rt, SessionEndProfiling, struct ort_session *, struct ort_allocator *,
                           char **)(session, allocator, &name)) ||
        !name)
        return false;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        got = read(fd, out, size - 1);
        close(fd);
        unlink(name);
    }
    ort_ok(rt, ORT_FN(rt, AllocatorFree, struct ort_allocator *, void *)(allocator, name));
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static uint32_t zone_location(uint32_t *location, const char *name)
{
    if (!*location)
        *location = ifg_location_create(
            &(ifg_location_options){ .struct_size = sizeof(ifg_location_options), .name = name });
    return *location;
}

static uint32_t read_location(void)
{
    static uint32_t location;

    return zone_location(&location, "read model");
}

static uint32_t initialize_location(const struct creation *creation, bool is_cold)
{
    static uint32_t location;

    return is_cold ? ifg_event_location(creation->model, NULL, IFG_SPECIALIZATION)
                   : zone_location(&location, "initialize");
}

/* The initialization is the last thing that a creation does: its end is known on our clock, and the
 * rest follows from ONNX Runtime's times, which have another zero. */
static void write_parts(const struct creation *creation, const struct part *reading,
                        const struct part *initializing, bool is_cold)
{
    uint64_t ns = creation->end.ns - creation->begin.ns;
    double rate = ns ? (double)(creation->end.ticks - creation->begin.ticks) / (double)ns * 1e3 : 0;
    uint64_t last = creation->end.ticks;
    uint64_t first = last - (uint64_t)((double)initializing->duration_us * rate);
    ifg_zone zone;

    if (first < creation->begin.ticks || first > last)
        first = creation->begin.ticks;
    if (reading->found) {
        uint64_t ago = initializing->start_us - reading->start_us;
        uint64_t start = first - (uint64_t)((double)ago * rate);
        uint64_t end = start + (uint64_t)((double)reading->duration_us * rate);

        if (start < creation->begin.ticks || start > first)
            start = creation->begin.ticks;
        ifg_zone_end_at(ifg_location_begin_at(read_location(), start), end < first ? end : first);
    }
    zone = ifg_location_begin_at(initialize_location(creation, is_cold), first);
    if (is_cold)
        ifg_zone_detail_int(zone, TRACE_KEY_SESSION, creation->number);
    ifg_zone_end_at(zone, last);
}

/* ---- cold or not ---- */

static enum ifg_load_state load_state(const struct creation *creation,
                                      const struct cache_news *news, char *why, size_t size)
{
    const struct model_identity *identity = &creation->identity;
    const struct ort_options *asked = creation->asked;

    if (news->created) {
        snprintf(why, size, "a provider wrote its engine cache: %s", news->name);
        return IFG_LOAD_COLD;
    }
    if (news->opened) {
        snprintf(why, size, "a provider read its engine cache: %s", news->name);
        return IFG_LOAD_CACHED;
    }
    if (identity->has_ep_context) {
        snprintf(why, size, "the model holds parts that a provider compiled before (EPContext)");
        return IFG_LOAD_PRECOMPILED;
    }
    if (identity->is_ort_format) {
        snprintf(why, size, "the model is in ORT format, which is optimized when it is written");
        return IFG_LOAD_PRECOMPILED;
    }
    if (asked->graph_optimization == 0 && identity->saved_by_ort) {
        snprintf(why, size, "saved by ONNX Runtime after optimization, loaded with it off");
        return IFG_LOAD_PRECOMPILED;
    }
    if (!is_cpu_only(asked)) {
        snprintf(why, size, "a provider may have compiled the model; it %s",
                 asked->cache_count ? "did not touch its engine cache" : "keeps no cache we know");
        return IFG_LOAD_UNKNOWN;
    }
    if (asked->graph_optimization == 0) {
        snprintf(why, size, "graph optimization is off, and nothing tells if it was done before");
        return IFG_LOAD_UNKNOWN;
    }
    if (!identity->bytes) {
        snprintf(why, size, "the model's bytes could not be looked at");
        return IFG_LOAD_UNKNOWN;
    }
    snprintf(why, size, "the graph was optimized while loading%s",
             asked->saves_optimized ? ", and saved" : "");
    return IFG_LOAD_COLD;
}

void creation_tell(struct creation *creation, ifg_zone load, struct ort_session *session,
                   struct ort_status *status, const struct cache_news *news)
{
    int saved_errno = errno;
    struct part reading = { 0 };
    struct part initializing = { 0 };
    enum ifg_load_state state;
    char why[ORT_TEXT];
    char *text;

    ifg_zone_detail_int(load, TRACE_KEY_SESSION, creation->number);
    if (status) {
        ort_status_text(creation->rt, status, why, sizeof why);
        ifg_zone_detail_string(load, TRACE_KEY_STATUS, why);
        ifg_event_load_state(load, IFG_LOAD_UNKNOWN);
        return;
    }
    state = load_state(creation, news, why, sizeof why);
    text = creation->has_parts ? malloc(PROFILE_BYTES) : NULL;
    if (text && take_profile(creation, session, text, PROFILE_BYTES)) {
        read_parts(text, &reading, &initializing);
        if (initializing.found)
            write_parts(creation, &reading, &initializing, state == IFG_LOAD_COLD);
    }
    free(text);
    if (creation->profile) { /* it goes on, and has the parts in its memory for now */
        const struct session_profile_load parts = {
            .thread = ort_thread_id(),
            .start = creation->begin.ticks,
            .end = creation->end.ticks,
            .read_location = read_location(),
            .initialize_location = initialize_location(creation, state == IFG_LOAD_COLD),
            .is_cold = state == IFG_LOAD_COLD,
        };

        session_profile_load(creation->profile, &parts);
    }
    ifg_event_load_state(load, state);
    ifg_zone_detail_string(load, TRACE_KEY_WHY, why);
    errno = saved_errno;
}

/* ---- placement ---- */

struct placement {
    char names[PROVIDERS_NAMED][64];
    uint64_t nodes[PROVIDERS_NAMED];
    unsigned count;
};

static void place_nodes(struct placement *placement, const char *provider, uint64_t nodes)
{
    unsigned i;

    for (i = 0; i < placement->count; i++)
        if (strcmp(placement->names[i], provider) == 0)
            break;
    if (i == PROVIDERS_NAMED)
        return;
    if (i == placement->count) {
        snprintf(placement->names[i], sizeof placement->names[i], "%.60s", provider);
        placement->count++;
    }
    placement->nodes[i] += nodes;
}

static bool read_assignment(const struct ort_runtime *rt, const struct ort_session *session,
                            struct placement *out)
{
    const void *const *parts = NULL;
    size_t part_count = 0;

    if (!ort_ok(rt, ORT_FN(rt, GetAssignmentInfo, const struct ort_session *, const void *const **,
                           size_t *)(session, &parts, &part_count)))
        return false;
    for (size_t i = 0; i < part_count; i++) {
        const void *const *nodes = NULL;
        const char *provider = NULL;
        size_t node_count = 0;

        if (ort_ok(rt, ORT_FN(rt, EpAssignedSubgraph_GetEpName, const void *,
                              const char **)(parts[i], &provider)) &&
            ort_ok(rt, ORT_FN(rt, EpAssignedSubgraph_GetNodes, const void *, const void *const **,
                              size_t *)(parts[i], &nodes, &node_count)) &&
            provider)
            place_nodes(out, provider, node_count);
    }
    return true;
}

static void tell_placement(const struct creation *creation, const struct placement *placement)
{
    char actual[ORT_TEXT] = "";
    char key[96];
    char text[32];
    size_t at = 0;

    for (unsigned i = 0; i < placement->count; i++) {
        snprintf(key, sizeof key, TRACE_PROPERTY_NODES "%s", placement->names[i]);
        snprintf(text, sizeof text, "%llu", (unsigned long long)placement->nodes[i]);
        ifg_model_property(creation->model, key, text);
        if (placement->nodes[i] && at < sizeof actual)
            at += (size_t)snprintf(actual + at, sizeof actual - at, "%s%s", at ? "," : "",
                                   placement->names[i]);
    }
    ifg_model_property(creation->model, TRACE_PROPERTY_ACTUAL_DEVICES, actual);
}

void creation_placement(struct creation *creation, struct ort_session *session)
{
    const struct ort_options *asked = creation->asked;
    struct placement placement = { 0 };
    int saved_errno = errno;

    if (!creation->is_new_model)
        return;
    for (unsigned i = 0; i < asked->provider_count; i++)
        if (creation->has_assignment || strcmp(asked->providers[i], ORT_CPU) != 0)
            place_nodes(&placement, asked->providers[i], 0);
    if (creation->has_assignment && read_assignment(creation->rt, session, &placement)) {
        tell_placement(creation, &placement);
        ifg_model_property(creation->model, TRACE_PROPERTY_PLACEMENT_SOURCE, "assignment info");
    } else if (is_cpu_only(asked)) {
        tell_placement(creation, &placement); /* none for all others */
        ifg_model_property(creation->model, TRACE_PROPERTY_ACTUAL_DEVICES, ORT_CPU);
        ifg_model_property(creation->model, TRACE_PROPERTY_PLACEMENT_SOURCE, "only provider");
    } else {
        ifg_model_property(creation->model, TRACE_PROPERTY_PLACEMENT_SOURCE,
                           "unknown: this version does not say; record with --ops to see");
    }
    errno = saved_errno;
}
