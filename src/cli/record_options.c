// SPDX-License-Identifier: Apache-2.0
/* The options that `record` and `live` have both, and what does not go together. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/probes.h"
#include "cli/record.h"
#include "runtimes/runtimes.h"

#define OPS_DEFAULT        16
#define OPS_MAX            1000000
#define RESOURCES_HZ_LEAST 0.01
#define RESOURCES_HZ_MAX   100
#define SAMPLE_HZ_MAX      10000u
#define OVERHEAD_PCT_MAX   50
#define CAPTURE_MAX        65536u
#define IDLE_S_MAX         60
#define ANNOTATIONS_MAX    4096u
#define CAPTURE_BYTES      ((size_t)256 << 20)

static const char *const annotations[] = { "auto", "off", NULL };

/* The first one is the recording's; the others are recorded with it. */
static int take_pid(const struct option_use *use, void *user)
{
    struct record_request *request = user;
    struct session_options *session = &request->session;

    session->others = request->others;
    for (const char *at = use->value; at;) {
        char *end;
        unsigned long pid = strtoul(at, &end, 10);

        if (*at < '0' || *at > '9' || (*end && *end != ',') || pid < 1 || pid > INT32_MAX)
            return options_bad_value(use, "a process number");
        if (!session->pid)
            session->pid = (pid_t)pid;
        else if (session->other_count < SESSION_OTHERS_MAX)
            request->others[session->other_count++] = (pid_t)pid;
        else
            return cli_usage(use->command, "--pid: more than %u processes", SESSION_OTHERS_MAX + 1);
        at = *end ? end + 1 : NULL;
    }
    return CLI_YES;
}

/* Without a rate: inside the budget, which is the default anyway. */
static int take_sample(const struct option_use *use, void *user)
{
    struct session_options *session = &((struct record_request *)user)->session;
    unsigned long value;
    char *end;

    session->sample_hz = 0;
    session->machine_alone = true;
    if (session->overhead_pct <= 0)
        session->overhead_pct = RECORD_OVERHEAD_PCT;
    if (!use->value)
        return CLI_YES;
    value = strtoul(use->value, &end, 10);
    if (*use->value < '0' || *use->value > '9' || *end || value < 1 || value > SAMPLE_HZ_MAX)
        return options_bad_value(use, "a rate of 1 to 10000 samples a second");
    session->sample_hz = (uint32_t)value;
    return CLI_YES;
}

static int take_no_sample(const struct option_use *use, void *user)
{
    struct record_request *request = user;

    (void)use;
    request->session.sample_hz = 0;
    request->session.overhead_pct = 0;
    return CLI_YES;
}

static int take_no_resources(const struct option_use *use, void *user)
{
    struct record_request *request = user;

    (void)use;
    request->session.resources_hz = 0;
    return CLI_YES;
}

/* The rights of a file that its owner can read and write; not those of a program. */
static int take_mode(const struct option_use *use, void *user)
{
    struct record_request *request = user;
    char *end;
    unsigned long mode = strtoul(use->value, &end, 8);

    if (*use->value < '0' || *use->value > '7' || *end || (mode & 0600) != 0600 || (mode & ~0666ul))
        return options_bad_value(
            use, "a mode of a file (0600: you alone, 0640, 0644: everybody may read)");
    request->session.mode = (uint32_t)mode;
    return CLI_YES;
}

static int take_redact(const struct option_use *use, void *user)
{
    struct record_request *request = user;
    struct ifg_error err = { .message = "" };

    if (redact_add(&request->redaction, use->value, &err))
        return cli_usage(use->command, "%s", err.message);
    return CLI_YES;
}

static int take_probe(const struct option_use *use, void *user)
{
    struct record_request *request = user;

    return cli_add_probe(use->value, request->probes, &request->session.probe_count);
}

