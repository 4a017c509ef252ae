// SPDX-License-Identifier: Apache-2.0
/* inferogram ls: the processes that can be recorded, how, and who records them now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "collect/ort_attach/libraries.h"
#include "collect/uprobe/uprobe.h"
#include "record/process.h"
#include "record/region.h"
#include "record/target.h"
#include "runtimes/runtimes.h"

#define OUTPUT_MAX (64u << 20)

#define VERSIONS_MAX 32

/* A library that was looked into: many processes may have the same one. */
struct version {
    struct file_key key;
    char text[32];    /* "" if it is not known */
    char reason[256]; /* why it cannot be watched; "" if it can */
};

struct listing {
    struct ifg_bytes rows;
    struct ifg_json json;
    bool as_json;
    unsigned count;
    unsigned hidden;  /* processes that this user may not look into */
    unsigned lacking; /* that could be recorded with more rights */
    bool rights_checked;
    char rights[768]; /* what is missing to set probes; "": nothing */
    struct ort_known known;
    struct version versions[VERSIONS_MAX];
    size_t version_count;
    struct ort_libraries libraries; /* of the process at hand */
    struct ort_table table;
};

/* What is to be told of one process. */
struct entry {
    struct process_info info;
    char user[64];
    bool library;      /* carries libinferogram */
    uint32_t recorder; /* who records it by that; 0: nobody */
    char runtimes[256];
    const char *how; /* record --pid, or what else */
    char missing[800];
};

static const struct version *version_of(struct listing *listing, const struct ort_library *library)
{
    struct version *version;
    struct ifg_error err = { .message = "" };

    for (size_t i = 0; i < listing->version_count; i++)
        if (listing->versions[i].key.inode == library->key.inode &&
            listing->versions[i].key.device == library->key.device)
            return &listing->versions[i];
    if (listing->version_count == VERSIONS_MAX)
        listing->version_count = 0;
    version = &listing->versions[listing->version_count++];
    *version = (struct version){ .key = library->key };
    if (ort_library_table(library, &listing->table, &err) != IFG_OK)
        snprintf(version->reason, sizeof version->reason, "%.250s", err.message);
    snprintf(version->text, sizeof version->text, "%s", listing->table.version);
    return version;
}

/* Found out by trying, once, and only if somebody has something to probe. */
static const char *missing_rights(struct listing *listing)
{
    struct uprobe *engine = NULL;
    struct ifg_error err = { .message = "" };

    if (!listing->rights_checked && uprobe_open(NULL, &engine, &err) != IFG_OK)
        snprintf(listing->rights, sizeof listing->rights, "%s", err.message);
    uprobe_close(engine);
    listing->rights_checked = true;
    return listing->rights;
}

static void add_name(struct entry *entry, const char *name, const char *version)
{
    size_t used = strlen(entry->runtimes);

    snprintf(entry->runtimes + used, sizeof entry->runtimes - used, "%s%s%s%s", used ? ", " : "",
             name, *version ? " " : "", version);
}

/* What it has loaded, and whether that can be watched. */
static void judge_runtimes(struct listing *listing, struct entry *entry)
{
    const struct ort_libraries *libraries = &listing->libraries;
    bool can = false;

    for (size_t i = 0; i < libraries->count; i++) {
        const struct version *version = version_of(listing, &libraries->found[i]);

        add_name(entry, runtime_ort->name, version->text);
        can |= !version->reason[0];
        if (version->reason[0] && !entry->missing[0])
            snprintf(entry->missing, sizeof entry->missing, "%s", version->reason);
    }
    if (libraries->python) { /* whether this one can be watched is found out by recording it */
        add_name(entry, runtime_ort->python, "");
        can = true;
    }
    if (libraries->hooked) { /* they tell, by the region */
        entry->missing[0] = '\0';
    } else if (can && *missing_rights(listing)) {
        snprintf(entry->missing, sizeof entry->missing, "%s", listing->rights);
        listing->lacking++;
        entry->how = entry->library ? "record --pid" : "needs rights";
    } else if (can) {
        entry->how = "record --pid";
        entry->missing[0] = '\0';
    }
}

static void add_json(struct listing *listing, const struct entry *entry)
{
    const struct process_info *info = &entry->info;
    char arguments[sizeof info->arguments];

    memcpy(arguments, info->arguments, sizeof arguments);
    for (size_t i = 0; i + 1 < info->arguments_bytes; i++)
        if (!arguments[i])
            arguments[i] = ' ';
    ifg_json_open(&listing->json, '{');
    ifg_json_put_int(&listing->json, "pid", info->pid);
    ifg_json_put_string(&listing->json, "user", entry->user);
    ifg_json_put_string(&listing->json, "name", process_short_name(info));
    ifg_json_put_string(&listing->json, "program", info->program);
    ifg_json_key(&listing->json, "arguments");
    ifg_json_string_n(&listing->json, arguments, info->arguments_bytes);
    ifg_json_put_uint(&listing->json, "recorder", entry->recorder);
    ifg_json_put_bool(&listing->json, "library", entry->library);
    ifg_json_put_string(&listing->json, "runtimes", entry->runtimes);
    ifg_json_put_string(&listing->json, "how", entry->how);
    ifg_json_put_string(&listing->json, "missing", entry->missing);
    ifg_json_close(&listing->json, '}');
}

