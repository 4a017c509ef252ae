// SPDX-License-Identifier: Apache-2.0
/* What a trace is told of instruments. */
#include "record/instruments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

/* Traces are read by others: a recording of root's must not tell them to use sudo. */
static void root_is_not_told_to_use_sudo(void)
{
    char path[] = "/tmp/instruments_test.XXXXXX";
    struct trace_writer *writer = NULL;
    struct instruments instruments = { 0 };
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    close(fd);
    REQUIRE(!trace_writer_create(path, true, &writer, NULL));
    CHECK(instruments_report(&instruments, writer, "probes", TRACE_INSTRUMENT_UNAVAILABLE,
                             "not allowed; use sudo, or `sudo sysctl a=0`"));
    CHECK_STR(instruments_find(&instruments, "probes")->reason,
              geteuid() == 0 ? "not allowed; `sysctl a=0`"
                             : "not allowed; use sudo, or `sudo sysctl a=0`");
    CHECK(!trace_writer_close(writer, NULL));
    unlink(path);
}

TAP_MAIN(TAP_CASE(root_is_not_told_to_use_sudo))
