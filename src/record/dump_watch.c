// SPDX-License-Identifier: Apache-2.0
/*
 * Rules over what is written: see dump_watch.h.
 *
 * Events come block by block, each a little late and not in the order of all threads. So a rule
 * about the last seconds looks at those that ended LATE_NS ago: by then all of them are here.
 */
#include "record/dump_watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/quantile.h"
#include "base/ticks.h"
#include "trace/follow.h"
#include "trace/keys.h"
#include "trace/output.h"

#define LATE_NS       300000000ull
#define LOOK_NS       100000000ull /* between two looks at a rule about the last seconds, */
#define LOOK_COST     20u          /* or so many times what the last one took */
#define LOCATION_BITS 10u
#define ASYNC_BITS    12u

struct moment {
    uint64_t end_ns;
    uint64_t latency_ns;
};

/* What a rule remembers, about in the order of time. The oldest make room when there are too many.
 */
struct rule_state {
    struct moment *moments;
    size_t capacity;
    size_t count;
    size_t old;        /* of them, at the beginning: they are moved out when they are many */
    uint64_t first_ns; /* the first event ever; 0: none yet */
    uint64_t next_look_ns;
    bool holds;
};

/* Which rules a location is for; forgotten when there are new definitions. */
struct known_location {
    uint32_t process, id; /* id 0: nothing is known here */
    uint32_t rules;       /* a bit for each */
};

/* Half of an asynchronous event, whichever came first. */
struct async_half {
    uint64_t id;
    uint64_t time_ns;
    uint32_t process, location; /* location 0: there is none */
    bool is_end;
};

struct dump_watch {
    struct trace_follow *follow;
    const struct dump_rule *rules;
    size_t count;
    struct rule_state states[DUMP_RULES_MAX];
    struct known_location known[1u << LOCATION_BITS];
    struct async_half halves[1u << ASYNC_BITS];
    uint64_t *scratch; /* for quantiles */
    size_t scratch_capacity;
    struct dump_alarm *alarm; /* of this look; NULL: one is enough */
};

enum ifg_status dump_watch_create(struct trace_memory *memory, const struct dump_rule *rules,
                                  size_t count, struct dump_watch **out_watch,
                                  struct ifg_error *err)
{
    struct dump_watch *watch = ifg_alloc(1, sizeof *watch);
    struct trace_input *input;
    enum ifg_status status;

    *out_watch = NULL;
    if (!watch)
        return ifg_fail_no_memory(err, "to watch for dumps");
    status = trace_input_memory(memory, &input, err);
    if (!status)
        status = trace_follow_open_input(input, &watch->follow, err);
    if (status) {
        ifg_free(watch);
        return status;
    }
    watch->rules = rules;
    watch->count = count;
    *out_watch = watch;
    return IFG_OK;
}

void dump_watch_destroy(struct dump_watch *watch)
{
    if (!watch)
        return;
    trace_follow_close(watch->follow);
    for (size_t i = 0; i < watch->count; i++)
        ifg_free(watch->states[i].moments);
    ifg_free(watch->scratch);
    ifg_free(watch);
}

/* ---- events ---- */

static const char *model_of(const struct dump_watch *watch, uint32_t process, uint32_t location)
{
    const struct trace_tables *tables = trace_follow_tables(watch->follow);
    const struct trace_location *entry = trace_find_location(tables, process, location);
    const struct trace_model *model =
        entry ? trace_find_model(tables, process, entry->model) : NULL;

    return model ? model->name : "";
}

static uint32_t rules_of(struct dump_watch *watch, uint32_t process, uint32_t id)
{
    size_t slot = ifg_hash_pair(process, id) & ((1u << LOCATION_BITS) - 1);
    struct known_location *known = &watch->known[slot];
    const struct trace_location *location;

    if (known->id == id && known->process == process)
        return known->rules;
    *known = (struct known_location){ .process = process, .id = id };
    location = trace_find_location(trace_follow_tables(watch->follow), process, id);
    for (size_t i = 0; location && i < watch->count; i++)
        if (location->kind == TRACE_LOCATION_ML &&
            dump_rule_takes(&watch->rules[i], location->category, model_of(watch, process, id)))
            known->rules |= 1u << i;
    return known->rules;
}

static void raise_alarm(struct dump_watch *watch, const struct dump_rule *rule, uint64_t time_ns,
                        const char *found)
{
    if (!watch->alarm)
        return;
    watch->alarm->time_ns = time_ns;
    snprintf(watch->alarm->what, sizeof watch->alarm->what, "%s: %.150s", rule->text, found);
    watch->alarm = NULL;
}

