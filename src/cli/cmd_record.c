// SPDX-License-Identifier: Apache-2.0
/* inferogram record: launch or attach, and tell the user how it goes. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/live_view.h"
#include "cli/probes.h"
#include "cli/record.h"
#include "record/attached.h"
#include "record/process.h"
#include "record/redact.h"
#include "record/session.h"

static const char help[] =
    "usage: inferogram record [OPTIONS] -- CMD ARGS...\n"
    "       inferogram record [OPTIONS] --pid N | --name S | --path P | --next\n"
    "\n"
    "Records what the models in a program (ONNX Runtime) and its zones (libinferogram) do.\n"
    "\n"
    "  --pid N           record the running process N, which has ONNX Runtime or libinferogram\n"
    "  --name S, --path P  the oldest running process of that name, or of that program or script\n"
    "  --next, --timeout T  wait (no longer than T) for the next process that creates a session "
    "of\n"
    "                    ONNX Runtime; with --name or --path, of that name or path\n"
    "  -o, --output FILE, -f, --force  write here (inferogram-<program>-<pid>-<time>.ifg); replace "
    "it\n"
    "  --mode MODE, --no-args, --redact PATTERN  of FILE (0600); leave arguments, or parts, out\n"
    "  --duration T, --lossless  stop after T (2, 1.5s, 500ms, 3m); never drop events: let CMD "
    "wait\n"
    "  --ops[=N]         record the operators of every Nth inference (default 16; 1: of all)\n"
    "  --overhead PCT, --sample[=HZ], --no-sample, --no-sources  call stacks: as many as slow the\n"
    "                    program down by PCT (default 1) per cent, at a rate, none; no texts of "
    "sources\n"
    "  --sched, --memory  also who woke whom; allocations (CMD) and resident memory every 10 ms\n"
    "  --hook HOW        how runtimes are watched: auto, preload (CMD), uprobe, inject (pid), "
    "none\n"
    "  --probe FILE      also follow the runtime that FILE describes, or llama, openvino\n"
    "  --resources[=HZ], --no-resources, --gpu off  look at CPUs, memory, GPUs (1 a second)\n"
    "  --live, -q, --quiet  print the address of a page that shows it meanwhile; say only errors\n"
    "  --help            this text\n"
    "\n"
    "Ctrl-C ends CMD as usual, or stops an attached recording; a second one leaves CMD running.\n"
    "Exit status: CMD's (128 + signal if it was killed); 125 recording failed, 126 or 127 CMD "
    "cannot\n"
    "be started; 2 a wrong command line. Without CMD: 0 recorded; 1 nothing to record; 4 no "
    "right.\n";

/* Whose options are wrong, if they are: `live` takes those of `record`. */
static const char *command_name = "record";

#define MODE_DEFAULT 0600 /* sources, arguments and messages are inside */

#define OPS_DEFAULT 16u
#define OPS_MAX     1000000u

#define RESOURCES_HZ_DEFAULT 1.0
#define RESOURCES_HZ_LEAST   0.01
#define RESOURCES_HZ_MAX     100.0

#define SAMPLE_HZ_MAX        10000u
#define OVERHEAD_PCT_DEFAULT 1.0
#define OVERHEAD_PCT_MAX     50.0

struct arguments {
    struct session_options session;
    const char *name;
    const char *path;
    struct probe_file *probes[CLI_PROBES_MAX];
    struct live_view view;
    struct redaction redaction;
    bool quiet;
};

/* What the live line needs to know. */
struct screen {
    bool quiet;
    bool live;
    bool line_shown;
    bool sched;             /* --sched was given: say why it is missing */
    struct live_view *view; /* NULL: none */
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
        cli_say("recording %s (pid %d) → %s", start->program, (int)start->pid, start->path);
        if (*start->not_hooked)
            cli_say("ONNX Runtime is not watched: %s", start->not_hooked);
    }
    if (screen->view)
        live_view_started(screen->view, start);
}

