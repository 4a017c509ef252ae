// SPDX-License-Identifier: Apache-2.0
/* CSV fields: see csv.h. */
#include "base/csv.h"

#include <string.h>

void ifg_csv_put(struct ifg_bytes *out, const char *text, const char *separator)
{
    size_t length = strlen(text);
    bool blank_ends = length && (text[0] == ' ' || text[length - 1] == ' ');

    if (!blank_ends && !strpbrk(text, "\"\r\n") && (!*separator || !strstr(text, separator))) {
        ifg_bytes_put(out, text, length);
        return;
    }
    ifg_bytes_put(out, "\"", 1);
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        ifg_bytes_put(out, text, (size_t)(quote + 1 - text));
        ifg_bytes_put(out, "\"", 1);
    }
    ifg_bytes_put(out, text, strlen(text));
    ifg_bytes_put(out, "\"", 1);
}
