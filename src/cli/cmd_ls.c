// SPDX-License-Identifier: Apache-2.0
/* inferogram ls: the processes that can be recorded, and who records them now. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "record/process.h"
#include "record/region.h"
#include "record/target.h"

static const char help[] =
    "usage: inferogram ls [--json]\n"
    "\n"
    "Lists the running processes that carry libinferogram and can be recorded with\n"
    "'inferogram record --pid N'. Processes of other users are seen only with sudo.\n"
    "\n"
    "  --json   one JSON document: processes[{pid,user,name,program,arguments,recorder}],\n"
    "           and hidden: how many processes this user may not look into\n"
    "  --help   this text\n"
    "\n"
    "Exit status: 0, also when there are none.\n";

#define OUTPUT_MAX (64u << 20)

struct listing {
    struct ifg_bytes rows;
    struct ifg_json json;
    bool as_json;
    unsigned count;
    unsigned hidden; /* processes that this user may not look into */
};

static void add_json(struct listing *listing, const struct process_info *info, const char *user,
                     uint32_t recorder)
{
    char arguments[sizeof info->arguments];

    memcpy(arguments, info->arguments, sizeof arguments);
    for (size_t i = 0; i + 1 < info->arguments_bytes; i++)
        if (!arguments[i])
            arguments[i] = ' ';
    ifg_json_open(&listing->json, '{');
    ifg_json_put_int(&listing->json, "pid", info->pid);
    ifg_json_put_string(&listing->json, "user", user);
    ifg_json_put_string(&listing->json, "name", process_short_name(info));
    ifg_json_put_string(&listing->json, "program", info->program);
    ifg_json_key(&listing->json, "arguments");
    ifg_json_string_n(&listing->json, arguments, info->arguments_bytes);
    ifg_json_put_uint(&listing->json, "recorder", recorder);
    ifg_json_close(&listing->json, '}');
}

static void add_row(struct listing *listing, const struct process_info *info, const char *user,
                    uint32_t recorder)
{
    char arguments[120];
    char clean[sizeof arguments];
    char name[19];
    char how[48] = "record --pid";
    size_t length =
        info->arguments_bytes < sizeof arguments ? info->arguments_bytes : sizeof arguments - 1;

    for (size_t i = 0; i < length; i++)
        arguments[i] = info->arguments[i] ? info->arguments[i] : ' ';
    arguments[length] = '\0';
    if (recorder)
        snprintf(how, sizeof how, "recorded by %u", recorder);
    cli_print(&listing->rows, "%7d  %-10.10s  %-18s  %-18s  %s\n", (int)info->pid, user,
              cli_clean(process_short_name(info), name, sizeof name), how,
              cli_clean(arguments, clean, sizeof clean));
}

static bool list_process(pid_t pid, void *user_data)
{
    struct listing *listing = user_data;
    struct process_info info;
    char user[64];
    enum ifg_status status;
    uint32_t recorder = 0;
    int fd = -1;

    if (process_describe(pid, &info, NULL) != IFG_OK)
        return true;
    status = process_open_region(pid, &fd, NULL);
    if (status == IFG_PERMISSION)
        listing->hidden++;
    if (status)
        return true;
    if (!target_belongs_to(fd, pid)) { /* a recorder holds the region that it drains */
        close(fd);
        return true;
    }
    recorder = region_recorder(fd);
    close(fd);
    listing->count++;
    process_user_name(info.uid, user, sizeof user);
    if (listing->as_json)
        add_json(listing, &info, user, recorder);
    else
        add_row(listing, &info, user, recorder);
    return true;
}

static void finish(struct listing *listing)
{
    if (listing->as_json) {
        ifg_json_close(&listing->json, ']');
        ifg_json_put_uint(&listing->json, "hidden", listing->hidden);
        ifg_json_close(&listing->json, '}');
        ifg_bytes_put(&listing->rows, "\n", 1);
        return;
    }
    if (!listing->count)
        cli_say("no running process carries libinferogram%s",
                listing->hidden ? " (as far as this user can see; try sudo)" : "");
    else if (listing->hidden)
        cli_say("%u processes of other users were not looked into; try sudo", listing->hidden);
}

int cmd_ls(int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    struct listing listing = { 0 };
    int option;
    int code;

    while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'j') {
            listing.as_json = true;
        } else if (option == 'h') {
            fputs(help, stdout);
            return CLI_YES;
        } else {
            return cli_bad_option("ls", option, argv);
        }
    }
    if (optind < argc)
        return cli_usage("ls", "unexpected argument '%s'", argv[optind]);
    ifg_bytes_init(&listing.rows, OUTPUT_MAX);
    listing.json.out = &listing.rows;
    if (listing.as_json) {
        ifg_json_open(&listing.json, '{');
        ifg_json_put_uint(&listing.json, "schema", 1);
        ifg_json_key(&listing.json, "processes");
        ifg_json_open(&listing.json, '[');
    } else {
        cli_print(&listing.rows, "%7s  %-10s  %-18s  %-18s  %s\n", "PID", "USER", "PROGRAM", "HOW",
                  "COMMAND");
    }
    process_each(list_process, &listing);
    finish(&listing);
    if (!listing.as_json && !listing.count)
        ifg_bytes_clear(&listing.rows);
    code = listing.rows.size ? cli_write_out(&listing.rows) : CLI_YES;
    ifg_bytes_fini(&listing.rows);
    return code;
}
