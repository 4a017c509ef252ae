// SPDX-License-Identifier: Apache-2.0
/* Who may ask: see guard.h. */
#include "server/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum ifg_status guard_init(struct guard *guard, uint16_t port, const char *address,
                           struct ifg_error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[GUARD_TOKEN_BYTES];

    *guard = (struct guard){ .port = port, .address = address };
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return ifg_fail_errno(err, "cannot get random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++) {
        guard->token[2 * i] = digits[bytes[i] >> 4];
        guard->token[2 * i + 1] = digits[bytes[i] & 15];
    }
    return IFG_OK;
}

bool guard_token(const struct guard *guard, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const size_t scheme_length = sizeof scheme - 1;
    const size_t token_length = 2 * GUARD_TOKEN_BYTES;
    unsigned char different = 0;

    if (!authorization || strncasecmp(authorization, scheme, scheme_length) != 0)
        return false;
    authorization += scheme_length;
    if (strlen(authorization) != token_length)
        return false; /* the length is no secret */
    for (size_t i = 0; i < token_length; i++)
        different |= (unsigned char)(authorization[i] ^ guard->token[i]);
    return different == 0;
}

static bool is_host(const char *host, const char *name, uint16_t port)
{
    char expected[128];

    snprintf(expected, sizeof expected, strchr(name, ':') ? "[%.100s]:%u" : "%.100s:%u", name,
             (unsigned)port);
    return strcasecmp(host, expected) == 0;
}

/* An address in numbers: whoever listens to others has several. A name could be anybody's, and made
 * to point here. */
static bool is_number(const char *host, uint16_t port)
{
    const char *colon = strrchr(host, ':');
    size_t length = colon ? (size_t)(colon - host) : 0;
    char name[64];
    struct in6_addr address;

    if (length < 2 || length >= sizeof name)
        return false;
    if (host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    memcpy(name, host, length);
    name[length] = '\0';
    if (inet_pton(strchr(name, ':') ? AF_INET6 : AF_INET, name, &address) != 1)
        return false;
    return is_host(host - (colon[-1] == ']'), name, port);
}

bool guard_host(const struct guard *guard, const char *host)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "::1" };

    if (!host)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_host(host, names[i], guard->port))
            return true;
    return guard->address && is_number(host, guard->port);
}

bool guard_origin(const struct guard *guard, const char *origin)
{
    static const char scheme[] = "http://";

    if (!origin || strncmp(origin, scheme, sizeof scheme - 1) != 0)
        return false;
    return guard_host(guard, origin + sizeof scheme - 1);
}
