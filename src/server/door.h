// SPDX-License-Identifier: Apache-2.0
/*
 * The door of the server: who comes in, and who has to leave when it is full.
 *
 * A connection waits here, without a thread, until the headers of its first request are there; the
 * HTTP library gets it only then. So whoever says nothing, or one byte now and then, costs a file
 * descriptor for a few seconds. Connections that have shown the token are known; of those that have
 * not, few are inside at a time, for a short time, and when there are too many the one who has the
 * most of them loses his oldest first, and the one who has the fewest is let in first. Who that is
 * tells the address or, on this machine, the user.
 */
#ifndef IFG_SERVER_DOOR_H
#define IFG_SERVER_DOOR_H

#include <stdbool.h>

#include "base/status.h"
#include "server/guard.h"

#define DOOR_WAITING_MOST        256u /* headers not complete yet */
#define DOOR_UNKNOWN_INSIDE_MOST 32u  /* without the token, being answered */
#define DOOR_INSIDE_MOST         128u /* all that are being answered */
#define DOOR_WAITING_MS          5000u
#define DOOR_READY_MS            20000u /* from there until there is room */
#define DOOR_UNKNOWN_INSIDE_MS   20000u
#define DOOR_REQUEST_BYTES       (32u << 10) /* headers of a request, and of its answer */

struct door;
struct MHD_Daemon;

/* Takes the listening socket, also when it fails. The guard is used until the door is destroyed. */
enum ifg_status door_create(int listener, const struct guard *guard, struct door **out_door,
                            struct ifg_error *err) IFG_MUST_CHECK;

/* Lets connections in, to the library. */
enum ifg_status door_open(struct door *door, struct MHD_Daemon *daemon,
                          struct ifg_error *err) IFG_MUST_CHECK;

/* Lets nobody in any more; those inside stay until the library ends them. Accepts NULL. */
void door_close(struct door *door);
void door_destroy(struct door *door); /* after the library; accepts NULL */

/* From any thread, by the library's socket: it has shown the token; the library is about to close
 * it. */
void door_know(struct door *door, int socket);
void door_left(struct door *door, int socket);

/* Whether anybody has shown the token. */
bool door_was_used(const struct door *door);

#endif
