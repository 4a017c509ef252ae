// SPDX-License-Identifier: Apache-2.0
/* Which words root is spared. */
#include "base/sudo.h"

#include <stdio.h>
#include <unistd.h>

#include "tap.h"

/* Root is not told to become root. */
static void root_needs_no_sudo(void)
{
    static const struct {
        const char *said, *left;
    } cases[] = {
        { "this needs CAP_SYS_PTRACE; use sudo", "this needs CAP_SYS_PTRACE" },
        { "3 processes were not looked into; try sudo", "3 processes were not looked into" },
        { "x: this needs y; use sudo, or once `sudo setcap y+ep z`",
          "x: this needs y; once `setcap y+ep z`" },
        { "use it as that user, or with sudo", "use it as that user" },
        { "the right CAP_SYS_PTRACE (sudo)", "the right CAP_SYS_PTRACE" },
        { "sudo sysctl kernel.kptr_restrict=0", "sysctl kernel.kptr_restrict=0" },
        { "allow it: sudo sysctl a=0, sudo sysctl b=0", "allow it: sysctl a=0, sysctl b=0" },
        { "cannot open pseudo-sudo/x", "cannot open pseudo-sudo/x" },
        { "paranoid is 3; record with sudo", "paranoid is 3" },
        { "its memory is closed; record it with sudo, or start it under us",
          "its memory is closed; start it under us" },
        { "start it with `record -- COMMAND`, use sudo, or `sudo sysctl a=0`",
          "start it with `record -- COMMAND`, or `sysctl a=0`" },
        { "", "" },
    };
    char text[200];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "%s", cases[i].said);
        CHECK_STR(ifg_without_sudo(text), cases[i].left);
    }
}

/* What a recorder keeps in a trace passes through this. */
static void only_root_is_told_nothing(void)
{
    char text[] = "not allowed; use sudo";

    CHECK_STR(ifg_fit_sudo(text), geteuid() == 0 ? "not allowed" : "not allowed; use sudo");
}

TAP_MAIN(TAP_CASE(root_needs_no_sudo), TAP_CASE(only_root_is_told_nothing))
