// SPDX-License-Identifier: Apache-2.0
/*
 * A flight recorder: a recording that keeps its last seconds in memory and writes them to a file
 * when something happens (record --flight-recorder).
 *
 * A file is written by a child process, which has a copy of everything as it was at that moment:
 * the recording goes on, and looking up names for the file may take as long as it likes.
 */
#ifndef IFG_RECORD_FLIGHT_H
#define IFG_RECORD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct flight;
struct session;

/* Makes the recording's writer, into memory. path is that of the file at the end, which is not
 * written yet but could be. */
enum ifg_status flight_open(struct session *session, const char *path,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Called by the loop: triggers, files that are due, memory. */
void flight_work(struct session *session, uint64_t now_ns);

void flight_signal(struct flight *flight); /* the one of --dump-on-signal came */

uint64_t flight_bytes(const struct flight *flight); /* kept now */

/* What explains events has half of the memory: soon no event would be left. */
bool flight_is_full(const struct flight *flight);

/* Nothing more is recorded: names and the like come on top of what is kept. */
void flight_stop(struct flight *flight);

/* At the end, while there is a writer: waits for a file that is being written, and says in the
 * trace what this last one is. */
void flight_end(struct session *session);

/* The writer is closed: writes the last file, to the session's path or, if that is taken by now,
 * beside it. */
enum ifg_status flight_save(struct session *session, struct ifg_error *err) IFG_MUST_CHECK;

void flight_destroy(struct flight *flight); /* accepts NULL */

#endif
