// SPDX-License-Identifier: Apache-2.0
/* Whatever IFG_PROFILE says, it is read to its end or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "handles/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct command command;
    const char *at = text;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    while (command_parse(&at, &command) == 0)
        if (at > text + size)
            abort();
    ifg_free(text);
    return 0;
}
