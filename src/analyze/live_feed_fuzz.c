// SPDX-License-Identifier: Apache-2.0
/*
 * A gauge of a hostile trace. The input is a file that comes in two pieces; the first byte says
 * where it is cut. What is behind checksums is reached by trace/follow_fuzz.c; here the corpus has
 * whole traces, and it is about what definitions, times and stacks can do to the bookkeeping.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/live_feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile double sink; /* so that nothing is optimised away */

static void use(const struct live_feed *feed)
{
    const struct live *live = feed->live;

    for (unsigned category = 0; category < LIVE_CATEGORIES; category++) {
        struct live_window window = live_window(live, (enum live_category)category);

        if (window.count && window.low_ns > window.high_ns)
            abort();
        sink += live_median(live, category) + live_window_median(live, category);
    }
    if (live->row_count > live->events || live->open_count > LIVE_OPEN_MOST)
        abort();
    for (size_t i = 0; i < live->series_count; i++)
        sink += live_latest(live->series[i]) ? live_latest(live->series[i])->last : 0;
}

static void take(struct live_feed *feed)
{
    for (int i = 0; i < 12; i++) {
        bool more = true;

        while (more && live_feed_step(feed, &more, NULL) == IFG_OK)
            use(feed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct live_feed *feed = NULL;
    char path[64];
    size_t cut;
    int fd;

    if (size < 2)
        return 0;
    fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    cut = (size - 1) * data[0] / 256;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (live_feed_open(path, &feed, NULL) == IFG_OK) {
        if (pwrite(fd, data + 1, cut, 0) == (ssize_t)cut)
            take(feed);
        if (pwrite(fd, data + 1 + cut, size - 1 - cut, (off_t)cut) == (ssize_t)(size - 1 - cut))
            take(feed);
        live_feed_close(feed);
    }
    close(fd);
    return 0;
}
