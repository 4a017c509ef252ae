// SPDX-License-Identifier: Apache-2.0
/*
 * The picture of a recording while it goes on: a gauge in the terminal, or a page. Both follow the
 * trace's file on threads of their own; the recorder does not know of them.
 */
#ifndef IFG_CLI_LIVE_VIEW_H
#define IFG_CLI_LIVE_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/metrics_options.h"
#include "metrics/listener.h"
#include "record/session.h"

struct browser_visit;
struct live_gauge;
struct live_metrics;
struct server;

struct live_view {
    /* what is wanted */
    bool gauge;         /* in the terminal */
    bool page;          /* its address is printed */
    bool page_is_all;   /* without it, nothing goes on */
    bool serve_on;      /* the page stays when the program has ended */
    bool open;          /* in the browser */
    bool quiet;         /* say nothing but the address */
    bool launched;      /* the program shares our terminal */
    const char *listen; /* where the page is; NULL: 127.0.0.1 */
    uint16_t port;      /* 0: any free one */
    const char *log;    /* what the program prints goes here, so that the terminal is the gauge's */
    const char *metrics; /* they are served here; NULL: nowhere */
    const char *otlp;    /* they are sent there; NULL: nowhere */
    /* what there is */
    bool json;            /* lines of JSON instead of a gauge */
    char directory[4096]; /* of a temporary trace, else "" */
    char path[4112];      /* of it */
    int directory_lock;   /* says that it is ours; -1: none */
    char kept_path[256];
    int saved_out; /* while the program's output goes to a file, else -1 */
    int saved_err;
    struct live_gauge *gauge_running;
    struct server *server;
    struct browser_visit *visit;
    struct metrics_address metrics_address;
    struct otlp_options otlp_options;
    struct live_metrics *metrics_running;
};

/* A temporary file if the user gave none (options->output is set then), and the program's output.
 * CLI_YES, or the exit status. */
int live_view_prepare(struct live_view *view, struct session_options *options);

/* The recording runs. */
void live_view_started(struct live_view *view, const struct session_start *start);

/* It does not any more: ends the gauge, gives the terminal back. */
void live_view_ended(struct live_view *view);

enum live_view_end {
    LIVE_VIEW_EMPTY,   /* nothing was recorded */
    LIVE_VIEW_STOPPED, /* by the user, or because it could not be written */
    LIVE_VIEW_ENDED,   /* by itself: there may be somebody who looks */
};

/* Serves on if that is wanted (until Ctrl-C), and removes or keeps a temporary trace. */
void live_view_finish(struct live_view *view, enum live_view_end end);

#endif
