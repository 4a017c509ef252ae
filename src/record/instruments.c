// SPDX-License-Identifier: Apache-2.0
/* Putting together what processes say of their instruments: see instruments.h. */
#include "record/instruments.h"

#include <stdio.h>
#include <string.h>

#include "base/sudo.h"
#include "runtimes/runtimes.h"

const struct instrument *instruments_find(const struct instruments *instruments, const char *name)
{
    for (size_t i = 0; i < instruments->count; i++)
        if (strcmp(instruments->items[i].name, name) == 0)
            return &instruments->items[i];
    return NULL;
}

bool instrument_is_runtime(const char *name)
{
    return runtime_called(name) && !instrument_is_probed(name);
}

bool instrument_is_probed(const char *name)
{
    static const char ending[] = " by probes";
    size_t length = strlen(name);

    return length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

bool instruments_have_runtime(const struct instruments *instruments)
{
    for (size_t i = 0; i < instruments->count; i++)
        if (instrument_is_runtime(instruments->items[i].name))
            return true;
    return false;
}

bool instruments_report(struct instruments *instruments, struct trace_writer *writer,
                        const char *name, unsigned state, const char *said)
{
    struct instrument *item = (struct instrument *)instruments_find(instruments, name);
    char reason[sizeof item->reason];

    if (state > TRACE_INSTRUMENT_UNAVAILABLE || !*name || strlen(name) >= sizeof item->name)
        return false;
    snprintf(reason, sizeof reason, "%s", said);
    ifg_fit_sudo(reason); /* the trace is read by others, who do not know who recorded */
    if (!item) {
        if (instruments->count == INSTRUMENTS_MAX)
            return false;
        item = &instruments->items[instruments->count++];
        snprintf(item->name, sizeof item->name, "%s", name);
    } else if (item->state == TRACE_INSTRUMENT_ON && state != TRACE_INSTRUMENT_ON) {
        return true;
    } else if ((unsigned)item->state == state && strcmp(item->reason, reason) == 0) {
        return true; /* every worker of a pool says the same */
    }
    item->state = (enum trace_instrument_state)state;
    snprintf(item->reason, sizeof item->reason, "%s", reason);
    trace_writer_instrument(writer, item->name, item->state, item->reason);
    return true;
}
