// SPDX-License-Identifier: Apache-2.0
/*
 * See arena.h. The counters are sums over the living sessions of a model: a server that has four of
 * one model is to be read as such. Properties are what was told last; the log they are written to
 * is bounded, so they are told again only when they have changed, and ever less often.
 */
#include "base/ticks.h"
#include "hooks/ort/arena.h"
#include "trace/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_OLDEST  23 /* 1.23: AllocatorGetStats */
#define WHOLES_MAX    256u
#define TOLD_MAX      64u
#define TOLD_ALL_MAX  1024u
#define SECOND_NS     1000000000ull
#define VALUES        (sizeof questions / sizeof *questions)
#define IN_USE        0
#define MAX_IN_USE    1
#define HELD          2
#define DEVICE_LOOKED 16u /* inputs and outputs whose place is asked for */

enum { CPU_ARENA = 1, MEMORY_DEFAULT = 0 }; /* OrtArenaAllocator, OrtMemTypeDefault */

static const struct {
    const char *key; /* ONNX Runtime's */
    const char *property;
} questions[] = {
    { "InUse", "in_use" },
    { "MaxInUse", "max_in_use" },
    { "TotalAllocated", "total_allocated" },
    { "Limit", "limit" },
    { "NumAllocs", "num_allocs" },
    { "NumReserves", "num_reserves" },
    { "NumArenaExtensions", "extensions" },
    { "NumArenaShrinkages", "shrinkages" },
    { "MaxAllocSize", "max_alloc" },
    { "RequestedInUse", "requested_in_use" }, /* 1.30 */
};

struct stats {
    int64_t values[VALUES]; /* -1: not told */
};

/* A kind of memory of one model: all its sessions together. Never freed: the names of counters are
 * used for as long as the process lives. */
struct arena_whole {
    const ifg_model *model;
    struct arena_whole *next;
    int64_t in_use;
    int64_t held;
    int64_t max_in_use; /* of one session, the largest */
    struct stats told;
    unsigned told_count;
    bool said_none;
    uint64_t told_ns;
    char memory[32]; /* empty: the CPU's */
    char names[3][ORT_TEXT + 48];
    ifg_location counters[3];
};

bool arena_wanted;

static pthread_mutex_t wholes_lock = PTHREAD_MUTEX_INITIALIZER; /* only ever tried: see fork */
static struct arena_whole *wholes;
static unsigned whole_count;
static unsigned told_all;

static __attribute__((constructor)) void read_settings(void)
{
    arena_wanted = secure_getenv("IFG_MEMORY") != NULL;
}

/* ---- asking ---- */

static void read_pairs(const struct ort_runtime *rt, const struct ort_key_values *pairs,
                       struct stats *out)
{
    const char *(*get)(const struct ort_key_values *, const char *) =
        (const char *(*)(const struct ort_key_values *, const char *))rt->api[ORT_GetKeyValue];

    for (size_t i = 0; i < VALUES; i++) {
        const char *text = get(pairs, questions[i].key);
        char *end = NULL;
        long long value = text ? strtoll(text, &end, 10) : -1;

        out->values[i] = text && end != text ? value : -1;
    }
}

/* What the session's allocator for this kind of memory says. False: it says nothing, as allocators
 * without an arena do. */
static bool ask(const struct ort_runtime *rt, const struct ort_session *session,
                const struct ort_memory_info *info, struct stats *out)
{
    struct ort_allocator *allocator = NULL;
    struct ort_key_values *pairs = NULL;

    memset(out, 0, sizeof *out);
    if (!ort_ok(rt, ORT_FN(rt, CreateAllocator, const struct ort_session *,
                           const struct ort_memory_info *,
                           struct ort_allocator **)(session, info, &allocator)) ||
        !allocator)
        return false;
    if (ort_ok(rt, ORT_FN(rt, AllocatorGetStats, const struct ort_allocator *,
                          struct ort_key_values **)(allocator, &pairs)) &&
        pairs) {
        read_pairs(rt, pairs, out);
        ORT_VOID(rt, ReleaseKeyValuePairs)(pairs);
    } else {
        out->values[IN_USE] = -1;
    }
    ORT_VOID(rt, ReleaseAllocator)(allocator);
    return out->values[IN_USE] >= 0;
}

static bool ask_cpu(const struct ort_runtime *rt, const struct ort_session *session,
                    struct stats *out)
{
    struct ort_memory_info *info = NULL;
    bool good;

    if (!ort_ok(rt, ORT_FN(rt, CreateCpuMemoryInfo, int, int,
                           struct ort_memory_info **)(CPU_ARENA, MEMORY_DEFAULT, &info)))
        return false;
    good = ask(rt, session, info, out);
    ORT_VOID(rt, ReleaseMemoryInfo)(info);
    return good;
}

