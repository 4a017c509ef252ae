// SPDX-License-Identifier: Apache-2.0
/* The thread of a hook of devices, in a program that does not know of it: see device.h. */
#include "hooks/device/device.h"

#include <pthread.h>
#include <signal.h>

#define STACK_BYTES (256u << 10)

bool device_thread_start(void *(*watch)(void *unused))
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    bool is_started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = pthread_create(&thread, &attributes, watch, NULL) == 0;
    if (is_started)
        pthread_setname_np(thread, "inferogram-gpu");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}
