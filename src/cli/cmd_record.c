// SPDX-License-Identifier: Apache-2.0
/* inferogram record: launch or attach, and tell the user how it goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/live_remote.h"
#include "cli/live_view.h"
#include "cli/probes.h"
#include "cli/record.h"
#include "cli/remote_recording.h"
#include "record/session.h"
#include "runtimes/runtimes.h"

#define MODE_DEFAULT 0600 /* sources, arguments and messages are inside */

/* What the live line needs to know. */
struct screen {
    bool quiet;
    bool live;
    bool line_shown;
    const struct session_flight *flight; /* NULL: an ordinary recording */
    bool sched;                          /* --sched was given: say why it is missing */
    struct live_view *view;              /* NULL: none */
    unsigned second;                     /* of the last progress */
};

static void clear_line(struct screen *screen)
{
    if (screen->line_shown)
        fputs("\r\033[K", stderr);
    screen->line_shown = false;
}

static void show_start(const struct session_start *start, void *user)
{
    struct screen *screen = user;

    /* With --log, our words would be among the program's. */
    if (!screen->quiet && !(screen->view && screen->view->log)) {
        if (screen->flight)
            cli_say("recording %s (pid %d)", start->program, (int)start->pid);
        else
            cli_say("recording %s (pid %d) → %s", start->program, (int)start->pid, start->path);
        if (screen->flight)
            record_flight_show_start(screen->flight, start->path, start->pid);
        if (*start->not_hooked)
            cli_say("%s is not watched: %s", runtimes_watched(RUNTIME_LAUNCHED).text,
                    start->not_hooked);
    }
    if (screen->view)
        live_view_started(screen->view, start);
}

static void show_dump(const struct session_dump *dump, void *user)
{
    struct screen *screen = user;

    clear_line(screen);
    if (!screen->quiet || dump->problem)
        record_flight_show_dump(dump);
}

static void show_progress(const struct session_progress *progress, void *user)
{
    struct screen *screen = user;
    char inferences[32];
    char events[32];
    char size[32];
    char dropped[32];
    unsigned seconds = (unsigned)progress->seconds;

    if (screen->view && screen->view->json && seconds != screen->second)
        record_print_progress(progress);
    screen->second = seconds;
    if (!screen->live)
        return;
    fprintf(stderr, "\r\033[K            %02u:%02u  ", seconds / 60, seconds % 60);
    if (progress->models)
        fprintf(stderr, "%s inference%s · %u model%s · ",
                cli_count(progress->inferences, inferences), progress->inferences == 1 ? "" : "s",
                progress->models, progress->models == 1 ? "" : "s");
    fprintf(stderr, "%s events · %s · %s dropped", cli_count(progress->events, events),
            cli_size(progress->bytes, size), cli_count(progress->dropped, dropped));
    screen->line_shown = true;
}

static void show_expecting(const char *how, void *user)
{
    struct screen *screen = user;

    if (screen->quiet)
        return;
    if (*how)
        cli_say("looking for new processes 20 times a second, and may miss the first moments of "
                "one: %s",
                how);
    cli_say("waiting for the next process that creates a session of %s (Ctrl-C stops)",
            runtimes_watched(RUNTIME_ATTACHED).text);
}

static void show_preparing(const char *what, void *user)
{
    struct screen *screen = user;

    clear_line(screen);
    if (!screen->quiet)
        cli_say("%s", what);
}

static void show_waiting(const char *program, void *user)
{
    struct screen *screen = user;

    clear_line(screen);
    if (!screen->quiet)
        cli_say("recording has stopped; waiting for %s to end (Ctrl-C twice leaves it running)",
                program);
}

/* A runtime as a whole, and not a version of it in a process. */
static bool is_about_all(const char *instrument)
{
    const struct runtime *runtime = runtime_called(instrument);

    return runtime && strcmp(runtime->name, instrument) == 0;
}

/* The first runtime that could not be watched anywhere; NULL: none. */
static const struct instrument *missing_runtime(const struct instruments *instruments)
{
    for (size_t i = 0; i < instruments->count; i++)
        if (is_about_all(instruments->items[i].name) &&
            instruments->items[i].state == TRACE_INSTRUMENT_UNAVAILABLE)
            return &instruments->items[i];
    return NULL;
}

/* "watched RUNTIME 1.30.0 (launch hooks); operators: every 16th inference", and what was used
 * but could not be watched. */
