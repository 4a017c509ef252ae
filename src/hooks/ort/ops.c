// SPDX-License-Identifier: Apache-2.0
/*
 * See ops.h: when operators are asked for, of which runs, and by which of the two ways.
 *
 * A run that is to be profiled needs run options of its own. The program's are exchanged for ours
 * only when they are as they were created: then ours mean the same. Whoever terminates a run
 * through the program's options reaches ours too.
 */
#include "hooks/ort/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/observer.h"
#include "hooks/ort/session_profile.h"
#include "hooks/ort/wrap.h"
#include "trace/keys.h"

/* There can be no such directory: ONNX Runtime writes no file, and everything reaches the
 * observer. */
#define NO_FILE "/proc/self/inferogram/none"

uint32_t ops_every;

static __attribute__((constructor)) void read_settings(void)
{
    const char *every = secure_getenv("IFG_OPS");
    unsigned long value = every ? strtoul(every, NULL, 10) : 0;

    ops_every = value <= 1000000 ? (uint32_t)value : 0;
}

/* ---- run options ---- */

struct run_state {
    bool is_changed;
    struct ort_run_options *stand_in; /* ours, while a run uses it */
};

static struct ort_map run_options = ORT_MAP_INIT;
static pthread_mutex_t stand_ins_lock = PTHREAD_MUTEX_INITIALIZER;

struct ort_status *ort_CreateRunOptions(struct ort_runtime *rt, struct ort_run_options **out)
{
    struct ort_status *status = ORT_FN(rt, CreateRunOptions, struct ort_run_options **)(out);
    struct run_state *state = ops_every && !status ? calloc(1, sizeof *state) : NULL;

    if (state && !ort_map_add(&run_options, *out, state))
        free(state);
    return status;
}

void ort_ReleaseRunOptions(struct ort_runtime *rt, struct ort_run_options *options)
{
    if (ops_every)
        free(ort_map_remove(&run_options, options));
    ORT_VOID(rt, ReleaseRunOptions)(options);
}

static void changed(const struct ort_run_options *options)
{
    struct run_state *state = ops_every ? ort_map_find(&run_options, options) : NULL;

    if (state)
        __atomic_store_n(&state->is_changed, true, __ATOMIC_RELEASE);
}

#define CHANGER(name, type)                                                                        \
    struct ort_status *ort_##name(struct ort_runtime *rt, struct ort_run_options *options,         \
                                  type value)                                                      \
    {                                                                                              \
        changed(options);                                                                          \
        return ORT_FN(rt, name, struct ort_run_options *, type)(options, value);                   \
    }

CHANGER(RunOptionsSetRunLogVerbosityLevel, int)
CHANGER(RunOptionsSetRunLogSeverityLevel, int)
CHANGER(RunOptionsSetRunTag, ort_text)
CHANGER(RunOptionsAddActiveLoraAdapter, const void *)
CHANGER(RunOptionsSetSyncStream, void *)
CHANGER(RunOptionsEnableProfiling, ort_text)

struct ort_status *ort_AddRunConfigEntry(struct ort_runtime *rt, struct ort_run_options *options,
                                         ort_text key, ort_text value)
{
    changed(options);
    return ORT_FN(rt, AddRunConfigEntry, struct ort_run_options *, ort_text, ort_text)(options, key,
                                                                                       value);
}

struct ort_status *ort_RunOptionsSetTerminate(struct ort_runtime *rt,
                                              struct ort_run_options *options)
{
    struct run_state *state = ops_every ? ort_map_find(&run_options, options) : NULL;

    if (state) {
        pthread_mutex_lock(&stand_ins_lock);
        if (state->stand_in)
            ort_ok(rt,
                   ORT_FN(rt, RunOptionsSetTerminate, struct ort_run_options *)(state->stand_in));
        state->is_changed = true;
        pthread_mutex_unlock(&stand_ins_lock);
    }
    return ORT_FN(rt, RunOptionsSetTerminate, struct ort_run_options *)(options);
}

struct ort_status *ort_RunOptionsUnsetTerminate(struct ort_runtime *rt,
                                                struct ort_run_options *options)
{
    return ORT_FN(rt, RunOptionsUnsetTerminate, struct ort_run_options *)(options);
}

/* Whether ours may stand in for these; only one run at a time. */
static bool reserve(const struct ort_run_options *options, struct ort_run_options *ours)
{
    struct run_state *state;
    bool good;

    if (!options)
        return true;
    state = ort_map_find(&run_options, options);
    if (!state)
        return false;
    pthread_mutex_lock(&stand_ins_lock);
    good = !state->is_changed && !state->stand_in;
    if (good)
        state->stand_in = ours;
    pthread_mutex_unlock(&stand_ins_lock);
    return good;
}

