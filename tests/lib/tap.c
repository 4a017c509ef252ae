// SPDX-License-Identifier: Apache-2.0
/* The test harness: see tap.h. The verdict of a case travels in a page shared with its process. */
#include "tap.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct verdict {
    atomic_int failures;
    bool ended; /* the case returned or ended itself; it did not call exit */
    bool skipped;
    char reason[256];
    char note[512];
};

static struct verdict *verdict;
static int report = STDOUT_FILENO;
static jmp_buf case_end;

/* Every line of text as one TAP comment, in one write so that threads do not mix. */
static void comment(const char *text)
{
    char line[4096] = "# ";
    size_t used = 2;

    for (; *text && used < sizeof line - 4; text++) {
        line[used++] = *text;
        if (*text == '\n' && text[1]) {
            line[used++] = '#';
            line[used++] = ' ';
        }
    }
    if (line[used - 1] != '\n')
        line[used++] = '\n';
    if (write(report, line, used) < 0)
        _exit(99);
}

void tap_diag(const char *format, ...)
{
    char text[3072];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    comment(text);
}

void tap_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->note, sizeof verdict->note, format, args);
    va_end(args);
}

void tap_end_case(void)
{
    longjmp(case_end, 1);
}

/* Whether the machine is said to have what is missing. */
static bool is_required(const char *reason)
{
    const char *list = getenv("IFG_REQUIRE");
    size_t length = strcspn(reason, ":");

    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (reason[length] && strcspn(list, ",") == length && !strncmp(list, reason, length))
            return true;
    return false;
}

void tap_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, args);
    va_end(args);
    if (is_required(verdict->reason)) {
        atomic_fetch_add(&verdict->failures, 1);
        tap_diag("IFG_REQUIRE has it, and yet: %s", verdict->reason);
    }
    verdict->skipped = true;
    tap_end_case();
}

bool tap_true(const char *file, int line, bool good, const char *text)
{
    if (good)
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: false: %s", file, line, text);
    return false;
}

bool tap_int(const char *file, int line, const char *what, int64_t got, int64_t expected)
{
    if (got == expected)
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: %s\n    got      %lld\n    expected %lld", file, line, what, (long long)got,
             (long long)expected);
    return false;
}

bool tap_uint(const char *file, int line, const char *what, uint64_t got, uint64_t expected)
{
    if (got == expected)
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: %s\n    got      %llu (0x%llx)\n    expected %llu (0x%llx)", file, line, what,
             (unsigned long long)got, (unsigned long long)got, (unsigned long long)expected,
             (unsigned long long)expected);
    return false;
}

bool tap_str(const char *file, int line, const char *what, const char *got, const char *expected)
{
    if (got == expected || (got && expected && strcmp(got, expected) == 0))
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: %s\n    got      \"%s\"\n    expected \"%s\"", file, line, what,
             got ? got : "(null)", expected ? expected : "(null)");
    return false;
}

bool tap_contains(const char *file, int line, const char *what, const char *text, const char *part)
{
    if (text && part && strstr(text, part))
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: %s\n    got      \"%s\"\n    lacks    \"%s\"", file, line, what,
             text ? text : "(null)", part ? part : "(null)");
    return false;
}

bool tap_bytes(const char *file, int line, const char *what, const void *got, const void *expected,
               size_t size)
{
    const uint8_t *a = got, *b = expected;
    size_t at = 0;

    while (at < size && a[at] == b[at])
        at++;
    if (at == size)
        return true;
    atomic_fetch_add(&verdict->failures, 1);
    tap_diag("%s:%d: %s: byte %zu of %zu\n    got      0x%02x\n    expected 0x%02x", file, line,
             what, at, size, a[at], b[at]);
    return false;
}

/* What follows a word and blanks in a line; NULL if it begins with another word. */
static const char *behind(const char *line, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(line, word, length) != 0 || line[length] != ' ')
        return NULL;
    return line + length + strspn(line + length, " ");
}

/* Why a case cannot be run where a program stands in for the processor: IFG_EMULATED names the list
 * (tests/emulated.txt). Leaves reason empty if it can; false if there is no such list. */
