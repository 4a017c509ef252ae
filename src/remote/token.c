// SPDX-License-Identifier: Apache-2.0
/* The secret that lets another user in: see token.h. */
#include "remote/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_BYTES 16u

enum ifg_status remote_token_make(struct remote_token *out_token, struct ifg_error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[RANDOM_BYTES];

    memset(out_token, 0, sizeof *out_token);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return ifg_fail_errno(err, "cannot get random bytes for the token");
    for (size_t i = 0; i < sizeof bytes; i++) {
        out_token->text[2 * i] = digits[bytes[i] >> 4];
        out_token->text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return IFG_OK;
}

enum ifg_status remote_token_set(const char *text, const char *where,
                                 struct remote_token *out_token, struct ifg_error *err)
{
    size_t length = strlen(text);

    memset(out_token, 0, sizeof *out_token);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= 0x20 || text[i] >= 0x7f)
            length = 0;
    if (length < REMOTE_TOKEN_LEAST || length > REMOTE_TOKEN_MAX)
        return ifg_fail(err, IFG_INVALID,
                        "%s: a token is %u to %u printable characters without blanks", where,
                        REMOTE_TOKEN_LEAST, REMOTE_TOKEN_MAX);
    memcpy(out_token->text, text, length);
    return IFG_OK;
}

static enum ifg_status check_file(int fd, const char *path, struct ifg_error *err)
{
    struct stat info;

    if (fstat(fd, &info) < 0)
        return ifg_fail_errno(err, "cannot look at %s", path);
    if (!S_ISREG(info.st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a regular file", path);
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return ifg_fail(err, IFG_PERMISSION, "%s belongs to another user", path);
    if (info.st_mode & 077)
        return ifg_fail(err, IFG_PERMISSION,
                        "%s has a token and can be read by others; try 'chmod 600 %s'", path, path);
    return IFG_OK;
}

enum ifg_status remote_token_read(const char *path, struct remote_token *out_token,
                                  struct ifg_error *err)
{
    char text[REMOTE_TOKEN_MAX + 3];
    enum ifg_status status;
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(out_token, 0, sizeof *out_token);
    if (fd < 0)
        return ifg_fail_errno(err, "cannot read the token in %s", path);
    status = check_file(fd, path, err);
    if (!status) {
        length = read(fd, text, sizeof text - 1);
        if (length < 0) {
            status = ifg_fail_errno(err, "cannot read the token in %s", path);
        } else {
            text[length] = '\0';
            text[strcspn(text, "\r\n")] = '\0';
            status = remote_token_set(text, path, out_token, err);
        }
    }
    close(fd);
    return status;
}

enum ifg_status remote_token_write(const char *path, const struct remote_token *token,
                                   struct ifg_error *err)
{
    char line[REMOTE_TOKEN_MAX + 2];
    int length = snprintf(line, sizeof line, "%s\n", token->text);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    enum ifg_status status = IFG_OK;

    if (fd < 0)
        return ifg_fail_errno(err, "cannot create %s for the token", path);
    if (write(fd, line, (size_t)length) != length)
        status = ifg_fail_errno(err, "cannot write the token to %s", path);
    if (close(fd) < 0 && !status)
        status = ifg_fail_errno(err, "cannot write the token to %s", path);
    if (status)
        unlink(path);
    return status;
}

bool remote_token_same(const struct remote_token *one, const struct remote_token *other)
{
    char left[sizeof one->text] = "";
    char right[sizeof one->text] = "";
    volatile unsigned char different = 0;

    /* What stands behind the end of a text is not part of it. */
    snprintf(left, sizeof left, "%s", one->text);
    snprintf(right, sizeof right, "%s", other->text);
    for (size_t i = 0; i < sizeof left; i++)
        different = (unsigned char)(different | (left[i] ^ right[i]));
    return different == 0 && left[0];
}
