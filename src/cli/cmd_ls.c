// SPDX-License-Identifier: Apache-2.0
/* inferogram ls: the processes that can be recorded, how, and who records them now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/process_list.h"
#include "cli/remote_options.h"
#include "cli/text.h"

#define OUTPUT_MAX (64u << 20)

struct listing {
    struct ifg_bytes rows;
    struct ifg_json json;
    bool as_json;
    unsigned count;
    struct remote_listed listed;
    struct text_table lines;
};

static void add_json(struct listing *listing, const struct remote_process *process)
{
    char arguments[sizeof process->arguments];

    memcpy(arguments, process->arguments, sizeof arguments);
    for (size_t i = 0; i + 1 < process->arguments_bytes; i++)
        if (!arguments[i])
            arguments[i] = ' ';
    ifg_json_open(&listing->json, '{');
    ifg_json_put_int(&listing->json, "pid", process->pid);
    ifg_json_put_string(&listing->json, "user", process->user);
    ifg_json_put_string(&listing->json, "name", process->name);
    ifg_json_put_string(&listing->json, "program", process->program);
    ifg_json_key(&listing->json, "arguments");
    ifg_json_string_n(&listing->json, arguments, process->arguments_bytes);
    ifg_json_put_uint(&listing->json, "recorder", process->recorder);
    ifg_json_put_bool(&listing->json, "library", process->library);
    ifg_json_put_string(&listing->json, "runtimes", process->runtimes);
    ifg_json_put_string(&listing->json, "how", process->how);
    ifg_json_put_string(&listing->json, "missing", process->missing);
    ifg_json_close(&listing->json, '}');
}

static void add_row(struct listing *listing, const struct remote_process *process)
{
    struct text_table *table = &listing->lines;
    char arguments[sizeof process->arguments + 1];

    for (size_t i = 0; i < process->arguments_bytes; i++)
        arguments[i] = process->arguments[i] ? process->arguments[i] : ' ';
    arguments[process->arguments_bytes] = '\0';
    text_table_put(table, "%d", (int)process->pid);
    text_table_put(table, "%s", process->user);
    text_table_put(table, "%s", process->name);
    if (process->recorder)
        text_table_put(table, "recorded by %u", process->recorder);
    else
        text_table_put(table, "%s", process->how);
    text_table_put(table, "%s", process->runtimes[0] ? process->runtimes : "-");
    text_table_put(table, "%s", arguments);
    text_table_next(table);
    if (process->missing[0] && !process->lacks_rights)
        text_table_note(table, 9, process->missing);
}

static void add(const struct remote_process *process, void *user)
{
    struct listing *listing = user;

    listing->count++;
    if (listing->as_json)
        add_json(listing, process);
    else
        add_row(listing, process);
}

static void finish(struct listing *listing)
{
    if (listing->as_json) {
        ifg_json_close(&listing->json, ']');
        ifg_json_put_uint(&listing->json, "hidden", listing->listed.hidden);
        ifg_json_close(&listing->json, '}');
        ifg_bytes_put(&listing->rows, "\n", 1);
        return;
    }
    if (listing->listed.lacking)
        cli_say("%u of these cannot be watched from outside by this user: %s",
                listing->listed.lacking, listing->listed.rights);
    if (!listing->count)
        cli_say("no running process carries libinferogram or has loaded a runtime that is known%s",
                listing->listed.hidden ? " (as far as this user can see; try sudo)" : "");
    else if (listing->listed.hidden)
        cli_say("%u processes of other users were not looked into; try sudo",
                listing->listed.hidden);
}

static int list(struct listing *listing, const struct remote_options *remote)
{
    static const struct text_column shown[] = {
        { "PID", TEXT_RIGHT, 0, 0 },     { "USER", TEXT_LEFT, 6, 3 },
        { "PROGRAM", TEXT_LEFT, 10, 0 }, { "HOW", TEXT_LEFT, 0, 0 },
        { "RUNTIME", TEXT_LEFT, 12, 1 }, { "COMMAND", TEXT_LEFT, 14, 2 },
    };
    int code = CLI_YES;

    text_table_begin(&listing->lines, shown, sizeof shown / sizeof shown[0], 0);
    ifg_bytes_init(&listing->rows, OUTPUT_MAX);
    listing->json.out = &listing->rows;
    if (listing->as_json) {
        ifg_json_open(&listing->json, '{');
        ifg_json_put_uint(&listing->json, "schema", 1);
        ifg_json_put_open(&listing->json, "processes", '[');
    }
    if (remote->host)
        code = remote_list(remote, add, listing, &listing->listed);
    else
        process_list_each(add, listing, &listing->listed);
    if (!code)
        finish(listing);
    text_table_end(&listing->lines, &listing->rows);
    if (!code && listing->rows.size)
        code = cli_write_out(&listing->rows);
    ifg_bytes_fini(&listing->rows);
    return code;
}

struct request {
    bool json;
    struct remote_options remote;
};

static const struct option_row option_rows[] = {
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
    { .kind = OPTION_HEADING, .help = "Another machine" },
    REMOTE_ROWS(struct request, remote),
    { 0 },
};

static int run(int argc, char **argv)
{
    struct request request = { 0 };
    struct option_words words;
    struct listing *listing;
    int code = options_parse(&ls_command, argc, argv, &request, &words);

    if (code)
        return code;
    if (words.count)
        return cli_usage("ls", "unexpected argument '%s'", words.items[0]);
    code = remote_options_check(&ls_command, &request.remote);
    if (code)
        return code;
    listing = ifg_alloc(1, sizeof *listing);
    if (!listing) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    listing->as_json = request.json;
    code = list(listing, &request.remote);
    ifg_free(listing);
    return code;
}

const struct cli_command ls_command = {
    .name = "ls",
    .summary = "list the processes that you can record, and how",
    .usage = "[--json] [-a HOST]",
    .about = "Lists the running processes that 'inferogram record --pid N' can record: those with "
             "libinferogram, {attachable}, or a runtime that --probe knows loaded. Shows what is "
             "missing where recording is not possible. Use sudo to see processes of other users.\n"
             "With -a, lists those of another machine, as its agent sees them.",
    .tables = { option_rows },
    .exits =
        "0 success, also when there are none, 1 failed, 2 usage error, 4 missing token, 5 "
        "another version of the agent, 6 agent busy, 7 connection lost, 10 not the agent of the "
        "fingerprint, or no TLS",
    .run = run,
};
