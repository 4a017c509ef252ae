// SPDX-License-Identifier: Apache-2.0
/*
 * The directory, in memory, where launched programs and their children put their regions: how a
 * recorder learns of a process without asking anybody, even of one that is gone a millisecond
 * later.
 */
#ifndef IFG_RECORD_RENDEZVOUS_H
#define IFG_RECORD_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

struct rendezvous {
    char directory[160];
    int inotify;  /* readable when something new is there */
    int lock;     /* says that this recorder lives */
    bool unready; /* a region was seen whose process is still preparing it */
};

/* Makes a directory for this recorder, and removes those of recorders that died. */
enum ifg_status rendezvous_create(struct rendezvous *out_rendezvous,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* Takes one region out of the directory: its file is unlinked and *out_fd, *out_pid are the
 * caller's. False when there is none that is ready. */
bool rendezvous_take(struct rendezvous *rendezvous, int *out_fd, pid_t *out_pid);

/* True when it is worth to call rendezvous_take: something new is there, or was not ready before.
 */
bool rendezvous_has_news(struct rendezvous *rendezvous);

/* Where such directories may be; NULL behind the last. */
const char *rendezvous_folder(size_t index);

void rendezvous_destroy(struct rendezvous *rendezvous);

#endif
