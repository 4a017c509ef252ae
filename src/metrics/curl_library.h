// SPDX-License-Identifier: Apache-2.0
/* libcurl, loaded when something is to be sent: it brings two dozen libraries, which no other
 * command should wait for, and no recorder should have in it. */
#ifndef METRICS_CURL_LIBRARY_H
#define METRICS_CURL_LIBRARY_H

#include <curl/curl.h>

#include "base/status.h"

#define CURL_LIBRARY_FUNCTIONS(X)                                                                  \
    X(global_init)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_perform)                                                                                \
    X(easy_getinfo)                                                                                \
    X(easy_strerror)                                                                               \
    X(easy_cleanup)                                                                                \
    X(slist_append)                                                                                \
    X(slist_free_all)

struct curl_library {
#define CURL_LIBRARY_DECLARE(name) __typeof__(&curl_##name) name;
    CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_DECLARE)
#undef CURL_LIBRARY_DECLARE
};

/* It stays loaded. */
enum ifg_status curl_library_load(struct curl_library *out_library,
                                  struct ifg_error *err) IFG_MUST_CHECK;

#endif
