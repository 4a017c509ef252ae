// SPDX-License-Identifier: Apache-2.0
/*
 * Who an agent is: a key, a certificate, and the fingerprint of that by which a capture knows it
 * again. No authority is asked, and names and dates in a certificate mean nothing here.
 */
#ifndef IFG_REMOTE_IDENTITY_H
#define IFG_REMOTE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define REMOTE_FINGERPRINT_TEXT 65u /* with its end */

/* SHA-256 of a certificate as it is sent. */
struct remote_fingerprint {
    uint8_t bytes[32];
};

struct remote_identity;

/* 64 digits, with colons or not, with "SHA256:" before them or not. False: it is none. */
bool remote_fingerprint_read(const char *text, struct remote_fingerprint *out);
void remote_fingerprint_write(const struct remote_fingerprint *fingerprint,
                              char out[REMOTE_FINGERPRINT_TEXT]);
bool remote_fingerprint_same(const struct remote_fingerprint *one,
                             const struct remote_fingerprint *other);

/* That of this user, kept in his folder (system/cache_folder.h); made the first time. */
enum ifg_status remote_identity_own(struct remote_identity **out_identity,
                                    struct ifg_error *err) IFG_MUST_CHECK;

/* From files in PEM; nobody but this user or root may be able to read the key. */
enum ifg_status remote_identity_load(const char *certificate_path, const char *key_path,
                                     struct remote_identity **out_identity,
                                     struct ifg_error *err) IFG_MUST_CHECK;

void remote_identity_destroy(struct remote_identity *identity); /* accepts NULL */

const struct remote_fingerprint *
remote_identity_fingerprint(const struct remote_identity *identity);

/* For tls.c: a gnutls_certificate_credentials_t. */
void *remote_identity_credentials(const struct remote_identity *identity);

#endif
