// SPDX-License-Identifier: Apache-2.0
/*
 * The address that is scraped: GET /metrics, and nothing else. One thread, which the caller has:
 * whoever is slow, or says nothing, costs a connection for some seconds and keeps nobody waiting.
 *
 * On the loopback only requests to a name of the loopback are answered, so that no page of the
 * internet can read what models there are through a browser. Elsewhere, who may connect is up to
 * the network.
 */
#ifndef IFG_METRICS_LISTENER_H
#define IFG_METRICS_LISTENER_H

#include <stdint.h>

#include "base/status.h"
#include "metrics/text.h"

#define LISTENER_CONNECTIONS_MOST 32u
#define LISTENER_DEADLINE_S       20u

/* An address, before anybody listens there in earnest: to be handed to a child. */
struct metrics_address {
    int socket; /* -1: none */
    bool is_loopback;
    char url[128]; /* "http://127.0.0.1:9095/metrics" */
};

/* address in numbers; port 0: any free one. */
enum ifg_status metrics_address_open(const char *address, uint16_t port,
                                     struct metrics_address *out_address,
                                     struct ifg_error *err) IFG_MUST_CHECK;
void metrics_address_close(struct metrics_address *address);

struct metrics_listener;

/* Takes the address's socket. fill appends the answer. */
enum ifg_status metrics_listener_create(struct metrics_address *address,
                                        void (*fill)(struct ifg_bytes *out,
                                                     enum metrics_format format, void *user),
                                        void *user, struct metrics_listener **out_listener,
                                        struct ifg_error *err) IFG_MUST_CHECK;
void metrics_listener_destroy(struct metrics_listener *listener); /* accepts NULL */

/* To be polled for input; work is due then, and a few times a second in any case. */
int metrics_listener_fd(const struct metrics_listener *listener);
void metrics_listener_work(struct metrics_listener *listener);

#endif
