// SPDX-License-Identifier: Apache-2.0
/*
 * Providers keep compiled engines in files. Which of them are read or written while a session is
 * created, or during a run, tells whether the model was specialized there and then.
 */
#ifndef IFG_HOOKS_ORT_CACHE_WATCH_H
#define IFG_HOOKS_ORT_CACHE_WATCH_H

#include <stdbool.h>

#include "hooks/ort/runtime.h"

struct cache_news {
    bool created; /* a file came into being, or was written */
    bool opened;  /* a file that was there was opened */
    char name[64];
};

/* Hears of the caches of these options. The model's own files do not count: they may lie in the
 * same directory. */
void cache_watch_begin(struct ort_cache_watch *watch, const struct ort_options *options,
                       const char *model_path);

/* What has happened since the last call. */
void cache_watch_read(struct ort_cache_watch *watch, struct cache_news *out);

void cache_watch_end(struct ort_cache_watch *watch);

#endif
