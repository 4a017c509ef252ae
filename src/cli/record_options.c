// SPDX-License-Identifier: Apache-2.0
/* The options that `record` and `live` have both, and what does not go together. */
#include <stdlib.h>

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

static const char *const hooks[] = {
    [SESSION_HOOK_AUTO] = "auto",     [SESSION_HOOK_PRELOAD] = "preload",
    [SESSION_HOOK_NONE] = "none",     [SESSION_HOOK_UPROBE] = "uprobe",
    [SESSION_HOOK_INJECT] = "inject", [SESSION_HOOK_INJECT + 1] = NULL,
};
static const char *const gpus[] = { "auto", "off", NULL };

#define AT(member)    IFG_AT(struct record_request, member)
#define MACHINE_ALONE IFG_GIVEN(struct record_request, session.machine_alone)

const struct option_row record_rows[] = {
    { .kind = OPTION_HEADING, .help = "A process that runs already" },
    { "pid", 0, "N", "the process N, which has " RUNTIMES_WATCHED " or libinferogram", OPTION_COUNT,
      AT(session.pid), .least = 1, .most = INT32_MAX, .what = "a process number" },
    { "name", 0, "S", "the oldest process of this name", OPTION_TEXT, AT(name) },
    { "path", 0, "P", "the oldest process of this program or script", OPTION_PATH, AT(path) },
    { "next", 0, NULL, "the next one that creates a session of " RUNTIMES_WATCHED, OPTION_FLAG,
      AT(session.next) },
    { "timeout", 0, "T", "wait no longer than this for the next one", OPTION_SECONDS,
      AT(session.timeout_s), .what = "a time to wait (2, 1.5s, 3m)" },
    { .kind = OPTION_HEADING, .help = "Output" },
    { "output", 'o', "FILE", "write here [inferogram-<program>-<pid>-<time>.ifg]", OPTION_PATH,
      AT(session.output), .files = "*.ifg" },
    { "force", 'f', NULL, "replace FILE if it exists", OPTION_FLAG, AT(session.overwrite) },
    { "mode", 0, "MODE", "the rights of FILE [0600]", OPTION_CALL, .take = take_mode },
    { "no-args", 0, NULL, "leave the arguments of programs out", OPTION_FLAG,
      AT(redaction.no_args) },
    { "redact", 0, "PATTERN", "leave what matches out of arguments", OPTION_CALL,
      .take = take_redact },
    { "quiet", 'q', NULL, "print errors only", OPTION_FLAG, AT(quiet) },
    { .kind = OPTION_HEADING, .help = "What is recorded" },
    { "duration", 0, "T", "stop after this time (2, 1.5s, 500ms, 3m)", OPTION_SECONDS,
      AT(session.duration_s), .what = "a duration (2, 1.5s, 500ms, 3m)" },
    { "lossless", 0, NULL, "never drop events: let the program wait", OPTION_FLAG,
      AT(session.lossless) },
    { "ops", 0, "N", "operators of every Nth inference [16; 1: of all]", OPTION_COUNT,
      AT(session.ops), .optional = true, .value = OPS_DEFAULT, .least = 1, .most = OPS_MAX,
      .what = "a number of inferences (1 and up)" },
    { "hook", 0, "HOW", "how runtimes are watched: {} [auto]", OPTION_CHOICE, AT(session.hook),
      .choices = hooks },
    { "probe", 0, "FILE", "also follow the runtime that FILE describes, or " RUNTIMES_DESCRIBED,
      OPTION_CALL, .take = take_probe },
    { "overhead", 0, "PCT", "as many call stacks as slow the program down by PCT percent [1]",
      OPTION_NUMBER, AT(session.overhead_pct), MACHINE_ALONE, .most = OVERHEAD_PCT_MAX,
      .suffix = "%", .what = "a slow-down of more than 0 and up to 50 percent" },
    { "sample", 0, "HZ", "call stacks at this rate instead", OPTION_CALL, .optional = true,
      .take = take_sample },
    { "no-sample", 0, NULL, "no call stacks", OPTION_CALL, .take = take_no_sample },
    { "no-sources", 0, NULL, "leave the text of sampled source files out", OPTION_FLAG,
      AT(session.no_sources) },
    { "sched", 0, NULL, "also context switches and wakeups", OPTION_FLAG, AT(session.sched),
      MACHINE_ALONE },
    { "memory", 0, NULL, "also allocations (of CMD) and resident memory every 10 ms", OPTION_FLAG,
      AT(session.memory), MACHINE_ALONE },
    { "resources", 0, "HZ", "sample CPUs, memory and GPUs so often a second [1]", OPTION_NUMBER,
      AT(session.resources_hz), .optional = true, .value = RECORD_RESOURCES_HZ,
      .least = RESOURCES_HZ_LEAST, .most = RESOURCES_HZ_MAX,
      .what = "a rate of 0.01 to 100 looks a second" },
    { "no-resources", 0, NULL, "do not sample CPUs, memory and GPUs", OPTION_CALL,
      .take = take_no_resources },
    { "gpu", 0, "WHAT", "{}: whether to sample accelerators [auto]", OPTION_CHOICE,
      AT(session.no_gpu), .choices = gpus },
    { 0 },
};

/* What does not go together. */
int record_check(const struct cli_command *command, struct record_request *request)
{
    const struct session_options *session = &request->session;
    int targets = (session->pid != 0) + (request->name != NULL) + (request->path != NULL);

    if (request->view.log && !session->command)
        return cli_usage(command->name, "--log is for what CMD prints: there is no CMD");
    if (targets > 1)
        return cli_usage(command->name, "--pid, --name and --path exclude each other");
    if (session->next && session->pid)
        return cli_usage(command->name, "--pid and --next exclude each other");
    targets += session->next;
    if (targets && session->command)
        return cli_usage(command->name,
                         "give either a command or --pid, --name, --path, --next; not both");
    if (!targets && !session->command)
        return cli_usage(command->name,
                         "what shall be recorded? Give a command after --, or --pid");
    if (session->timeout_s > 0 && !session->next)
        return cli_usage(command->name,
                         "--timeout goes with --next; how long to record is --duration");
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
    if (session->hook == SESSION_HOOK_INJECT && session->ops)
        return cli_usage(command->name, "--ops does not go with --hook inject; --hook uprobe can");
    if (session->ops && session->hook == SESSION_HOOK_NONE)
        return cli_usage(command->name, "--ops needs to watch runtimes: leave out --hook none");
    return CLI_YES;
}
