// SPDX-License-Identifier: Apache-2.0
/* CSV fields: see csv.h. */
#include "cli/csv.h"

#include <string.h>

void csv_put(struct ifg_bytes *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        ifg_bytes_put(out, text, strlen(text));
        return;
    }
    ifg_bytes_put(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"')
            ifg_bytes_put(out, "\"", 1);
        ifg_bytes_put(out, text, 1);
    }
    ifg_bytes_put(out, "\"", 1);
}
