// SPDX-License-Identifier: Apache-2.0
/* inferogram ctl: gives profiling handles to a process that runs, and asks after them; asks the
 * flight recorder of a process for a file. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "record/confined.h"
#include "record/flight_control.h"
#include "record/hooks.h"
#include "record/inject.h"
#include "system/trace_rule.h"

#define OUTPUT_MAX  (1u << 20)
#define COMMAND_MAX 1500

struct request {
    bool json;
};

static const struct option_row option_rows[] = {
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { 0 },
};

static const char *const verbs[] = { "profile", "start", "stop", "flush", "status", "snapshot" };

static const char *verb_at(size_t index)
{
    return index < sizeof verbs / sizeof verbs[0] ? verbs[index] : NULL;
}

static bool is_verb(const char *word)
{
    for (size_t i = 0; verb_at(i); i++)
        if (strcmp(word, verb_at(i)) == 0)
            return true;
    return false;
}

/* The process would take a folder from its own directory: from ours, as it was written here. */
static bool place_reports(const char *text, char out[COMMAND_MAX])
{
    const char *given = strstr(text, "dir=");
    const char *key =
        given && (given == text || given[-1] == ',' || given[-1] == ':') ? given : NULL;
    char here[PATH_MAX];
    int length;

    if (key && key[4] == '/') {
        length = snprintf(out, COMMAND_MAX, "%s", text);
    } else if (!getcwd(here, sizeof here)) {
        return false;
    } else if (key) {
        length =
            snprintf(out, COMMAND_MAX, "%.*sdir=%s/%s", (int)(key - text), text, here, key + 4);
    } else {
        bool has_keys = strchr(text, ':') && strchr(text, ':')[1];

        length = snprintf(out, COMMAND_MAX, "%s%sdir=%s/inferogram-profile", text,
                          has_keys            ? ","
                          : strchr(text, ':') ? ""
                                              : ":",
                          here);
    }
    return length > 0 && length < COMMAND_MAX;
}

static int command_of(const struct option_words *words, char out[COMMAND_MAX])
{
    const char *verb = words->items[1];

    if (!is_verb(verb))
        return cli_usage(
            "ctl", "there is no '%s'; give profile, start, stop, flush, status or snapshot", verb);
    if (strcmp(verb, "profile") != 0) {
        if (words->count > 2)
            return cli_usage("ctl", "unexpected argument '%s'", words->items[2]);
        snprintf(out, COMMAND_MAX, "%s", verb);
        return CLI_YES;
    }
    if (words->count != 3)
        return cli_usage("ctl", "which handle? Give for example stream:rate=1000,regex=^ocr");
    if (strchr(words->items[2], ';'))
        return cli_usage("ctl", "one handle at a time");
    if (!place_reports(words->items[2], out))
        return cli_usage("ctl", "'%s' is too long", words->items[2]);
    return CLI_YES;
}

static enum ifg_status ask(pid_t pid, const char *command, struct inject_answer *answer,
                           struct ifg_error *err)
{
    char directory[PATH_MAX];
    char reason[512];
    enum ifg_status status;

    if (!hooks_find_directory(directory, reason, sizeof reason))
        return ifg_fail(err, IFG_UNSUPPORTED, "%s", reason);
    status = trace_rule_applies() ? trace_rule_check(pid, err) : IFG_OK;
    if (!status && confined_more_than_born(pid))
        status = ifg_fail(err, IFG_UNSUPPORTED,
                          "process %d has confined itself (seccomp), and handles make system calls",
                          (int)pid);
    return status ? status
                  : inject_command(&(struct inject_options){ .pid = pid, .hooks_dir = directory },
                                   command, answer, err);
}

