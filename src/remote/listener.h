// SPDX-License-Identifier: Apache-2.0
/* Where an agent listens. */
#ifndef IFG_REMOTE_LISTENER_H
#define IFG_REMOTE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Whether other machines cannot reach it. IFG_INVALID: it is no address in numbers. */
enum ifg_status remote_listener_check(const char *address, bool *out_is_loopback,
                                      struct ifg_error *err) IFG_MUST_CHECK;

/* port: 0 for the first of REMOTE_PORTS from REMOTE_PORT on that is free. The socket does not
 * block. */
enum ifg_status remote_listener_open(const char *address, uint16_t port, int *out_socket,
                                     uint16_t *out_port, struct ifg_error *err) IFG_MUST_CHECK;

#endif
