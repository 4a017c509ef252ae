// SPDX-License-Identifier: Apache-2.0
/*
 * A small test harness that speaks TAP 13.
 *
 * A test program lists its cases and ends with TAP_MAIN. Each case runs in a process of its own
 * with a time limit, so a crash or a hang costs one case. CHECK notes a failure and goes on;
 * REQUIRE ends the case; SKIP ends it with a reason. REQUIRE and SKIP belong on the case's own
 * thread, CHECK works on any. What a case prints on stdout goes to stderr, so that it cannot
 * disturb the report.
 *
 * Options of a test program: -k TEXT runs the cases whose name contains TEXT, -n runs them in this
 * process (for a debugger; no time limit).
 */
#ifndef IFG_TESTS_TAP_H
#define IFG_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap_case {
    const char *name;
    void (*run)(void);
    unsigned timeout_s; /* 0 = 60; multiplied by TAP_TIMEOUT_SCALE from the environment */
};

#define TAP_CASE(function)                                                                         \
    {                                                                                              \
#function, function, 0                                                                     \
    }
#define TAP_CASE_TIMEOUT(function, seconds)                                                        \
    {                                                                                              \
#function, function, seconds                                                               \
    }

#define TAP_MAIN(...)                                                                              \
    static const struct tap_case tap_cases[] = { __VA_ARGS__ };                                    \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return tap_run(argc, argv, tap_cases, sizeof tap_cases / sizeof tap_cases[0]);             \
    }

/* Each prints both values when they differ. Got first, expected second. */
#define CHECK(condition)           ((void)tap_true(TAP_HERE, (condition), #condition))
#define CHECK_INT(got, expected)   ((void)tap_int(TAP_HERE, #got, (got), (expected)))
#define CHECK_UINT(got, expected)  ((void)tap_uint(TAP_HERE, #got, (got), (expected)))
#define CHECK_STR(got, expected)   ((void)tap_str(TAP_HERE, #got, (got), (expected)))
#define CHECK_CONTAINS(text, part) ((void)tap_contains(TAP_HERE, #text, (text), (part)))
#define CHECK_BYTES(got, expected, size)                                                           \
    ((void)tap_bytes(TAP_HERE, #got, (got), (expected), (size)))

/* The same, but a failure ends the case. */
#define REQUIRE(condition)           TAP_OR_END(tap_true(TAP_HERE, (condition), #condition))
#define REQUIRE_INT(got, expected)   TAP_OR_END(tap_int(TAP_HERE, #got, (got), (expected)))
#define REQUIRE_UINT(got, expected)  TAP_OR_END(tap_uint(TAP_HERE, #got, (got), (expected)))
#define REQUIRE_STR(got, expected)   TAP_OR_END(tap_str(TAP_HERE, #got, (got), (expected)))
#define REQUIRE_CONTAINS(text, part) TAP_OR_END(tap_contains(TAP_HERE, #text, (text), (part)))

/* Ends the case without a verdict, printf style: what this machine lacks. "ABILITY: why" is a
 * failure where IFG_REQUIRE, a list with commas, has the ability (CONTRIBUTING.md). */
#define SKIP(...) tap_skip(__VA_ARGS__)

/* A line of explanation, shown always. */
void tap_diag(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the case is doing now, shown only if it crashes, hangs or fails. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the macros above expand to. */
#define TAP_HERE __FILE__, __LINE__
#define TAP_OR_END(check)                                                                          \
    do {                                                                                           \
        if (!(check))                                                                              \
            tap_end_case();                                                                        \
    } while (0)

int tap_run(int argc, char **argv, const struct tap_case *cases, size_t count);
bool tap_true(const char *file, int line, bool good, const char *text);
bool tap_int(const char *file, int line, const char *what, int64_t got, int64_t expected);
bool tap_uint(const char *file, int line, const char *what, uint64_t got, uint64_t expected);
bool tap_str(const char *file, int line, const char *what, const char *got, const char *expected);
bool tap_contains(const char *file, int line, const char *what, const char *text, const char *part);
bool tap_bytes(const char *file, int line, const char *what, const void *got, const void *expected,
               size_t size);
void tap_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void tap_end_case(void) __attribute__((noreturn));

#endif
