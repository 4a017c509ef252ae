// SPDX-License-Identifier: Apache-2.0
/* `record --flight-recorder`: its options, what does not go with it, and what it says. */
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/record.h"

#define MEMORY_DEFAULT 256000000u /* where only a time was given */
#define MEMORY_LEAST   1000000u
#define AFTER_S        5.0
#define INTERVAL_S     60.0
#define FILES_MOST     20
#define AFTER_MOST_S   3600

/* 30s, 200M, or both. */
static int take_flight(const struct option_use *use, void *user)
{
    struct session_flight *flight = &((struct record_request *)user)->session.flight;
    char *comma = strchr(use->value, ',');
    const char *parts[2] = { use->value, comma ? comma + 1 : NULL };
    bool is_good = true;

    flight->seconds = 0;
    flight->bytes = 0;
    if (comma)
        *comma = '\0';
    for (size_t i = 0; i < 2 && parts[i]; i++) {
        char last = *parts[i] ? parts[i][strlen(parts[i]) - 1] : '\0';

        if (last && strchr("smh", last))
            is_good = is_good && !flight->seconds && cli_parse_seconds(parts[i], &flight->seconds);
        else
            is_good = is_good && !flight->bytes && last && strchr("kKMG", last) &&
                      cli_parse_size(parts[i], &flight->bytes);
    }
    if (comma)
        *comma = ',';
    if (!is_good || (flight->seconds <= 0 && !flight->bytes))
        return options_bad_value(use, "a time (30s), a size of memory (200M), or both (30s,200M)");
    if (!flight->bytes)
        flight->bytes = MEMORY_DEFAULT;
    if (flight->bytes < MEMORY_LEAST)
        return cli_usage(use->command, "--flight-recorder: at least 1M of memory is needed");
    flight->is_on = true;
    return CLI_YES;
}

static int take_rule(const struct option_use *use, void *user)
{
    struct record_request *request = user;
    struct session_flight *flight = &request->session.flight;
    struct ifg_error err = { .message = "" };

    if (flight->rule_count == DUMP_RULES_MAX)
        return cli_usage(use->command, "--dump-when: more than %u rules", DUMP_RULES_MAX);
    if (dump_rule_parse(use->value, &request->rules[flight->rule_count], &err))
        return cli_usage(use->command, "--dump-when %s", err.message);
    request->has_dump_option = true;
    flight->rules = request->rules;
    flight->rule_count++;
    return CLI_YES;
}

#define AT(member) IFG_AT(struct record_request, member)
#define GIVEN      IFG_GIVEN(struct record_request, has_dump_option)

const struct option_row record_flight_rows[] = {
    { .kind = OPTION_HEADING, .help = "Flight recorder" },
    { "flight-recorder", 0, "T|SIZE", "keep only the last T (30s) or SIZE (200M), in memory",
      OPTION_CALL, .take = take_flight },
    { "dump-when", 0, "EXPR", "write them when EXPR is true: 'inference.latency>100ms'",
      OPTION_CALL, .take = take_rule },
    { "dump-on-signal", 0, NULL, "write them when SIGUSR2 is sent to the recorder", OPTION_FLAG,
      AT(session.flight.on_signal), GIVEN },
    { "dump-after", 0, "T", "record this long after a trigger, then write [5s]", OPTION_SECONDS,
      AT(session.flight.after_s), GIVEN, .zero = true, .most = AFTER_MOST_S,
      .what = "a time of up to one hour (5s, 500ms, 0)" },
    { "dump-interval", 0, "T", "at least this long between triggers of --dump-when [60s]",
      OPTION_SECONDS, AT(session.flight.interval_s), GIVEN, .zero = true,
      .what = "a time (60s, 5m, 0)" },
    { "dump-max", 0, "N", "at most so many files by --dump-when [20]", OPTION_COUNT,
      AT(session.flight.most), GIVEN, .least = 1, .most = 100000,
      .what = "a number of files from 1 to 100000" },
    { 0 },
};

void record_flight_defaults(struct session_flight *flight)
{
    flight->after_s = AFTER_S;
    flight->interval_s = INTERVAL_S;
    flight->most = FILES_MOST;
}

int record_flight_check(const struct cli_command *command, const struct record_request *request)
{
    const struct session_options *session = &request->session;

    if (!session->flight.is_on)
        return request->has_dump_option
                   ? cli_usage(command->name, "--dump-when, --dump-on-signal, --dump-after, "
                                              "--dump-interval and --dump-max go with "
                                              "--flight-recorder")
                   : CLI_YES;
    if (session->memory)
        return cli_usage(command->name, "--memory does not go with --flight-recorder: what was "
                                        "allocated before the seconds that are kept is not known");
    if (session->max_bytes)
        return cli_usage(command->name, "--max-size does not go with --flight-recorder, whose size "
                                        "is given there: --flight-recorder 30s,200M");
    if (request->view.page || request->view.gauge)
        return cli_usage(command->name, "a flight recorder has no file that a page could follow");
    return CLI_YES;
}

void record_flight_show_start(const struct session_flight *flight, const char *path, pid_t pid)
{
    double mb = (double)flight->bytes / 1e6;

    if (flight->seconds > 0)
        cli_say("keeping the last %g s in memory, at most %g MB", flight->seconds, mb);
    else
        cli_say("keeping the last %g MB in memory", mb);
    cli_say("they are written to %s at the end, and before that %s'inferogram ctl %d snapshot'",
            path,
            flight->rule_count && flight->on_signal ? "by --dump-when, SIGUSR2 and "
            : flight->rule_count                    ? "by --dump-when and "
            : flight->on_signal                     ? "by SIGUSR2 and "
                                                    : "by ",
            (int)pid);
    if (flight->rule_count)
        cli_say("--dump-when writes at most %u files, with %g s or more between triggers",
                flight->most, flight->interval_s);
}

void record_flight_show_dump(const struct session_dump *dump)
{
    char size[32];

    if (dump->problem)
        cli_say("%s (%s)", dump->problem, dump->why);
    else
        cli_say("wrote %s, %s (%s)", dump->path, cli_size(dump->bytes, size), dump->why);
}

void record_flight_show_end(const struct session_flight *flight,
                            const struct session_result *result)
{
    struct stat file;
    char size[32];
    char memory[32];
    char number[32];

    if (result->end != SESSION_WRITE_FAILED && stat(result->path, &file) == 0) {
        cli_say("wrote %s, %s (the end)%s", result->path, cli_size((uint64_t)file.st_size, size),
                result->not_kept_s > 0 ? "" : ", which has all of it");
        if (result->not_kept_s > 0)
            cli_say("the first %.1f s of the recording are not kept", result->not_kept_s);
    }
    if (result->dumps_failed)
        cli_say("%u files could not be written", result->dumps_failed);
    if (result->dumps_skipped)
        cli_say("%s more times --dump-when came true and nothing was written: --dump-interval is "
                "%g s, --dump-max %u",
                cli_count(result->dumps_skipped, number), flight->interval_s, flight->most);
    if (result->recorded_s > 0)
        cli_say("the recorder took %.2f %% of a core and %s of memory at most",
                100 * result->recorder_cpu_s / result->recorded_s,
                cli_size(result->memory_bytes, memory));
}
