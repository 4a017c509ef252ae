// SPDX-License-Identifier: Apache-2.0
/*
 * A program that runs models, for the tests of the hooks. It knows nothing of Inferogram and prints
 * the same every time: what it loaded, how its runs went, and a checksum of everything they gave.
 *
 *   ort_app --ort LIBRARY [OPTIONS] --model FILE [--ort LIBRARY --model FILE]...
 *
 * A --model belongs to the --ort before it. Input number r depends on r alone, so the checksum does
 * not depend on which thread did it.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ort_min.h"

#define MODELS_MAX  8
#define VALUES_MAX  16
#define RANK_MAX    8
#define LIST_MAX    8
#define THREADS_MAX 64
#define LOG_FATAL   4 /* its log lines have times in them */

static const char usage[] =
    "usage: ort_app --ort LIBRARY [OPTIONS] --model FILE [--ort LIBRARY --model FILE]...\n"
    "  --runs N             runs of each session (default 1)\n"
    "  --threads T          from T threads, one session\n"
    "  --loads K            sessions one after the other, each with its runs\n"
    "  --crowd              each thread has sessions of its own, --loads of them\n"
    "  --fresh              new tensors for each run\n"
    "  --allocated          --fresh, in memory of ORT's allocator\n"
    "  --async, --binding   RunAsync, RunWithBinding\n"
    "  --array              CreateSessionFromArray\n"
    "  --shape NAME=2x4     of an input; more than one: taken in turn\n"
    "  --pause-us N         sleep after each run\n"
    "  --hurry FILE         no more of these once there is such a file\n"
    "  --wrong-every K      every Kth run has an input of a wrong shape\n"
    "  --no-options         session options NULL\n"
    "  --own-run-options    run options of the program's own\n"
    "  --intra N            threads of a session (default 1)\n"
    "  --level N            graph optimization level\n"
    "  --config KEY=VALUE   entry of the session's configuration\n"
    "  --provider NAME      ask for it; go on if it cannot be had\n"
    "  --cuda               the same by the call for CUDA\n"
    "  --cuda-first         ask for CUDA, and begin again with other options if it cannot be had\n"
    "  --policy N           SetEpSelectionPolicy\n"
    "  --ep-library NAME=FILE  register a provider's library, and ask for the provider; go on\n"
    "                       if it cannot be had\n"
    "  --ep-option KEY=VALUE  of that provider\n"
    "  --optimized FILE     write the optimized model there\n"
    "  --profile PREFIX     the program's own profiling\n"
    "  --keep               end without releasing anything\n"
    "  --ready FILE         made when the first run is over\n"
    "  --status N           exit status of the program\n";

struct shape {
    const char *name;
    size_t name_length;
    size_t rank;
    int64_t dims[RANK_MAX];
};

static struct {
    long runs;
    long threads;
    long loads;
    long wrong_every;
    long pause_us;
    long intra;
    long level;
    long policy;
    long status;
    bool crowd;
    bool fresh;
    bool allocated;
    bool async;
    bool binding;
    bool array;
    bool no_options;
    bool own_run_options;
    bool cuda;
    bool cuda_first;
    bool keep;
    bool changing; /* some input has more than one shape */
    const char *optimized;
    const char *profile;
    const char *ready;
    const char *hurry;
    const char *providers[LIST_MAX];
    size_t provider_count;
    char *ep_library; /* its name; ep_file is NULL without one */
    char *ep_file;
    const char *ep_keys[LIST_MAX];
    const char *ep_values[LIST_MAX];
    size_t ep_option_count;
    char *configs[LIST_MAX];
    size_t config_count;
    struct shape shapes[LIST_MAX];
    size_t shape_count;
} opt = { .runs = 1, .threads = 1, .loads = 1, .intra = 1, .level = -1, .policy = -1 };

struct ort {
    const char *library;
    ort_table api;
    long minor;
    void *env;
    void *memory;
    void *allocator;
};

struct input {
    char *name;
    int type;
    size_t rank;
    int64_t dims[RANK_MAX];
};

struct network {
    struct ort *ort;
    const char *file;
    void *session;
    void *run_options;
    struct input inputs[VALUES_MAX];
    const char *input_names[VALUES_MAX];
    size_t input_count;
    char *output_names[VALUES_MAX];
    size_t output_count;
};

/* The inputs of one thread. */
struct tensors {
    void *data[VALUES_MAX];
    void *values[VALUES_MAX];
};

