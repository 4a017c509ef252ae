// SPDX-License-Identifier: Apache-2.0
/* What `record --json` and `live --json` print: where a recording went, how much, and what was
 * lost. Described in docs/json.md. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/record.h"

#define LINE_MAX_BYTES (1u << 20)

static const char *const ends[] = {
    [SESSION_PROGRAM_ENDED] = "program ended", [SESSION_DURATION_OVER] = "duration",
    [SESSION_INTERRUPTED] = "interrupted",     [SESSION_WRITE_FAILED] = "write failed",
    [SESSION_SIZE_REACHED] = "max-size",
};

static const char *const states[] = {
    [TRACE_INSTRUMENT_ON] = "on",
    [TRACE_INSTRUMENT_OFF] = "off",
    [TRACE_INSTRUMENT_UNAVAILABLE] = "unavailable",
};

static void put_counts(struct ifg_json *json, const struct session_progress *counts)
{
    ifg_json_put_uint(json, "events", counts->events);
    ifg_json_put_uint(json, "inferences", counts->inferences);
    ifg_json_put_uint(json, "models", counts->models);
    ifg_json_put_uint(json, "processes", counts->processes);
    ifg_json_put_uint(json, "threads", counts->threads);
    ifg_json_put_uint(json, "dropped", counts->dropped);
}

static void put_end(struct ifg_json *json, const struct session_result *result)
{
    ifg_json_put_string(json, "end", ends[result->end]);
    if (result->command_ended && WIFEXITED(result->wait_status))
        ifg_json_put_uint(json, "exit_status", (uint64_t)WEXITSTATUS(result->wait_status));
    if (result->command_ended && WIFSIGNALED(result->wait_status))
        ifg_json_put_uint(json, "signal", (uint64_t)WTERMSIG(result->wait_status));
}

static void put_instruments(struct ifg_json *json, const struct instruments *instruments)
{
    ifg_json_key(json, "instruments");
    ifg_json_open(json, '[');
    for (size_t i = 0; i < instruments->count; i++) {
        ifg_json_open(json, '{');
        ifg_json_put_string(json, "name", instruments->items[i].name);
        ifg_json_put_string(json, "state", states[instruments->items[i].state]);
        ifg_json_put_string(json, "reason", instruments->items[i].reason);
        ifg_json_close(json, '}');
    }
    ifg_json_close(json, ']');
}

static void put_flight(struct ifg_json *json, const struct session_result *result)
{
    if (!result->is_flight)
        return;
    ifg_json_put_open(json, "flight", '{');
    ifg_json_put_uint(json, "dumps", result->dumps);
    ifg_json_put_uint(json, "failed", result->dumps_failed);
    ifg_json_put_uint(json, "skipped", result->dumps_skipped);
    ifg_json_put_double(json, "not_kept_s", result->not_kept_s);
    ifg_json_put_double(json, "recorder_cpu_s", result->recorder_cpu_s);
    ifg_json_put_uint(json, "recorder_memory_bytes", result->memory_bytes);
    ifg_json_close(json, '}');
}

static int print_line(struct ifg_json *json)
{
    int code;

    ifg_json_close(json, '}');
    ifg_bytes_put(json->out, "\n", 1);
    code = cli_write_out(json->out);
    ifg_bytes_fini(json->out);
    return code;
}

int record_print_progress(const struct session_progress *progress)
{
    struct ifg_bytes out;
    struct ifg_json json = { &out, false };

    ifg_bytes_init(&out, LINE_MAX_BYTES);
    ifg_json_open(&json, '{');
    ifg_json_put_string(&json, "type", "progress");
    ifg_json_put_double(&json, "seconds", progress->seconds);
    ifg_json_put_uint(&json, "bytes", progress->bytes);
    put_counts(&json, progress);
    return print_line(&json);
}

int record_print_result(const struct session_result *result, bool kept)
{
    struct ifg_bytes out;
    struct ifg_json json = { &out, false };
    struct stat file;
    bool there = kept && stat(result->path, &file) == 0;

    ifg_bytes_init(&out, LINE_MAX_BYTES);
    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_string(&json, "type", "recording");
    ifg_json_put_string(&json, "path", there ? result->path : "");
    ifg_json_put_uint(&json, "bytes", there ? (uint64_t)file.st_size : result->totals.bytes);
    ifg_json_put_string(&json, "program", result->program);
    ifg_json_put_int(&json, "pid", result->pid);
    ifg_json_put_double(&json, "recorded_s", result->recorded_s);
    put_end(&json, result);
    put_counts(&json, &result->totals);
    ifg_json_put_uint(&json, "not_written", result->not_written);
    ifg_json_put_uint(&json, "samples", result->samples);
    put_flight(&json, result);
    put_instruments(&json, &result->instruments);
    return print_line(&json);
}
