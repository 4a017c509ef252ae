// SPDX-License-Identifier: Apache-2.0
/* Error sentences: what is stored, what is cut, what survives a NULL. */
#include "base/status.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static void fail_fills_the_error(void)
{
    struct ifg_error err = { .saved_errno = 7 };

    CHECK_INT(ifg_fail(&err, IFG_CORRUPT, "block %d is %s", 3, "short"), IFG_CORRUPT);
    CHECK_INT(err.status, IFG_CORRUPT);
    CHECK_INT(err.saved_errno, 0);
    CHECK_STR(err.message, "block 3 is short");
}

static void null_error_is_allowed(void)
{
    errno = EACCES;
    CHECK_INT(ifg_fail(NULL, IFG_BUSY, "x"), IFG_BUSY);
    CHECK_INT(ifg_fail_errno(NULL, "x"), IFG_PERMISSION);
    CHECK_INT(ifg_fail_context(NULL, IFG_IO, "x"), IFG_IO);
}

static void fail_errno_names_the_reason(void)
{
    struct ifg_error err;

    errno = ENOENT;
    CHECK_INT(ifg_fail_errno(&err, "cannot open %s", "t.ifg"), IFG_NOT_FOUND);
    CHECK_INT(err.saved_errno, ENOENT);
    CHECK_STR(err.message, "cannot open t.ifg: No such file or directory");
}

static void context_goes_in_front(void)
{
    struct ifg_error err;

    errno = EIO;
    (void)ifg_fail_errno(&err, "cannot read block 2");
    CHECK_INT(ifg_fail_context(&err, IFG_CORRUPT, "t.ifg"), IFG_CORRUPT);
    CHECK_INT(err.status, IFG_CORRUPT);
    CHECK_INT(err.saved_errno, EIO);
    CHECK_STR(err.message, "t.ifg: cannot read block 2: Input/output error");
}

static void no_memory_has_one_wording(void)
{
    struct ifg_error err;

    CHECK_INT(ifg_fail_no_memory(&err, NULL), IFG_NO_MEMORY);
    CHECK_STR(err.message, "not enough memory");
    CHECK_INT(ifg_fail_no_memory(&err, "to read %s", "t.ifg"), IFG_NO_MEMORY);
    CHECK_INT(err.status, IFG_NO_MEMORY);
    CHECK_STR(err.message, "not enough memory to read t.ifg");
    CHECK_INT(ifg_fail_no_memory(NULL, "for a block"), IFG_NO_MEMORY);
    ifg_alloc_limit(1000);
    CHECK(ifg_alloc(1, 2000) == NULL);
    (void)ifg_fail_no_memory(&err, "for a block");
    CHECK(strncmp(err.message, "not enough memory for a block: it takes more than", 49) == 0);
    CHECK(strstr(err.message, "--max-memory") != NULL);
    ifg_alloc_limit(0);
}

static void long_messages_are_cut(void)
{
    struct ifg_error err;
    char text[2 * sizeof err.message];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)ifg_fail(&err, IFG_INVALID, "%s", text);
    CHECK_UINT(strlen(err.message), sizeof err.message - 1);
    (void)ifg_fail_context(&err, IFG_INVALID, "%s", text);
    CHECK_UINT(strlen(err.message), sizeof err.message - 1);
    errno = EIO;
    (void)ifg_fail_errno(&err, "%s", text);
    CHECK_UINT(strlen(err.message), sizeof err.message - 1);
    CHECK_INT(err.saved_errno, EIO);
}

static void errno_maps_to_kinds(void)
{
    static const struct {
        int error_number;
        enum ifg_status status;
    } table[] = {
        { 0, IFG_OK },
        { ENOENT, IFG_NOT_FOUND },
        { ESRCH, IFG_NOT_FOUND },
        { EPERM, IFG_PERMISSION },
        { EROFS, IFG_PERMISSION },
        { ENOMEM, IFG_NO_MEMORY },
        { EAGAIN, IFG_BUSY },
        { EINVAL, IFG_INVALID },
        { ENOSPC, IFG_IO },
        { 12345, IFG_IO },
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tap_note("errno %d", table[i].error_number);
        CHECK_INT(ifg_status_from_errno(table[i].error_number), table[i].status);
    }
}

static void every_status_has_its_own_name(void)
{
    for (int a = IFG_INTERNAL; a <= IFG_OK; a++) {
        CHECK(strcmp(ifg_status_name((enum ifg_status)a), "unknown") != 0);
        for (int b = a + 1; b <= IFG_OK; b++)
            CHECK(strcmp(ifg_status_name((enum ifg_status)a), ifg_status_name((enum ifg_status)b)));
    }
    CHECK_STR(ifg_status_name((enum ifg_status) - 99), "unknown");
}

TAP_MAIN(TAP_CASE(fail_fills_the_error), TAP_CASE(null_error_is_allowed),
         TAP_CASE(fail_errno_names_the_reason), TAP_CASE(context_goes_in_front),
         TAP_CASE(no_memory_has_one_wording), TAP_CASE(long_messages_are_cut),
         TAP_CASE(errno_maps_to_kinds), TAP_CASE(every_status_has_its_own_name))
