// SPDX-License-Identifier: Apache-2.0
/* inferogram doctor: what works on this machine, what does not, and the command that fixes it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/nearest.h"

#define OUTPUT_MAX (1u << 20)
#define CHECKS_MAX 64u

static const char *const states[] = {
    [DOCTOR_WORKS] = "works",
    [DOCTOR_NO] = "no",
    [DOCTOR_ABSENT] = "absent",
};

static const char *const groups[] = {
    [DOCTOR_RECORDING] = "recording",
    [DOCTOR_SAMPLING] = "sampling",
    [DOCTOR_CODE] = "code",
    [DOCTOR_MACHINE] = "machine",
    [DOCTOR_ACCELERATORS] = "accelerators",
};

struct request {
    bool chosen[CHECKS_MAX];
    bool json;
    bool strict;
};

static void write_json(struct ifg_bytes *out, const struct request *request,
                       const struct doctor_finding *findings, bool ready, bool strict_ok)
{
    struct ifg_json json = { .out = out };

    ifg_json_open(&json, '{');
    ifg_json_put_uint(&json, "schema", 1);
    ifg_json_put_open(&json, "checks", '[');
    for (unsigned i = 0; i < doctor_check_count; i++) {
        if (!request->chosen[i])
            continue;
        ifg_json_open(&json, '{');
        ifg_json_put_string(&json, "id", doctor_checks[i].id);
        ifg_json_put_string(&json, "name", doctor_checks[i].name);
        ifg_json_put_string(&json, "group", groups[doctor_checks[i].group]);
        ifg_json_put_string(&json, "state", states[findings[i].state]);
        ifg_json_put_bool(&json, "needed", doctor_checks[i].needed);
        ifg_json_put_string(&json, "detail", findings[i].detail);
        ifg_json_put_string(&json, "fix", findings[i].fix);
        ifg_json_close(&json, '}');
    }
    ifg_json_close(&json, ']');
    for (unsigned i = 0; i < doctor_check_count; i++)
        if (request->chosen[i] && strcmp(doctor_checks[i].id, "devices") == 0)
            doctor_devices_json(&json);
    ifg_json_put_bool(&json, "ready", ready);
    ifg_json_put_bool(&json, "strict_ok", strict_ok);
    ifg_json_close(&json, '}');
    ifg_bytes_put(out, "\n", 1);
}

/* Names of what does not work, in one line. */
static void list_missing(const struct request *request, const struct doctor_finding *findings,
                         bool needed_only, struct ifg_bytes *out)
{
    const char *separator = "";

    for (unsigned i = 0; i < doctor_check_count; i++) {
        if (!request->chosen[i] || findings[i].state != DOCTOR_NO ||
            (needed_only && !doctor_checks[i].needed))
            continue;
        cli_print(out, "%s%s", separator, doctor_checks[i].name);
        separator = ", ";
    }
    ifg_bytes_put(out, "", 1);
}

/* What was begun before is asked for last. */
static void run_checks(const struct request *request, struct doctor_finding *findings)
{
    struct doctor_progress progress;

    doctor_progress_begin(&progress);
    for (unsigned i = 0; i < doctor_check_count; i++)
        if (request->chosen[i] && doctor_checks[i].prepare)
            doctor_checks[i].prepare();
    for (int prepared = 0; prepared < 2; prepared++) {
        for (unsigned i = 0; i < doctor_check_count; i++) {
            if (!request->chosen[i] || !!doctor_checks[i].prepare != prepared)
                continue;
            findings[i].state = DOCTOR_NO;
            doctor_progress_say(&progress, doctor_checks[i].name);
            doctor_checks[i].run(&findings[i]);
        }
    }
    doctor_progress_end(&progress);
}

static int examine(const struct request *request)
{
    struct doctor_finding *findings = ifg_alloc(doctor_check_count, sizeof *findings);
    bool ready = true;
    bool strict_ok = true;
    struct ifg_bytes out;
    int code;

    if (!findings) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    run_checks(request, findings);
    for (unsigned i = 0; i < doctor_check_count; i++) {
        if (!request->chosen[i] || findings[i].state != DOCTOR_NO)
            continue;
        strict_ok = false;
        ready = ready && !doctor_checks[i].needed;
    }
    ifg_bytes_init(&out, OUTPUT_MAX);
    if (request->json)
        write_json(&out, request, findings, ready, strict_ok);
    else
        doctor_write_text(&out, request->chosen, findings);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    ifg_bytes_init(&out, OUTPUT_MAX);
    list_missing(request, findings, !ready, &out);
    if (!ready)
        cli_say("recordings need what does not work here: %s", (const char *)out.data);
    else if (request->strict && !strict_ok)
        cli_say("this could work here and does not: %s", (const char *)out.data);
    ifg_bytes_fini(&out);
    ifg_free(findings);
    return code ? code : !ready || (request->strict && !strict_ok) ? CLI_LACKS : CLI_YES;
}

static bool choose(struct request *request, const char *id)
{
    for (unsigned i = 0; i < doctor_check_count; i++)
        if (strcmp(doctor_checks[i].id, id) == 0)
            return request->chosen[i] = true;
    return false;
}

static int unknown(const char *id)
{
    char list[1024] = "";
    size_t used = 0;
    struct nearest best = { NULL, NEAREST_FAR };

    for (unsigned i = 0; i < doctor_check_count; i++)
        nearest_keep(&best, doctor_checks[i].id, nearest_word(id, doctor_checks[i].id));
    if (best.name)
        return cli_usage("doctor", "there is no check '%s' (did you mean '%s'?)", id, best.name);
    for (unsigned i = 0; i < doctor_check_count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 doctor_checks[i].id);
    return cli_usage("doctor", "there is no check '%s'; there are: %s", id, list);
}

static const struct option_row option_rows[] = {
    { "strict", 0, NULL, "also exit with 4 if something fixable does not work", OPTION_FLAG,
      IFG_AT(struct request, strict) },
    { "json", 0, NULL, "print one JSON document: ready, strict_ok and checks", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { 0 },
};

static const char *check_id(size_t index)
{
    return index < doctor_check_count ? doctor_checks[index].id : NULL;
}

static int run(int argc, char **argv)
{
    struct request request = { .json = false };
    struct option_words words;
    int code = options_parse(&doctor_command, argc, argv, &request, &words);

    if (code)
        return code;
    for (size_t i = 0; i < words.count; i++)
        if (!choose(&request, words.items[i]))
            return unknown(words.items[i]);
    for (unsigned i = 0; i < doctor_check_count; i++)
        request.chosen[i] |= !words.count;
    return examine(&request);
}

const struct cli_command doctor_command = {
    .name = "doctor",
    .summary = "check what works on this machine, and how to fix the rest",
    .usage = "[--strict] [--json] [CHECK...]",
    .about = "Checks on this machine, as this user, what recordings need. Each line shows whether "
             "it works, why not, and the command that fixes it. The checks change nothing and "
             "leave nothing behind. Name CHECKs to run only those; an unknown name lists them all.",
    .tables = { option_rows },
    .exits = "0 programs can be launched and recorded, 1 cannot write the output, 2 usage error, "
             "4 something is missing for that",
    .operands = OPERANDS_WORDS,
    .operand_at = check_id,
    .run = run,
};
