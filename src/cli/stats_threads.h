// SPDX-License-Identifier: Apache-2.0
/* What context switches add to `inferogram stats --by thread`: running, runnable, blocked. */
#ifndef IFG_CLI_STATS_THREADS_H
#define IFG_CLI_STATS_THREADS_H

#include "analyze/waiting.h"
#include "base/bytes.h"
#include "export/documents.h"

/* thread: number or name of the only one to show, or NULL. Returns how many rows there are. */
size_t stats_threads_write_table(struct ifg_bytes *out, const struct timeline_profile *profile,
                                 const struct waiting *waiting, const char *thread, size_t limit);

/* "thread_states": of all of them. */
void stats_threads_write_json(struct ifg_json *json, const struct timeline_profile *profile,
                              const struct waiting *waiting, const char *thread);

#endif