static void show_watched(const struct instruments *instruments)
{
    const struct instrument *ops = instruments_find(instruments, "operators");
    char watched[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < instruments->count; i++) {
        const struct instrument *item = &instruments->items[i];

        if (!(instrument_is_runtime(item->name) || instrument_is_probed(item->name)) ||
            item->state != TRACE_INSTRUMENT_ON || used >= sizeof watched)
            continue;
        used += (size_t)snprintf(watched + used, sizeof watched - used, "%s%s%s%.100s%s",
                                 used ? ", " : "", item->name, *item->reason ? " (" : "",
                                 item->reason, *item->reason ? ")" : "");
    }
    if (used && ops && ops->state == TRACE_INSTRUMENT_ON)
        cli_say("watched %s; operators: %s", watched, ops->reason);
    else if (used)
        cli_say("watched %s", watched);
    for (size_t i = 0; i < instruments->count; i++) {
        const struct instrument *item = &instruments->items[i];

        if ((instrument_is_runtime(item->name) || instrument_is_probed(item->name) ||
             item == ops) &&
            item->state == TRACE_INSTRUMENT_UNAVAILABLE && !is_about_all(item->name))
            cli_say("%s not available: %s", item->name, item->reason);
    }
}

/* What the watching itself did to the program. */
static void show_cost(const struct session_result *result)
{
    char samples[32];

    if (!result->sample_hz)
        return;
    if (!result->samples)
        cli_say("no call stacks: at %u a second of CPU time, none was due", result->sample_hz);
    else if (result->cost_measured)
        cli_say("%s call stacks at %u Hz; they slowed the program down by %.1f %% (± %.1f, "
                "measured)",
                cli_count(result->samples, samples), result->sample_hz,
                result->cost_pct > 0 ? result->cost_pct : 0.0, result->cost_error_pct);
    else
        cli_say("%s call stacks at %u Hz, about %.1f %% of the program's time",
                cli_count(result->samples, samples), result->sample_hz, result->cost_pct);
}

/* Which inputs were kept, and which not and why. */
static void show_inputs(const struct instruments *instruments)
{
    const struct instrument *inputs = instruments_find(instruments, "inputs");

    if (inputs && inputs->state == TRACE_INSTRUMENT_ON)
        cli_say("kept inputs: %s", inputs->reason);
    else if (inputs)
        cli_say("no inputs were kept: %s", inputs->reason);
}

/* What was used all the same, or why there is nothing at all. */
static void show_missing(const struct session_result *result, const struct screen *screen)
{
    const struct instrument *wakers = instruments_find(&result->instruments, "wakers");
    const struct instrument *runtime = missing_runtime(&result->instruments);
    const char *nothing = result->no_library ? "nothing was recorded: " : "";

    if (screen->sched && wakers && wakers->state == TRACE_INSTRUMENT_UNAVAILABLE)
        cli_say("wakeups were not recorded: %s", wakers->reason);
    if (result->refused && result->no_library)
        cli_say("nothing was recorded: %s", result->refusal);
    else if (result->refused)
        cli_say("%u process%s of it %s not recorded: %s", result->refused,
                result->refused == 1 ? "" : "es", result->refused == 1 ? "was" : "were",
                result->refusal);
    if (result->hooked && runtime)
        cli_say("%s%s not available: %s", nothing, runtime->name, runtime->reason);
    else if (result->refused)
        return; /* it carries the library, and the reason was just said */
    else if (result->no_library && result->hooked)
        cli_say("nothing was recorded: neither %s nor its children used %s or carry libinferogram "
                "(to record your own zones, link with it: pkg-config --libs inferogram)",
                result->program, runtimes_watched(RUNTIME_LAUNCHED).text);
    else if (result->no_library)
        cli_say("nothing was recorded: neither %s nor its children carry libinferogram, and "
                "runtimes in them were not watched",
                result->program);
}

/* The command that shows most of what there is. */
static void show_next(const struct session_result *result, const struct screen *screen)
{
    if (result->totals.models)
        cli_say("next: inferogram report %s", result->path);
    else if (result->samples)
        cli_say("next: inferogram stats %s --by function", result->path);
    else if (screen->sched)
        cli_say("next: inferogram stats %s --by thread", result->path);
    else
        cli_say("next: inferogram info %s", result->path);
}

