// SPDX-License-Identifier: Apache-2.0
/* libcurl on demand: see curl_library.h. */
#include "metrics/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* Debian has one for each library of TLS. */
static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

static bool find(void *library, const char *name, void *out_function)
{
    void *found = dlsym(library, name);

    memcpy(out_function, &found, sizeof found); /* C has no cast from objects to functions */
    return found != NULL;
}

enum ifg_status curl_library_load(struct curl_library *out_library, struct ifg_error *err)
{
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof names / sizeof names[0]; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "libcurl, which sends to collectors, is not here: install libcurl3-gnutls "
                        "(Ubuntu 24.04: libcurl3t64-gnutls)");
#define CURL_LIBRARY_FIND(name)                                                                    \
    if (!find(library, "curl_" #name, &out_library->name))                                         \
        return ifg_fail(err, IFG_UNSUPPORTED, "libcurl has no function curl_" #name);
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_FIND)
#undef CURL_LIBRARY_FIND
    return IFG_OK;
}
