// SPDX-License-Identifier: Apache-2.0
/*
 * What works on this machine for this user. Each check tries what a recording would do, and says
 * what came of it; none only looks at a setting.
 */
#ifndef IFG_CLI_DOCTOR_H
#define IFG_CLI_DOCTOR_H

#include <stdbool.h>

enum doctor_state {
    DOCTOR_WORKS,
    DOCTOR_NO,
    DOCTOR_ABSENT, /* this machine does not have it; nothing is wrong */
};

struct doctor_finding {
    enum doctor_state state;
    char detail[400]; /* what works, or why it does not */
    char fix[400];    /* a command, or "" */
};

struct doctor_check {
    const char *id; /* in JSON */
    const char *name;
    bool needed; /* without it nothing can be recorded at all */
    void (*run)(struct doctor_finding *out_finding);
};

extern const struct doctor_check doctor_checks[];
extern const unsigned doctor_check_count;

/* Fills a finding, printf style. */
void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_fix(struct doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* doctor_perf.c */
void doctor_sampling(struct doctor_finding *out);
void doctor_kernel_frames(struct doctor_finding *out);
void doctor_switches(struct doctor_finding *out);
void doctor_counters(struct doctor_finding *out);

#endif
