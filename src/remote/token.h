// SPDX-License-Identifier: Apache-2.0
/* The secret that lets another user in: it is in a file, or in the environment, and never on a
 * command line, which everybody can read. */
#ifndef IFG_REMOTE_TOKEN_H
#define IFG_REMOTE_TOKEN_H

#include <stdbool.h>

#include "base/status.h"
#include "remote/protocol.h"

#define REMOTE_TOKEN_VARIABLE "IFG_AGENT_TOKEN"
#define REMOTE_TOKEN_LEAST    16u /* characters */

/* 128 random bits. */
enum ifg_status remote_token_make(struct remote_token *out_token,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* 16 to 128 printable characters; where: what the message calls it. */
enum ifg_status remote_token_set(const char *text, const char *where,
                                 struct remote_token *out_token,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* The first line of a file that only its owner can read: this user, or root. IFG_NOT_FOUND: there
 * is none. */
enum ifg_status remote_token_read(const char *path, struct remote_token *out_token,
                                  struct ifg_error *err) IFG_MUST_CHECK;

/* A new file with mode 0600. */
enum ifg_status remote_token_write(const char *path, const struct remote_token *token,
                                   struct ifg_error *err) IFG_MUST_CHECK;

/* Takes the same time whatever they have in common. */
bool remote_token_same(const struct remote_token *one, const struct remote_token *other);

#endif