/* off, auto, or domains: names with commas between them, which we cannot know. */
static int take_annotations(const struct option_use *use, void *user)
{
    struct session_options *session = &((struct record_request *)user)->session;

    if (!*use->value || strlen(use->value) > ANNOTATIONS_MAX || strchr(use->value, '\n'))
        return options_bad_value(use, "off, auto, or names of domains (PyTorch,oneDNN*,-tbb)");
    session->annotations = strcmp(use->value, annotations[0]) == 0 ? NULL : use->value;
    return CLI_YES;
}

static const char *const captures[] = { "slowest", "failed", NULL };

/* N, slowest, failed. */
static int take_capture(const struct option_use *use, void *user)
{
    struct session_capture *capture = &((struct record_request *)user)->session.capture;
    unsigned long first;
    char *end;

    if (strcmp(use->value, captures[0]) == 0) {
        capture->mode = SESSION_CAPTURE_SLOWEST;
    } else if (strcmp(use->value, captures[1]) == 0) {
        capture->mode = SESSION_CAPTURE_FAILED;
    } else {
        first = strtoul(use->value, &end, 10);
        if (*use->value < '0' || *use->value > '9' || *end || first < 1 || first > CAPTURE_MAX)
            return options_bad_value(use, "a number of inferences of each model (1 to 65536), "
                                          "slowest or failed");
        capture->mode = SESSION_CAPTURE_FIRST;
        capture->first = (uint32_t)first;
    }
    return CLI_YES;
}

static const char *const hooks[] = {
    [SESSION_HOOK_AUTO] = "auto",     [SESSION_HOOK_PRELOAD] = "preload",
    [SESSION_HOOK_NONE] = "none",     [SESSION_HOOK_UPROBE] = "uprobe",
    [SESSION_HOOK_INJECT] = "inject", [SESSION_HOOK_INJECT + 1] = NULL,
};
static const char *const gpus[] = {
    [SESSION_GPU_AUTO] = "auto", [SESSION_GPU_KERNELS] = "kernels", [SESSION_GPU_FULL] = "full",
    [SESSION_GPU_OFF] = "off",   [SESSION_GPU_OFF + 1] = NULL,
};

#define AT(member)    IFG_AT(struct record_request, member)
#define MACHINE_ALONE IFG_GIVEN(struct record_request, session.machine_alone)

const struct option_row record_rows[] = {
    { .kind = OPTION_HEADING, .help = "A running process" },
    { "pid", 0, "N[,N...]", "these processes; may be given several times", OPTION_CALL,
      .take = take_pid },
    { "name", 0, "S", "the oldest process with this name", OPTION_TEXT, AT(name) },
    { "path", 0, "P", "the oldest process that runs this program or script", OPTION_PATH,
      AT(path) },
    { "next", 0, NULL, "the next one that creates a session of {attachable}", OPTION_FLAG,
      AT(session.next) },
    { "timeout", 0, "T", "with --next: wait at most this long", OPTION_SECONDS,
      AT(session.timeout_s), .what = "a time to wait (2, 1.5s, 3m)" },
    { .kind = OPTION_HEADING, .help = "Output" },
    { "output", 'o', "FILE", "write here [inferogram-<program>-<pid>-<time>.ifg]", OPTION_PATH,
      AT(session.output), .files = "*.ifg" },
    { "force", 'f', NULL, "replace FILE if it exists", OPTION_FLAG, AT(session.overwrite) },
    { "mode", 0, "MODE", "permissions of FILE [0600]", OPTION_CALL, .take = take_mode },
    { "no-args", 0, NULL, "leave out the arguments of programs", OPTION_FLAG,
      AT(redaction.no_args) },
    { "redact", 0, "PATTERN", "leave out of arguments what matches", OPTION_CALL,
      .take = take_redact },
    { "json", 0, NULL, "print where it went and what was lost, as JSON", OPTION_FLAG, AT(json) },
    { "quiet", 'q', NULL, "print errors only", OPTION_FLAG, AT(quiet) },
    { .kind = OPTION_HEADING, .help = "How to record" },
    { "lossless", 0, NULL, "never drop events: let the program wait", OPTION_FLAG,
      AT(session.lossless) },
    { "hook", 0, "HOW", "by {} [auto]", OPTION_CHOICE, AT(session.hook), .choices = hooks },
    { "annotations", 0, "WHICH", "ranges of NVTX and ITT: {}, or domains [auto]", OPTION_CALL,
      .choices = annotations, .take = take_annotations },
    { "probe", 0, "FILE", "also watch what FILE describes, or {}", OPTION_CALL,
      .choice_at = runtime_described, .take = take_probe },
    { "capture-inputs", 0, "WHICH", "keep inputs of the first N inferences, or: {}", OPTION_CALL,
      .choices = captures, .take = take_capture },
    { "capture-max", 0, "SIZE", "keep no more than this of inputs [256M]", OPTION_SIZE,
      AT(session.capture.max_bytes) },
    { "idle", 0, "T", "measure idle power this long before CMD starts, for joules per inference",
      OPTION_SECONDS, AT(session.idle_s), .what = "a time of up to a minute (2, 500ms)" },
    { 0 },
};

