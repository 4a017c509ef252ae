// SPDX-License-Identifier: Apache-2.0
/*
 * Finding CUPTI for a program that runs CUDA: the one that it has loaded already, the one that
 * belongs to its CUDA libraries, or the system's. Nothing is loaded from anywhere else.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "hooks/cupti/hook.h"

struct cupti cupti;

/* ---- libraries of the program ---- */

struct mapped {
    const char *begins; /* of the file's name */
    char path[PATH_MAX];
};

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int look_for(struct dl_phdr_info *info, size_t size, void *user)
{
    struct mapped *mapped = user;

    (void)size;
    if (!info->dlpi_name || info->dlpi_name[0] != '/' ||
        strncmp(file_of(info->dlpi_name), mapped->begins, strlen(mapped->begins)) != 0)
        return 0;
    return snprintf(mapped->path, sizeof mapped->path, "%s", info->dlpi_name) <
           (int)sizeof mapped->path;
}

static bool find_mapped(const char *begins, struct mapped *out)
{
    out->begins = begins;
    out->path[0] = '\0';
    return dl_iterate_phdr(look_for, out) == 1;
}

const char *cupti_owner(void)
{
    static const struct {
        const char *begins, *name;
    } known[] = {
        { "libToolsInjection64", "Nsight Systems" },
        { "libcudainjection", "Nsight Compute" },
        { "libTreeLauncher", "an Nsight tool" },
        { "libtorch_cpu.so", "PyTorch's own profiler, most likely" },
    };
    struct mapped mapped;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (find_mapped(known[i].begins, &mapped))
            return known[i].name;
    return "";
}

/* ---- which one ---- */

/* CUDA's major version: that of the driver, since CUPTI must not be newer. 0: not known. */
static unsigned driver_major(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    int (*version)(int *) = NULL;
    int value = 0;
    void *found;

    if (!driver)
        return 0;
    found = dlsym(driver, "cuDriverGetVersion");
    memcpy(&version, &found, sizeof version);
    if (version && version(&value) != 0)
        value = 0;
    dlclose(driver); /* it was loaded before, and stays so */
    return (unsigned)value / 1000;
}

static void *try(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    dlerror(); /* ours, not the program's */
    return library;
}

/* Beside a CUDA library of the program, as wheels and toolkits are laid out. */
static void *try_beside(const char *path, unsigned major)
{
    static const char *const places[] = { "", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
                                          "../../../extras/CUPTI/lib64/" };
    int folder = (int)(file_of(path) - path);
    void *library = NULL;

    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        char name[PATH_MAX];

        if (snprintf(name, sizeof name, "%.*s%slibcupti.so.%u", folder, path, places[i], major) <
            (int)sizeof name)
            library = try(name);
    }
    return library;
}

static void *try_version(unsigned major)
{
    static const char *const libraries[] = { "libcudart.so", "libcublas.so", "libcublasLt.so",
                                             "libnvrtc.so", "libcudnn.so" };
    static const char *const folders[] = { "", "/usr/local/cuda/extras/CUPTI/lib64/",
                                           "/usr/local/cuda/lib64/" };
    struct mapped mapped;
    void *library = NULL;

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !library; i++)
        if (find_mapped(libraries[i], &mapped))
            library = try_beside(mapped.path, major);
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; i++) {
        char name[128];

        /* CUDA 11 put its minor version into the name. */
        for (int minor = major == 11 ? 8 : -1; minor >= (major == 11 ? 0 : -1) && !library;
             minor--) {
            if (minor < 0)
                snprintf(name, sizeof name, "%slibcupti.so.%u", folders[i], major);
            else
                snprintf(name, sizeof name, "%slibcupti.so.11.%d", folders[i], minor);
            library = try(name);
        }
    }
    return library;
}

static void *find_library(void)
{
    unsigned newest = driver_major();
    struct mapped mapped;
    void *library = NULL;

    if (find_mapped("libcupti.so", &mapped))
        library = dlopen(mapped.path, RTLD_NOW | RTLD_NOLOAD);
    if (!newest || newest > 99)
        newest = 13;
    for (unsigned major = newest; major >= 11 && !library; major--)
        library = try_version(major);
    return library;
}

void cupti_version_text(uint32_t version, char *out, size_t size)
{
    if (version >= 10000)
        snprintf(out, size, "%u.%u", version / 10000, version / 100 % 100);
    else
        snprintf(out, size, "interface %u", version);
}

static bool resolve(void *library, const char *name, void *function, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, size);
    dlerror();
    return found != NULL;
}

bool cupti_load(char *reason, size_t size)
{
    void *library;
    const char *missing = NULL;

    if (cupti.version)
        return true;
    library = find_library();
    if (!library) {
        snprintf(reason, size,
                 "there is no libcupti, neither beside the program's CUDA libraries nor on this "
                 "machine; it comes with the CUDA toolkit and as nvidia-cuda-cupti from PyPI");
        return false;
    }
#define RESOLVE(name, parameters)                                                                  \
    if (!resolve(library, "cupti" #name, &cupti.name, sizeof cupti.name))                          \
        missing = "cupti" #name;
    CUPTI_OPTIONAL(RESOLVE)
    missing = NULL;
    CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
    if (missing) {
        snprintf(reason, size, "this libcupti is none that is known: it has no %s", missing);
        return false;
    }
    if (cupti.GetVersion(&cupti.version) != CUPTI_OK || cupti.version < CUPTI_VERSION_OLDEST) {
        snprintf(reason, size,
                 "CUPTI is too old (interface %u): that of CUDA 11.0 is the first "
                 "that is understood",
                 cupti.version);
        cupti.version = 0;
        return false;
    }
    return true;
}

/* ---- devices ---- */

static void format_id(const unsigned char *uuid, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "GPU-");

    for (int i = 0; i < 16 && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

unsigned cupti_device_count(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    int (*get)(int *) = NULL;
    int count = 0;

    if (!driver)
        return 0;
    if (!resolve(driver, "cuDeviceGetCount", &get, sizeof get) || get(&count) != 0 || count < 0)
        count = 0;
    dlclose(driver);
    return (unsigned)count;
}

void cupti_device_describe(uint32_t device, char *name, size_t name_size, char *id, size_t id_size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    int (*get)(int *, int) = NULL;
    int (*get_name)(char *, int, int) = NULL;
    int (*get_uuid)(unsigned char *, int) = NULL;
    unsigned char uuid[16] = { 0 };
    int handle = 0;

    name[0] = id[0] = '\0';
    if (!driver)
        return;
    resolve(driver, "cuDeviceGet", &get, sizeof get);
    resolve(driver, "cuDeviceGetName", &get_name, sizeof get_name);
    if (!resolve(driver, "cuDeviceGetUuid_v2", &get_uuid, sizeof get_uuid))
        resolve(driver, "cuDeviceGetUuid", &get_uuid, sizeof get_uuid);
    if (get && get(&handle, (int)device) == 0) {
        if (!get_name || get_name(name, (int)name_size, handle) != 0)
            name[0] = '\0';
        name[name_size - 1] = '\0';
        if (get_uuid && get_uuid(uuid, handle) == 0)
            format_id(uuid, id, id_size);
    }
    dlclose(driver);
}