static void show_progress(const struct session_progress *progress, void *user)
{
    struct screen *screen = user;
    char inferences[32];
    char events[32];
    char size[32];
    char dropped[32];
    unsigned seconds = (unsigned)progress->seconds;

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
    cli_say("waiting for the next process that creates a session of ONNX Runtime (Ctrl-C stops)");
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

/* "watched ONNX Runtime 1.30.0 (launch hooks); operators: every 16th inference", and what was used
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
            item->state == TRACE_INSTRUMENT_UNAVAILABLE && strcmp(item->name, "ONNX Runtime") != 0)
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

/* What was used all the same, or why there is nothing at all. */
static void show_missing(const struct session_result *result, const struct screen *screen)
{
    const struct instrument *wakers = instruments_find(&result->instruments, "wakers");
    const struct instrument *runtime = instruments_find(&result->instruments, "ONNX Runtime");
    const char *nothing = result->no_library ? "nothing was recorded: " : "";

    if (screen->sched && wakers && wakers->state == TRACE_INSTRUMENT_UNAVAILABLE)
        cli_say("who woke whom was not recorded: %s", wakers->reason);
    if (result->hooked && runtime && runtime->state == TRACE_INSTRUMENT_UNAVAILABLE)
        cli_say("%sONNX Runtime not available: %s", nothing, runtime->reason);
    else if (result->no_library && result->hooked)
        cli_say("nothing was recorded: neither %s nor its children used ONNX Runtime or carry "
                "libinferogram (to record your own zones, link with it: pkg-config --libs "
                "inferogram)",
                result->program);
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
    bool waited = result->command_ended && result->end == SESSION_DURATION_OVER;
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
    cli_say("%s %s; recorded %.1f s: %s events, %s, %s dropped", result->program, how,
            result->recorded_s, cli_count(result->totals.events, events),
            cli_size(result->totals.bytes, size), cli_count(result->totals.dropped, dropped));
    show_watched(&result->instruments);
    show_cost(result);
    show_missing(result, screen);
    if (result->still_injected[0])
        cli_say("the program's calls still go through our hooks, which record nothing now: %s; a "
                "further 'record --pid %d --hook inject' puts them back",
                result->still_injected, (int)result->pid);
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

/* ---- finding a process by name or path ---- */

#define CANDIDATES_MAX 64

struct search {
    const struct arguments *arguments;
    struct process_info found[CANDIDATES_MAX];
    size_t count;
};

static bool consider(pid_t pid, void *user)
{
    struct search *search = user;
    struct process_info info;
    size_t at;

    if (pid == getpid() || process_describe(pid, &info, NULL) != IFG_OK)
        return true;
    if (search->arguments->name ? !process_matches_name(&info, search->arguments->name)
                                : !process_matches_path(&info, search->arguments->path))
        return true;
    if (search->count == CANDIDATES_MAX)
        return false;
    /* Sorted by start time: the first match wins. */
    for (at = search->count++; at > 0 && search->found[at - 1].start_time > info.start_time; at--)
        search->found[at] = search->found[at - 1];
    search->found[at] = info;
    return true;
}

/* Whether one match was started by another, or by a process that it started. */
static bool is_below(const struct search *search, size_t inner, size_t outer)
{
    struct process_info info = search->found[inner];

    for (int depth = 0; depth < 64 && info.parent > 1; depth++) {
        if (info.parent == search->found[outer].pid)
            return true;
        if (process_describe(info.parent, &info, NULL) != IFG_OK)
            return false;
    }
    return false;
}

/* Servers have a supervisor that does nothing and workers of the same name, which are recorded with
 * it: all of them are meant. */
static size_t outermost(const struct search *search, size_t chosen)
{
    for (size_t i = 0; i < search->count; i++)
        if (i != chosen && is_below(search, chosen, i))
            return i; /* the oldest comes first */
    return chosen;
}

static enum ifg_status find_process(struct arguments *arguments, struct ifg_error *err)
{
    struct search *search = ifg_alloc(1, sizeof *search);
    size_t chosen;
    enum ifg_status status = IFG_OK;

    if (!search)
        return ifg_fail(err, IFG_NO_MEMORY, "out of memory");
    search->arguments = arguments;
    process_each(consider, search);
    if (!search->count) {
        status = ifg_fail(
            err, IFG_NOT_FOUND,
            "no running process has the %s '%s'; 'inferogram ls' lists those that can "
            "be recorded",
            arguments->name ? "name" : "path", arguments->name ? arguments->name : arguments->path);
        goto out;
    }
    /* The oldest that can be recorded; if none can, the oldest, whose reason is then told. */
    for (chosen = 0; chosen < search->count; chosen++) {
        int fd;

        if (process_open_region(search->found[chosen].pid, &fd, NULL) == IFG_OK) {
            close(fd);
            break;
        }
        if (attached_has_runtime(search->found[chosen].pid))
            break;
    }
    if (chosen == search->count)
        chosen = 0;
    chosen = outermost(search, chosen);
    arguments->session.pid = search->found[chosen].pid;
    for (size_t i = 0; i < search->count && !arguments->quiet; i++)
        if (i != chosen && !is_below(search, i, chosen))
            cli_say("also matches, not recorded: pid %d (%s)", (int)search->found[i].pid,
                    process_short_name(&search->found[i]));
out:
    ifg_free(search);
    return status;
}

/* ---- the command line ---- */

static bool parse_pid(const char *text, pid_t *out_pid)
{
    char *end;
    long value = strtol(text, &end, 10);

    *out_pid = (pid_t)value;
    return *text && !*end && value > 0 && value <= INT32_MAX;
}

static int parse_hook(const char *text, enum session_hook *out_hook)
{
    if (strcmp(text, "auto") == 0)
        *out_hook = SESSION_HOOK_AUTO;
    else if (strcmp(text, "preload") == 0)
        *out_hook = SESSION_HOOK_PRELOAD;
    else if (strcmp(text, "none") == 0)
        *out_hook = SESSION_HOOK_NONE;
    else if (strcmp(text, "uprobe") == 0)
        *out_hook = SESSION_HOOK_UPROBE;
    else if (strcmp(text, "inject") == 0)
        *out_hook = SESSION_HOOK_INJECT;
    else
        return cli_usage(
            command_name,
            "'%s' is not a way to watch runtimes (auto, preload, uprobe, inject, none)", text);
    return CLI_YES;
}

static bool parse_ops(const char *text, uint32_t *out_ops)
{
    unsigned long value = OPS_DEFAULT;
    char *end;

    if (text) {
        value = strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || *end || value < 1 || value > OPS_MAX)
            return false;
    }
    *out_ops = (uint32_t)value;
    return true;
}

/* Without a rate: inside the budget, which is the default anyway. */
static int parse_rate(const char *text, struct session_options *session)
{
    unsigned long value;
    char *end;

    session->sample_hz = 0;
    session->machine_alone = true;
    if (session->overhead_pct <= 0)
        session->overhead_pct = OVERHEAD_PCT_DEFAULT;
    if (!text)
        return CLI_YES;
    value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < 1 || value > SAMPLE_HZ_MAX)
        return cli_usage(command_name, "'%s' is not a rate of 1 to %u samples a second", text,
                         SAMPLE_HZ_MAX);
    session->sample_hz = (uint32_t)value;
    return CLI_YES;
}

