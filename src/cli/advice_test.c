// SPDX-License-Identifier: Apache-2.0
/* Sentences with a command in them, and commands in lines that a shell still understands. */
#include "cli/advice.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void a_command_stands_apart(void)
{
    struct advice advice;

    advice_split("perf_event_paranoid is 2; `sudo sysctl kernel.perf_event_paranoid=1`", &advice);
    CHECK_STR(advice.sentence, "perf_event_paranoid is 2");
    CHECK_STR(advice.command, "sudo sysctl kernel.perf_event_paranoid=1");
    advice_split("no driver", &advice);
    CHECK_STR(advice.sentence, "no driver");
    CHECK_STR(advice.command, "");
    advice_split("", &advice);
    CHECK_STR(advice.sentence, "");
}

static void a_right_is_granted_to_the_helper_if_there_is_one(void)
{
    struct advice advice;

    advice_split(
        "cannot set probes: this needs CAP_BPF; use sudo, or once `sudo setcap cap_bpf+ep` "
        "on inferogram-privileged; without rights, start the program under `inferogram "
        "record -- COMMAND`",
        &advice);
    /* Beside a test there is none. */
    CHECK_CONTAINS(advice.sentence, "cannot set probes: this needs CAP_BPF; use sudo");
    CHECK_STR(advice.command, "");
}

static void other_texts_stay_whole(void)
{
    struct advice advice;
    char text[2000];

    advice_split(
        "a seccomp filter forbids it; run it elsewhere; without rights, start `inferogram`",
        &advice);
    CHECK_STR(advice.sentence, "a seccomp filter forbids it; run it elsewhere");
    CHECK_STR(advice.command, "");
    advice_split("cut short; `sudo sysctl kernel.perf_ev", &advice);
    CHECK_STR(advice.sentence, "cut short; `sudo sysctl kernel.perf_ev");
    CHECK_STR(advice.command, "");
    memset(text, 'x', sizeof text);
    memcpy(text, "`sudo ", 6);
    text[sizeof text - 2] = '`';
    text[sizeof text - 1] = '\0';
    advice_split(text, &advice);
    CHECK_UINT(strlen(advice.sentence), ADVICE_SENTENCE - 1);
    CHECK_STR(advice.command, "");
}

/* What a shell makes of lines: those that go on are one, and blanks are one. */
static void read_like_a_shell(const char *lines, char *out)
{
    for (; *lines; lines++) {
        if (strncmp(lines, "\\\n", 2) == 0)
            lines++;
        else if (*lines != '\n' && (*lines != ' ' || (*out && out[strlen(out) - 1] != ' ')))
            strncat(out, lines, 1);
        else if (*lines == '\n' && lines[1])
            strncat(out, " ", 2);
    }
}

static void check_lines(const char *command, size_t indent, size_t columns)
{
    struct ifg_bytes out;
    char text[2000] = "";
    const char *at;

    ifg_bytes_init(&out, sizeof text);
    advice_put_command(&out, command, indent, columns);
    ifg_bytes_put(&out, "", 1);
    REQUIRE(out.size < sizeof text);
    for (at = (const char *)out.data; *at; at += strcspn(at, "\n") + 1)
        CHECK(strcspn(at, "\n") <= columns);
    read_like_a_shell((const char *)out.data, text);
    CHECK_STR(text, command);
    ifg_bytes_fini(&out);
}

static void long_commands_are_broken_where_a_shell_goes_on(void)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1000);
    advice_put_command(&out, "sudo sysctl a=1", 4, 40);
    ifg_bytes_put(&out, "", 1);
    CHECK_STR((const char *)out.data, "    sudo sysctl a=1\n");
    ifg_bytes_fini(&out);
    for (size_t columns = 36; columns < 110; columns++) {
        check_lines("sudo setcap cap_bpf,cap_perfmon+ep /usr/bin/inferogram", 0, columns);
        check_lines("sudo mount -o gid=$(id -g) nodev /sys && sudo setcap cap_bpf+ep '/a b'", 6,
                    columns);
    }
}

TAP_MAIN(TAP_CASE(a_command_stands_apart),
         TAP_CASE(a_right_is_granted_to_the_helper_if_there_is_one),
         TAP_CASE(other_texts_stay_whole), TAP_CASE(long_commands_are_broken_where_a_shell_goes_on))