static void remember(struct rule_state *state, uint64_t end_ns, uint64_t latency_ns)
{
    if (!state->first_ns)
        state->first_ns = end_ns ? end_ns : 1;
    if (!IFG_ARRAY_ROOM(state->moments, state->capacity, state->count + 1, DUMP_EVENTS_MAX)) {
        size_t half = state->count / 2;

        if (!half)
            return;
        memmove(state->moments, state->moments + half,
                (state->count - half) * sizeof *state->moments);
        state->count -= half;
        state->old -= state->old < half ? state->old : half;
    }
    state->moments[state->count++] = (struct moment){ end_ns, latency_ns };
}

static void take_event(struct dump_watch *watch, uint32_t process, uint32_t location,
                       uint32_t rules, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t latency_ns = end_ns > start_ns ? end_ns - start_ns : 0;

    for (size_t i = 0; i < watch->count; i++) {
        const struct dump_rule *rule = &watch->rules[i];
        char found[150];

        if (!(rules & 1u << i) || rule->metric == DUMP_FAILURES)
            continue;
        if (rule->metric != DUMP_LATENCY) {
            remember(&watch->states[i], end_ns, latency_ns);
        } else if (dump_rule_holds(rule, (double)latency_ns)) {
            snprintf(found, sizeof found, "%.80s took %.3f ms", model_of(watch, process, location),
                     (double)latency_ns * 1e-6);
            raise_alarm(watch, rule, end_ns, found);
        }
    }
}

static uint32_t process_of(const struct dump_watch *watch, uint32_t thread)
{
    const struct trace_tables *tables = trace_follow_tables(watch->follow);

    return thread < tables->thread_count ? tables->threads[thread].process : UINT32_MAX;
}

static void take_zones(struct dump_watch *watch, const struct trace_news *news)
{
    const struct trace_zones *zones = news->zones;
    uint32_t process = process_of(watch, news->thread);

    for (size_t i = 0; i < zones->count; i++) {
        uint32_t rules = rules_of(watch, process, zones->locations[i]);
        uint64_t start = zones->starts[i];

        if (rules)
            take_event(watch, process, zones->locations[i], rules,
                       trace_follow_ns(watch->follow, news->thread, start),
                       trace_follow_ns(watch->follow, news->thread, start + zones->durations[i]));
    }
}

/* The two halves come from two threads, in any order. */
static void take_async(struct dump_watch *watch, uint32_t process, const struct trace_event *event,
                       uint64_t time_ns)
{
    struct ifg_cursor cursor = ifg_cursor_over(event->payload, event->payload_bytes);
    uint64_t id = ifg_cursor_varint(&cursor);
    uint32_t rules = rules_of(watch, process, event->reference);
    bool is_end = event->kind == TRACE_EVENT_ASYNC_END;
    size_t slot =
        ifg_hash_pair(ifg_hash_pair(process, event->reference), id) & ((1u << ASYNC_BITS) - 1);
    struct async_half *half = &watch->halves[slot];

    if (!rules || cursor.failed)
        return;
    if (half->location == event->reference && half->process == process && half->id == id &&
        half->is_end != is_end) {
        take_event(watch, process, event->reference, rules, is_end ? half->time_ns : time_ns,
                   is_end ? time_ns : half->time_ns);
        half->location = 0;
    } else {
        *half = (struct async_half){ id, time_ns, process, event->reference, is_end };
    }
}

static void take_status(struct dump_watch *watch, uint32_t process, uint32_t thread,
                        const struct trace_attribute *attribute)
{
    uint32_t rules;

    if (attribute->key_bytes != strlen(TRACE_KEY_STATUS) ||
        memcmp(attribute->key, TRACE_KEY_STATUS, attribute->key_bytes) != 0)
        return;
    rules = rules_of(watch, process, attribute->zone_location);
    for (size_t i = 0; i < watch->count; i++)
        if ((rules & 1u << i) && watch->rules[i].metric == DUMP_FAILURES)
            remember(&watch->states[i],
                     trace_follow_ns(watch->follow, thread, attribute->zone_start), 0);
}