static void give_back(const struct ort_run_options *options)
{
    struct run_state *state = options ? ort_map_find(&run_options, options) : NULL;

    if (!state)
        return;
    pthread_mutex_lock(&stand_ins_lock);
    state->stand_in = NULL;
    pthread_mutex_unlock(&stand_ins_lock);
}

/* ---- runs ---- */

static struct ort_run_options *profiling_options(const struct ort_runtime *rt)
{
    struct ort_run_options *ours = NULL;

    if (!ort_ok(rt, ORT_FN(rt, CreateRunOptions, struct ort_run_options **)(&ours)))
        return NULL;
    if (ort_ok(rt, ORT_FN(rt, RunOptionsEnableProfiling, struct ort_run_options *,
                          ort_text)(ours, NO_FILE)))
        return ours;
    ORT_VOID(rt, ReleaseRunOptions)(ours);
    return NULL;
}

void ops_begin(struct ort_session_state *session, struct ort_session *real,
               const struct ort_run_options **options, struct ops_run *out)
{
    struct ort_run_options *ours;
    uint32_t number;

    out->session = session;
    out->real = real;
    if (session->profile) {
        out->part = (int)session_profile_begin(session->profile);
        out->active = out->part != PROFILE_OVER;
        return;
    }
    /* The first run is unlike all others: begin with the second. */
    number = __atomic_fetch_add(&session->runs, 1, __ATOMIC_RELAXED);
    if (number % ops_every != 1 % ops_every)
        return;
    ours = profiling_options(session->rt);
    if (!ours)
        return;
    if (!reserve(*options, ours)) {
        ORT_VOID(session->rt, ReleaseRunOptions)(ours);
        return;
    }
    out->program_options = *options;
    out->own_options = ours;
    out->active = true;
    *options = ours;
    ifg_ort_observe(session->model);
}

void ops_end(struct ops_run *run, ifg_zone inference, uint64_t end, bool failed)
{
    ifg_zone_detail_int(inference, TRACE_KEY_OPS, 1);
    if (run->session->profile) {
        session_profile_end(run->session->profile, (enum session_profile_part)run->part,
                            inference.start, end, failed);
        return;
    }
    if (!run->own_options)
        return;
    ifg_ort_observe(NULL);
    give_back(run->program_options);
    ORT_VOID(run->session->rt, ReleaseRunOptions)(run->own_options);
}

/* ---- sessions ---- */

static bool can_observe(const struct ort_options *asked, const char **why)
{
    if (asked->profiling)
        *why = "the program profiles this session itself";
    else if (asked->no_cpu_fallback)
        *why = "the session forbids the CPU provider (disable_cpu_ep_fallback)";
    else if (asked->policy != -1)
        *why = "providers are chosen by a policy, which does not go with a further one";
    else
        return true;
    return false;
}

/* "every 16th inference, by an observer" */
static void say_which(char *out, size_t size)
{
    static const char *const endings[] = { "th", "st", "nd", "rd" };
    unsigned last = ops_every % 100 / 10 == 1 ? 0 : ops_every % 10;

    if (ops_every == 1)
        snprintf(out, size, "every inference, by an observer");
    else
        snprintf(out, size, "every %u%s inference of a session, by an observer", ops_every,
                 endings[last < 4 ? last : 0]);
}

bool ops_prepare(struct ort_runtime *rt, const struct ort_env *env, const struct ort_options *asked,
                 struct ort_session_options *ours, const char **out_how,
                 struct ort_profile **out_profile)
{
    const char *why = "the observer could not be added";
    char reason[96];

    *out_how = NULL;
    if (asked->profiling || rt->minor >= OBSERVER_OLDEST) {
        if (can_observe(asked, &why) && observer_append(rt, env, ours)) {
            say_which(reason, sizeof reason);
            ifg_instrument_report("operators", IFG_INSTRUMENT_ON, reason);
            *out_how = "observer";
            return true;
        }
    } else {
        *out_profile = session_profile_create(rt, ours);
        if (*out_profile) {
            ifg_instrument_report("operators", IFG_INSTRUMENT_ON,
                                  "the first inferences of each session: before 1.25 ONNX Runtime "
                                  "cannot profile single ones");
            *out_how = "session profile";
            return false;
        }
        why = "there is no place for a session profile";
    }
    ifg_instrument_report("operators", IFG_INSTRUMENT_UNAVAILABLE, why);
    return false;
}

void ops_created(struct ort_profile *profile, unsigned nodes, struct ort_session_state *session,
                 struct ort_session *real)
{
    if (!profile)
        return;
    if (!session) {
        session_profile_destroy(profile);
        return;
    }
    session_profile_start(profile, nodes, session->model, session->number, real);
    session->profile = profile;
}

void ops_release(struct ort_session_state *session)
{
    if (session->profile)
        session_profile_finish(session->profile);
}
