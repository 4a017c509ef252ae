// SPDX-License-Identifier: Apache-2.0
/*
 * Budgets from a command line. Strategies: the input is one budget, read in every way there is: at
 * least and at most, of a result and of a trace, and as a value of every unit. What is accepted
 * must be finite, must not be negative and must be judged without trouble.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gate/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1024];

    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (int i = 0; i < 4; i++) {
        struct gate_budget budget;
        struct ifg_error err = { 0 };
        struct gate_estimate estimate = { .high_known = true, .high = 1, .value = 1, .count = 1 };

        if (gate_budget_parse(text, i & 1, i & 2, &budget, &err)) {
            if (!err.message[0])
                abort();
            continue;
        }
        if (!isfinite(budget.limit) || budget.limit < 0 || !budget.metric[0])
            abort();
        if ((budget.of == NULL) != ((i & 2) != 0))
            abort();
        gate_judge(&estimate, budget.at_least, budget.limit);
        gate_needs(&estimate, budget.limit);
    }
    for (int unit = GATE_MS; unit <= GATE_NUMBER; unit++) {
        double value;

        if (!gate_parse_value(text, (enum gate_unit)unit, &value, NULL) &&
            (!isfinite(value) || value < 0))
            abort();
    }
    return 0;
}