static void add_row(struct listing *listing, const struct entry *entry)
{
    const struct process_info *info = &entry->info;
    char arguments[120];
    char clean[sizeof arguments];
    char name[19];
    char how[48];
    size_t length =
        info->arguments_bytes < sizeof arguments ? info->arguments_bytes : sizeof arguments - 1;

    for (size_t i = 0; i < length; i++)
        arguments[i] = info->arguments[i] ? info->arguments[i] : ' ';
    arguments[length] = '\0';
    snprintf(how, sizeof how, "%s", entry->how);
    if (entry->recorder)
        snprintf(how, sizeof how, "recorded by %u", entry->recorder);
    cli_print(&listing->rows, "%7d  %-10.10s  %-18s  %-18s  %-20s  %s\n", (int)info->pid,
              entry->user, cli_clean(process_short_name(info), name, sizeof name), how,
              entry->runtimes[0] ? entry->runtimes : "-",
              cli_clean(arguments, clean, sizeof clean));
    if (entry->missing[0] && strcmp(entry->missing, listing->rights) != 0)
        cli_print(&listing->rows, "%7s  %s\n", "", entry->missing);
}

static bool list_process(pid_t pid, void *user_data)
{
    struct listing *listing = user_data;
    struct entry entry = { .how = "start it anew" };
    enum ifg_status status;
    int fd = -1;

    if (process_describe(pid, &entry.info, NULL) != IFG_OK)
        return true;
    status = process_open_region(pid, &fd, NULL);
    if (status == IFG_PERMISSION)
        listing->hidden++;
    if (fd >= 0 && target_belongs_to(fd, pid)) { /* a recorder holds the region that it drains */
        entry.library = true;
        entry.how = "record --pid";
        entry.recorder = region_recorder(fd);
    }
    if (fd >= 0)
        close(fd);
    if (status != IFG_PERMISSION &&
        ort_libraries_find(pid, &listing->known, &listing->libraries, NULL) == IFG_OK &&
        (listing->libraries.count || listing->libraries.python))
        judge_runtimes(listing, &entry);
    if (!entry.library && !entry.runtimes[0])
        return true;
    listing->count++;
    process_user_name(entry.info.uid, entry.user, sizeof entry.user);
    if (listing->as_json)
        add_json(listing, &entry);
    else
        add_row(listing, &entry);
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
    if (listing->lacking)
        cli_say("%u of these cannot be watched from outside by this user: %s", listing->lacking,
                listing->rights);
    if (!listing->count)
        cli_say("no running process carries libinferogram or has loaded " RUNTIMES_WATCHED "%s",
                listing->hidden ? " (as far as this user can see; try sudo)" : "");
    else if (listing->hidden)
        cli_say("%u processes of other users were not looked into; try sudo", listing->hidden);
}

static int list(struct listing *listing)
{
    int code;

    ifg_bytes_init(&listing->rows, OUTPUT_MAX);
    listing->json.out = &listing->rows;
    if (listing->as_json) {
        ifg_json_open(&listing->json, '{');
        ifg_json_put_uint(&listing->json, "schema", 1);
        ifg_json_key(&listing->json, "processes");
        ifg_json_open(&listing->json, '[');
    } else {
        cli_print(&listing->rows, "%7s  %-10s  %-18s  %-18s  %-20s  %s\n", "PID", "USER", "PROGRAM",
                  "HOW", "RUNTIME", "COMMAND");
    }
    process_each(list_process, listing);
    finish(listing);
    if (!listing->as_json && !listing->count)
        ifg_bytes_clear(&listing->rows);
    code = listing->rows.size ? cli_write_out(&listing->rows) : CLI_YES;
    ifg_bytes_fini(&listing->rows);
    return code;
}

struct request {
    bool json;
};

static const struct option_row option_rows[] = {
    { "json", 0, NULL, "print one JSON document, described in docs/json.md", OPTION_FLAG,
      IFG_AT(struct request, json) },
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
    listing = ifg_alloc(1, sizeof *listing);
    if (!listing) {
        cli_say("not enough memory");
        return CLI_NO;
    }
    listing->as_json = request.json;
    code = list(listing);
    ifg_free(listing);
    return code;
}

const struct cli_command ls_command = {
    .name = "ls",
    .summary = "processes that can be recorded, and how",
    .usage = "[--json]",
    .about = "Lists the running processes that can be recorded with 'inferogram record --pid N': "
             "those that carry libinferogram, and those that have loaded " RUNTIMES_WATCHED
             "; and what is "
             "missing where it cannot be done. Processes of other users are seen only with sudo.",
    .tables = { option_rows },
    .exits = "0, also when there are none",
    .run = run,
};
