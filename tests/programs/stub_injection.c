// SPDX-License-Identifier: Apache-2.0
/* An injection library of CUDA that somebody configured before us: it tells that it was called. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    const char *path = getenv("STUB_INJECTION");
    FILE *file = path ? fopen(path, "a") : NULL;

    if (file) {
        fputs("called\n", file);
        fclose(file);
    }
    return 1;
}
