// SPDX-License-Identifier: Apache-2.0
/* What could be watched, and why not: the words of all processes of a recording, put together. */
#ifndef IFG_RECORD_INSTRUMENTS_H
#define IFG_RECORD_INSTRUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format.h"
#include "trace/writer.h"

#define INSTRUMENTS_MAX       32
#define INSTRUMENT_NAME_BYTES 128

struct instrument {
    char name[INSTRUMENT_NAME_BYTES];
    enum trace_instrument_state state;
    char reason[1025];
};

struct instruments {
    struct instrument items[INSTRUMENTS_MAX];
    size_t count;
};

/* Takes the word of a process and passes it on to the trace. What is on in one process is on: a
 * worker that could not be watched does not take that back. False: no room, or nonsense. */
bool instruments_report(struct instruments *instruments, struct trace_writer *writer,
                        const char *name, unsigned state, const char *reason);

/* Is it the word of a hook about a runtime (and not about, say, operators)? */
bool instrument_is_runtime(const char *name);

/* Is it a runtime that was followed by a description (--probe)? */
bool instrument_is_probed(const char *name);

/* Whether a hook said anything about a runtime. */
bool instruments_have_runtime(const struct instruments *instruments);

const struct instrument *instruments_find(const struct instruments *instruments, const char *name);

#endif
