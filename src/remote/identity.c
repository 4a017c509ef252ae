// SPDX-License-Identifier: Apache-2.0
/* A key and a certificate, made or read: see identity.h. */
#include "remote/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "system/cache_folder.h"

#define FOLDER    "agent"
#define FILE_NAME "certificate.pem" /* the key is in it as well */
#define PEM_MAX   (64u << 10)
#define FOREVER_S 253402300799ll /* what a certificate says that does not end */

struct remote_identity {
    gnutls_certificate_credentials_t credentials;
    struct remote_fingerprint fingerprint;
};

/* ---- fingerprints ---- */

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool remote_fingerprint_read(const char *text, struct remote_fingerprint *out)
{
    size_t digits = 0;

    memset(out, 0, sizeof *out);
    if (strncasecmp(text, "sha256:", 7) == 0)
        text += 7;
    for (; *text; text++) {
        int value = digit_of(*text);

        if (*text == ':' && digits && digits % 2 == 0 && digits < 2 * sizeof out->bytes)
            continue;
        if (value < 0 || digits == 2 * sizeof out->bytes)
            return false;
        out->bytes[digits / 2] = (uint8_t)(out->bytes[digits / 2] << 4 | value);
        digits++;
    }
    return digits == 2 * sizeof out->bytes;
}

