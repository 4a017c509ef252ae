// SPDX-License-Identifier: Apache-2.0
/* The thread behind a gauge, and its terminal: see live_gauge.h. */
#include "cli/live_gauge.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ticks.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/text.h"

#define LOOK_MS       100
#define DRAW_NS       UINT64_C(1000000000)
#define PICTURE_MOST  (256u << 10)
#define COLUMNS_LEAST 20u
#define ROWS_LEAST    2u
#define LAST_LOOKS    20 /* for the end of the file, once the recording is over */

struct live_gauge {
    struct live_feed *feed;
    enum gauge_form form;
    int fd;
    bool keys;
    bool have_terminal; /* its settings were changed */
    struct termios before;
    pthread_t thread;
    atomic_bool stopping;
};

static void put(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size) {
        ssize_t written = write(fd, at, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* nobody looks any more */
        at += written;
        size -= (size_t)written;
    }
}

static void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

static bool has_unicode(void)
{
    static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static struct gauge_look look_of(int fd)
{
    struct gauge_look look = {
        .columns = 80,
        .rows = 24,
        .color = terminal_has_color(fd),
        .unicode = has_unicode(),
    };

    text_terminal_size(fd, &look.columns, &look.rows);
    if (look.columns < COLUMNS_LEAST)
        look.columns = COLUMNS_LEAST;
    if (look.rows < ROWS_LEAST)
        look.rows = ROWS_LEAST;
    return look;
}

/* ---- the terminal ---- */

static void take_terminal(struct live_gauge *gauge)
{
    struct termios settings;

    if (gauge->form != GAUGE_SCREEN)
        return;
    put_text(gauge->fd, "\033[?1049h\033[?25l\033[?7l\033[H\033[2J");
    /* Not from the background: the shell's terminal is not ours then. */
    if (!gauge->keys || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
        tcgetattr(STDIN_FILENO, &gauge->before) != 0)
        return;
    settings = gauge->before;
    settings.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    settings.c_cc[VMIN] = 0;
    settings.c_cc[VTIME] = 0;
    gauge->have_terminal = tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0;
}

static void give_terminal_back(struct live_gauge *gauge)
{
    if (gauge->have_terminal)
        tcsetattr(STDIN_FILENO, TCSANOW, &gauge->before);
    gauge->have_terminal = false;
    if (gauge->form == GAUGE_SCREEN)
        put_text(gauge->fd, "\033[?25h\033[?7h\033[?1049l");
    else if (gauge->form == GAUGE_STATUS)
        put_text(gauge->fd, "\r\033[K");
}

/* Waits a little; q ends the recording as Ctrl-C does. */
static void wait_for_key(struct live_gauge *gauge)
{
    struct pollfd keyboard = { STDIN_FILENO, POLLIN, 0 };
    char key;

    if (poll(&keyboard, gauge->have_terminal ? 1 : 0, LOOK_MS) <= 0)
        return;
    if (!(keyboard.revents & POLLIN) || read(STDIN_FILENO, &key, 1) != 1)
        gauge->have_terminal = false; /* it is gone */
    else if (key == 'q' || key == 'Q')
        kill(getpid(), SIGINT);
}

/* ---- drawing ---- */

/* More lines would scroll the first ones away, as would the end of the last one. */
static void cut_to_rows(struct ifg_bytes *out, size_t rows)
{
    size_t lines = 0;

    for (size_t i = 0; i < out->size; i++) {
        lines += out->data[i] == '\n';
        if (lines == rows)
            out->size = i;
    }
}

static void draw(struct live_gauge *gauge, bool last)
{
    struct gauge_look look = look_of(gauge->fd);
    struct ifg_bytes out;

    look.keys = gauge->have_terminal;
    ifg_bytes_init(&out, PICTURE_MOST);
    if (gauge->form == GAUGE_SCREEN) {
        if (!last)
            cli_print(&out, "\033[H");
        live_gauge_draw_screen(gauge->feed, &look, &out);
        if (!last) {
            cut_to_rows(&out, look.rows);
            cli_print(&out, "\033[J");
        }
    } else {
        if (gauge->form == GAUGE_STATUS)
            cli_print(&out, "\r\033[K");
        live_gauge_draw_line(gauge->feed, gauge->form == GAUGE_STATUS && !last ? look.columns : 0,
                             &out);
        if (gauge->form == GAUGE_LINES || last)
            cli_print(&out, "\n");
    }
    if (!out.failed)
        put(gauge->fd, out.data, out.size);
    ifg_bytes_fini(&out);
}

/* All that is there now. */
static void look(struct live_gauge *gauge)
{
    bool more = true;

    while (more && !atomic_load(&gauge->stopping))
        if (live_feed_step(gauge->feed, &more, NULL))
            return;
}

static void *gauge_thread(void *arg)
{
    struct live_gauge *gauge = arg;
    uint64_t next_ns = ifg_monotonic_ns() + DRAW_NS / 4;

    while (!atomic_load(&gauge->stopping)) {
        look(gauge);
        if (ifg_monotonic_ns() >= next_ns) {
            draw(gauge, false);
            next_ns += DRAW_NS;
            if (next_ns < ifg_monotonic_ns())
                next_ns = ifg_monotonic_ns() + DRAW_NS;
        }
        wait_for_key(gauge);
    }
    return NULL;
}

struct live_gauge *live_gauge_start(const char *path, enum gauge_form form, int fd, bool keys)
{
    struct live_gauge *gauge = ifg_alloc(1, sizeof *gauge);

    if (!gauge)
        return NULL;
    gauge->form = form;
    gauge->fd = fd;
    gauge->keys = keys;
    if (live_feed_open(path, &gauge->feed, NULL)) {
        ifg_free(gauge);
        return NULL;
    }
    take_terminal(gauge);
    if (pthread_create(&gauge->thread, NULL, gauge_thread, gauge) != 0) {
        give_terminal_back(gauge);
        live_feed_close(gauge->feed);
        ifg_free(gauge);
        return NULL;
    }
    return gauge;
}

void live_gauge_stop(struct live_gauge *gauge)
{
    struct timespec moment = { 0, LOOK_MS * 100000 };
    bool more = false;

    if (!gauge)
        return;
    atomic_store(&gauge->stopping, true);
    pthread_join(gauge->thread, NULL);
    for (int i = 0; i < LAST_LOOKS && gauge->feed->state != LIVE_ENDED; i++) {
        do {
            if (live_feed_step(gauge->feed, &more, NULL))
                break;
        } while (more);
        if (gauge->feed->state != LIVE_ENDED)
            nanosleep(&moment, NULL);
    }
    give_terminal_back(gauge);
    draw(gauge, true);
    live_feed_close(gauge->feed);
    ifg_free(gauge);
}
