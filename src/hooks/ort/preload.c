// SPDX-License-Identifier: Apache-2.0
/*
 * libinferogram-preload.so: notices ONNX Runtime in an unmodified program.
 *
 * It lies in every process that a recorded program starts, so it is tiny and does nothing at all
 * until somebody asks for OrtGetApiBase, the one door to ONNX Runtime: by linking with it, or by
 * dlsym. Then libinferogram-ort.so is loaded from the same directory, and it decides what the
 * caller gets. Whatever goes wrong, the caller gets what it would have got without us.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooks/ort/api.h"
#include "wire/confine_door.h"

#define EXPORT __attribute__((visibility("default")))

#define DOOR           "OrtGetApiBase"
#define DOORS          4 /* different ONNX Runtimes in one process that are asked for by dlsym */
#define SESSION        "IFG_SESSION"
#define PROFILE        "IFG_PROFILE" /* profiling handles, without a recorder */
#define HOOKS_LIBRARY  "libinferogram-ort.so"
#define NOTES_LIBRARY  "libinferogram-annotations.so"
#define HOOKS_FUNCTION "ifg_ort_wrap_base"
#define TELL_FUNCTION  "ifg_confine" /* of libinferogram, which the hooks bring with them */

typedef const struct ort_base *door_function(void);
typedef void *dlsym_function(void *handle, const char *name);
typedef const struct ort_base *wrap_function(const struct ort_base *real);
typedef void tell_function(int how);

EXPORT door_function OrtGetApiBase;
EXPORT dlsym_function dlsym;

/* ---- the real dlsym ---- */

__attribute__((visibility("hidden"))) dlsym_function *preload_real_dlsym;
__attribute__((visibility("hidden"))) dlsym_function *preload_resolve_dlsym(void);
__attribute__((visibility("hidden"))) void *preload_dlsym_ort(void *handle, const char *name);

static void *dlsym_not_found(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

dlsym_function *preload_resolve_dlsym(void)
{
    static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };
    dlsym_function *real = NULL;

    for (size_t i = 0; i < sizeof versions / sizeof *versions && !real; i++) {
        void *found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);

        memcpy(&real, &found, sizeof real);
    }
    if (!real)
        real = dlsym_not_found;
    __atomic_store_n(&preload_real_dlsym, real, __ATOMIC_RELEASE);
    return real;
}

static void *find(void *handle, const char *name)
{
    dlsym_function *real = __atomic_load_n(&preload_real_dlsym, __ATOMIC_ACQUIRE);

    return real ? real(handle, name) : preload_resolve_dlsym()(handle, name);
}

/* Our dlsym must leave no trace on the stack: the real one finds out by its return address who
 * asks, and RTLD_NEXT means something else for everybody. Names that begin with "Ort" go to
 * preload_dlsym_ort, all others jump to the real one. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    endbr64\n"
        "    testq %rsi, %rsi\n"
        "    jz 1f\n"
        "    cmpb $'O', (%rsi)\n"
        "    jne 1f\n"
        "    cmpb $'r', 1(%rsi)\n"
        "    jne 1f\n"
        "    cmpb $'t', 2(%rsi)\n"
        "    je preload_dlsym_ort\n"
        "1:  movq preload_real_dlsym(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    jz 2f\n"
        "    jmp *%rax\n"
        "2:  pushq %rdi\n"
        "    pushq %rsi\n"
        "    subq $8, %rsp\n"
        "    call preload_resolve_dlsym\n"
        "    addq $8, %rsp\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    jmp *%rax\n"
        ".size dlsym, . - dlsym\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    hint #34\n" /* bti c */
        "    cbz x1, 1f\n"
        "    ldrb w9, [x1]\n"
        "    cmp w9, #'O'\n"
        "    b.ne 1f\n"
        "    ldrb w9, [x1, #1]\n"
        "    cmp w9, #'r'\n"
        "    b.ne 1f\n"
        "    ldrb w9, [x1, #2]\n"
        "    cmp w9, #'t'\n"
        "    b.eq preload_dlsym_ort\n"
        "1:  adrp x9, preload_real_dlsym\n"
        "    ldr x16, [x9, #:lo12:preload_real_dlsym]\n"
        "    cbz x16, 2f\n"
        "    br x16\n"
        "2:  stp x29, x30, [sp, #-32]!\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl preload_resolve_dlsym\n"
        "    mov x16, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    br x16\n"
        ".size dlsym, . - dlsym\n"
        ".popsection\n");
#else
#error "write dlsym for this machine: a jump to the real one that keeps the return address"
#endif

/* ---- the hooks ---- */

static const struct ort_base *unchanged(const struct ort_base *real)
{
    return real;
}

static wrap_function *hooks;
static tell_function *tell;
static bool confined; /* the program may not expect our system calls: load nothing any more */
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static bool is_asked_for(void)
{
    const char *session = secure_getenv(SESSION);
    const char *profile = secure_getenv(PROFILE);

    return (session && *session) || (profile && *profile);
}

/* Beside us, or above: where no links can be installed (a wheel of Python), the folders that the
 * loader puts for $LIB are real, and hold copies of this library alone. */
static void *open_hooks(const char *own, int bytes)
{
    static const char *const above[] = { "", "/..", "/../.." };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++)
        if (snprintf(path, sizeof path, "%.*s%s/" HOOKS_LIBRARY, bytes, own, above[i]) <
                (int)sizeof path &&
            access(path, R_OK) == 0)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return NULL;
}