static int parse_overhead(const char *text, double *out_pct)
{
    char *end;

    *out_pct = strtod(text, &end);
    if (*text < '0' || *text > '9' || (*end && strcmp(end, "%") != 0) || !(*out_pct > 0) ||
        *out_pct > OVERHEAD_PCT_MAX)
        return cli_usage(command_name,
                         "'%s' is not a slow-down of more than 0 and up to 50 percent", text);
    return CLI_YES;
}

static int parse_gpu(const char *text, bool *out_off)
{
    *out_off = strcmp(text, "off") == 0;
    if (!*out_off && strcmp(text, "auto") != 0)
        return cli_usage(command_name, "--gpu is auto or off, not '%s'", text);
    return CLI_YES;
}

static int parse_resources(const char *text, double *out_hz)
{
    char *end;

    *out_hz = RESOURCES_HZ_DEFAULT;
    if (!text)
        return CLI_YES;
    *out_hz = strtod(text, &end);
    if (*text < '0' || *text > '9' || *end || !(*out_hz >= RESOURCES_HZ_LEAST) ||
        *out_hz > RESOURCES_HZ_MAX)
        return cli_usage(command_name, "'%s' is not a rate of 0.01 to 100 looks a second", text);
    return CLI_YES;
}

/* The rights of a file that its owner can read and write; not those of a program. */
static int parse_mode(const char *text, uint32_t *out_mode)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);

    if (*text < '0' || *text > '7' || *end || (mode & 0600) != 0600 || (mode & ~0666ul))
        return cli_usage(command_name,
                         "'%s' is not a mode of a file (0600: you alone, 0640, 0644: everybody may "
                         "read)",
                         text);
    *out_mode = (uint32_t)mode;
    return CLI_YES;
}

