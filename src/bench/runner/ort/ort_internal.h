// SPDX-License-Identifier: Apache-2.0
/* What the files of this folder share. */
#ifndef IFG_BENCH_ORT_INTERNAL_H
#define IFG_BENCH_ORT_INTERNAL_H

#include <limits.h>
#include <stdbool.h>

#include "bench/runner/ort/ort.h"
#include "ort_abi/api.h"

#define ORT_OLDEST_MINOR 14

/* OrtErrorCode */
enum {
    ORT_CODE_FAIL = 1,
    ORT_CODE_INVALID_ARGUMENT = 2,
    ORT_CODE_NO_SUCH_FILE = 3,
    ORT_CODE_NO_MODEL = 4,
    ORT_CODE_INVALID_PROTOBUF = 7,
    ORT_CODE_NOT_IMPLEMENTED = 9,
    ORT_CODE_INVALID_GRAPH = 10,
};

/* OrtHardwareDeviceType */
enum { ORT_DEVICE_CPU, ORT_DEVICE_GPU, ORT_DEVICE_NPU };

#define ORT_LOG_FATAL 4

#define ORT_LIBRARIES_MAX 16
#define ORT_CPU           "CPUExecutionProvider"

struct ifg_bench_context {
    void *library;
    ort_table api;
    unsigned minor;
    char version[32];
    char folder[PATH_MAX]; /* of the library */
    void *env;
    void *memory;
    void *allocator;
    char **providers; /* of this build, ONNX Runtime's */
    int provider_count;
    char *registered[ORT_LIBRARIES_MAX]; /* names of the libraries of providers */
    size_t registered_count;
    char **lines; /* see ort_devices */
    size_t line_count;
};

/* A port, and what ONNX Runtime knows beyond it. */
struct ort_ports {
    struct ifg_bench_port *items;
    bool *is_unshaped; /* declared without a shape: any fits. Known from 1.24 on */
    size_t count;
};

/* The inputs of one set, in the order they were given. */
struct ort_set {
    const char **names;
    void **values;
    size_t count;
};

/* Apart from each other, so that threads do not share a line of the cache. */
struct ort_worker {
    void **outputs;
    char apart[128 - sizeof(void **)];
};

struct ort_profile {
    bool is_on;
    int fd; /* of the file, which has no name any more */
};

struct ifg_bench_model {
    ifg_bench_context *context;
    void *session;
    bool is_cpu_only; /* nothing else was asked for */
    bool has_assignment;

    struct ort_ports inputs;
    struct ort_ports outputs;
    struct ort_ports overridable; /* initializers that an input may replace */
    const char **output_names;
    struct ort_set *sets;
    size_t set_count, set_capacity;
    struct ort_worker *workers;
    uint32_t worker_count;
    size_t worker_capacity;

    struct ifg_bench_tensor *results;
    void **result_texts; /* what of them is ours */
    size_t result_count;

    struct ort_profile profile;
    uint64_t specialization_ns;

    struct ifg_bench_placement *placements;
    size_t placement_count;
    struct ifg_bench_node *nodes;
    size_t node_count;
    bool is_placement_read;
    char reason[160];
};

/* Where an error goes. */
struct ort_error {
    char *text;
    size_t size;
};

/* ---- ort_errors.c ---- */

/* Writes the sentence, and returns the code. */
int ort_say(const struct ort_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ONNX Runtime's own words behind it; takes the status. */
int ort_say_status(const ifg_bench_context *context, void *status, const struct ort_error *error,
                   int code, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A model could not be loaded: whose fault is it? Takes the status. */
int ort_say_load(const ifg_bench_context *context, void *status, const char *path, bool is_cpu_only,
                 const struct ort_error *error);

/* A run failed. Takes the status. */
int ort_say_run(const ifg_bench_context *context, void *status, const struct ort_error *error);

/* True if status is NULL; else takes it. */
bool ort_good(const ifg_bench_context *context, void *status);

/* ---- ort_options.c ---- */

struct ort_wanted {
    void *options; /* ONNX Runtime's */
    bool is_cpu_only;
};

int ort_options_create(ifg_bench_context *context, const struct ifg_bench_setting *settings,
                       size_t count, struct ort_wanted *out_wanted, const struct ort_error *error);

/* ---- ort_providers.c ---- */

/* Appends providers such as "cuda+cpu" with their options among the settings. */
int ort_providers_append(ifg_bench_context *context, const char *list,
                         const struct ifg_bench_setting *settings, size_t count,
                         struct ort_wanted *wanted, const struct ort_error *error);

/* Whether a setting "ep.NAME.KEY" names one of the list. */
bool ort_providers_has(const char *list, const char *name, size_t length);

/* ---- ort_devices.c ---- */

int ort_library_register(ifg_bench_context *context, const char *name, const char *path,
                         const struct ort_error *error);
size_t ort_ep_devices(const ifg_bench_context *context, void *const **out_devices);
const char *ort_device_provider(const ifg_bench_context *context, const void *device);
int ort_device_type(const ifg_bench_context *context, const void *device);
const char *ort_providers_text(const ifg_bench_context *context, char *out, size_t size);
size_t ort_devices(ifg_bench_context *context, const char *const **out_lines);
void ort_devices_free(ifg_bench_context *context);

/* ---- ort_ports.c ---- */

int ort_ports_read(ifg_bench_model *model, const struct ort_error *error);
void ort_ports_free(ifg_bench_model *model);

/* ---- ort_values.c ---- */

int ort_bind(ifg_bench_model *model, size_t set, const struct ifg_bench_tensor *tensors,
             size_t count, uint32_t workers, char *error, size_t error_size);
void ort_finish(ifg_bench_model *model, uint32_t worker);
size_t ort_results(ifg_bench_model *model, const struct ifg_bench_tensor **out_tensors);
void ort_values_free(ifg_bench_model *model);

/* ---- ort_placement.c ---- */

size_t ort_placement(ifg_bench_model *model, const struct ifg_bench_placement **out_entries,
                     const char **out_reason);
size_t ort_nodes(ifg_bench_model *model, const struct ifg_bench_node **out_nodes);
void ort_placement_free(ifg_bench_model *model);

/* ---- ort_profile.c ---- */

/* Removes what dead processes have left. */
void ort_profile_sweep(void);

/* Before and after a session is created. */
void ort_profile_begin(const ifg_bench_context *context, void *options,
                       struct ort_profile *out_profile, char directory[64]);
void ort_profile_hide(struct ort_profile *profile, const char *directory);

/* Ends it: nothing of it is left when the first inference begins. Returns ns, 0 if not known. */
uint64_t ort_profile_end(const ifg_bench_context *context, void *session,
                         struct ort_profile *profile);

#endif
