// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzes what comes through a connection:
 *  - the first byte chooses whose words they are; the rest is a preface and messages
 *  - every message through every getter, as its kind and as all others
 *  - what is accepted keeps within its limits, and is the same after a round trip
 */
#include <stdlib.h>
#include <string.h>

#include "remote/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

#define TRIP(name)                                                                                 \
    static void trip_##name(const struct remote_message *message)                                  \
    {                                                                                              \
        static struct remote_##name first, second;                                                 \
        struct remote_message again;                                                               \
        struct ifg_bytes out;                                                                      \
        size_t bytes;                                                                              \
                                                                                                   \
        memset(&first, 0, sizeof first);                                                           \
        memset(&second, 0, sizeof second);                                                         \
        if (!remote_##name##_get(message, &first))                                                 \
            return;                                                                                \
        ifg_bytes_init(&out, 1u << 20);                                                            \
        remote_##name##_put(&out, &first);                                                         \
        require(!out.failed);                                                                      \
        require(remote_take(out.data[0] < 0x80 ? REMOTE_ASKED : REMOTE_TOLD, out.data, out.size,   \
                            &again, &bytes) == REMOTE_TAKEN);                                      \
        require(bytes == out.size && remote_##name##_get(&again, &second));                        \
        require(memcmp(&first, &second, sizeof first) == 0);                                       \
        ifg_bytes_fini(&out);                                                                      \
    }

TRIP(token)
TRIP(request)
TRIP(ping)
TRIP(pong)
TRIP(keep)
TRIP(have)
TRIP(resume)
TRIP(kept)
TRIP(welcome)
TRIP(refused)
TRIP(process)
TRIP(listed)
TRIP(note)
TRIP(started)
TRIP(progress)
TRIP(ended)

static void try_all(const struct remote_message *message)
{
    trip_token(message);
    trip_request(message);
    trip_ping(message);
    trip_pong(message);
    trip_keep(message);
    trip_have(message);
    trip_resume(message);
    trip_kept(message);
    trip_welcome(message);
    trip_refused(message);
    trip_process(message);
    trip_listed(message);
    trip_note(message);
    trip_started(message);
    trip_progress(message);
    trip_ended(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum remote_side side;
    struct remote_version version;
    struct remote_message message;
    size_t bytes;

    if (!size)
        return 0;
    side = *data & 1 ? REMOTE_TOLD : REMOTE_ASKED;
    data++;
    size--;
    if (size >= REMOTE_PREFACE_BYTES && remote_preface_get(data, &version)) {
        data += REMOTE_PREFACE_BYTES;
        size -= REMOTE_PREFACE_BYTES;
    }
    while (remote_take(side, data, size, &message, &bytes) == REMOTE_TAKEN) {
        require(bytes >= REMOTE_HEAD_BYTES && bytes <= size);
        require(message.size <= (side == REMOTE_ASKED ? REMOTE_ASKED_MAX : REMOTE_PART_MAX));
        try_all(&message);
        data += bytes;
        size -= bytes;
    }
    return 0;
}
