// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzes what a request line can ask for:
 *  - any bytes as path and parameters; whatever is accepted is within the limits
 *  - every value as a number, a count and a list
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "server/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct request *request = ifg_alloc(1, sizeof *request);
    const char *why = NULL;
    enum request_result result;

    if (!request)
        return 0;
    memset(request, 0xa5, sizeof *request);
    result = request_parse((const char *)data, size, request, &why);
    require(why && (result == REQUEST_OK) == (*why == '\0'));
    if (result == REQUEST_OK) {
        require(strlen(request->name) > 0 && strlen(request->name) < REQUEST_NAME_MAX);
        require(request->parameter_count <= REQUEST_PARAMETERS_MAX);
        for (size_t i = 0; i < request->parameter_count; i++) {
            const struct request_parameter *parameter = &request->parameters[i];
            uint32_t list[16];
            uint64_t whole;
            double number;
            size_t count = request_parse_list(parameter->value, list, 16);

            require(request_find(request, parameter->name) == parameter->value);
            require(strlen(parameter->value) <= size);
            require(count == SIZE_MAX || (count > 0 && count <= 16));
            require(!request_parse_double(parameter->value, &number) || isfinite(number));
            if (request_parse_u64(parameter->value, &whole))
                require(strlen(parameter->value) > 0);
        }
    }
    ifg_free(request);
    return 0;
}
