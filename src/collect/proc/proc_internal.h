// SPDX-License-Identifier: Apache-2.0
/* What the sources of src/collect/proc share. */
#ifndef IFG_COLLECT_PROC_PROC_INTERNAL_H
#define IFG_COLLECT_PROC_PROC_INTERNAL_H

#include "base/small_file.h"
#include "collect/proc/proc.h"
#include "system/cgroup.h"
#include "system/host_counters.h"
#include "system/rapl.h"

#define MISSING   IFG_NO_NUMBER
#define SECOND_NS 1000000000ull
#define WORDS     160u /* bytes of a sentence */

/* ---- texts (parse.c); all of them hostile ---- */

#define DRM_ENGINES 8u

struct drm_engine {
    char name[24];
    uint64_t busy_ns;      /* MISSING: counts cycles */
    uint64_t cycles;       /* MISSING */
    uint64_t total_cycles; /* MISSING */
    uint32_t capacity;     /* how many engines have this name; 0: not told, one */
};

struct drm_client {
    char driver[32];
    char device[32];
    uint64_t id; /* clients may have several descriptors */
    uint64_t memory_bytes;
    struct drm_engine engines[DRM_ENGINES];
    size_t engine_count;
};
bool proc_parse_fdinfo(const char *text, struct drm_client *out);

/* The driver's name from "DRIVER=amdgpu" in uevent; "" if there is none. */
void proc_parse_driver(const char *text, char *out, size_t size);

/* Makes a word of what a driver says: letters, digits and a few signs. */
void proc_copy_word(char *out, size_t size, const char *from, size_t length);

/* ---- sources ---- */

static inline bool proc_is_due(uint64_t *next_ns, uint64_t now_ns, uint64_t every_ns, bool last)
{
    if (!last && now_ns < *next_ns)
        return false;
    *next_ns = now_ns + every_ns;
    return true;
}

static inline void proc_put(const struct proc_sink *sink, uint32_t pid, const char *name,
                            double value)
{
    sink->value(sink->user, pid, name, value);
}

static inline void proc_begin(const struct proc_sink *sink)
{
    if (sink->begin)
        sink->begin(sink->user);
}

/* The same for what may be missing. */
static inline void proc_put_count(const struct proc_sink *sink, uint32_t pid, const char *name,
                                  uint64_t value)
{
    if (value != MISSING)
        proc_put(sink, pid, name, (double)value);
}

/* How much more; 0 where it went back. */
static inline double proc_more(uint64_t now, uint64_t before)
{
    return now != MISSING && before != MISSING && now > before ? (double)(now - before) : 0;
}

struct proc_system {
    struct cpu_ticks all, *each; /* of the look before */
    struct cpu_ticks *fresh;
    char *text;
    uint64_t cpus_ns; /* of that look; 0: none yet */
    uint64_t pressure_us[5], pressure_ns;
    bool has_pressure;
};
bool proc_system_open(struct proc_system *system);
void proc_system_look(struct proc_system *system, const struct host_roots *roots, uint64_t now_ns,
                      const struct proc_sink *sink);
void proc_system_close(struct proc_system *system);

struct proc_frequency {
    unsigned cpus[16]; /* spread over the machine */
    size_t cpu_count;
    bool has_frequency, has_throttle;
    uint64_t next_ns;
};
void proc_frequency_open(struct proc_frequency *frequency, const struct host_roots *roots);
void proc_frequency_look(struct proc_frequency *frequency, const struct host_roots *roots,
                         uint64_t now_ns, bool last, const struct proc_sink *sink);

#define PROC_DRM_FDS     8u
#define PROC_THREADS_MAX 128u

struct proc_thread {
    uint32_t tid;
    bool seen;
    uint64_t voluntary, involuntary;
};

