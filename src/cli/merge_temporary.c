// SPDX-License-Identifier: Apache-2.0
/* A merged trace for the time that a command runs: see merge_temporary.h. */
#include "cli/merge_temporary.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/live_folder.h"
#include "cli/merge_files.h"
#include "cli/own_folder.h"

#define MERGED_FILE "merged.ifg"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* What is half done is removed, and then it ends. */
static void catch_signals(bool on)
{
    const struct sigaction action = { .sa_handler = on ? on_signal : SIG_DFL };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int merge_temporary_make(const struct cli_command *command, const struct option_words *words,
                         struct merge_temporary *out)
{
    const struct own_folder_kind kind = { live_folder_parent(), "inferogram-merge-", MERGED_FILE };
    struct merge_files files = { 0 };
    struct merge_result result = { 0 };
    int code = merge_files_take(command, words, &files);

    own_folder_remove_stale(&kind);
    if (!code && !own_folder_make(&kind, out->folder, sizeof out->folder, &out->lock)) {
        cli_say("cannot make a folder for the merged trace in %s: %m", kind.parent);
        out->folder[0] = '\0';
        code = CLI_NO;
    }
    if (!code) {
        snprintf(out->path, sizeof out->path, "%s/" MERGED_FILE, out->folder);
        catch_signals(true);
        code = merge_files_run(&files, out->path, false, &interrupted, &result);
        catch_signals(false);
    }
    merge_result_fini(&result);
    merge_files_fini(&files);
    return code;
}

void merge_temporary_remove(struct merge_temporary *temporary)
{
    if (temporary->path[0])
        unlink(temporary->path);
    if (temporary->folder[0]) {
        rmdir(temporary->folder);
        close(temporary->lock);
    }
    temporary->path[0] = temporary->folder[0] = '\0';
}
