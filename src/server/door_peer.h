// SPDX-License-Identifier: Apache-2.0
/* Who is at the other end of a connection: an address or, on this machine, a user. */
#ifndef IFG_SERVER_DOOR_PEER_H
#define IFG_SERVER_DOOR_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct door_peer {
    uint8_t network[16]; /* an IPv4 address as IPv6; of IPv6 the first 64 bits, the rest 0 */
    bool is_local;       /* on the loopback: there it is the user that counts */
    bool looked_up;
    uint32_t user; /* DOOR_USER_UNKNOWN until it is looked up, and if it cannot be known */
};

#define DOOR_USER_UNKNOWN UINT32_MAX

void door_peer_set(struct door_peer *peer, const struct sockaddr *address);

bool door_peer_same(const struct door_peer *one, const struct door_peer *other);

/* Asks the kernel which user has the other end of this connection, if it is local and nobody has
 * asked before. */
void door_peer_find_user(struct door_peer *peer, int connection);

#endif
