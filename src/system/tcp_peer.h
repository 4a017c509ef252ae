// SPDX-License-Identifier: Apache-2.0
/* Who is at the other end of a connection: an address or, on this machine, a user. */
#ifndef IFG_SYSTEM_TCP_PEER_H
#define IFG_SYSTEM_TCP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct tcp_peer {
    uint8_t network[16]; /* an IPv4 address as IPv6; of IPv6 the first 64 bits, the rest 0 */
    bool is_local;       /* on the loopback: there it is the user that counts */
    bool looked_up;
    uint32_t user; /* TCP_PEER_UNKNOWN until it is looked up, and if it cannot be known */
};

#define TCP_PEER_UNKNOWN UINT32_MAX

void tcp_peer_set(struct tcp_peer *peer, const struct sockaddr *address);

bool tcp_peer_same(const struct tcp_peer *one, const struct tcp_peer *other);

/* Asks the kernel which user has the other end of this connection, if it is local and nobody has
 * asked before. */
void tcp_peer_find_user(struct tcp_peer *peer, int connection);

#endif