static void show_end(const struct session_result *result, const struct screen *screen)
{
    /* Counted when recording stopped; what was waited for may have taken them along. */
    bool waited = result->command_ended &&
                  (result->end == SESSION_DURATION_OVER || result->end == SESSION_SIZE_REACHED);
    char events[32];
    char dropped[32];
    char size[32];
    char how[64] = "was stopped";

    if (screen->quiet)
        return;
    if (result->command_ended && WIFSIGNALED(result->wait_status))
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(result->wait_status),
                 strsignal(WTERMSIG(result->wait_status)));
    else if (result->command_ended)
        snprintf(how, sizeof how, "exited with %d", WEXITSTATUS(result->wait_status));
    else if (result->end == SESSION_PROGRAM_ENDED)
        snprintf(how, sizeof how, "ended");
    else
        snprintf(how, sizeof how, "goes on");
    if (screen->flight)
        cli_say("%s %s; watched %.1f s: %s events, %s dropped", result->program, how,
                result->recorded_s, cli_count(result->totals.events, events),
                cli_count(result->totals.dropped, dropped));
    else
        cli_say("%s %s; recorded %.1f s: %s events, %s, %s dropped", result->program, how,
                result->recorded_s, cli_count(result->totals.events, events),
                cli_size(result->totals.bytes, size), cli_count(result->totals.dropped, dropped));
    if (screen->flight)
        record_flight_show_end(screen->flight, result);
    show_watched(&result->instruments);
    show_cost(result);
    show_inputs(&result->instruments);
    show_missing(result, screen);
    if (result->still_injected[0])
        cli_say("the program's calls still go through our hooks, which record nothing now: %s; a "
                "further 'record --pid %d --hook inject' puts them back",
                result->still_injected, (int)result->pid);
    if (result->end == SESSION_SIZE_REACHED && screen->flight)
        cli_say(
            "recording stopped because definitions (of processes, threads, zones, call stacks), "
            "which are not forgotten, took half of the memory: give --flight-recorder more");
    else if (result->end == SESSION_SIZE_REACHED)
        cli_say("recording stopped because the file had reached the size of --max-size");
    if (result->let_go[0])
        cli_say("recording ended early: %s", result->let_go);
    if (result->left_running && !waited)
        cli_say("%u of its processes go%s on without being recorded", result->left_running,
                result->left_running == 1 ? "es" : "");
    if (result->not_written)
        cli_say("%s events more are not in the file: it could not grow",
                cli_count(result->not_written, events));
    if (result->totals.dropped)
        cli_say("events were dropped because buffers were full: record less, or use --lossless");
    if (result->end != SESSION_WRITE_FAILED && !(screen->view && screen->view->directory[0]))
        show_next(result, screen);
}

#define STANDING_MAX 64u

/* Options that a user wants every time come from the environment, before those of the command
 * line, which win. Words only: there are no quotes. NULL: no memory. */
static char **add_standing_options(int argc, char **argv, char *standing, int *out_argc)
{
    char **all = ifg_alloc((size_t)argc + STANDING_MAX + 1, sizeof *all);
    char *rest = standing;
    char *word;
    int count = 0;

    if (!all)
        return NULL;
    all[count++] = argv[0];
    while (standing && count <= (int)STANDING_MAX && (word = strtok_r(rest, " \t\n", &rest)))
        all[count++] = word;
    for (int i = 1; i < argc; i++)
        all[count++] = argv[i];
    *out_argc = count;
    return all;
}

static int exit_after(const struct record_request *request, const struct session_result *result)
{
    if (result->end == SESSION_WRITE_FAILED)
        return request->session.command ? CLI_RECORD_FAILED : CLI_NO;
    if (!request->session.command || !result->command_ended)
        return CLI_YES;
    if (WIFSIGNALED(result->wait_status))
        return 128 + WTERMSIG(result->wait_status);
    return WEXITSTATUS(result->wait_status);
}

static int parse(const struct cli_command *command, int argc, char **argv,
                 struct record_request *request)
{
    const char *variable = getenv("IFG_RECORD_OPTIONS");
    struct remote_request asked;
    struct option_words words;
    int code = options_parse(command, argc, argv, request, &words);

    if (!code && words.count)
        request->session.command = words.items;
    if (!code)
        code = record_check(command, request);
    if (!code)
        code = record_flight_check(command, request);
    if (!code && request->remote.host)
        code = remote_recording_ask(command, request, &asked);
    if (code == CLI_USAGE && variable && *variable)
        cli_say("the variable IFG_RECORD_OPTIONS adds options, too: %s", variable);
    request->view.launched = request->session.command != NULL;
    request->view.json = request->view.gauge && request->json;
    if (request->view.open)
        request->view.page = request->view.serve_on = true;
    return code;
}

static void set_callbacks(struct record_request *request, struct screen *screen)
{
    struct session_options *session = &request->session;

    screen->quiet = request->quiet;
    screen->sched = session->sched;
    screen->flight = session->flight.is_on ? &session->flight : NULL;
    screen->view = request->view.gauge || request->view.page ? &request->view : NULL;
    screen->live = !request->quiet && !request->view.gauge && isatty(STDERR_FILENO);
    request->view.quiet = request->quiet;
    session->tool_version = INFEROGRAM_VERSION;
    session->redaction = &request->redaction;
    session->started = show_start;
    session->progress = show_progress;
    session->dumped = show_dump;
    session->waiting = show_waiting;
    session->preparing = show_preparing;
    session->expecting = show_expecting;
    session->user = screen;
    session->probes = request->probes;
    session->next_name = request->name;
    session->next_path = request->path;
}

