// SPDX-License-Identifier: Apache-2.0
/* What the process with the foreign library is to do: see job.h. */
#include "collect/ort_helper/job.h"

#include <stdlib.h>
#include <string.h>

#include "collect/ort_helper/one_run.h"
#include "collect/ort_helper/probe.h"
#include "collect/ort_helper/tell.h"

/* The words behind a key at the start of a line; NULL if it is another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t bytes = strlen(key);

    return strncmp(line, key, bytes) == 0 && line[bytes] == ' ' ? line + bytes + 1 : NULL;
}

static void take_line(const char *line, struct one_run *run)
{
    const char *value;

    if ((value = value_of(line, "model")))
        run->model = value;
    else if ((value = value_of(line, "profile")))
        run->profile = value;
    else if ((value = value_of(line, "level")))
        run->level = (int)strtol(value, NULL, 10);
    else if ((value = value_of(line, "threads")))
        run->threads = (int)strtol(value, NULL, 10);
    else if ((value = value_of(line, "size")))
        run->size = strtol(value, NULL, 10);
    else if ((value = value_of(line, "provider")) && run->provider_count < ONE_RUN_PROVIDERS_MAX)
        run->providers[run->provider_count++] = value;
}

bool job_do(const char *text)
{
    static char copy[JOB_BYTES];
    struct one_run run = { .level = -1 };

    if (!text || strlen(text) >= sizeof copy) {
        tell_sentence("error", "there is nothing to do", NULL);
        return false;
    }
    if (strcmp(text, "backtrace") == 0)
        return probe_table(JOB_MODEL_FD, false);
    memcpy(copy, text, strlen(text) + 1);
    for (char *line = copy, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        take_line(line, &run);
    }
    if (!run.model || !run.profile) {
        tell_sentence("error", "there is no model", NULL);
        return false;
    }
    return one_run_do(&run);
}