static void take_events(struct dump_watch *watch, const struct trace_news *news)
{
    uint32_t process = process_of(watch, news->thread);

    for (size_t i = 0; i < news->events->count; i++) {
        const struct trace_event *event = &news->events->events[i];

        if (event->kind == TRACE_EVENT_ATTRIBUTE && event->attribute)
            take_status(watch, process, news->thread, event->attribute);
        else if (event->kind == TRACE_EVENT_ASYNC_BEGIN || event->kind == TRACE_EVENT_ASYNC_END)
            take_async(watch, process, event,
                       trace_follow_ns(watch->follow, news->thread, event->ticks));
    }
}

/* ---- the last seconds ---- */

static void forget_old(struct rule_state *state, uint64_t before_ns)
{
    while (state->old < state->count && state->moments[state->old].end_ns < before_ns)
        state->old++;
    if (state->old < state->count / 2 || !state->old)
        return;
    memmove(state->moments, state->moments + state->old,
            (state->count - state->old) * sizeof *state->moments);
    state->count -= state->old;
    state->old = 0;
}

/* The value of the rule's metric between the two; NAN: not known yet. */
static double measure(struct dump_watch *watch, const struct dump_rule *rule,
                      const struct rule_state *state, uint64_t since_ns, uint64_t until_ns)
{
    bool is_low = rule->comparison == DUMP_LESS || rule->comparison == DUMP_AT_MOST;
    size_t count = 0;

    if (!IFG_ARRAY_ROOM(watch->scratch, watch->scratch_capacity, state->count + 1, IFG_ARRAY_ANY))
        return (double)NAN;
    for (size_t i = state->old; i < state->count; i++)
        if (state->moments[i].end_ns >= since_ns && state->moments[i].end_ns <= until_ns)
            watch->scratch[count++] = state->moments[i].latency_ns;
    if (rule->metric == DUMP_QUANTILE)
        return count >= rule->least ? ifg_quantile_u64(watch->scratch, count, rule->quantile)
                                    : (double)NAN;
    /* Too few: only once there could have been enough. */
    if (is_low && (!state->first_ns || until_ns < state->first_ns + rule->over_ns))
        return (double)NAN;
    return rule->metric == DUMP_RATE ? (double)count / ((double)rule->over_ns * 1e-9)
                                     : (double)count;
}

static void look_at_rule(struct dump_watch *watch, size_t index, uint64_t now_ns)
{
    const struct dump_rule *rule = &watch->rules[index];
    struct rule_state *state = &watch->states[index];
    uint64_t until_ns = now_ns > LATE_NS ? now_ns - LATE_NS : 0;
    uint64_t since_ns = until_ns > rule->over_ns ? until_ns - rule->over_ns : 0;
    uint64_t cost_ns;
    double value;
    char found[150];
    bool held = state->holds;

    if (!rule->over_ns)
        return;
    forget_old(state, since_ns);
    if (now_ns < state->next_look_ns)
        return;
    cost_ns = ifg_thread_cpu_ns(); /* not what others took on a busy machine */
    value = measure(watch, rule, state, since_ns, until_ns);
    state->holds = !isnan(value) && dump_rule_holds(rule, value);
    if (state->holds && !held) {
        if (rule->metric == DUMP_QUANTILE)
            snprintf(found, sizeof found, "it was %.3f ms", value * 1e-6);
        else
            snprintf(found, sizeof found, "it was %.6g%s", value,
                     rule->metric == DUMP_RATE ? " a second" : "");
        raise_alarm(watch, rule, until_ns, found);
    }
    cost_ns = ifg_thread_cpu_ns() - cost_ns;
    state->next_look_ns = now_ns + (LOOK_COST * cost_ns > LOOK_NS ? LOOK_COST * cost_ns : LOOK_NS);
}

bool dump_watch_look(struct dump_watch *watch, uint64_t now_ns, struct dump_alarm *out_alarm)
{
    struct trace_news news;

    watch->alarm = out_alarm;
    while (trace_follow_next(watch->follow, &news, NULL) == IFG_OK &&
           news.kind != TRACE_NEWS_NONE && news.kind != TRACE_NEWS_FINISHED) {
        if (news.kind == TRACE_NEWS_DEFINITIONS)
            memset(watch->known, 0, sizeof watch->known);
        else if (news.kind == TRACE_NEWS_ZONES)
            take_zones(watch, &news);
        else if (news.kind == TRACE_NEWS_EVENTS)
            take_events(watch, &news);
    }
    for (size_t i = 0; i < watch->count; i++)
        look_at_rule(watch, i, now_ns);
    return !watch->alarm;
}
