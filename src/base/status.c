// SPDX-License-Identifier: Apache-2.0
/* Error sentences in fixed buffers: see status.h. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum ifg_status ifg_fail(struct ifg_error *err, enum ifg_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        err->status = status;
        err->saved_errno = 0;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

enum ifg_status ifg_status_from_errno(int error_number)
{
    switch (error_number) {
    case 0:
        return IFG_OK;
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
        return IFG_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return IFG_PERMISSION;
    case ENOMEM:
        return IFG_NO_MEMORY;
    case EBUSY:
    case EAGAIN:
        return IFG_BUSY;
    case EINVAL:
        return IFG_INVALID;
    default:
        return IFG_IO;
    }
}

enum ifg_status ifg_fail_errno(struct ifg_error *err, const char *format, ...)
{
    int saved = errno;
    enum ifg_status status = ifg_status_from_errno(saved);

    if (err) {
        va_list args;
        char text[256];
        size_t used;

        err->status = status;
        err->saved_errno = saved;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s",
                 strerror_r(saved, text, sizeof text));
    }
    return status;
}

enum ifg_status ifg_fail_no_memory(struct ifg_error *err, const char *format, ...)
{
    char purpose[sizeof err->message] = "";

    if (err && format) {
        va_list args;

        purpose[0] = ' ';
        va_start(args, format);
        vsnprintf(purpose + 1, sizeof purpose - 1, format, args);
        va_end(args);
    }
    return ifg_fail(err, IFG_NO_MEMORY, "not enough memory%s%s", purpose, ifg_alloc_why());
}

enum ifg_status ifg_fail_context(struct ifg_error *err, enum ifg_status status, const char *format,
                                 ...)
{
    if (err) {
        va_list args;
        char cause[sizeof err->message];
        size_t used;

        memcpy(cause, err->message, sizeof cause);
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", cause);
        err->status = status;
    }
    return status;
}

const char *ifg_status_name(enum ifg_status status)
{
    switch (status) {
    case IFG_OK:
        return "ok";
    case IFG_INVALID:
        return "invalid";
    case IFG_NOT_FOUND:
        return "not found";
    case IFG_PERMISSION:
        return "permission";
    case IFG_UNSUPPORTED:
        return "unsupported";
    case IFG_NO_MEMORY:
        return "no memory";
    case IFG_IO:
        return "input/output";
    case IFG_CORRUPT:
        return "corrupt";
    case IFG_BUSY:
        return "busy";
    case IFG_CANCELLED:
        return "cancelled";
    case IFG_INTERNAL:
        return "internal";
    }
    return "unknown";
}