static bool look_up_emulated(const char *name, char *reason, size_t size)
{
    const char *path = getenv("IFG_EMULATED");
    char line[512];
    FILE *list;

    if (!path)
        return true;
    list = fopen(path, "r");
    if (!list)
        return false;
    while (!reason[0] && fgets(line, sizeof line, list)) {
        const char *which = behind(line, program_invocation_short_name);
        const char *why = which ? behind(which, "*") : NULL;

        line[strcspn(line, "\n")] = '\0';
        if (which && !why)
            why = behind(which, name);
        if (why)
            snprintf(reason, size, "qemu: %s", why);
    }
    fclose(list);
    return true;
}

static void run_case(const struct tap_case *test)
{
    if (setjmp(case_end) == 0)
        test->run();
    verdict->ended = true;
}

/* Waits for the child up to the limit, then kills its process group. Returns false on timeout. */
static bool await(pid_t child, unsigned limit_s, const sigset_t *chld, int *out_status)
{
    struct timespec now, deadline;
    bool in_time = true;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += limit_s;
    while (waitpid(child, out_status, WNOHANG) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= deadline.tv_sec && in_time) {
            in_time = false;
            kill(-child, SIGKILL);
        }
        sigtimedwait(chld, NULL, &(struct timespec){ .tv_nsec = 200000000 });
    }
    kill(-child, SIGKILL); /* what the case left behind */
    return in_time;
}

static bool run_forked(const struct tap_case *test, unsigned limit_s)
{
    sigset_t chld, before;
    int status = 0;
    bool in_time;
    pid_t child;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, &before, NULL);
        run_case(test);
        exit(0); /* not _exit: leak checkers run at exit */
    }
    if (child < 0) {
        tap_diag("cannot fork: %s", strerror(errno));
        return false;
    }
    setpgid(child, child);
    in_time = await(child, limit_s, &chld, &status);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!in_time)
        tap_diag("did not end within %u s", limit_s);
    else if (WIFSIGNALED(status))
        tap_diag("killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0 || !verdict->ended)
        tap_diag("ended with exit status %d", WEXITSTATUS(status));
    return in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0 && verdict->ended;
}

int tap_run(int argc, char **argv, const struct tap_case *cases, size_t count)
{
    const char *filter = "", *scale = getenv("TAP_TIMEOUT_SCALE");
    bool forked = true;
    size_t chosen = 0, number = 0, failed = 0, i;
    int option;

    while ((option = getopt(argc, argv, "k:n")) != -1) {
        if (option == '?') {
            fprintf(stderr, "usage: %s [-k NAME] [-n]\n", argv[0]);
            return 2;
        }
        filter = option == 'k' ? optarg : filter;
        forked = forked && option != 'n';
    }
    for (i = 0; i < count; i++)
        chosen += strstr(cases[i].name, filter) != NULL;
    verdict =
        mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    report = dup(STDOUT_FILENO);
    if (verdict == MAP_FAILED || report < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 99;
    dprintf(report, "TAP version 13\n1..%zu%s\n", chosen, chosen ? "" : " # SKIP no such case");
    for (i = 0; i < count; i++) {
        unsigned limit_s = cases[i].timeout_s ? cases[i].timeout_s : 60;
        bool good = true;

        if (!strstr(cases[i].name, filter))
            continue;
        memset(verdict, 0, sizeof *verdict);
        if (!look_up_emulated(cases[i].name, verdict->reason, sizeof verdict->reason))
            return 99;
        if (verdict->reason[0])
            verdict->skipped = true;
        else if (forked)
            good =
                run_forked(&cases[i], limit_s * (unsigned)(scale ? strtoul(scale, NULL, 10) : 1));
        else
            run_case(&cases[i]);
        good = good && atomic_load(&verdict->failures) == 0;
        if (!good && verdict->note[0])
            tap_diag("while: %s", verdict->note);
        failed += !good;
        dprintf(report, "%s %zu - %s%s%s\n", good ? "ok" : "not ok", ++number, cases[i].name,
                good && verdict->skipped ? " # SKIP " : "", good ? verdict->reason : "");
    }
    return failed ? 1 : 0;
}
