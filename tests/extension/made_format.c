// SPDX-License-Identifier: Apache-2.0
/* The smallest exporter: how many slices a trace has. What extension.sh adds to the table. */
#include "export/export_internal.h"

static enum ifg_status write_made(struct export_job *job)
{
    struct export_cursor cursor;
    struct export_slice slice;

    for (uint32_t i = 0; i < job->timeline->thread_count; i++)
        if (export_cursor_init(&cursor, job, i))
            while (export_next(&cursor, &slice))
                job->result->slices++;
    export_put_text(job->sink, job->result->slices ? "made of slices\n" : "made of nothing\n");
    return IFG_OK;
}

const struct export_format export_format_made = {
    .name = "made",
    .extension = ".made",
    .summary = "a word",
    .write = write_made,
};
