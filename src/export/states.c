// SPDX-License-Identifier: Apache-2.0
/*
 * Context switches for timelines: when each thread ran, waited for a CPU, or slept, on a track of
 * its own. The names are those that Perfetto gives to states of threads.
 *
 * They are slices and not the kernel's events: only threads of recorded programs were seen, and
 * from sched_switch events a viewer would conclude that the CPUs were idle the rest of the time.
 */
#include <stdio.h>

#include "export/perfetto_internal.h"
#include "export/sampled.h"

static const char *state_name(const struct timeline_thread_state *state)
{
    switch (state->state) {
    case TIMELINE_RUNNING:
        return "Running";
    case TIMELINE_RUNNABLE:
        return state->woken ? "Runnable" : "Runnable (Preempted)";
    default:
        return state->disk ? "Uninterruptible Sleep" : "Sleeping";
    }
}

/* The states that pass the filter; NULL: there are none. */
static const struct timeline_profile *states_of(struct export_job *job)
{
    const struct timeline_profile *profile = NULL;

    if (!timeline_has_profile(job->timeline) || job->options->model || job->options->name_matches ||
        timeline_profile_get(job->timeline, &profile, NULL) || !profile || !profile->state_count)
        return NULL;
    return profile;
}

static bool wants_state(const struct export_job *job, const struct timeline_profile *profile,
                        const struct timeline_thread_state *state)
{
    return state->start_ns >= job->filter.from_ns && state->start_ns < job->filter.to_ns &&
           state->end_ns >= state->start_ns &&
           (!job->options->thread || sampled_is_thread(job, &profile->threads[state->thread]));
}

/* ---- Chrome ---- */

static void put_ts(struct ifg_bytes *line, uint64_t ns, uint64_t begin_ns)
{
    char digits[EXPORT_DIGITS];

    export_bytes_text(line, ",\"ts\":");
    ifg_bytes_put(line, digits,
                  (size_t)(export_us(digits, ns > begin_ns ? ns - begin_ns : 0) - digits));
}

/* Async events: on the thread's own track they would cut its slices. */
static void put_chrome_state(struct ifg_bytes *line, const struct timeline_sampled_thread *thread,
                             uint32_t pid, const struct timeline_thread_state *state,
                             uint64_t begin_ns)
{
    for (int end = 0; end < 2; end++) {
        char text[160];

        snprintf(text, sizeof text,
                 ",\n{\"name\":\"%s\",\"cat\":\"thread_state\",\"ph\":\"%c\",\"id2\":{\"local\":"
                 "\"0x%x\"},\"pid\":%u,\"tid\":%u",
                 state_name(state), end ? 'e' : 'b', thread->tid, pid, thread->tid);
        export_bytes_text(line, text);
        put_ts(line, end ? state->end_ns : state->start_ns, begin_ns);
        if (!end && state->state == TIMELINE_RUNNING) {
            snprintf(text, sizeof text, ",\"args\":{\"cpu\":%u}", state->cpu);
            export_bytes_text(line, text);
        }
        export_bytes_text(line, "}");
    }
}

enum ifg_status export_chrome_states(struct export_job *job, const struct export_ids *ids)
{
    const struct timeline_profile *profile = states_of(job);
    struct ifg_bytes line;
    bool failed = false;

    ifg_bytes_init(&line, 1u << 20);
    for (size_t i = 0; profile && i < profile->state_count && !failed; i++) {
        const struct timeline_thread_state *state = &profile->states[i];
        const struct timeline_sampled_thread *thread = &profile->threads[state->thread];

        if (!wants_state(job, profile, state))
            continue;
        ifg_bytes_clear(&line);
        put_chrome_state(&line, thread,
                         thread->process < job->timeline->process_count ? ids->pids[thread->process]
                                                                        : thread->pid,
                         state, job->timeline->begin_ns);
        failed = line.failed;
        if (!failed)
            export_put(job->sink, line.data, line.size);
        job->result->states++;
    }
    ifg_bytes_fini(&line);
    return failed ? export_no_memory(job) : IFG_OK;
}

/* ---- Perfetto ---- */

static void describe_track(struct perfetto *p, const struct timeline_sampled_thread *thread,
                           uint64_t uuid)
{
    char name[96];

    snprintf(name, sizeof name, "State of %.64s %u", *thread->name ? thread->name : "thread",
             thread->tid);
    perfetto_track(p, uuid,
                   thread->thread < p->timeline->thread_count
                       ? track_uuid(TRACK_THREAD, thread->thread, 0)
                   : thread->process < p->timeline->process_count
                       ? track_uuid(TRACK_PROCESS, thread->process, 0)
                       : 0,
                   name);
}

static void put_event(struct perfetto *p, uint64_t uuid, const struct timeline_thread_state *state,
                      bool end)
{
    perfetto_packet_begin(p, end ? state->end_ns : state->start_ns);
    proto_uint(&p->event, EVENT_TYPE, end ? EVENT_END : EVENT_BEGIN);
    proto_uint(&p->event, EVENT_TRACK_UUID, uuid);
    if (!end)
        proto_string(&p->event, EVENT_NAME, state_name(state));
    perfetto_packet_end(p);
}

void perfetto_states(struct perfetto *p, uint32_t sequence)
{
    const struct timeline_profile *profile = states_of(p->job);
    uint32_t described = UINT32_MAX;
    uint32_t generation = 0;

    if (!profile)
        return;
    perfetto_sequence(p, sequence, 0);
    for (size_t i = 0; i < profile->state_count; i++) {
        const struct timeline_thread_state *state = &profile->states[i];
        uint64_t uuid = track_uuid(TRACK_STATE, state->thread, 0);

        if (!wants_state(p->job, profile, state))
            continue;
        perfetto_refresh(p);
        if (described != state->thread || generation != p->generation)
            describe_track(p, &profile->threads[state->thread], uuid);
        described = state->thread;
        generation = p->generation;
        put_event(p, uuid, state, false);
        put_event(p, uuid, state, true);
        p->job->result->states++;
    }
}