struct proc_process {
    uint32_t pid;
    bool seen;
    uint64_t start_ticks; /* another one means another process */
    uint64_t cpu_ns, at_ns;
    uint64_t next_slow_ns, next_pss_ns;
    struct proc_thread *threads; /* PROC_THREADS_MAX */
    size_t thread_count;
    uint64_t voluntary, involuntary;
    bool io_denied;
    uint32_t drm_fds[PROC_DRM_FDS];
    bool drm_is_npu[PROC_DRM_FDS];
    size_t drm_fd_count;
    bool fds_read; /* we may */
    unsigned nvidia_open, accel_open;
    uint64_t next_drm_ns;
    struct drm_client drm[PROC_DRM_FDS]; /* as they were */
    size_t drm_count;
    uint64_t drm_ns;
    uint64_t next_group_ns;
    struct cgroup group; /* its folder is "" while it is not known */
};
void proc_process_look(struct proc_process *process, const struct host_roots *roots,
                       uint64_t begin_ns, uint64_t now_ns, bool last, const struct proc_sink *sink);
void proc_process_close(struct proc_process *process);

void proc_cgroup_find(struct proc_process *process, const struct host_roots *roots,
                      uint64_t now_ns);
void proc_cgroup_look(const struct proc_process *process, const struct proc_sink *sink);

struct proc_others {
    struct proc_other *before;
    size_t before_count;
    uint64_t at_ns, next_ns;
};
void proc_others_look(struct proc_others *others, const struct host_roots *roots,
                      const struct proc_process *followed, size_t followed_count, uint64_t now_ns,
                      bool last, const struct proc_sink *sink);
void proc_others_close(struct proc_others *others);

/* A device of the kernel's DRM or accel class. */
struct proc_device {
    char path[128]; /* /sys/class/drm/card0 */
    char driver[32];
    uint64_t idle_ms, busy_us, at_ns; /* of the look before */
    bool tells;                       /* anything at all */
};

#define PROC_DEVICES_MAX 8u

struct proc_devices {
    struct proc_device items[PROC_DEVICES_MAX];
    size_t count;
    size_t first; /* the number of the first one: after NVIDIA's */
    uint64_t next_ns;
    char words[WORDS];
};
void proc_drm_open(struct proc_devices *gpus, const struct host_roots *roots);
void proc_drm_look(struct proc_devices *gpus, uint64_t now_ns, bool last,
                   const struct proc_sink *sink);
void proc_drm_look_process(struct proc_process *process, const struct host_roots *roots,
                           const struct proc_devices *gpus, const struct proc_devices *npus,
                           uint64_t now_ns, const struct proc_sink *sink);
void proc_npu_open(struct proc_devices *npus, const struct host_roots *roots);
void proc_npu_look(struct proc_devices *npus, const struct host_roots *roots, uint64_t now_ns,
                   bool last, const struct proc_sink *sink);
bool proc_is_npu_driver(const char *driver);
/* The devices of a class whose names are prefix and a number; npu.c uses it too. */
void proc_devices_find(struct proc_devices *devices, const char *folder, const char *prefix);

#define PROC_SENSORS_MAX 16u

/* A file of hwmon with a number in it. */
struct proc_sensor {
    char path[160];
    char name[PROC_NAME_BYTES]; /* of the counter */
    double scale;
};

/* What processors and boards tell of energy, power and heat (power.c). */
struct proc_power {
    struct rapl rapl;
    double joules;     /* since it was opened; NAN: not known any more */
    char words[WORDS]; /* why there is no energy of the CPU; "" */
    struct proc_sensor sensors[PROC_SENSORS_MAX];
    size_t sensor_count;
    uint64_t next_sensors_ns;
};
void proc_power_open(struct proc_power *power, const struct host_roots *roots);
void proc_power_look(struct proc_power *power, uint64_t now_ns, bool last,
                     const struct proc_sink *sink);

/* Only what tells energy or power (proc.c, for idle.c); the last look has clocks, too. */
void proc_look_power(struct proc_collector *collector, uint64_t now_ns, bool last,
                     const struct proc_sink *sink);

struct proc_nvml;
struct proc_nvml *proc_nvml_open(char *out_words, size_t size); /* NULL: the words say why */
void proc_nvml_look(struct proc_nvml *nvml, const pid_t *pids, size_t count, uint64_t now_ns,
                    bool last, const struct proc_sink *sink);
size_t proc_nvml_list(const struct proc_nvml *nvml, struct proc_device_info *out, size_t most);
bool proc_nvml_any_mig(const struct proc_nvml *nvml);
void proc_nvml_close(struct proc_nvml *nvml);

#endif
