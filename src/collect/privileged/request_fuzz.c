// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to inferogram-privileged. Strategies: packets of any size, with any number of
 * descriptors said to have come along. What passes must be inside every limit.
 */
#include <string.h>

#include "collect/perf/sampler.h"
#include "collect/privileged/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct privileged_request request = { 0 };
    int fd_count = size ? data[0] % 3 : 0;

    if (!size)
        return 0;
    data++;
    size--;
    memcpy(&request, data, size < sizeof request ? size : sizeof request);
    if (!privileged_request_check(&request, size, fd_count))
        return 0;
    if (request.operation == PRIVILEGED_LINK &&
        (request.count == 0 || request.count > PRIVILEGED_PROBES || request.pid <= 0 ||
         request.step > 2 || fd_count != 1))
        __builtin_trap();
    if (request.operation == PRIVILEGED_EVENT &&
        (request.pid <= 0 || request.stack_bytes > SAMPLER_STACK_MAX || fd_count))
        __builtin_trap();
    if (request.operation == PRIVILEGED_PERMIT && request.pid <= 0)
        __builtin_trap();
    return 0;
}