static enum live_view_end view_end(const struct session_result *result)
{
    bool by_itself = result->end == SESSION_PROGRAM_ENDED || result->end == SESSION_DURATION_OVER;

    return by_itself && !result->interrupted ? LIVE_VIEW_ENDED : LIVE_VIEW_STOPPED;
}

static int record(struct record_request *request)
{
    struct session_options *session = &request->session;
    struct screen screen = { 0 };
    struct session_result result;
    struct ifg_error err = { 0 };
    bool cannot_start = false;
    enum ifg_status status = IFG_OK;
    bool kept;
    int code;

    set_callbacks(request, &screen);
    if (!session->next && (request->name || request->path))
        status = record_find_process(request, &err);
    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    if (screen.view && (code = live_view_prepare(screen.view, session)))
        return code;
    status = session_run(session, &result, &cannot_start, &err);
    clear_line(&screen);
    if (screen.view)
        live_view_ended(screen.view);
    if (status || result.end == SESSION_WRITE_FAILED)
        cli_say("%s", err.message);
    if (status) {
        if (cannot_start)
            code = status == IFG_NOT_FOUND ? CLI_COMMAND_NOT_FOUND : CLI_CANNOT_START;
        else
            code = session->command ? CLI_RECORD_FAILED : cli_exit_for(status);
    } else {
        show_end(&result, &screen);
        code = exit_after(request, &result);
    }
    kept = !(screen.view && screen.view->directory[0]);
    if (screen.view)
        live_view_finish(screen.view, status ? LIVE_VIEW_EMPTY : view_end(&result));
    if (!status && request->json && record_print_result(&result, kept) && code == CLI_YES)
        code = session->command ? CLI_RECORD_FAILED : CLI_NO;
    return code;
}

int record_run(const struct cli_command *command, bool gauge, int argc, char **argv)
{
    struct record_request request = { .session = { .resources_hz = RECORD_RESOURCES_HZ,
                                                   .mode = MODE_DEFAULT,
                                                   .overhead_pct = RECORD_OVERHEAD_PCT },
                                      .view = { .gauge = gauge } };
    const char *variable = getenv("IFG_RECORD_OPTIONS");
    char *standing = ifg_strdup(variable ? variable : "");
    char **all = add_standing_options(argc, argv, standing, &argc);
    int code = CLI_NO;

    record_flight_defaults(&request.session.flight);
    if (all) {
        code = parse(command, argc, all, &request);
        request.session.words = all;
        request.session.word_count = (size_t)argc;
    } else {
        cli_say("not enough memory");
    }
    if (!code)
        code = request.remote.host ? live_remote(command, &request) : record(&request);
    cli_free_probes(request.probes, request.session.probe_count);
    redact_fini(&request.redaction);
    ifg_free(all);
    ifg_free(standing);
    return code;
}

static const struct option_row own_rows[] = {
    { "live", 0, NULL, "print the address of a page that follows the recording", OPTION_FLAG,
      IFG_AT(struct record_request, view.page) },
    { 0 },
};

static int run(int argc, char **argv)
{
    return record_run(&record_command, false, argc, argv);
}

const struct cli_command record_command = {
    .name = "record",
    .summary = "run a program, or attach to one, and record it",
    .usage = "[OPTIONS] -- CMD ARGS...\n"
             "[OPTIONS] --pid N | --name S | --path P | --next",
    .about = "Records what the models of a program ({runtimes}) and its zones (libinferogram) do. "
             "You don't need root to record your own programs.",
    .tables = { own_rows, record_rows, record_content_rows, record_flight_rows },
    .notes = "Ctrl-C ends CMD as usual, or stops an attached recording; a second Ctrl-C leaves "
             "CMD running.",
    .examples = "inferogram record -- ./program\n"
                "inferogram record --pid 4711 --duration 10s\n"
                "inferogram record --ops --sched -o run.ifg -- python3 app.py\n"
                "inferogram record --flight-recorder 30s --dump-when 'inference.latency>100ms' "
                "--pid 4711",
    .exits = "CMD's own (128 + signal if it was killed), 2 usage error, 125 recording failed, 126 "
             "or 127 CMD cannot be started. Without CMD: 0 recorded, 1 nothing to record, 2 usage "
             "error, 4 missing permission",
    .operands = OPERANDS_PROGRAM,
    .silent = true,
    .run = run,
};
