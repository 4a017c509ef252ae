// SPDX-License-Identifier: Apache-2.0
/*
 * What works on this machine for this user. Each check tries what a recording would do, and says
 * what came of it; none only looks at a setting.
 */
#ifndef IFG_CLI_DOCTOR_H
#define IFG_CLI_DOCTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/json.h"
#include "collect/perf/perf_errors.h"
#include "collect/proc/proc.h"

enum doctor_state {
    DOCTOR_WORKS,
    DOCTOR_NO,
    DOCTOR_ABSENT, /* this machine does not have it; nothing is wrong */
};

/* Rows of a group stand together, in this order. */
enum doctor_group {
    DOCTOR_RECORDING,
    DOCTOR_SAMPLING,
    DOCTOR_CODE,
    DOCTOR_MACHINE,
    DOCTOR_ACCELERATORS,
};

struct doctor_finding {
    enum doctor_state state;
    char detail[512]; /* what works, or why it does not */
    char fix[768];    /* a command, or "" */
};

struct doctor_check {
    const char *id; /* in JSON, and on the command line */
    const char *name;
    enum doctor_group group;
    bool needed; /* without it nothing can be recorded at all */
    void (*run)(struct doctor_finding *out_finding);
    void (*prepare)(void); /* begins what takes long, before the others are run; or NULL */
};

extern const struct doctor_check doctor_checks[];
extern const unsigned doctor_check_count;

/* Fills a finding, printf style. */
void doctor_say(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_fix(struct doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A refusal with its command (see cli/advice.h). */
void doctor_refused(struct doctor_finding *finding, const char *message);

/* The same for a perf event (doctor_perf.c). */
void doctor_perf_refused(struct doctor_finding *finding, enum perf_error_wish wish, int error);

/* ---- doctor_text.c ---- */

/* chosen and findings have as many items as there are checks; those not chosen are not shown. */
void doctor_write_text(struct ifg_bytes *out, const bool *chosen,
                       const struct doctor_finding *findings);

/* ---- doctor_devices.c ---- */

/* What a recording may have of a device. */
enum doctor_give {
    DOCTOR_UTILISATION,
    DOCTOR_MEMORY,
    DOCTOR_POWER,
    DOCTOR_ENERGY,
    DOCTOR_CLOCKS,
    DOCTOR_TEMPERATURE,
    DOCTOR_THROTTLING,
    DOCTOR_PROCESSES, /* who uses how much of it */
    DOCTOR_QUEUE,
    DOCTOR_KERNELS,
    DOCTOR_GIVES,
};
extern const char *const doctor_gives[DOCTOR_GIVES];

#define DOCTOR_DEVICES (PROC_DEVICE_INFOS + 1u)
#define DOCTOR_LACKS   6u

struct doctor_lack {
    char what[32];
    char why[200];
    char fix[120]; /* a command, or "" */
};

struct doctor_device {
    char name[16]; /* "cpu", "gpu 0" */
    char model[128];
    char driver[32];
    bool gives[DOCTOR_GIVES];
    struct doctor_lack lacks[DOCTOR_LACKS];
    size_t lack_count;
};

struct doctor_devices {
    struct doctor_device items[DOCTOR_DEVICES]; /* the processors first */
    size_t count;
};

void doctor_devices_list(const struct host_roots *roots, struct doctor_devices *out);
const struct doctor_devices *doctor_devices_found(void); /* of this machine, looked for once */
void doctor_devices_text(struct ifg_bytes *out);
void doctor_devices_json(struct ifg_json *json); /* a key of an open object */

/* ---- doctor_progress.c ---- */

/* Tells on a terminal what is being tried, once that takes longer than a second. */
struct doctor_progress {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    const char *trying;
    bool running;
    bool over;
};

void doctor_progress_begin(struct doctor_progress *progress);
void doctor_progress_say(struct doctor_progress *progress, const char *name);
void doctor_progress_end(struct doctor_progress *progress);

/* ---- the checks ---- */

/* doctor_perf.c */
void doctor_sampling(struct doctor_finding *out);
void doctor_kernel_frames(struct doctor_finding *out);
void doctor_switches(struct doctor_finding *out);
void doctor_wakers(struct doctor_finding *out);
void doctor_counters(struct doctor_finding *out);

/* doctor_limits.c */
void doctor_ring_memory(struct doctor_finding *out);
void doctor_descriptors(struct doctor_finding *out);
void doctor_sample_rate(struct doctor_finding *out);

/* doctor_code.c */
void doctor_kernel_names(struct doctor_finding *out);
void doctor_deleted_libraries(struct doctor_finding *out);
void doctor_symbols(struct doctor_finding *out);
void doctor_disassembler(struct doctor_finding *out);

/* doctor_machine.c */
void doctor_computer(struct doctor_finding *out);
void doctor_clock(struct doctor_finding *out);
void doctor_resources(struct doctor_finding *out);
void doctor_pressure(struct doctor_finding *out);
void doctor_cgroup(struct doctor_finding *out);
void doctor_frequency(struct doctor_finding *out);
void doctor_throttling(struct doctor_finding *out);
void doctor_energy(struct doctor_finding *out);
void doctor_nvidia(struct doctor_finding *out);
void doctor_gpus(struct doctor_finding *out);
void doctor_npus(struct doctor_finding *out);
void doctor_devices_check(struct doctor_finding *out);

#endif