/* What one thread did. */
struct result {
    long ok;
    long failed;
    uint64_t checksum;
    char message[512]; /* of its first failure */
};

struct worker {
    struct network *network;
    long first;
    long count;
    struct result result;
};

static const char *message_of(ort_table api, void *status)
{
    return ORT(api, ORT_GetErrorMessage, const char *, (const void *))(status);
}

static void check(const struct ort *ort, void *status, const char *what)
{
    if (!status)
        return;
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", what, message_of(ort->api, status));
    exit(3);
}

#define OK(ort, slot, types, ...)                                                                  \
    check(ort, ORT((ort)->api, slot, void *, types)(__VA_ARGS__), #slot)
#define RELEASE(ort, slot, what) ORT((ort)->api, slot, void, (void *))(what)

static size_t size_of(int type)
{
    return type == ORT_INT64 ? 8 : type == ORT_BOOL ? 1 : 4;
}

static size_t count_of(const struct input *input)
{
    size_t count = 1;

    for (size_t i = 0; i < input->rank; i++)
        count *= (size_t)input->dims[i];
    return count;
}

/* ---- opening ---- */

static void register_library(const struct ort *ort)
{
    void *status = ORT(ort->api, ORT_RegisterProviderLibrary, void *,
                       (void *, const char *, const char *))(ort->env, opt.ep_library, opt.ep_file);

    printf("library of %s: %s\n", opt.ep_library, status ? message_of(ort->api, status) : "loaded");
    if (status)
        RELEASE(ort, ORT_ReleaseStatus, status);
}

static void ort_open(struct ort *ort)
{
    const struct ort_base *base = ort_get_base(ort->library);
    const char *version;
    char *end;

    if (!base)
        exit(3);
    version = base->get_version();
    ort->minor = strtol(strchr(version, '.') + 1, &end, 10);
    ort->api = base->get_api((uint32_t)ort->minor);
    printf("ort %s\n", version);
    if (!ort->api) {
        fprintf(stderr, "no such version of the interface\n");
        exit(3);
    }
    OK(ort, ORT_CreateEnv, (int, const char *, void **), LOG_FATAL, "ort_app", &ort->env);
    if (opt.ep_file)
        register_library(ort);
    OK(ort, ORT_CreateCpuMemoryInfo, (int, int, void **), 1, 0, &ort->memory);
    OK(ort, ORT_GetAllocatorWithDefaultOptions, (void **), &ort->allocator);
}

static void say_refused(const struct ort *ort, const char *provider, void *status)
{
    if (!status) {
        printf("provider %s accepted\n", provider);
        return;
    }
    printf("provider %s refused: %s\n", provider, message_of(ort->api, status));
    RELEASE(ort, ORT_ReleaseStatus, status);
}

static void ask_for_library(const struct ort *ort, void *options)
{
    void *const *devices = NULL;
    size_t count = 0;

    OK(ort, ORT_GetEpDevices, (void *, void *const **, size_t *), ort->env, &devices, &count);
    for (size_t i = 0; i < count; i++) {
        const char *name = ORT(ort->api, ORT_EpDevice_EpName, const char *, (void *))(devices[i]);

        printf("device of %s\n", name);
        if (strcmp(name, opt.ep_library) == 0)
            say_refused(ort, name,
                        ORT(ort->api, ORT_AppendExecutionProvider_V2, void *,
                            (void *, void *, void *const *, size_t, const char *const *,
                             const char *const *, size_t))(options, ort->env, &devices[i], 1,
                                                           opt.ep_keys, opt.ep_values,
                                                           opt.ep_option_count));
    }
}

static void ask_for_providers(const struct ort *ort, void *options)
{
    if (opt.ep_file)
        ask_for_library(ort, options);
    for (size_t i = 0; i < opt.provider_count; i++)
        say_refused(ort, opt.providers[i],
                    ORT(ort->api, ORT_AppendExecutionProvider, void *,
                        (void *, const char *, const char *const *, const char *const *, size_t))(
                        options, opt.providers[i], NULL, NULL, 0));
    if (opt.cuda) {
        static const uint64_t cuda_options[32]; /* a struct that is all zeros by default */

        say_refused(ort, "CUDA",
                    ORT(ort->api, ORT_AppendExecutionProvider_CUDA, void *,
                        (void *, const void *))(options, cuda_options));
    }
    if (opt.policy >= 0)
        OK(ort, ORT_SetEpSelectionPolicy, (void *, int), options, (int)opt.policy);
}

/* As programs do it that catch the error: what they asked with is gone then. */
static void try_cuda(const struct ort *ort)
{
    static const uint64_t cuda_options[32];
    void *options = NULL;

    OK(ort, ORT_CreateSessionOptions, (void **), &options);
    say_refused(ort, "CUDA",
                ORT(ort->api, ORT_AppendExecutionProvider_CUDA, void *,
                    (void *, const void *))(options, cuda_options));
    RELEASE(ort, ORT_ReleaseSessionOptions, options);
}

static void *session_options(const struct ort *ort)
{
    void *options = NULL;

    if (opt.no_options)
        return NULL;
    if (opt.cuda_first)
        try_cuda(ort);
    OK(ort, ORT_CreateSessionOptions, (void **), &options);
    OK(ort, ORT_SetIntraOpNumThreads, (void *, int), options, (int)opt.intra);
    if (opt.level >= 0)
        OK(ort, ORT_SetSessionGraphOptimizationLevel, (void *, int), options, (int)opt.level);
    if (opt.optimized)
        OK(ort, ORT_SetOptimizedModelFilePath, (void *, const char *), options, opt.optimized);
    if (opt.profile)
        OK(ort, ORT_EnableProfiling, (void *, const char *), options, opt.profile);
    for (size_t i = 0; i < opt.config_count; i++) {
        char *equals = strchr(opt.configs[i], '=');
        char key[128];

        snprintf(key, sizeof key, "%.*s", (int)(equals - opt.configs[i]), opt.configs[i]);
        OK(ort, ORT_AddSessionConfigEntry, (void *, const char *, const char *), options, key,
           equals + 1);
    }
    ask_for_providers(ort, options);
    return options;
}

static void *read_whole(const char *file, size_t *out_bytes)
{
    FILE *stream = fopen(file, "rb");
    long bytes = -1;
    char *data;

    if (stream && fseek(stream, 0, SEEK_END) == 0)
        bytes = ftell(stream);
    data = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    if (data) {
        rewind(stream);
        if (fread(data, 1, (size_t)bytes, stream) != (size_t)bytes)
            bytes = -1;
    }
    if (!data || bytes < 0) {
        fprintf(stderr, "cannot read %s\n", file);
        exit(3);
    }
    fclose(stream);
    *out_bytes = (size_t)bytes;
    return data;
}

/* False: ORT refused the model, and its words are printed. */
static bool create_session(struct network *network)
{
    const struct ort *ort = network->ort;
    void *options = session_options(ort);
    void *status;
    size_t bytes;

    if (opt.array) {
        void *model = read_whole(network->file, &bytes);

        status = ORT(ort->api, ORT_CreateSessionFromArray, void *,
                     (void *, const void *, size_t, void *, void **))(ort->env, model, bytes,
                                                                      options, &network->session);
        free(model);
    } else {
        status = ORT(ort->api, ORT_CreateSession, void *, (void *, const char *, void *, void **))(
            ort->env, network->file, options, &network->session);
    }
    if (options)
        RELEASE(ort, ORT_ReleaseSessionOptions, options);
    if (status) {
        printf("session refused, code %d: %s\n",
               ORT(ort->api, ORT_GetErrorCode, int, (const void *))(status),
               message_of(ort->api, status));
        RELEASE(ort, ORT_ReleaseStatus, status);
    }
    return !status;
}

static void describe_input(struct network *network, size_t i)
{
    const struct ort *ort = network->ort;
    struct input *input = &network->inputs[i];
    void *type;
    const void *tensor;

    OK(ort, ORT_SessionGetInputName, (void *, size_t, void *, char **), network->session, i,
       ort->allocator, &input->name);
    network->input_names[i] = input->name;
    OK(ort, ORT_SessionGetInputTypeInfo, (void *, size_t, void **), network->session, i, &type);
    OK(ort, ORT_CastTypeInfoToTensorInfo, (void *, const void **), type, &tensor);
    OK(ort, ORT_GetTensorElementType, (const void *, int *), tensor, &input->type);
    OK(ort, ORT_GetDimensionsCount, (const void *, size_t *), tensor, &input->rank);
    if (input->rank > RANK_MAX)
        exit(3);
    OK(ort, ORT_GetDimensions, (const void *, int64_t *, size_t), tensor, input->dims, input->rank);
    for (size_t d = 0; d < input->rank; d++)
        if (input->dims[d] < 0)
            input->dims[d] = 1;
    RELEASE(ort, ORT_ReleaseTypeInfo, type);
}

static bool network_open(struct network *network)
{
    const struct ort *ort = network->ort;

    if (!create_session(network))
        return false;
    OK(ort, ORT_SessionGetInputCount, (void *, size_t *), network->session, &network->input_count);
    OK(ort, ORT_SessionGetOutputCount, (void *, size_t *), network->session,
       &network->output_count);
    if (network->input_count > VALUES_MAX || network->output_count > VALUES_MAX)
        exit(3);
    for (size_t i = 0; i < network->input_count; i++)
        describe_input(network, i);
    for (size_t i = 0; i < network->output_count; i++)
        OK(ort, ORT_SessionGetOutputName, (void *, size_t, void *, char **), network->session, i,
           ort->allocator, &network->output_names[i]);
    if (opt.own_run_options)
        OK(ort, ORT_CreateRunOptions, (void **), &network->run_options);
    return true;
}

static void network_close(struct network *network)
{
    const struct ort *ort = network->ort;

    if (opt.profile) {
        char *file = NULL;

        OK(ort, ORT_SessionEndProfiling, (void *, void *, char **), network->session,
           ort->allocator, &file);
        printf("profile %s\n", file);
        OK(ort, ORT_AllocatorFree, (void *, void *), ort->allocator, file);
    }
    if (opt.keep)
        return;
    for (size_t i = 0; i < network->input_count; i++)
        OK(ort, ORT_AllocatorFree, (void *, void *), ort->allocator, network->inputs[i].name);
    for (size_t i = 0; i < network->output_count; i++)
        OK(ort, ORT_AllocatorFree, (void *, void *), ort->allocator, network->output_names[i]);
    if (network->run_options)
        RELEASE(ort, ORT_ReleaseRunOptions, network->run_options);
    RELEASE(ort, ORT_ReleaseSession, network->session);
    network->run_options = NULL;
    network->session = NULL;
}

/* ---- inputs ---- */

/* The input as run number r wants it: one of the shapes in turn, or a wrong one. */
static struct input wanted_input(const struct network *network, size_t i, long r)
{
    struct input input = network->inputs[i];
    const struct shape *candidates[LIST_MAX];
    size_t count = 0;

    for (size_t s = 0; s < opt.shape_count; s++)
        if (strlen(input.name) == opt.shapes[s].name_length &&
            strncmp(input.name, opt.shapes[s].name, opt.shapes[s].name_length) == 0)
            candidates[count++] = &opt.shapes[s];
    if (count) {
        const struct shape *shape = candidates[(size_t)r % count];

        input.rank = shape->rank;
        memcpy(input.dims, shape->dims, sizeof input.dims);
    }
    if (opt.wrong_every && (r + 1) % opt.wrong_every == 0 && input.rank)
        input.dims[input.rank - 1] += 1;
    return input;
}

static void fill(const struct input *input, void *data, long r)
{
    size_t count = count_of(input);
    uint32_t state = (uint32_t)r * 2654435761u + 12345;

    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        if (input->type == ORT_INT64)
            ((int64_t *)data)[i] = strcmp(input->name, "sr") == 0 ? 16000 : 1;
        else if (input->type == ORT_BOOL)
            ((unsigned char *)data)[i] = (unsigned char)(r & 1);
        else
            ((float *)data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static void make_tensors(const struct network *network, struct tensors *tensors, long r)
{
    const struct ort *ort = network->ort;

    for (size_t i = 0; i < network->input_count; i++) {
        struct input input = wanted_input(network, i, r);
        size_t bytes = count_of(&input) * size_of(input.type);

        if (opt.allocated) {
            OK(ort, ORT_CreateTensor, (void *, const int64_t *, size_t, int, void **),
               ort->allocator, input.dims, input.rank, input.type, &tensors->values[i]);
            OK(ort, ORT_GetTensorMutableData, (void *, void **), tensors->values[i],
               &tensors->data[i]);
        } else {
            tensors->data[i] = calloc(1, bytes + 1);
            OK(ort, ORT_CreateTensorWithData,
               (void *, void *, size_t, const int64_t *, size_t, int, void **), ort->memory,
               tensors->data[i], bytes, input.dims, input.rank, input.type, &tensors->values[i]);
        }
    }
}

static void drop_tensors(const struct network *network, struct tensors *tensors)
{
    for (size_t i = 0; i < network->input_count; i++) {
        if (!tensors->values[i])
            continue;
        RELEASE(network->ort, ORT_ReleaseValue, tensors->values[i]);
        if (!opt.allocated)
            free(tensors->data[i]);
        tensors->values[i] = NULL;
    }
}

static void prepare_tensors(const struct network *network, struct tensors *tensors, long r)
{
    if (opt.fresh || opt.changing || opt.wrong_every)
        drop_tensors(network, tensors);
    if (network->input_count && !tensors->values[0])
        make_tensors(network, tensors, r);
    for (size_t i = 0; i < network->input_count; i++) {
        struct input input = wanted_input(network, i, r);

        fill(&input, tensors->data[i], r);
    }
}

/* ---- running ---- */

static uint64_t checksum_of(const struct ort *ort, void *value)
{
    void *info;
    void *data;
    size_t count;
    int type;
    uint64_t hash = 14695981039346656037u;

    OK(ort, ORT_GetTensorTypeAndShape, (void *, void **), value, &info);
    OK(ort, ORT_GetTensorShapeElementCount, (void *, size_t *), info, &count);
    OK(ort, ORT_GetTensorElementType, (void *, int *), info, &type);
    OK(ort, ORT_GetTensorMutableData, (void *, void **), value, &data);
    RELEASE(ort, ORT_ReleaseTensorTypeAndShapeInfo, info);
    for (size_t i = 0; i < count * size_of(type); i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

static void *run_plain(struct network *network, struct tensors *tensors, void **outputs)
{
    return ORT(network->ort->api, ORT_Run, void *,
               (void *, const void *, const char *const *, void *const *, size_t,
                const char *const *, size_t, void **))(
        network->session, network->run_options, network->input_names, tensors->values,
        network->input_count, (const char *const *)network->output_names, network->output_count,
        outputs);
}

struct completion {
    sem_t done;
    void *status;
};

static void on_done(void *user, void **outputs, size_t count, void *status)
{
    struct completion *completion = user;

    (void)outputs;
    (void)count;
    completion->status = status;
    sem_post(&completion->done);
}

static void *run_async(struct network *network, struct tensors *tensors, void **outputs)
{
    struct completion completion = { .status = NULL };
    void *status;

    sem_init(&completion.done, 0, 0);
    status =
        ORT(network->ort->api, ORT_RunAsync, void *,
            (void *, const void *, const char *const *, void *const *, size_t, const char *const *,
             size_t, void **, void (*)(void *, void **, size_t, void *),
             void *))(network->session, network->run_options, network->input_names, tensors->values,
                      network->input_count, (const char *const *)network->output_names,
                      network->output_count, outputs, on_done, &completion);
    if (!status) {
        while (sem_wait(&completion.done) && errno == EINTR)
            continue;
        status = completion.status;
    }
    sem_destroy(&completion.done);
    return status;
}

static void *run_bound(struct network *network, struct tensors *tensors, void **outputs)
{
    const struct ort *ort = network->ort;
    void *binding = NULL;
    void **values = NULL;
    size_t count = 0;
    void *status;

    OK(ort, ORT_CreateIoBinding, (void *, void **), network->session, &binding);
    for (size_t i = 0; i < network->input_count; i++)
        OK(ort, ORT_BindInput, (void *, const char *, void *), binding, network->input_names[i],
           tensors->values[i]);
    for (size_t i = 0; i < network->output_count; i++)
        OK(ort, ORT_BindOutputToDevice, (void *, const char *, void *), binding,
           network->output_names[i], ort->memory);
    status = ORT(ort->api, ORT_RunWithBinding, void *, (void *, const void *, const void *))(
        network->session, network->run_options, binding);
    if (!status) {
        OK(ort, ORT_GetBoundOutputValues, (void *, void *, void ***, size_t *), binding,
           ort->allocator, &values, &count);
        for (size_t i = 0; i < count; i++)
            outputs[i] = values[i];
        OK(ort, ORT_AllocatorFree, (void *, void *), ort->allocator, values);
    }
    RELEASE(ort, ORT_ReleaseIoBinding, binding);
    return status;
}

static void run_once(struct network *network, struct tensors *tensors, long r,
                     struct result *result)
{
    const struct ort *ort = network->ort;
    void *outputs[VALUES_MAX] = { NULL };
    void *status;

    prepare_tensors(network, tensors, r);
    status = opt.async     ? run_async(network, tensors, outputs)
             : opt.binding ? run_bound(network, tensors, outputs)
                           : run_plain(network, tensors, outputs);
    if (status) {
        if (!result->failed++)
            snprintf(result->message, sizeof result->message, "code %d: %s",
                     ORT(ort->api, ORT_GetErrorCode, int, (const void *))(status),
                     message_of(ort->api, status));
        RELEASE(ort, ORT_ReleaseStatus, status);
        return;
    }
    result->ok++;
    for (size_t i = 0; i < network->output_count; i++) {
        result->checksum += checksum_of(ort, outputs[i]) * (i + 1);
        RELEASE(ort, ORT_ReleaseValue, outputs[i]);
    }
}

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        perror(path);
        exit(3);
    }
    fclose(file);
}

static void pause_after_run(void)
{
    const struct timespec pause = { opt.pause_us / 1000000, opt.pause_us % 1000000 * 1000 };

    if (opt.pause_us && !(opt.hurry && access(opt.hurry, F_OK) == 0))
        nanosleep(&pause, NULL);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct tensors tensors = { .data = { NULL } };

    for (long r = worker->first; r < worker->first + worker->count; r++) {
        run_once(worker->network, &tensors, r, &worker->result);
        if (opt.ready && r == 0)
            make_file(opt.ready);
        pause_after_run();
    }
    if (!opt.keep)
        drop_tensors(worker->network, &tensors);
    return NULL;
}

/* Sessions come and go in one thread while others run. */
static void *work_alone(void *argument)
{
    struct worker *worker = argument;
    struct network own = { .ort = worker->network->ort, .file = worker->network->file };
    struct network *shared = worker->network;

    worker->network = &own;
    for (long load = 0; load < opt.loads && network_open(&own); load++) {
        work(worker);
        network_close(&own);
    }
    worker->network = shared;
    return NULL;
}

static void network_run(struct network *network)
{
    static struct worker workers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    struct result all = { .ok = 0 };

    memset(workers, 0, sizeof workers);
    for (long t = 0; t < opt.threads; t++) {
        workers[t].network = network;
        workers[t].first = t * opt.runs / opt.threads;
        workers[t].count = (t + 1) * opt.runs / opt.threads - workers[t].first;
        if (opt.threads == 1)
            work(&workers[t]);
        else if (pthread_create(&threads[t], NULL, opt.crowd ? work_alone : work, &workers[t]))
            exit(3);
    }
    for (long t = 0; t < opt.threads; t++) {
        struct result *result = &workers[t].result;

        if (opt.threads > 1)
            pthread_join(threads[t], NULL);
        all.ok += result->ok;
        all.failed += result->failed;
        all.checksum += result->checksum;
        if (result->failed && !all.message[0])
            memcpy(all.message, result->message, sizeof all.message);
    }
    printf("runs %ld ok %ld failed %ld checksum %016llx\n", opt.runs, all.ok, all.failed,
           (unsigned long long)all.checksum);
    if (all.failed)
        printf("first failure: %s\n", all.message);
}

/* ---- command line ---- */

static long number(const char *text)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;

    if (!text || *end || value < 0) {
        fputs(usage, stderr);
        exit(2);
    }
    return value;
}

static void add_shape(const char *text)
{
    struct shape *shape = &opt.shapes[opt.shape_count];
    const char *equals = strchr(text, '=');

    if (!equals || opt.shape_count == LIST_MAX)
        exit(2);
    shape->name = text;
    shape->name_length = (size_t)(equals - text);
    for (size_t i = 0; i < opt.shape_count; i++)
        if (strncmp(opt.shapes[i].name, text, shape->name_length + 1) == 0)
            opt.changing = true;
    for (const char *at = equals; *at && shape->rank < RANK_MAX;) {
        char *end;

        shape->dims[shape->rank++] = strtol(at + 1, &end, 10);
        at = end;
    }
    opt.shape_count++;
}

static bool flag(const char *word)
{
    const struct {
        const char *name;
        bool *value;
    } flags[] = {
        { "--fresh", &opt.fresh },
        { "--allocated", &opt.allocated },
        { "--async", &opt.async },
        { "--binding", &opt.binding },
        { "--array", &opt.array },
        { "--no-options", &opt.no_options },
        { "--keep", &opt.keep },
        { "--own-run-options", &opt.own_run_options },
        { "--cuda", &opt.cuda },
        { "--crowd", &opt.crowd },
        { "--cuda-first", &opt.cuda_first },
    };

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *flags[i].value = true;
            return true;
        }
    return false;
}

static bool numeric(const char *word, const char *value)
{
    const struct {
        const char *name;
        long *value;
    } numbers[] = {
        { "--runs", &opt.runs },         { "--threads", &opt.threads },
        { "--loads", &opt.loads },       { "--intra", &opt.intra },
        { "--level", &opt.level },       { "--policy", &opt.policy },
        { "--status", &opt.status },     { "--wrong-every", &opt.wrong_every },
        { "--pause-us", &opt.pause_us },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(word, numbers[i].name) == 0) {
            *numbers[i].value = number(value);
            return true;
        }
    return false;
}

/* Cuts KEY=VALUE in two. */
static char *cut(char *text)
{
    char *equals = strchr(text, '=');

    if (!equals) {
        fputs(usage, stderr);
        exit(2);
    }
    *equals = '\0';
    return equals + 1;
}

static bool text(const char *word, char *value)
{
    if (!value)
        return false;
    if (strcmp(word, "--shape") == 0)
        add_shape(value);
    else if (strcmp(word, "--optimized") == 0)
        opt.optimized = value;
    else if (strcmp(word, "--profile") == 0)
        opt.profile = value;
    else if (strcmp(word, "--ready") == 0)
        opt.ready = value;
    else if (strcmp(word, "--hurry") == 0)
        opt.hurry = value;
    else if (strcmp(word, "--provider") == 0 && opt.provider_count < LIST_MAX)
        opt.providers[opt.provider_count++] = value;
    else if (strcmp(word, "--ep-library") == 0) {
        opt.ep_file = cut(value);
        opt.ep_library = value;
    } else if (strcmp(word, "--ep-option") == 0 && opt.ep_option_count < LIST_MAX) {
        opt.ep_values[opt.ep_option_count] = cut(value);
        opt.ep_keys[opt.ep_option_count++] = value;
    } else if (strcmp(word, "--config") == 0 && strchr(value, '=') && opt.config_count < LIST_MAX)
        opt.configs[opt.config_count++] = value;
    else
        return false;
    return true;
}

/* Returns the number of models. */
static size_t parse(char **argv, struct ort *orts, size_t *out_orts, struct network *networks)
{
    size_t count = 0;

    *out_orts = 0;
    for (size_t i = 1; argv[i]; i++) {
        if (flag(argv[i]))
            continue;
        if (strcmp(argv[i], "--ort") == 0 && argv[i + 1] && *out_orts < MODELS_MAX) {
            orts[(*out_orts)++].library = argv[++i];
        } else if (strcmp(argv[i], "--model") == 0 && argv[i + 1] && *out_orts &&
                   count < MODELS_MAX) {
            networks[count].ort = &orts[*out_orts - 1];
            networks[count++].file = argv[++i];
        } else if (numeric(argv[i], argv[i + 1]) || text(argv[i], argv[i + 1])) {
            i++;
        } else {
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (!*out_orts || opt.threads < 1 || opt.threads > THREADS_MAX) {
        fputs(usage, stderr);
        exit(2);
    }
    opt.fresh = opt.fresh || opt.allocated;
    return count;
}

int main(int argc, char **argv)
{
    static struct ort orts[MODELS_MAX];
    static struct network networks[MODELS_MAX];
    size_t ort_count;
    size_t count = parse(argv, orts, &ort_count, networks);

    (void)argc;
    for (size_t i = 0; i < ort_count; i++)
        ort_open(&orts[i]);
    for (long load = 0; load < (opt.crowd ? 1 : opt.loads); load++) {
        bool opened[MODELS_MAX];

        for (size_t i = 0; i < count; i++)
            opened[i] = network_open(&networks[i]);
        for (size_t i = 0; i < count; i++)
            if (opened[i])
                network_run(&networks[i]);
        for (size_t i = 0; i < count; i++)
            if (opened[i])
                network_close(&networks[i]);
    }
    for (size_t i = 0; i < ort_count && !opt.keep; i++) {
        RELEASE(&orts[i], ORT_ReleaseMemoryInfo, orts[i].memory);
        RELEASE(&orts[i], ORT_ReleaseEnv, orts[i].env);
    }
    printf("end\n");
    return (int)opt.status;
}
