// SPDX-License-Identifier: Apache-2.0
/*
 * Whatever --dump-when says: it is refused with a sentence, or it is a rule that can be asked.
 * Strategies: words of the grammar in any order, numbers and units at their limits, bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/dump_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ifg_error err = { .message = "" };
    struct dump_rule rule;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (dump_rule_parse(text, &rule, &err) == IFG_OK) {
        dump_rule_takes(&rule, TRACE_CATEGORY_INFERENCE, "resnet50");
        if (rule.over_ns > DUMP_OVER_MAX_NS || !(rule.value >= 0))
            abort();
    } else if (!err.message[0]) {
        abort();
    }
    ifg_free(text);
    return 0;
}
