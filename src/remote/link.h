// SPDX-License-Identifier: Apache-2.0
/*
 * The agent's end of a connection, for whoever answers a request: messages, and a trace.
 *
 * Nothing here waits while a program is recorded. What the socket does not take at once stays in a
 * queue; when that holds much, the output accepts no more (trace/output.h) and the recorder leaves
 * events where they are counted if they are lost. Only what cannot wait there makes the queue
 * longer; at its limit the recorder waits, and after half a minute in which nothing moved the
 * connection counts as lost.
 *
 * A link that is kept outlives its connection: what has not been confirmed stays in the queue, and
 * goes through the next connection that the agent hands over. Until then it is as if the socket
 * took nothing.
 */
#ifndef IFG_REMOTE_LINK_H
#define IFG_REMOTE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

#define REMOTE_LINK_MUCH_BYTES  (8u << 20)
#define REMOTE_LINK_LIMIT_BYTES (64u << 20)

struct remote_kept;
struct remote_link;
struct trace_output;

/* The socket does not block, and stays the caller's. */
enum ifg_status remote_link_create(int socket, const char *name, struct remote_link **out_link,
                                   struct ifg_error *err) IFG_MUST_CHECK;
void remote_link_destroy(struct remote_link *link); /* accepts NULL; sends nothing */

/* Nothing may move for so long; half a minute at first. */
void remote_link_set_patience(struct remote_link *link, unsigned milliseconds);

/* From now on it is kept, for so long without a connection; control is the child's end of a pair of
 * sockets (SOCK_SEQPACKET) on which the agent gives orders. Takes it. The first message says so. */
void remote_link_keep(struct remote_link *link, int control, const struct remote_kept *kept);

/* The agent's side of it. They do not wait; false: the order could not be given. */
bool remote_link_order_have(int control, uint64_t count); /* messages have come */
bool remote_link_order_wait(int control);                 /* the connection is lost */
bool remote_link_order_resume(int control, int socket, uint64_t count);

/* Where messages are put (remote_..._put); then one of those below. */
struct ifg_bytes *remote_link_queue(struct remote_link *link);

/* Sends what the socket takes now. False: the connection is lost. */
bool remote_link_push(struct remote_link *link);

/* Waits until all is sent. False: the connection is lost. */
bool remote_link_flush(struct remote_link *link);

/* The trace goes there; the link must outlive the output. */
enum ifg_status remote_link_output(struct remote_link *link, struct trace_output **out_output,
                                   struct ifg_error *err) IFG_MUST_CHECK;

#endif
