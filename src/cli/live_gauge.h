// SPDX-License-Identifier: Apache-2.0
/* A gauge in the terminal: medians, bars of the last seconds, the last events, what is still open,
 * redrawn once a second; lines, one a second, where there is no terminal. */
#ifndef IFG_CLI_LIVE_GAUGE_H
#define IFG_CLI_LIVE_GAUGE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/live_feed.h"
#include "base/bytes.h"

enum gauge_form {
    GAUGE_SCREEN, /* the whole terminal */
    GAUGE_STATUS, /* one line that is written again and again: others write there too */
    GAUGE_LINES,  /* one line after the other */
};

struct gauge_look {
    size_t columns;
    size_t rows;
    bool color;
    bool unicode;
    bool keys; /* q is understood */
};

struct live_gauge;

/* Follows the trace at path and draws to fd. With `keys`, q on stdin ends the recording. NULL: it
 * could not be started; nothing else is hurt. */
struct live_gauge *live_gauge_start(const char *path, enum gauge_form form, int fd, bool keys);

/* Draws a last time what there is, and gives the terminal back. Accepts NULL. */
void live_gauge_stop(struct live_gauge *gauge);

/* live_draw.c: the whole picture, and the line: all of it, or what fits into so many columns. */
void live_gauge_draw_screen(const struct live_feed *feed, const struct gauge_look *look,
                            struct ifg_bytes *out);
void live_gauge_draw_line(const struct live_feed *feed, size_t columns, struct ifg_bytes *out);

#endif