static int print(pid_t pid, const struct inject_answer *answer, bool as_json)
{
    struct ifg_bytes out;
    int code;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (as_json) {
        struct ifg_json json = { .out = &out };

        ifg_json_open(&json, '{');
        ifg_json_put_uint(&json, "schema", 1);
        ifg_json_put_uint(&json, "pid", (uint64_t)pid);
        ifg_json_put_uint(&json, "handles", answer->handles);
        ifg_json_put_uint(&json, "started", answer->started);
        ifg_json_put_string(&json, "text", answer->text);
        ifg_json_close(&json, '}');
        ifg_bytes_put(&out, "\n", 1);
    } else if (!answer->handles) {
        cli_print(&out, "process %d has no profiling handles\n", (int)pid);
    } else {
        const char *line = answer->text;

        while (*line) { /* foreign text, a line at a time */
            const char *end = strchrnul(line, '\n');
            char raw[512];
            char clean[512];

            snprintf(raw, sizeof raw, "%.*s", (int)(end - line), line);
            cli_print(&out, "%s\n", cli_clean(raw, clean, sizeof clean));
            line = *end ? end + 1 : end;
        }
    }
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

/* Not the process itself is asked, but who records it. */
static int take_snapshot(pid_t pid, bool as_json)
{
    struct ifg_error err = { .message = "" };
    char path[PATH_MAX] = "";
    char clean[PATH_MAX];
    struct ifg_bytes out;
    enum ifg_status status = flight_ask(pid, path, &err);
    int code;

    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (as_json) {
        struct ifg_json json = { .out = &out };

        ifg_json_open(&json, '{');
        ifg_json_put_uint(&json, "schema", 1);
        ifg_json_put_uint(&json, "pid", (uint64_t)pid);
        ifg_json_put_string(&json, "file", path);
        ifg_json_close(&json, '}');
        ifg_bytes_put(&out, "\n", 1);
    } else {
        cli_print(&out, "%s\n", cli_clean(path, clean, sizeof clean));
    }
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct inject_answer answer = { 0 };
    struct ifg_error err = { .message = "" };
    struct option_words words;
    char command[COMMAND_MAX];
    enum ifg_status status;
    char *end;
    long pid;
    int code = options_parse(&ctl_command, argc, argv, &request, &words);

    if (code)
        return code;
    if (words.count < 2)
        return cli_usage("ctl", "give a process and what to do: ctl PID status");
    pid = strtol(words.items[0], &end, 10);
    if (*end || pid <= 0 || pid > INT_MAX)
        return cli_usage("ctl", "'%s' is no process number", words.items[0]);
    code = command_of(&words, command);
    if (code)
        return code;
    if (strcmp(command, "snapshot") == 0)
        return take_snapshot((pid_t)pid, request.json);
    status = ask((pid_t)pid, command, &answer, &err);
    if (status) {
        cli_say("%s", err.message);
        return cli_exit_for(status);
    }
    if (answer.status < 0) {
        cli_say("process %ld: %s", pid, answer.text);
        return CLI_USAGE;
    }
    return print((pid_t)pid, &answer, request.json);
}

const struct cli_command ctl_command = {
    .name = "ctl",
    .summary = "profile a running process, or have its flight recorder write",
    .usage =
        "PID profile stream|profile[:KEY=VALUE,...]\nPID start|stop|flush|status|snapshot [--json]",
    .about =
        "Gives a running process a profiling handle: reports about its models go to files, "
        "once after a number of inferences (profile) or at a rate (stream). start, stop and "
        "flush are for all handles of the process; status lists them. snapshot is for a process "
        "that a flight recorder watches (record --flight-recorder): it writes what it keeps, "
        "and its file is printed.\n"
        "Keys: rate (ms), samples, sampling (full, half, fourth, eighth, sixteenth), type "
        "(latency, trace), regex, glob, dir, name. See docs/handles.md.",
    .tables = { option_rows },
    .examples = "inferogram ctl 4711 profile stream:rate=1000,regex=^ocr,dir=reports\n"
                "inferogram ctl 4711 status\n"
                "inferogram ctl 4711 stop\n"
                "inferogram ctl 4711 snapshot",
    .exits = "0 success, 1 failed, 2 usage error or bad key, 4 missing requirement",
    .operands = OPERANDS_WORDS,
    .operand_at = verb_at,
    .run = run,
};
