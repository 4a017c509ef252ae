// SPDX-License-Identifier: Apache-2.0
/* A tool of rocprofiler-sdk that somebody configured before us: it tells that it was called. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) void *
rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client);

void *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client)
{
    const char *path = getenv("STUB_ROCM_TOOL");
    FILE *file = path ? fopen(path, "a") : NULL;

    (void)version, (void)text, (void)client;
    if (file) {
        fprintf(file, "called %u\n", priority);
        fclose(file);
    }
    return NULL;
}
