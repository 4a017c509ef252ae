// SPDX-License-Identifier: Apache-2.0
/* From the options of a recording to what an agent is asked: see remote_recording.h. */
#include "cli/remote_recording.h"

#include <math.h>
#include <stdio.h>

#include "cli/cli.h"

#define MODE_DEFAULT 0600
#define YEAR_S       ((double)REMOTE_DURATION_MAX_US * 1e-6)

void remote_recording_defaults(struct record_request *request)
{
    request->session.resources_hz = RECORD_RESOURCES_HZ;
    request->session.overhead_pct = RECORD_OVERHEAD_PCT;
    request->session.mode = MODE_DEFAULT;
}

/* What would open, start or change something there by order of another machine, or make the program
 * wait for a network. */
static int check_kinds(const struct cli_command *command, const struct record_request *request)
{
    const struct session_options *session = &request->session;
    const struct {
        bool is_given;
        const char *what;
    } local[] = {
        { request->path, "--path" },
        { session->other_count > 0, "--pid with several processes" },
        { session->lossless, "--lossless" },
        { session->hook != SESSION_HOOK_AUTO, "--hook" },
        { session->annotations != NULL, "--annotations" },
        { session->probe_count > 0, "--probe" },
        { session->capture.mode != SESSION_CAPTURE_OFF || session->capture.max_bytes,
          "--capture-inputs" },
        { request->redaction.pattern_count > 0, "--redact" },
        { session->mode != MODE_DEFAULT, "--mode" },
        { request->json, "--json" },
    };

    if (session->command)
        return cli_usage(command->name, "an agent starts no programs: leave out the command, and "
                                        "choose a process with --pid, --name or --next");
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (local[i].is_given)
            return cli_usage(command->name, "%s is not available for a process of an agent",
                             local[i].what);
    return CLI_YES;
}

static int check(const struct cli_command *command, const struct record_request *request)
{
    const struct session_options *session = &request->session;
    int code = check_kinds(command, request);

    if (code)
        return code;
    if (session->pid && (request->name || session->next))
        return cli_usage(command->name, "--pid excludes --name and --next");
    if (request->name && !remote_is_name(request->name))
        return cli_usage(command->name, "--name: give the name of a program");
    if (session->duration_s > YEAR_S || session->delay_s > YEAR_S || session->timeout_s > YEAR_S)
        return cli_usage(command->name, "a time is a year at most");
    if (session->timeout_s > 0 && !session->next)
        return cli_usage(command->name, "--timeout goes with --next");
    if (session->delay_s > 0 && session->next)
        return cli_usage(command->name, "--delay does not go with --next: what is waited for "
                                        "begins when it creates a session");
    return CLI_YES;
}

static uint64_t us_of(double seconds)
{
    return (uint64_t)ceil(seconds * 1e6);
}

/* 0 stays for what nobody has chosen: an agent of version 1.0 can do it then. */
static void ask_content(const struct session_options *session, struct remote_request *out)
{
    out->ops = session->ops;
    out->sample_hz = session->sample_hz;
    out->no_sample = !session->sample_hz && session->overhead_pct <= 0;
    if (session->machine_alone || session->overhead_pct != RECORD_OVERHEAD_PCT)
        out->overhead_ppm = (uint32_t)ceil(session->overhead_pct * 1e4);
    if (session->resources_hz != RECORD_RESOURCES_HZ)
        out->resources_mhz = (uint32_t)ceil(session->resources_hz * 1e3);
    out->wishes = (session->prompt ? REMOTE_PROMPT : 0u) |
                  (session->no_sources ? REMOTE_NO_SOURCES : 0u) |
                  (session->gpu == SESSION_GPU_OFF ? REMOTE_NO_GPU : 0u) |
                  (session->resources_hz > 0 ? 0u : REMOTE_NO_RESOURCES) |
                  (session->sched ? REMOTE_SCHED : 0u) | (session->memory ? REMOTE_MEMORY : 0u);
}

int remote_recording_ask(const struct cli_command *command, const struct record_request *request,
                         struct remote_request *out)
{
    const struct session_options *session = &request->session;
    int code = check(command, request);

    *out = (struct remote_request){ .pid = (uint32_t)session->pid,
                                    .duration_us = us_of(session->duration_s),
                                    .delay_us = us_of(session->delay_s),
                                    .timeout_us = us_of(session->timeout_s),
                                    .max_bytes = session->max_bytes };
    if (code)
        return code;
    ask_content(session, out);
    if (request->redaction.no_args)
        out->wishes |= REMOTE_NO_ARGS;
    if (request->name)
        snprintf(out->name, sizeof out->name, "%s", request->name);
    out->target = session->next   ? REMOTE_TARGET_NEXT
                  : request->name ? REMOTE_TARGET_NAME
                  : session->pid  ? REMOTE_TARGET_PID
                                  : REMOTE_TARGET_ONLY;
    return CLI_YES;
}

void remote_recording_show_end(const struct capture_result *result)
{
    const struct remote_progress *totals = &result->ended.totals;
    char events[32];
    char size[32];
    char dropped[32];

    cli_say("%s %s; recorded %.1f s: %s events, %s, %s dropped", result->started.program,
            result->ended.program_ended ? "ended" : "goes on", (double)totals->elapsed_us * 1e-6,
            cli_count(totals->events, events), cli_size(result->bytes, size),
            cli_count(totals->dropped, dropped));
    if (result->ended.note[0])
        cli_say("%s", result->ended.note);
    if (totals->dropped)
        cli_say("events were dropped because buffers were full: record less, or over a faster "
                "connection");
}
