// SPDX-License-Identifier: Apache-2.0
/* What a page is told of a gauge: one JSON message, of everything or of what has changed. */
#ifndef IFG_SERVER_LIVE_MESSAGE_H
#define IFG_SERVER_LIVE_MESSAGE_H

#include "analyze/live_feed.h"
#include "base/bytes.h"

/* How much a page has been told. */
struct live_cursor {
    bool begun;
    uint64_t messages;
    uint64_t generation;
    uint64_t version;
    uint64_t rows;
    bool told_open; /* the last message had open events */
};

/* Where the file is, for the page. */
struct live_location {
    const char *path;
    bool temporary;
};

/* Whether there is more to tell than that time passes. */
bool live_message_is_due(const struct live_feed *feed, const struct live_cursor *cursor);

/* Appends one line, and moves the cursor. */
void live_message_put(const struct live_feed *feed, const struct live_location *location,
                      struct live_cursor *cursor, struct ifg_bytes *out);

#endif
