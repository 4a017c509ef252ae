// SPDX-License-Identifier: Apache-2.0
/* The library that the user had configured before `record` put ours into its place. */
#include "hooks/annotations/annotations.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* By this name, another copy of this library is known: it records the same itself. */
EXPORT extern const char ifg_annotations_library[];
const char ifg_annotations_library[] = "inferogram";

/* Set while this thread opens one, whose constructors may annotate themselves. */
static __thread bool opening __attribute__((tls_model("initial-exec")));

/* No lock is held: the loader has one of its own, and a constructor that annotates would wait for
 * ours while it holds that. Two threads that open the same file get the same library. */
void annotations_next_open(struct annotations_next *next)
{
    const char *path = secure_getenv(next->variable);
    int saved_errno = errno;
    void *library;

    if (opening || !path || !*path || __atomic_load_n(&next->is_tried, __ATOMIC_ACQUIRE))
        return;
    opening = true;
    library = dlopen(path, RTLD_LAZY);
    if (library && dlsym(library, "ifg_annotations_library")) {
        dlclose(library);
        library = NULL;
    }
    dlerror(); /* ours, not the program's */
    opening = false;
    if (library) {
        next->path = path;
        __atomic_store_n(&next->library, library, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&next->is_tried, true, __ATOMIC_RELEASE);
    errno = saved_errno;
}

void *annotations_next_function(const struct annotations_next *next, const char *name)
{
    void *library = __atomic_load_n(&next->library, __ATOMIC_ACQUIRE);
    void *found = library ? dlsym(library, name) : NULL;

    if (!found)
        dlerror();
    return found;
}
