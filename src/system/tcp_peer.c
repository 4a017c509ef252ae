// SPDX-License-Identifier: Apache-2.0
/* Who is at the other end: see tcp_peer.h. */
#include "system/tcp_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

void tcp_peer_set(struct tcp_peer *peer, const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    *peer = (struct tcp_peer){ .user = TCP_PEER_UNKNOWN };
    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        peer->network[10] = peer->network[11] = 0xff;
        memcpy(peer->network + 12, &v4.sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
        memcpy(peer->network, &v6.sin6_addr, 16);
        peer->is_local = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
        /* Who has one address of a network has all of them. */
        if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
            memset(peer->network + 8, 0, 8);
    }
    if (peer->network[10] == 0xff && peer->network[12] == 127)
        peer->is_local = true;
}

bool tcp_peer_same(const struct tcp_peer *one, const struct tcp_peer *other)
{
    if (one->is_local || other->is_local)
        return one->is_local == other->is_local && one->user == other->user;
    return memcmp(one->network, other->network, sizeof one->network) == 0;
}

/* A question about one TCP connection, from the side of the other end. */
struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static bool make_question(int connection, struct question *out)
{
    struct sockaddr_storage ends[2];
    socklen_t sizes[2] = { sizeof ends[0], sizeof ends[1] };

    memset(out, 0, sizeof *out);
    if (getpeername(connection, (struct sockaddr *)&ends[0], &sizes[0]) != 0 ||
        getsockname(connection, (struct sockaddr *)&ends[1], &sizes[1]) != 0)
        return false;
    out->head.nlmsg_len = sizeof *out;
    out->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    out->head.nlmsg_flags = NLM_F_REQUEST;
    out->body.sdiag_family = (uint8_t)ends[0].ss_family;
    out->body.sdiag_protocol = IPPROTO_TCP;
    out->body.idiag_states = UINT32_MAX;
    out->body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    out->body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (ends[0].ss_family == AF_INET) {
        const struct sockaddr_in *peer = (const struct sockaddr_in *)&ends[0];
        const struct sockaddr_in *own = (const struct sockaddr_in *)&ends[1];

        out->body.id.idiag_sport = peer->sin_port;
        out->body.id.idiag_dport = own->sin_port;
        memcpy(out->body.id.idiag_src, &peer->sin_addr, 4);
        memcpy(out->body.id.idiag_dst, &own->sin_addr, 4);
    } else {
        const struct sockaddr_in6 *peer = (const struct sockaddr_in6 *)&ends[0];
        const struct sockaddr_in6 *own = (const struct sockaddr_in6 *)&ends[1];

        out->body.id.idiag_sport = peer->sin6_port;
        out->body.id.idiag_dport = own->sin6_port;
        memcpy(out->body.id.idiag_src, &peer->sin6_addr, 16);
        memcpy(out->body.id.idiag_dst, &own->sin6_addr, 16);
    }
    return true;
}

static uint32_t read_answer(int diagnosis)
{
    struct nlmsghdr answer[64]; /* aligned */
    struct inet_diag_msg found;
    ssize_t size = recv(diagnosis, answer, sizeof answer, MSG_DONTWAIT);

    if (size < (ssize_t)(NLMSG_HDRLEN + sizeof found) ||
        answer[0].nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return TCP_PEER_UNKNOWN;
    memcpy(&found, NLMSG_DATA(answer), sizeof found);
    /* What is only waiting for its time to be over belongs to nobody. */
    return found.idiag_state == TCP_ESTABLISHED ? found.idiag_uid : TCP_PEER_UNKNOWN;
}

void tcp_peer_find_user(struct tcp_peer *peer, int connection)
{
    struct question question;
    int diagnosis;

    if (!peer->is_local || peer->looked_up)
        return;
    peer->looked_up = true;
    diagnosis = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diagnosis < 0)
        return;
    if (make_question(connection, &question) &&
        send(diagnosis, &question, sizeof question, 0) == (ssize_t)sizeof question)
        peer->user = read_answer(diagnosis);
    close(diagnosis);
}
