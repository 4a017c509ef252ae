// SPDX-License-Identifier: Apache-2.0
/* TCP connections that notice when the other end is gone. */
#ifndef IFG_REMOTE_SOCKET_H
#define IFG_REMOTE_SOCKET_H

#include <stdint.h>

#include "base/status.h"

/* A peer that vanished without a word is noticed within half a minute or so. */
void remote_socket_keep_alive(int socket);

/* Connects within ten seconds; *out_socket does not block. */
enum ifg_status remote_socket_connect(const char *host, uint16_t port, int *out_socket,
                                      struct ifg_error *err) IFG_MUST_CHECK;

#endif