static int parse_redact(const char *pattern, struct redaction *redaction)
{
    struct ifg_error err = { .message = "" };

    if (redact_add(redaction, pattern, &err))
        return cli_usage(command_name, "%s", err.message);
    return CLI_YES;
}

/* What does not go together. */
static int check(const struct session_options *session, int targets)
{
    if (targets > 1)
        return cli_usage(command_name, "--pid, --name and --path exclude each other");
    if (session->next && session->pid)
        return cli_usage(command_name, "--pid and --next exclude each other");
    targets += session->next;
    if (targets && session->command)
        return cli_usage(command_name,
                         "give either a command or --pid, --name, --path, --next; not both");
    if (!targets && !session->command)
        return cli_usage(command_name, "what shall be recorded? Give a command after --, or --pid");
    if (session->timeout_s > 0 && !session->next)
        return cli_usage(command_name,
                         "--timeout goes with --next; how long to record is --duration");
    if (session->next && session->hook == SESSION_HOOK_NONE)
        return cli_usage(command_name, "--next needs to watch runtimes: leave out --hook none");
    if (session->output && !*session->output)
        return cli_usage(command_name, "the file name after -o is empty");
    if (targets && session->hook == SESSION_HOOK_PRELOAD)
        return cli_usage(command_name,
                         "--hook preload cannot reach a process that runs already; start "
                         "the program with 'inferogram record -- CMD'");
    if (session->hook == SESSION_HOOK_INJECT && (session->command || session->next))
        return cli_usage(command_name,
                         "--hook inject is for a process that runs already (--pid, --name, "
                         "--path); a command is started with hooks anyway");
    if (session->hook == SESSION_HOOK_INJECT && session->ops)
        return cli_usage(command_name, "--ops does not go with --hook inject; --hook uprobe can");
    if (session->ops && session->hook == SESSION_HOOK_NONE)
        return cli_usage(command_name, "--ops needs to watch runtimes: leave out --hook none");
    return CLI_YES;
}

enum {
    OPTION_PID = 1000,
    OPTION_NAME,
    OPTION_PATH,
    OPTION_NEXT,
    OPTION_TIMEOUT,
    OPTION_DURATION,
    OPTION_LOSSLESS,
    OPTION_HOOK,
    OPTION_OPS,
    OPTION_PROBE,
    OPTION_SAMPLE,
    OPTION_NO_SAMPLE,
    OPTION_OVERHEAD,
    OPTION_SCHED,
    OPTION_MEMORY,
    OPTION_GPU,
    OPTION_NO_SOURCES,
    OPTION_RESOURCES,
    OPTION_NO_RESOURCES,
    OPTION_MODE,
    OPTION_NO_ARGS,
    OPTION_REDACT,
    OPTION_HELP,
};