/* Numbers and yes or no: an agent takes them from another machine as well. */
const struct option_row record_content_rows[] = {
    { .kind = OPTION_HEADING, .help = "What to record" },
    { "duration", 0, "T", "stop after this time (2, 1.5s, 500ms, 3m)", OPTION_SECONDS,
      AT(session.duration_s), .what = "a duration (2, 1.5s, 500ms, 3m)" },
    { "delay", 0, "T", "begin to record only after this time", OPTION_SECONDS, AT(session.delay_s),
      .what = "a time (2, 1.5s, 500ms, 3m)" },
    { "max-size", 0, "SIZE", "stop when the file is this large (500M, 2G)", OPTION_SIZE,
      AT(session.max_bytes) },
    { "ops", 0, "N", "operators of every Nth inference [16; 1 for all]", OPTION_COUNT,
      AT(session.ops), .optional = true, .value = OPS_DEFAULT, .least = 1, .most = OPS_MAX,
      .what = "a number of inferences (1 and up)" },
    { "overhead", 0, "PCT", "sample call stacks within this overhead, in percent [1]",
      OPTION_NUMBER, AT(session.overhead_pct), MACHINE_ALONE, .most = OVERHEAD_PCT_MAX,
      .suffix = "%", .what = "a slow-down of more than 0 and up to 50 percent" },
    { "sample", 0, "HZ", "sample call stacks at this rate instead", OPTION_CALL, .optional = true,
      .take = take_sample },
    { "no-sample", 0, NULL, "do not sample call stacks", OPTION_CALL, .take = take_no_sample },
    { "no-sources", 0, NULL, "leave out the text of sampled source files", OPTION_FLAG,
      AT(session.no_sources) },
    { "sched", 0, NULL, "also record context switches and wakeups", OPTION_FLAG, AT(session.sched),
      MACHINE_ALONE },
    { "memory", 0, NULL, "also allocations of CMD, and memory every 10 ms", OPTION_FLAG,
      AT(session.memory), MACHINE_ALONE },
    { "resources", 0, "HZ", "sample CPUs, memory and GPUs HZ times a second [1]", OPTION_NUMBER,
      AT(session.resources_hz), .optional = true, .value = RECORD_RESOURCES_HZ,
      .least = RESOURCES_HZ_LEAST, .most = RESOURCES_HZ_MAX,
      .what = "a rate of 0.01 to 100 looks a second" },
    { "no-resources", 0, NULL, "do not sample CPUs, memory and GPUs", OPTION_CALL,
      .take = take_no_resources },
    { "gpu", 0, "WHAT", "{}: what to record of accelerators [auto]", OPTION_CHOICE, AT(session.gpu),
      .choices = gpus },
    { 0 },
};

