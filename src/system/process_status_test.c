// SPDX-License-Identifier: Apache-2.0
/* Reading stat and status: hostile names, texts that are cut, lists without an end. */
#include "system/process_status.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"
#include "tests/lib/tap.h"

/* Fields 5 to 21, then 22, the start time, and more. */
#define REST " 1 2 0 -1 4 10 0 12 0 14 15 0 0 20 0 7 0 424242 1000 24 18446744073709551615 26 27 28"

static struct process_stat parsed;

static bool parse(const char *text)
{
    memset(&parsed, 0xee, sizeof parsed);
    return process_stat_parse(text, &parsed);
}

static void stat_is_read(void)
{
    REQUIRE(parse("4711 (cat) R 17" REST "\n"));
    CHECK_STR(parsed.name, "cat");
    CHECK_INT(parsed.state, 'R');
    CHECK_INT(parsed.parent, 17);
    CHECK(parsed.is_exiting);
    CHECK_UINT(parsed.minor_faults, 10);
    CHECK_UINT(parsed.major_faults, 12);
    CHECK_UINT(parsed.ticks, 29);
    CHECK_UINT(parsed.threads, 7);
    CHECK_UINT(parsed.start_ticks, 424242);
    CHECK_UINT(parsed.rss_pages, 24);
    CHECK_UINT(parsed.code_start, 26);
    CHECK_UINT(parsed.stack_start, 28);
    CHECK_UINT(parsed.last_cpu, 0);
}

static void stat_survives_evil_names(void)
{
    static const char *const names[] = {
        "a b", ")",    "(", ") R 1 ", ") Z 99 1 1", "((((",      "))))",
        "\n",  "a\nb", "",  " ",      "\033[31m",   "x) S 5 (y",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[256];

        tap_note("name %zu", i);
        snprintf(text, sizeof text, "1 (%s) S 33%s", names[i], REST);
        REQUIRE(parse(text));
        CHECK_STR(parsed.name, names[i]);
        CHECK_INT(parsed.parent, 33);
        CHECK_UINT(parsed.start_ticks, 424242);
    }
}

static void stat_cuts_long_names(void)
{
    char text[512];

    snprintf(text, sizeof text, "1 (%0100d) S 33%s", 0, REST);
    REQUIRE(parse(text));
    CHECK_UINT(strlen(parsed.name), sizeof parsed.name - 1);
    CHECK_INT(parsed.parent, 33);
}

static void stat_refuses_what_is_cut(void)
{
    const char *whole = "4711 (ca) t) R 17" REST;
    size_t resident = (size_t)(strstr(whole, "24 1844") - whole);

    for (size_t length = 0; length < resident; length++) {
        /* Exactly as long as the text, so that a sanitizer sees a step too far. */
        char *text = strndup(whole, length);

        REQUIRE(text != NULL);
        tap_note("length %zu", length);
        CHECK(!parse(text));
        free(text);
    }
    CHECK(parse(whole));
    CHECK(!parse(""));
    CHECK(!parse(")("));
    CHECK(!parse("1 ) S 1 ("));
    CHECK(!parse("1 (a)"));
    CHECK(!parse("1 (a) "));
    CHECK(!parse("1 (a) S"));
    CHECK(!parse("1 (a) S "));
}

static void status_is_read(void)
{
    struct process_status now;

    process_status_parse("Name:\tSeccomp:\\n2\nState:\tS (sleeping)\nPPid:\t5\nTracerPid:\t6\n"
                         "NStgid:\t100\t7\nNSpid:\t101\t20\t8\nVmHWM:\t 6 kB\nVmRSS:\t 5 kB\n"
                         "Seccomp:\t2\nSeccomp_filters:\t3\nvoluntary_ctxt_switches:\t9\n"
                         "nonvoluntary_ctxt_switches:\t10\nx86_Thread_features:\tshstk \n",
                         &now);
    CHECK_STR(now.name, "Seccomp:\\n2");
    CHECK_INT(now.state, 'S');
    CHECK_INT(now.parent, 5);
    CHECK_INT(now.tracer, 6);
    CHECK_INT(now.own_pid, 7);
    CHECK_INT(now.own_tid, 8);
    CHECK_UINT(now.rss_bytes, 5120);
    CHECK_UINT(now.peak_rss_bytes, 6144);
    CHECK_UINT(now.anon_bytes, IFG_NO_NUMBER);
    CHECK_UINT(now.seccomp_mode, 2);
    CHECK_UINT(now.seccomp_filters, 3);
    CHECK_UINT(now.voluntary_switches, 9);
    CHECK_UINT(now.involuntary_switches, 10);
    CHECK(now.shadow_stack);
    CHECK(!now.has_owner);
}

