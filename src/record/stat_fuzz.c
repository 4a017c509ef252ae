// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: texts of /proc/PID/stat with any name in them, cut anywhere. The name must stay
 * inside its buffer, and nothing may be read behind the end.
 */
#include "record/process_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct process_info info;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    memset(&info, 0xee, sizeof info);
    if (process_parse_stat(text, &info) &&
        (strnlen(info.name, sizeof info.name) == sizeof info.name || !strchr(text, '(')))
        abort();
    free(text);
    return 0;
}