static int check_capture(const struct cli_command *command, struct session_options *session)
{
    struct session_capture *capture = &session->capture;

    if (capture->max_bytes && !capture->mode)
        return cli_usage(command->name, "--capture-max goes with --capture-inputs");
    if (capture->mode && session->command &&
        (session->hook == SESSION_HOOK_NONE || session->hook == SESSION_HOOK_UPROBE))
        return cli_usage(command->name, "--capture-inputs needs the hooks: leave out --hook %s",
                         hooks[session->hook]);
    if (!capture->max_bytes)
        capture->max_bytes = CAPTURE_BYTES;
    return CLI_YES;
}

/* What does not go together. */
int record_check(const struct cli_command *command, struct record_request *request)
{
    struct session_options *session = &request->session;
    int targets = (session->pid != 0) + (request->name != NULL) + (request->path != NULL);

    if (request->view.log && !session->command)
        return cli_usage(command->name, "--log is for what CMD prints: there is no CMD");
    if (targets > 1)
        return cli_usage(command->name, "--pid, --name and --path exclude each other");
    if (session->next && session->pid)
        return cli_usage(command->name, "--pid and --next exclude each other");
    if (remote_options_check(command, &request->remote))
        return CLI_USAGE;
    if (request->remote.host)
        return CLI_YES; /* the rest is for processes of this machine */
    if (request->reconnect_s > 0)
        return cli_usage(command->name, "--reconnect goes with --address");
    targets += session->next;
    if (targets && session->command)
        return cli_usage(command->name,
                         "give either a command or --pid, --name, --path, --next; not both");
    if (!targets && !session->command)
        return cli_usage(command->name,
                         "what shall be recorded? Give a command after --, or --pid");
    if (session->delay_s > 0 && session->next)
        return cli_usage(command->name, "--delay does not go with --next: what is waited for "
                                        "begins when it creates a session");
    if (session->delay_s > 0 && session->lossless && session->command)
        return cli_usage(command->name,
                         "--delay does not go with --lossless: CMD would stand still "
                         "until then");
    if (session->timeout_s > 0 && !session->next)
        return cli_usage(command->name,
                         "--timeout goes with --next; how long to record is --duration");
    if (session->idle_s > 0 && !session->command)
        return cli_usage(command->name,
                         "--idle goes with CMD: a process that runs already is not idle");
    if (session->idle_s > 0 && !(session->resources_hz > 0))
        return cli_usage(command->name, "--idle does not go with --no-resources");
    if (session->idle_s > IDLE_S_MAX)
        return cli_usage(command->name, "--idle: a minute at most");
    if (session->next && session->hook == SESSION_HOOK_NONE)
        return cli_usage(command->name, "--next needs to watch runtimes: leave out --hook none");
    if (targets && session->hook == SESSION_HOOK_PRELOAD)
        return cli_usage(command->name,
                         "--hook preload cannot reach a process that runs already; start "
                         "the program with 'inferogram record -- CMD'");
    if (session->hook == SESSION_HOOK_INJECT && (session->command || session->next))
        return cli_usage(command->name,
                         "--hook inject is for a process that runs already (--pid, --name, "
                         "--path); a command is started with hooks anyway");
    if (session->hook == SESSION_HOOK_INJECT && session->other_count)
        return cli_usage(command->name, "--hook inject is for one process at a time");
    if (session->hook == SESSION_HOOK_INJECT && session->ops)
        return cli_usage(command->name, "--ops does not go with --hook inject; --hook uprobe can");
    if (session->annotations && !session->command)
        return cli_usage(command->name,
                         "--annotations is for CMD: a running program has found its collector of "
                         "annotations already, or none");
    if (session->ops && session->hook == SESSION_HOOK_NONE)
        return cli_usage(command->name, "--ops needs to watch runtimes: leave out --hook none");
    return check_capture(command, session);
}