static const struct option options[] = {
    { "pid", required_argument, NULL, OPTION_PID },
    { "name", required_argument, NULL, OPTION_NAME },
    { "path", required_argument, NULL, OPTION_PATH },
    { "next", no_argument, NULL, OPTION_NEXT },
    { "timeout", required_argument, NULL, OPTION_TIMEOUT },
    { "output", required_argument, NULL, 'o' },
    { "force", no_argument, NULL, 'f' },
    { "duration", required_argument, NULL, OPTION_DURATION },
    { "lossless", no_argument, NULL, OPTION_LOSSLESS },
    { "hook", required_argument, NULL, OPTION_HOOK },
    { "ops", optional_argument, NULL, OPTION_OPS },
    { "probe", required_argument, NULL, OPTION_PROBE },
    { "sample", optional_argument, NULL, OPTION_SAMPLE },
    { "no-sample", no_argument, NULL, OPTION_NO_SAMPLE },
    { "overhead", required_argument, NULL, OPTION_OVERHEAD },
    { "sched", no_argument, NULL, OPTION_SCHED },
    { "memory", no_argument, NULL, OPTION_MEMORY },
    { "gpu", required_argument, NULL, OPTION_GPU },
    { "no-sources", no_argument, NULL, OPTION_NO_SOURCES },
    { "resources", optional_argument, NULL, OPTION_RESOURCES },
    { "no-resources", no_argument, NULL, OPTION_NO_RESOURCES },
    { "mode", required_argument, NULL, OPTION_MODE },
    { "no-args", no_argument, NULL, OPTION_NO_ARGS },
    { "redact", required_argument, NULL, OPTION_REDACT },
    { "quiet", no_argument, NULL, 'q' },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

#define NOT_MINE (-1)

/* What of the machine is recorded besides the program. */
static int parse_machine(int option, struct session_options *session)
{
    switch (option) {
    case OPTION_NO_SOURCES:
        session->no_sources = true;
        return CLI_YES;
    case OPTION_SAMPLE:
        return parse_rate(optarg, session);
    case OPTION_NO_SAMPLE:
        session->sample_hz = 0;
        session->overhead_pct = 0;
        return CLI_YES;
    case OPTION_OVERHEAD:
        session->machine_alone = true;
        return parse_overhead(optarg, &session->overhead_pct);
    case OPTION_SCHED:
        session->sched = true;
        session->machine_alone = true;
        return CLI_YES;
    case OPTION_MEMORY:
        session->memory = true;
        session->machine_alone = true;
        return CLI_YES;
    case OPTION_GPU:
        return parse_gpu(optarg, &session->no_gpu);
    case OPTION_RESOURCES:
        return parse_resources(optarg, &session->resources_hz);
    case OPTION_NO_RESOURCES:
        session->resources_hz = 0;
        return CLI_YES;
    default:
        return NOT_MINE;
    }
}

#define SHARED_OPTIONS (sizeof options / sizeof options[0]) /* with the empty one */
#define OWN_OPTIONS    8

/* The command's own options, then those that `record` and `live` have both. */
static void join_options(const struct record_command *command,
                         struct option out[OWN_OPTIONS + SHARED_OPTIONS])
{
    size_t own = 0;

    for (; command->options[own].name && own < OWN_OPTIONS; own++)
        out[own] = command->options[own];
    memcpy(out + own, options, sizeof options);
}

/* "--sample 99" would run a program called 99; behind "--" it may. */
static bool is_lone_value(const char *option, const char *word)
{
    return strncmp(option, "--", 2) == 0 && *word >= '0' && *word <= '9' &&
           (strcmp(option, "--sample") == 0 || strcmp(option, "--ops") == 0 ||
            strcmp(option, "--resources") == 0);
}

/* CLI_YES: go on. Anything else is the exit status; help sets *out_done. */
static int parse(int argc, char **argv, const struct record_command *command,
                 struct arguments *arguments, bool *out_done)
{
    struct option all_options[OWN_OPTIONS + SHARED_OPTIONS];
    struct session_options *session = &arguments->session;
    int targets = 0;
    int option;
    int code;

    join_options(command, all_options);
    while ((option = getopt_long(argc, argv, "+:o:fqh", all_options, NULL)) != -1) {
        switch (option) {
        case OPTION_PID:
            if (!parse_pid(optarg, &session->pid))
                return cli_usage(command_name, "'%s' is not a process number", optarg);
            targets++;
            break;
        case OPTION_NAME:
            arguments->name = optarg;
            targets++;
            break;
        case OPTION_PATH:
            arguments->path = optarg;
            targets++;
            break;
        case OPTION_NEXT:
            session->next = true;
            break;
        case OPTION_TIMEOUT:
            if (!cli_parse_seconds(optarg, &session->timeout_s) || session->timeout_s <= 0)
                return cli_usage(command_name, "'%s' is not a time to wait (2, 1.5s, 3m)", optarg);
            break;
        case 'o':
            session->output = optarg;
            break;
        case 'f':
            session->overwrite = true;
            break;
        case 'q':
            arguments->quiet = true;
            break;
        case OPTION_DURATION:
            if (!cli_parse_seconds(optarg, &session->duration_s) || session->duration_s <= 0)
                return cli_usage(command_name, "'%s' is not a duration (2, 1.5s, 500ms, 3m)",
                                 optarg);
            break;
        case OPTION_LOSSLESS:
            session->lossless = true;
            break;
        case OPTION_HOOK:
            code = parse_hook(optarg, &session->hook);
            if (code)
                return code;
            break;
        case OPTION_PROBE:
            code = cli_add_probe(optarg, arguments->probes, &session->probe_count);
            if (code)
                return code;
            break;
        case OPTION_OPS:
            if (!parse_ops(optarg, &session->ops))
                return cli_usage(command_name, "'%s' is not a number of inferences (1 and up)",
                                 optarg);
            break;
        case OPTION_NO_ARGS:
            arguments->redaction.no_args = true;
            break;
        case OPTION_MODE:
        case OPTION_REDACT:
            code = option == OPTION_MODE ? parse_mode(optarg, &session->mode)
                                         : parse_redact(optarg, &arguments->redaction);
            if (code)
                return code;
            break;
        case 'h':
        case OPTION_HELP:
            fputs(command->help, stdout);
            *out_done = true;
            return CLI_YES;
        default:
            code = parse_machine(option, session);
            if (code == NOT_MINE && command->take_option(option, optarg, &arguments->view))
                break;
            if (code == NOT_MINE)
                return cli_bad_option(command_name, option, argv);
            if (code)
                return code;
        }
    }
    if (optind < argc)
        session->command = argv + optind;
    if (session->command && is_lone_value(argv[optind - 1], argv[optind]))
        return cli_usage(command_name, "a value of %s stands behind an equals sign: %s=%s",
                         argv[optind - 1], argv[optind - 1], argv[optind]);
    arguments->view.launched = session->command != NULL;
    if (arguments->view.log && !session->command)
        return cli_usage(command_name, "--log is for what CMD prints: there is no CMD");
    return check(session, targets);
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

static int exit_after(const struct arguments *arguments, const struct session_result *result)
{
    if (result->end == SESSION_WRITE_FAILED)
        return arguments->session.command ? CLI_RECORD_FAILED : CLI_NO;
    if (!arguments->session.command || !result->command_ended)
        return CLI_YES;
    if (WIFSIGNALED(result->wait_status))
        return 128 + WTERMSIG(result->wait_status);
    return WEXITSTATUS(result->wait_status);
}

int record_command_run(int argc, char **argv, const struct record_command *command)
{
    struct arguments arguments = { .session = { .resources_hz = RESOURCES_HZ_DEFAULT,
                                                .mode = MODE_DEFAULT,
                                                .overhead_pct = OVERHEAD_PCT_DEFAULT },
                                   .view = { .gauge = command->gauge } };
    struct screen screen = { 0 };
    struct session_result result;
    struct ifg_error err = { 0 };
    bool cannot_start = false;
    bool done = false;
    const char *variable = getenv("IFG_RECORD_OPTIONS");
    char *standing = ifg_strdup(variable ? variable : "");
    char **all = add_standing_options(argc, argv, standing, &argc);
    enum ifg_status status;
    bool shown;
    int code = CLI_NO;

    command_name = command->name;
    if (all)
        code = parse(argc, all, command, &arguments, &done);
    else
        cli_say("out of memory");
    if (code == CLI_USAGE && variable && *variable)
        cli_say("the variable IFG_RECORD_OPTIONS adds options, too: %s", variable);
    if (code || done)
        goto out;
    screen.quiet = arguments.quiet;
    screen.sched = arguments.session.sched;
    shown = arguments.view.gauge || arguments.view.page;
    arguments.view.quiet = arguments.quiet;
    screen.view = shown ? &arguments.view : NULL;
    screen.live = !arguments.quiet && !arguments.view.gauge && isatty(STDERR_FILENO);
    arguments.session.tool_version = INFEROGRAM_VERSION;
    arguments.session.words = all;
    arguments.session.word_count = (size_t)argc;
    arguments.session.redaction = &arguments.redaction;
    arguments.session.started = show_start;
    arguments.session.progress = show_progress;
    arguments.session.waiting = show_waiting;
    arguments.session.preparing = show_preparing;
    arguments.session.expecting = show_expecting;
    arguments.session.user = &screen;
    arguments.session.probes = arguments.probes;
    arguments.session.next_name = arguments.name;
    arguments.session.next_path = arguments.path;
    if (!arguments.session.next && (arguments.name || arguments.path)) {
        status = find_process(&arguments, &err);
        if (status) {
            cli_say("%s", err.message);
            code = cli_exit_for(status);
            goto out;
        }
    }
    if (shown && (code = live_view_prepare(&arguments.view, &arguments.session)))
        goto out;
    status = session_run(&arguments.session, &result, &cannot_start, &err);
    clear_line(&screen);
    if (shown)
        live_view_ended(&arguments.view);
    if (status) {
        cli_say("%s", err.message);
        if (cannot_start)
            code = status == IFG_NOT_FOUND ? CLI_COMMAND_NOT_FOUND : CLI_CANNOT_START;
        else
            code = arguments.session.command ? CLI_RECORD_FAILED : cli_exit_for(status);
        if (shown)
            live_view_finish(&arguments.view, NULL);
        goto out;
    }
    if (result.end == SESSION_WRITE_FAILED)
        cli_say("%s", err.message);
    show_end(&result, &screen);
    code = exit_after(&arguments, &result);
    if (shown)
        live_view_finish(&arguments.view, &result);
out:
    cli_free_probes(arguments.probes, arguments.session.probe_count);
    redact_fini(&arguments.redaction);
    ifg_free(all);
    ifg_free(standing);
    return code;
}

static const struct option own_options[] = {
    { "live", no_argument, NULL, RECORD_OPTION_OWN },
    { NULL, 0, NULL, 0 },
};

static bool take_own_option(int option, const char *value, struct live_view *view)
{
    (void)value;
    if (option == RECORD_OPTION_OWN)
        view->page = true;
    return option == RECORD_OPTION_OWN;
}

int cmd_record(int argc, char **argv)
{
    return record_command_run(argc, argv,
                              &(struct record_command){ .name = "record",
                                                        .help = help,
                                                        .options = own_options,
                                                        .take_option = take_own_option });
}