/* Memory that is not the CPU's, where inputs and outputs of the session lie. */
static void note_devices(const struct ort_runtime *rt, const struct ort_session *session,
                         struct ort_arena *arena, unsigned count_slot, unsigned info_slot)
{
    struct ort_status *(*count_of)(const struct ort_session *, size_t *) =
        (struct ort_status * (*)(const struct ort_session *, size_t *)) rt->api[count_slot];
    struct ort_status *(*infos_of)(const struct ort_session *, const struct ort_memory_info **,
                                   size_t) =
        (struct ort_status * (*)(const struct ort_session *, const struct ort_memory_info **,
                                 size_t)) rt->api[info_slot];
    const struct ort_memory_info *infos[DEVICE_LOOKED] = { NULL };
    size_t count = 0;

    /* It wants room for all of them. */
    if (!ort_ok(rt, count_of(session, &count)) || !count || count > DEVICE_LOOKED ||
        !ort_ok(rt, infos_of(session, infos, count)))
        return;
    for (size_t i = 0; i < count && arena->count < ORT_ARENAS; i++) {
        const char *name = NULL;
        bool is_known = false;

        if (!infos[i] || !ort_ok(rt, ORT_FN(rt, MemoryInfoGetName, const struct ort_memory_info *,
                                            const char **)(infos[i], &name)))
            continue;
        for (unsigned j = 1; j < arena->count; j++)
            is_known = is_known || strcmp(arena->parts[j].memory, name) == 0;
        if (is_known || strcmp(name, "Cpu") == 0)
            continue;
        arena->parts[arena->count].info = infos[i];
        snprintf(arena->parts[arena->count].memory, sizeof arena->parts->memory, "%s", name);
        arena->count++;
    }
}

/* ---- telling ---- */

static struct arena_whole *new_whole(const ifg_model *model, const char *memory,
                                     const char *model_name)
{
    static const char *const what[3] = { "in use", "peak", "held" };
    struct arena_whole *whole;

    if (whole_count == WHOLES_MAX || !(whole = calloc(1, sizeof *whole)))
        return NULL;
    whole->model = model;
    snprintf(whole->memory, sizeof whole->memory, "%s", memory);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(whole->names[i], sizeof whole->names[i], "arena %s bytes, %s%s%s", what[i],
                 model_name, *memory ? " on " : "", memory);
        whole->counters[i] =
            (ifg_location){ .name = whole->names[i], .kind = IFG_LOCATION_COUNTER };
    }
    whole->next = wholes;
    wholes = whole;
    whole_count++;
    return whole;
}

static struct arena_whole *find_whole(const ifg_model *model, const char *memory,
                                      const char *model_name)
{
    for (struct arena_whole *whole = wholes; whole; whole = whole->next)
        if (whole->model == model && strcmp(whole->memory, memory) == 0)
            return whole;
    return new_whole(model, memory, model_name);
}

static void tell_properties(struct arena_whole *whole, ifg_model *model, const struct stats *stats,
                            bool is_last)
{
    uint64_t now = ifg_monotonic_ns();
    char key[80];
    char text[24];

    if (memcmp(&whole->told, stats, sizeof *stats) == 0 || whole->told_count == TOLD_MAX ||
        told_all == TOLD_ALL_MAX)
        return;
    /* 1 s, 2 s, 4 s, ...: what does not settle is told a few times in a life, not every second. */
    if (!is_last && whole->told_count > 1 &&
        now - whole->told_ns < SECOND_NS << (whole->told_count < 30 ? whole->told_count - 2 : 28))
        return;
    for (size_t i = 0; i < VALUES; i++) {
        if (stats->values[i] < 0 ||
            (whole->told_count && stats->values[i] == whole->told.values[i]))
            continue;
        snprintf(key, sizeof key, "arena.%s%s%s", whole->memory, whole->memory[0] ? "." : "",
                 questions[i].property);
        snprintf(text, sizeof text, "%lld", (long long)stats->values[i]);
        ifg_model_property(model, key, text);
    }
    whole->told = *stats;
    whole->told_ns = now;
    whole->told_count++;
    told_all++;
}

static void tell(struct ort_session_state *session, struct ort_arena_part *part,
                 struct stats *stats, bool is_last)
{
    struct arena_whole *whole;

    if (pthread_mutex_trylock(&wholes_lock) != 0)
        return; /* the next time will do */
    whole = part->whole;
    if (!whole)
        whole = find_whole(session->model, part->memory, session->arena.model_name);
    part->whole = whole;
    if (whole) {
        whole->in_use += stats->values[IN_USE] - part->in_use;
        whole->held += stats->values[HELD] - part->held;
        part->in_use = stats->values[IN_USE];
        part->held = stats->values[HELD];
        if (whole->max_in_use < stats->values[MAX_IN_USE])
            whole->max_in_use = stats->values[MAX_IN_USE];
        stats->values[MAX_IN_USE] = whole->max_in_use;
        ifg_counter(&whole->counters[0], (double)whole->in_use);
        ifg_counter(&whole->counters[1], (double)whole->max_in_use);
        ifg_counter(&whole->counters[2], (double)whole->held);
        tell_properties(whole, session->model, stats, is_last);
    }
    pthread_mutex_unlock(&wholes_lock);
}

