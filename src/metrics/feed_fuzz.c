// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of a hostile trace. The input is a file that comes in two pieces; the first byte says
 * where it is cut. What is behind checksums is reached by trace/follow_fuzz.c; here the corpus has
 * whole traces, and it is about names that break lines, times that run backwards, and more of
 * anything than there is room for.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "metrics/feed.h"
#include "metrics/text.h"
#include "trace/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every line is a comment or a sample of ours, whatever is in a label. */
static void check(const struct tally *tally)
{
    static const struct problems none;
    const struct metrics_view view = {
        .version = "0", .tally = tally, .problems = &none, .memory_bytes = (double)NAN
    };
    struct ifg_bytes out;

    if (tally->count > TALLY_SERIES_MOST)
        abort();
    ifg_bytes_init(&out, METRICS_TEXT_MOST);
    metrics_text_put(&out, METRICS_OPENMETRICS, &view);
    ifg_bytes_put(&out, "", 1);
    if (out.failed)
        abort();
    for (const char *line = (const char *)out.data; *line; line = strchr(line, '\n') + 1)
        if (*line != '#' && strncmp(line, "inferogram_", 11) != 0)
            abort();
    ifg_bytes_fini(&out);
}

static void take(struct metrics_feed *feed, const struct tally *tally)
{
    for (int i = 0; i < 12; i++) {
        while (metrics_feed_step(feed))
            ;
    }
    check(tally);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tally *tally = ifg_alloc(1, sizeof *tally);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct metrics_feed *feed = NULL;
    struct trace_input *input = NULL;
    char path[64];
    size_t cut;

    if (size < 2 || !tally || fd < 0) {
        ifg_free(tally);
        close(fd);
        return 0;
    }
    cut = (size - 1) * data[0] / 256;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (trace_input_file(path, &input, NULL) == IFG_OK &&
        metrics_feed_open(input, "app", tally, &feed, NULL) == IFG_OK) {
        if (pwrite(fd, data + 1, cut, 0) == (ssize_t)cut)
            take(feed, tally);
        if (pwrite(fd, data + 1 + cut, size - 1 - cut, (off_t)cut) == (ssize_t)(size - 1 - cut))
            take(feed, tally);
        metrics_feed_close(feed);
    }
    ifg_free(tally);
    close(fd);
    return 0;
}