void remote_fingerprint_write(const struct remote_fingerprint *fingerprint,
                              char out[REMOTE_FINGERPRINT_TEXT])
{
    for (size_t i = 0; i < sizeof fingerprint->bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", fingerprint->bytes[i]);
}

bool remote_fingerprint_same(const struct remote_fingerprint *one,
                             const struct remote_fingerprint *other)
{
    return memcmp(one->bytes, other->bytes, sizeof one->bytes) == 0;
}

/* ---- from PEM ---- */

static enum ifg_status take_fingerprint(struct remote_identity *identity, struct ifg_error *err)
{
    gnutls_datum_t certificate;
    size_t size = sizeof identity->fingerprint.bytes;
    int problem = gnutls_certificate_get_crt_raw(identity->credentials, 0, 0, &certificate);

    if (!problem)
        problem =
            gnutls_fingerprint(GNUTLS_DIG_SHA256, &certificate, identity->fingerprint.bytes, &size);
    if (problem)
        return ifg_fail(err, IFG_INTERNAL, "cannot compute the fingerprint of a certificate: %s",
                        gnutls_strerror(problem));
    return IFG_OK;
}

static enum ifg_status from_pem(const gnutls_datum_t *certificate, const gnutls_datum_t *key,
                                const char *where, struct remote_identity **out_identity,
                                struct ifg_error *err)
{
    struct remote_identity *identity = ifg_alloc(1, sizeof *identity);
    enum ifg_status status = IFG_OK;
    int problem;

    if (!identity)
        return ifg_fail_no_memory(err, "for a certificate");
    problem = gnutls_certificate_allocate_credentials(&identity->credentials);
    if (problem) {
        ifg_free(identity);
        return ifg_fail_no_memory(err, "for a certificate");
    }
    problem = gnutls_certificate_set_x509_key_mem(identity->credentials, certificate, key,
                                                  GNUTLS_X509_FMT_PEM);
    if (problem < 0)
        status = ifg_fail(err, IFG_INVALID, "%s: not a certificate and its key in PEM: %s", where,
                          gnutls_strerror(problem));
    else
        status = take_fingerprint(identity, err);
    if (status)
        remote_identity_destroy(identity);
    else
        *out_identity = identity;
    return status;
}

void remote_identity_destroy(struct remote_identity *identity)
{
    if (!identity)
        return;
    gnutls_certificate_free_credentials(identity->credentials);
    ifg_free(identity);
}

const struct remote_fingerprint *remote_identity_fingerprint(const struct remote_identity *identity)
{
    return &identity->fingerprint;
}

void *remote_identity_credentials(const struct remote_identity *identity)
{
    return identity->credentials;
}

/* ---- files ---- */

static enum ifg_status check_secret(const struct stat *info, const char *path,
                                    struct ifg_error *err)
{
    if (info->st_uid != geteuid() && info->st_uid != 0)
        return ifg_fail(err, IFG_PERMISSION, "%s belongs to another user", path);
    if (info->st_mode & 077)
        return ifg_fail(err, IFG_PERMISSION,
                        "%s has a key and can be read by others; try 'chmod 600 %s'", path, path);
    return IFG_OK;
}

/* Owns fd. *out is allocated. */
static enum ifg_status read_pem(int fd, const char *path, bool is_secret, gnutls_datum_t *out,
                                struct ifg_error *err)
{
    struct stat info;
    enum ifg_status status = IFG_OK;
    ssize_t got;

    *out = (gnutls_datum_t){ NULL, 0 };
    if (fd < 0 || fstat(fd, &info) < 0)
        status = ifg_fail_errno(err, "cannot read %s", path);
    else if (!S_ISREG(info.st_mode) || info.st_size > PEM_MAX)
        status = ifg_fail(err, IFG_INVALID, "%s is not a file in PEM", path);
    else if (is_secret)
        status = check_secret(&info, path, err);
    if (!status) {
        out->data = ifg_alloc(PEM_MAX, 1);
        got = out->data ? read(fd, out->data, PEM_MAX) : 0;
        if (!out->data)
            status = ifg_fail_no_memory(err, "to read %s", path);
        else if (got < 0)
            status = ifg_fail_errno(err, "cannot read %s", path);
        else
            out->size = (unsigned)got;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

static void forget_pem(gnutls_datum_t *pem)
{
    if (pem->data)
        explicit_bzero(pem->data, PEM_MAX);
    ifg_free(pem->data);
}

enum ifg_status remote_identity_load(const char *certificate_path, const char *key_path,
                                     struct remote_identity **out_identity, struct ifg_error *err)
{
    gnutls_datum_t certificate;
    gnutls_datum_t key = { NULL, 0 };
    enum ifg_status status = read_pem(open(certificate_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
                                      certificate_path, false, &certificate, err);

    *out_identity = NULL;
    if (!status)
        status =
            read_pem(open(key_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), key_path, true, &key, err);
    if (!status)
        status = from_pem(&certificate, &key, certificate_path, out_identity, err);
    forget_pem(&certificate);
    forget_pem(&key);
    return status;
}

/* ---- our own ---- */

/* 0, or what GnuTLS says. */
static int sign_itself(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    static const char name[] = "inferogram agent";
    uint8_t serial[8] = { 1 };
    int problem = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    if (!problem)
        problem = gnutls_x509_crt_set_version(certificate, 3);
    if (!problem)
        problem = gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
    if (!problem)
        problem = gnutls_x509_crt_set_activation_time(certificate, 0);
    if (!problem)
        problem = gnutls_x509_crt_set_expiration_time(certificate, FOREVER_S);
    if (!problem)
        problem = gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                                sizeof name - 1);
    if (!problem)
        problem = gnutls_x509_crt_set_key(certificate, key);
    if (!problem)
        problem = gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0);
    return problem;
}

/* Both as PEM, one behind the other, in size bytes of out. */
static int make_pem(char *out, size_t size, size_t *out_size)
{
    gnutls_x509_crt_t certificate = NULL;
    gnutls_x509_privkey_t key = NULL;
    size_t first = size;
    size_t second;
    int problem = gnutls_x509_crt_init(&certificate);

    if (!problem)
        problem = gnutls_x509_privkey_init(&key);
    if (!problem)
        problem = sign_itself(certificate, key);
    if (!problem)
        problem = gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_PEM, out, &first);
    if (!problem) {
        second = size - first;
        problem = gnutls_x509_crt_export(certificate, GNUTLS_X509_FMT_PEM, out + first, &second);
        *out_size = first + second;
    }
    if (key)
        gnutls_x509_privkey_deinit(key);
    if (certificate)
        gnutls_x509_crt_deinit(certificate);
    return problem;
}

/* Whole or not at all: another agent may begin at the same moment, and then its file counts. */
static enum ifg_status keep_pem(int folder, const char *pem, size_t size, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    char name[64];
    int fd;

    snprintf(name, sizeof name, "." FILE_NAME ".%d", (int)getpid());
    unlinkat(folder, name, 0); /* of a process that died, and whose number we have */
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return ifg_fail_errno(err, "cannot keep the agent's certificate");
    if (write(fd, pem, size) != (ssize_t)size || fsync(fd) < 0)
        status = ifg_fail_errno(err, "cannot keep the agent's certificate");
    close(fd);
    if (!status && linkat(folder, name, folder, FILE_NAME, 0) < 0 && errno != EEXIST)
        status = ifg_fail_errno(err, "cannot keep the agent's certificate");
    unlinkat(folder, name, 0);
    return status;
}

static enum ifg_status make_own(int folder, struct ifg_error *err)
{
    char pem[8192];
    size_t size = 0;
    enum ifg_status status = IFG_OK;
    int problem = make_pem(pem, sizeof pem, &size);

    if (problem)
        status =
            ifg_fail(err, IFG_INTERNAL, "cannot make a certificate: %s", gnutls_strerror(problem));
    else
        status = keep_pem(folder, pem, size, err);
    explicit_bzero(pem, sizeof pem);
    return status;
}

enum ifg_status remote_identity_own(struct remote_identity **out_identity, struct ifg_error *err)
{
    static const char where[] = "~/.config/inferogram/" FOLDER "/" FILE_NAME;
    int folder = cache_folder_open_config(FOLDER, true);
    enum ifg_status status = IFG_OK;
    gnutls_datum_t pem = { NULL, 0 };

    *out_identity = NULL;
    if (folder < 0)
        return ifg_fail(err, IFG_PERMISSION,
                        "there is no folder of this user for the agent's certificate "
                        "(~/.config/inferogram): give one with --tls-cert and --tls-key");
    if (faccessat(folder, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        status = make_own(folder, err);
    if (!status)
        status = read_pem(openat(folder, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                          where, true, &pem, err);
    if (!status)
        status = from_pem(&pem, &pem, where, out_identity, err);
    forget_pem(&pem);
    close(folder);
    return status;
}