static void tell_none(struct ort_session_state *session)
{
    struct arena_whole *whole;

    if (pthread_mutex_trylock(&wholes_lock) != 0)
        return;
    whole = find_whole(session->model, "", session->arena.model_name);
    if (whole && !whole->said_none) {
        whole->said_none = true;
        ifg_model_property(session->model, TRACE_PROPERTY_ARENA,
                           "none: the session allocates without one");
    }
    pthread_mutex_unlock(&wholes_lock);
}

static void look(struct ort_session_state *session, struct ort_session *real, bool is_last)
{
    struct ort_arena *arena = &session->arena;
    const struct ort_runtime *rt = session->rt;
    struct stats stats;

    if (!arena->count) {
        arena->count = 1; /* the CPU's */
        note_devices(rt, real, arena, ORT_SessionGetInputCount, ORT_SessionGetMemoryInfoForInputs);
        note_devices(rt, real, arena, ORT_SessionGetOutputCount,
                     ORT_SessionGetMemoryInfoForOutputs);
    }
    if (ask_cpu(rt, real, &stats))
        tell(session, &arena->parts[0], &stats, is_last);
    else
        tell_none(session);
    for (unsigned i = 1; i < arena->count; i++)
        if (ask(rt, real, arena->parts[i].info, &stats))
            tell(session, &arena->parts[i], &stats, is_last);
}

/* ---- when ---- */

void arena_created(struct ort_session_state *session, const char *model_name,
                   const struct ort_options *asked, bool is_new_model)
{
    struct ort_arena *arena = &session->arena;
    struct ort_runtime *rt = session->rt;
    char reason[128];
    char name[64];
    bool has = rt->minor >= ARENA_OLDEST && !rt->untried &&
               ort_has(rt, ORT_SessionGetMemoryInfoForOutputs);

    if (!__atomic_exchange_n(&rt->arena_said, true, __ATOMIC_RELAXED)) {
        snprintf(name, sizeof name, "arena of %s", rt->name);
        snprintf(reason, sizeof reason, "%s cannot tell of its allocators: 1.%d to 1.%d can",
                 rt->name, ARENA_OLDEST, ORT_ABI_TRIED);
        ifg_instrument_report(name, has ? IFG_INSTRUMENT_ON : IFG_INSTRUMENT_UNAVAILABLE,
                              has ? "asked after a run, at most once a second for each session"
                                  : reason);
    }
    if (has && asked->env_allocators && is_new_model)
        ifg_model_property(session->model, TRACE_PROPERTY_ARENA,
                           "not asked: the session shares allocators of its environment");
    arena->is_on = has && !asked->env_allocators;
    snprintf(arena->model_name, sizeof arena->model_name, "%s", model_name);
}

void arena_look(struct ort_session_state *session, struct ort_session *real)
{
    uint64_t next = __atomic_load_n(&session->arena.next_ns, __ATOMIC_RELAXED);
    uint64_t now;
    int saved_errno;

    if (!session->arena.is_on || (now = ifg_monotonic_ns()) < next ||
        !__atomic_compare_exchange_n(&session->arena.next_ns, &next, UINT64_MAX, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    saved_errno = errno;
    look(session, real, false);
    errno = saved_errno;
    /* The second run often takes more than the first: only then is it known how much. */
    next = session->arena.has_looked ? now + SECOND_NS : now;
    session->arena.has_looked = true;
    __atomic_store_n(&session->arena.next_ns, next, __ATOMIC_RELEASE);
}

void arena_ending(struct ort_session_state *session, struct ort_session *real)
{
    int saved_errno = errno;

    if (session->arena.is_on &&
        __atomic_exchange_n(&session->arena.next_ns, UINT64_MAX, __ATOMIC_ACQUIRE) != UINT64_MAX)
        look(session, real, true);
    errno = saved_errno;
}

void arena_ended(struct ort_session_state *session)
{
    for (unsigned i = 0; i < session->arena.count; i++) {
        struct ort_arena_part *part = &session->arena.parts[i];
        struct arena_whole *whole = part->whole;

        if (!whole || pthread_mutex_trylock(&wholes_lock) != 0)
            continue;
        whole->in_use -= part->in_use;
        whole->held -= part->held;
        ifg_counter(&whole->counters[0], (double)whole->in_use);
        ifg_counter(&whole->counters[2], (double)whole->held);
        pthread_mutex_unlock(&wholes_lock);
    }
}
