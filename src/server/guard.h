// SPDX-License-Identifier: Apache-2.0
/*
 * Who may ask. A page on the internet can make a browser send requests to this machine; it can
 * neither read the token nor choose the Host and Origin that the browser sends.
 */
#ifndef IFG_SERVER_GUARD_H
#define IFG_SERVER_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define GUARD_TOKEN_BYTES 16u

struct guard {
    char token[2 * GUARD_TOKEN_BYTES + 1]; /* hexadecimal */
    uint16_t port;
    const char *address; /* asked for by the user instead of the loopback, or NULL */
};

/* A new token. */
enum ifg_status guard_init(struct guard *guard, uint16_t port, const char *address,
                           struct ifg_error *err) IFG_MUST_CHECK;

/* "Bearer TOKEN", compared in constant time. NULL is no. */
bool guard_token(const struct guard *guard, const char *authorization);

/* 127.0.0.1:PORT, localhost:PORT, [::1]:PORT; with an address of its own, any in numbers. NULL is
 * no. */
bool guard_host(const struct guard *guard, const char *host);

/* http:// and one of these; of requests that change something. NULL is no. */
bool guard_origin(const struct guard *guard, const char *origin);

#endif
