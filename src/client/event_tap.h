// SPDX-License-Identifier: Apache-2.0
/*
 * How libinferogram-handles learns of inferences: between two libraries of the same version, not
 * for programs. While a tap is set, ifg_wants_events() is true, also when nobody records.
 */
#ifndef IFG_CLIENT_EVENT_TAP_H
#define IFG_CLIENT_EVENT_TAP_H

#include <stdint.h>

#include <inferogram/inferogram.h>

enum ifg_tap_kind {
    IFG_TAP_INFERENCE = 1,
    IFG_TAP_STAGE = 2,    /* of a request: model is NULL */
    IFG_TAP_CREATED = 3,  /* a model; no times */
    IFG_TAP_RELEASED = 4, /* its last reference is gone */
};

struct ifg_tap_event {
    ifg_model *model; /* never freed, and neither is its name */
    uint64_t start;   /* ticks */
    uint64_t end;
    uint64_t setup_start; /* of the setups before an inference, on its thread; 0: there were none */
    uint64_t setup;       /* ticks in them */
    uint64_t request;     /* of the stage that it lies in, or is; 0: none */
    uint64_t stage_start; /* of the stage that it lies in */
    uint32_t kind;
    uint32_t running; /* inferences of the model that were under way when this one began, with it */
    uint32_t thread;
    uint32_t reserved;
};

/* Called on the threads of the program: must not wait, and must keep errno. */
typedef void ifg_tap_function(const struct ifg_tap_event *event);

/* NULL: no more. A call on another thread may still be under way when this returns. */
IFG_API void ifg_tap_set(ifg_tap_function *tap);

/* Calls `each` for the models that have a reference, oldest last, with the lock of models held. */
IFG_API void ifg_tap_models(void (*each)(ifg_model *model, const char *name, void *user),
                            void *user);

IFG_API const char *ifg_tap_model_name(const ifg_model *model);
/* Whether the program may make system calls. */
IFG_API int ifg_tap_may_call(void);

#endif