static void load_hooks(void)
{
    Dl_info self;
    const char *slash;
    void *library;
    void *found;

    hooks = unchanged;
    if (!is_asked_for() || !dladdr((void *)(uintptr_t)&load_hooks, &self) ||
        !(slash = strrchr(self.dli_fname, '/')))
        return;
    library = open_hooks(self.dli_fname, (int)(slash - self.dli_fname));
    found = library ? find(library, TELL_FUNCTION) : NULL;
    memcpy(&tell, &found, sizeof tell);
    found = library ? find(library, HOOKS_FUNCTION) : NULL;
    if (found)
        memcpy(&hooks, &found, sizeof hooks);
    else
        dlerror(); /* ours, not the program's */
}

static const struct ort_base *enter(door_function *real)
{
    const struct ort_base *base = real();
    int saved_errno = errno;

    if (!hooks && __atomic_load_n(&confined, __ATOMIC_RELAXED))
        return base;
    pthread_once(&hooks_once, load_hooks);
    if (base)
        base = hooks(base);
    errno = saved_errno;
    return base;
}

/* ---- doors that were asked for by dlsym ---- */

static door_function *doors[DOORS];

static const struct ort_base *door_0(void)
{
    return enter(doors[0]);
}
static const struct ort_base *door_1(void)
{
    return enter(doors[1]);
}
static const struct ort_base *door_2(void)
{
    return enter(doors[2]);
}
static const struct ort_base *door_3(void)
{
    return enter(doors[3]);
}

/* A function that stands for `real`; `real` itself when there are too many. */
static door_function *door_for(door_function *real)
{
    static door_function *const stand_ins[DOORS] = { door_0, door_1, door_2, door_3 };

    for (int i = 0; i < DOORS; i++) {
        door_function *expected = NULL;

        if (__atomic_compare_exchange_n(&doors[i], &expected, real, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            expected == real)
            return stand_ins[i];
        if (real == stand_ins[i])
            return real;
    }
    return real;
}

/* ---- doors of programs that are linked with ONNX Runtime ---- */

/* The door of a library that is already loaded, if it has one that is not ours. */
static door_function *door_in(const char *library)
{
    void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    door_function *door = NULL;
    void *found;

    if (!handle)
        return NULL;
    found = find(handle, DOOR);
    memcpy(&door, &found, sizeof door);
    dlclose(handle); /* it was loaded before, and stays so */
    return door == OrtGetApiBase ? NULL : door;
}

static int look_in(struct dl_phdr_info *info, size_t size, void *user)
{
    door_function **out = user;

    (void)size;
    if (!strstr(info->dlpi_name, "onnxruntime"))
        return 0;
    *out = door_in(info->dlpi_name);
    return *out != NULL;
}

/* The door that the code at `caller` would have got: first what its own library sees, which
 * keeps two ONNX Runtimes apart, then any. */
static door_function *door_seen_by(const void *caller)
{
    door_function *door = NULL;
    Dl_info info;
    int saved_errno = errno;

    if (dladdr(caller, &info) && info.dli_fname && *info.dli_fname)
        door = door_in(info.dli_fname);
    if (!door) { /* the program itself */
        void *handle = dlopen(NULL, RTLD_LAZY);
        void *found = handle ? find(RTLD_NEXT, DOOR) : NULL;

        memcpy(&door, &found, sizeof door);
        if (handle)
            dlclose(handle);
    }
    if (!door)
        dl_iterate_phdr(look_in, &door);
    dlerror();
    errno = saved_errno;
    return door;
}

const struct ort_base *OrtGetApiBase(void)
{
    door_function *door = door_seen_by(__builtin_return_address(0));

    return door ? enter(door) : NULL;
}

void *preload_dlsym_ort(void *handle, const char *name)
{
    void *found = find(handle, name);
    door_function *door;

    if (!found || strcmp(name, DOOR) != 0)
        return found;
    memcpy(&door, &found, sizeof door);
    if (door == OrtGetApiBase) {
        /* RTLD_DEFAULT: our own. Without an ONNX Runtime behind it there would be nothing. */
        if (!door_seen_by(__builtin_return_address(0)))
            return NULL;
        return found;
    }
    door = door_for(door);
    memcpy(&found, &door, sizeof found);
    return found;
}

/* ---- programs that confine themselves ---- */

/* NVTX and ITT load our library at their first annotation. If that is still to come, it must not
 * come now: without us, nothing would be loaded, and no system call be made. Where there is another
 * injection, it would be. */
static void disarm_annotations(void)
{
    static const char *const variables[][2] = { { "NVTX_INJECTION64_PATH", "IFG_NVTX_NEXT" },
                                                { "INTEL_LIBITTNOTIFY64", "IFG_ITT_NEXT" } };

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *path = getenv(variables[i][0]);

        if (path && strstr(path, "/" NOTES_LIBRARY) && !getenv(variables[i][1]))
            unsetenv(variables[i][0]);
    }
}

static void confine_begins(enum ifg_confinement confinement)
{
    if (!__atomic_exchange_n(&confined, true, __ATOMIC_RELAXED))
        disarm_annotations();
    if (tell)
        tell((int)confinement);
}

static void *confine_next(const char *name)
{
    return find(RTLD_NEXT, name);
}

static __attribute__((constructor)) void doors_start(void)
{
    int saved_errno = errno;

    confine_find();
    errno = saved_errno;
}
