// SPDX-License-Identifier: Apache-2.0
/* Functions that are only a module and an offset: shortening such a name, finding the long one. */
#include "cli/module_name.h"

#include <stdio.h>
#include <string.h>

#define LONG   36 /* bytes of a file's name */
#define KEPT   26 /* of a longer one, from its beginning */
#define ENDING 10 /* ".so.1.2.3" is kept too */

bool module_names(const char *module, const char *function)
{
    size_t bytes = strlen(module);

    return bytes && strncmp(function, module, bytes) == 0 &&
           strncmp(function + bytes, "+0x", 3) == 0;
}

const char *module_name_short(const char *function, char *out, size_t size)
{
    const char *offset = strstr(function, "+0x");
    const char *ending = offset ? memmem(function, (size_t)(offset - function), ".so", 3) : NULL;
    int kept = KEPT;

    if (!offset || offset - function <= LONG) {
        snprintf(out, size, "%s", function);
        return out;
    }
    if (!ending || ending - function < KEPT || offset - ending > ENDING)
        ending = offset;
    while (kept && ((unsigned char)function[kept] & 0xc0) == 0x80) /* no half characters */
        kept--;
    snprintf(out, size, "%.*s…%s", kept, function, ending);
    return out;
}

const char *module_name_copied(const char *shown)
{
    const char *cut;
    const char *offset;

    if (strncmp(shown, "? ", 2) == 0)
        shown += 2;
    cut = strstr(shown, "…");
    offset = cut ? strstr(cut, "+0x") : NULL;
    return offset ? offset + 1 : shown;
}
