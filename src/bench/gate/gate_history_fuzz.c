// SPDX-License-Identifier: Apache-2.0
/*
 * Files of a history. Strategies: the input is one document. What is accepted has a time and a
 * median that is a number above 0, and a series of such runs can be looked at.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gate/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gate_run runs[12];
    struct gate_history history = { .runs = runs, .run_count = 12 };
    struct gate_drift drift;
    struct ifg_error err = { 0 };

    if (gate_run_parse("20261115T140101Z-0123456789ab.json", data, size, &runs[0], &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (!runs[0].when[0] || !(runs[0].value[GATE_SERIES_P50] > 0) ||
        memchr(runs[0].when, '\0', sizeof runs[0].when) == NULL)
        abort();
    for (size_t i = 1; i < 12; i++)
        runs[i] = runs[0];
    for (int series = 0; series < GATE_SERIES; series++)
        if (gate_history_drift(&history, series, &drift, NULL) || drift.changed)
            abort();
    return 0;
}
