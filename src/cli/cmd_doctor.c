// SPDX-License-Identifier: Apache-2.0
/* inferogram doctor: what works on this machine, what does not, and the command that fixes it. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/doctor.h"

static const char help[] =
    "usage: inferogram doctor [--json]\n"
    "\n"
    "Tries on this machine, as this user, what recordings need: each line says whether it works,\n"
    "why not, and the command that changes it. Nothing is left behind and nothing is changed.\n"
    "\n"
    "  --json   one JSON document: ready, and checks[{id,name,state,needed,detail,fix}] with "
    "state\n"
    "           works, no, or absent (this machine does not have it)\n"
    "  --help   this text\n"
    "\n"
    "Exit status: 0 programs can be launched and recorded; 4 something is missing for that.\n";

#define OUTPUT_MAX  (1u << 20)
#define NAME_WIDTH  22
#define TOTAL_WIDTH 100

static const char *const states[] = {
    [DOCTOR_WORKS] = "works",
    [DOCTOR_NO] = "no",
    [DOCTOR_ABSENT] = "absent",
};

/* Text in the second column, broken between words; returns the width of its last line. */
static size_t put_wrapped(struct ifg_bytes *out, const char *text)
{
    size_t column = NAME_WIDTH + 2;

    while (*text) {
        size_t length = strcspn(text, " ");

        if (column + length > TOTAL_WIDTH && column > NAME_WIDTH + 2) {
            cli_print(out, "\n%*s", NAME_WIDTH + 2, "");
            column = NAME_WIDTH + 2;
        } else if (column > NAME_WIDTH + 2) {
            cli_print(out, " ");
            column++;
        }
        cli_print(out, "%.*s", (int)length, text);
        column += length;
        text += length + strspn(text + length, " ");
    }
    return column;
}

static void put_row(struct ifg_bytes *out, const struct doctor_check *check,
                    const struct doctor_finding *finding)
{
    char result[sizeof finding->detail + 16];
    char clean[sizeof result];
    char fix[sizeof finding->fix];
    size_t column;

    if (finding->state == DOCTOR_WORKS)
        snprintf(result, sizeof result, "works%s%s", *finding->detail ? ": " : "", finding->detail);
    else
        snprintf(result, sizeof result, "%s%s", finding->state == DOCTOR_NO ? "no: " : "",
                 finding->detail);
    cli_clean(result, clean, sizeof clean);
    cli_clean(finding->fix, fix, sizeof fix);
    cli_print(out, "%-*s  ", NAME_WIDTH, check->name);
    column = put_wrapped(out, clean);
    if (*fix && column + 4 + strlen(fix) <= TOTAL_WIDTH)
        cli_print(out, "    %s", fix);
    else if (*fix) /* whole, so that it can be copied */
        cli_print(out, "\n%*s%s", NAME_WIDTH + 2, "", fix);
    cli_print(out, "\n");
}

static void put_json(struct ifg_json *json, const struct doctor_check *check,
                     const struct doctor_finding *finding)
{
    ifg_json_open(json, '{');
    ifg_json_put_string(json, "id", check->id);
    ifg_json_put_string(json, "name", check->name);
    ifg_json_put_string(json, "state", states[finding->state]);
    ifg_json_put_bool(json, "needed", check->needed);
    ifg_json_put_string(json, "detail", finding->detail);
    ifg_json_put_string(json, "fix", finding->fix);
    ifg_json_close(json, '}');
}

static int examine(bool as_json)
{
    struct ifg_bytes out;
    struct ifg_json json = { .out = &out };
    const char *missing = NULL;
    int code;

    ifg_bytes_init(&out, OUTPUT_MAX);
    if (as_json) {
        ifg_json_open(&json, '{');
        ifg_json_put_uint(&json, "schema", 1);
        ifg_json_key(&json, "checks");
        ifg_json_open(&json, '[');
    }
    for (unsigned i = 0; i < doctor_check_count; i++) {
        struct doctor_finding finding = { .state = DOCTOR_NO };

        doctor_checks[i].run(&finding);
        if (finding.state == DOCTOR_NO && doctor_checks[i].needed && !missing)
            missing = doctor_checks[i].name;
        if (as_json)
            put_json(&json, &doctor_checks[i], &finding);
        else
            put_row(&out, &doctor_checks[i], &finding);
    }
    if (as_json) {
        ifg_json_close(&json, ']');
        ifg_json_put_bool(&json, "ready", !missing);
        ifg_json_close(&json, '}');
        ifg_bytes_put(&out, "\n", 1);
    }
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    if (missing)
        cli_say("recordings need what does not work here: %s", missing);
    return code ? code : missing ? CLI_LACKS : CLI_YES;
}

int cmd_doctor(int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    bool as_json = false;
    int option;

    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'j') {
            as_json = true;
        } else if (option == 'h') {
            fputs(help, stdout);
            return CLI_YES;
        } else {
            return cli_bad_option("doctor", option, argv);
        }
    }
    if (optind < argc)
        return cli_usage("doctor", "unexpected argument '%s'", argv[optind]);
    return examine(as_json);
}
