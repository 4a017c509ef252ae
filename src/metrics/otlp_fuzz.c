// SPDX-License-Identifier: Apache-2.0
/*
 * What a collector answers: any bytes. Lengths that lie, fields of every type, text that would
 * speak to a terminal. And the same bytes as text in a message of ours.
 */
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "metrics/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct otlp_reply reply;
    struct ifg_bytes out;
    char text[256];

    otlp_read_reply(data, size, &reply);
    if (memchr(reply.message, '\0', sizeof reply.message) == NULL)
        abort();
    for (const char *at = reply.message; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            abort();
    if (size >= sizeof text)
        size = sizeof text - 1;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    ifg_bytes_init(&out, 4096);
    proto_text(&out, 1, text);
    if (out.failed)
        abort();
    ifg_bytes_fini(&out);
    return 0;
}