static void nothing_is_believed_that_makes_no_sense(void)
{
    struct process_status now;

    process_status_parse("VmRSS: 99999999999999999999 kB\nVmHWM: 18446744073709551614 kB\n"
                         "CapEff:\tffffffffffffffff\nPPid:\t99999999999\nSeccomp:\t2",
                         &now);
    CHECK_UINT(now.rss_bytes, IFG_NO_NUMBER);
    CHECK_UINT(now.peak_rss_bytes, IFG_NO_NUMBER);
    CHECK_UINT(now.effective, 0); /* nobody said whose they are */
    CHECK_INT(now.parent, 0);
    CHECK_UINT(now.seccomp_mode, 0); /* the line may be cut */
    process_status_parse("", &now);
    CHECK_UINT(now.voluntary_switches, IFG_NO_NUMBER);
}

/* A user namespace lets anybody have that many, and what matters stands behind them. */
static void groups_hide_nothing(void)
{
    char folder[] = "process_status_XXXXXX";
    struct process_status now;
    char path[64];
    FILE *file;

    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/status", folder);
    file = fopen(path, "we");
    REQUIRE(file != NULL);
    fputs("Name:\tx\nUid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\nGroups:\t", file);
    for (unsigned i = 0; i < 65536; i++)
        fprintf(file, "%u ", 4000000000u + i);
    fputs("\nSigPnd:\t0000000000000100\nCapPrm:\t1\nCapEff:\t2\nSeccomp:\t2\n", file);
    fclose(file);
    CHECK(process_status_in(folder, &now));
    CHECK_UINT(now.pending, 1u << (SIGKILL - 1));
    unlink(path);
    rmdir(folder);
    CHECK_UINT(now.group_count, PROCESS_GROUPS_MAX);
    CHECK_UINT(now.groups[PROCESS_GROUPS_MAX - 1], 4000000000u + PROCESS_GROUPS_MAX - 1);
    CHECK(now.has_owner);
    CHECK_UINT(now.uids[0], 1);
    CHECK_UINT(now.effective, 2);
    CHECK_UINT(now.seccomp_mode, 2);
    CHECK(!process_status_in(folder, &now));
}

static void this_process_is_found(void)
{
    struct process_status status;
    struct process_stat stat;

    REQUIRE(process_stat_of(getpid(), &stat));
    REQUIRE(process_status_of(getpid(), &status));
    CHECK_INT(stat.parent, getppid());
    CHECK_INT(status.parent, getppid());
    CHECK_STR(stat.name, status.name);
    CHECK(status.has_owner);
    CHECK_UINT(status.uids[1], geteuid());
    CHECK_INT(status.own_tid, gettid());
    CHECK(status.rss_bytes > 4096 && status.rss_bytes <= status.peak_rss_bytes);
    CHECK(!process_has_ended(getpid()) && process_has_ended(0x7fffffff));
    CHECK(!process_stat_of(0, &stat));
    CHECK(!process_status_of(-1, &status));
}

TAP_MAIN(TAP_CASE(stat_is_read), TAP_CASE(stat_survives_evil_names), TAP_CASE(stat_cuts_long_names),
         TAP_CASE(stat_refuses_what_is_cut), TAP_CASE(status_is_read),
         TAP_CASE(nothing_is_believed_that_makes_no_sense), TAP_CASE(groups_hide_nothing),
         TAP_CASE(this_process_is_found))
