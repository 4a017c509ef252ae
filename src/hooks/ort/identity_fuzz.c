// SPDX-License-Identifier: Apache-2.0
/* Strategy: any bytes as a model in memory; what comes out must be a text that ends, and the
 * same the second time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/ort/identity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct model_identity one;
    struct model_identity two;

    identity_of_model(data, size, &one);
    identity_of_model(data, size, &two);
    if (memcmp(&one, &two, sizeof one) != 0 ||
        strnlen(one.graph_name, sizeof one.graph_name) == sizeof one.graph_name)
        abort();
    return 0;
}
