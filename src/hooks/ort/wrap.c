// SPDX-License-Identifier: Apache-2.0
/* The thunks: for each wrapped function, one for each runtime that this process may hold. */
#include "hooks/ort/wrap.h"

#define THUNK_S(index, name, parameters, arguments)                                                \
    static struct ort_status *name##_##index parameters                                            \
    {                                                                                              \
        struct ort_runtime *const rt = &ort_runtimes[index];                                       \
        return ort_##name arguments;                                                               \
    }
#define THUNK_V(index, name, parameters, arguments)                                                \
    static void name##_##index parameters                                                          \
    {                                                                                              \
        struct ort_runtime *const rt = &ort_runtimes[index];                                       \
        ort_##name arguments;                                                                      \
    }

#define S0(name, parameters, arguments) THUNK_S(0, name, parameters, arguments)
#define S1(name, parameters, arguments) THUNK_S(1, name, parameters, arguments)
#define S2(name, parameters, arguments) THUNK_S(2, name, parameters, arguments)
#define S3(name, parameters, arguments) THUNK_S(3, name, parameters, arguments)
#define V0(name, parameters, arguments) THUNK_V(0, name, parameters, arguments)
#define V1(name, parameters, arguments) THUNK_V(1, name, parameters, arguments)
#define V2(name, parameters, arguments) THUNK_V(2, name, parameters, arguments)
#define V3(name, parameters, arguments) THUNK_V(3, name, parameters, arguments)

ORT_WRAPPED(S0, V0)
ORT_WRAPPED(S1, V1)
ORT_WRAPPED(S2, V2)
ORT_WRAPPED(S3, V3)

#define ROW(name, parameters, arguments)                                                           \
    { ORT_##name,                                                                                  \
      { (ort_function)name##_0, (ort_function)name##_1, (ort_function)name##_2,                    \
        (ort_function)name##_3 } },

static const struct {
    unsigned slot;
    ort_function thunks[ORT_RUNTIMES_MAX];
} rows[] = { ORT_WRAPPED(ROW, ROW) };

/* ---- the model editor's table: only the way to a session is ours ---- */

#define EDITOR(index)                                                                              \
    static struct ort_status *session_from_model_##index(                                          \
        const struct ort_env *env, const void *model, const struct ort_session_options *options,   \
        struct ort_session **out)                                                                  \
    {                                                                                              \
        return ort_CreateSessionFromModel(&ort_runtimes[index], env, model, options, out);         \
    }                                                                                              \
    static const ort_function *editor_##index(void)                                                \
    {                                                                                              \
        return editor(&ort_runtimes[index], (ort_function)session_from_model_##index);             \
    }

static const ort_function *editor(struct ort_runtime *rt, ort_function create_session)
{
    const ort_function *real = ((const ort_function *(*)(void))rt->api[ORT_GetModelEditorApi])();

    if (!real)
        return NULL;
    pthread_mutex_lock(&rt->lock);
    if (!rt->editor_api) {
        for (unsigned i = 0; i < ORT_EDITOR_SLOTS; i++)
            rt->editor_table[i] = real[i];
        rt->editor_table[ORT_EDITOR_CreateSessionFromModel] = create_session;
        rt->editor_api = real;
    }
    pthread_mutex_unlock(&rt->lock);
    return rt->editor_table;
}

EDITOR(0)
EDITOR(1)
EDITOR(2)
EDITOR(3)

void ort_wrap_table(struct ort_runtime *rt, unsigned index)
{
    static const ort_function editors[ORT_RUNTIMES_MAX] = {
        (ort_function)editor_0,
        (ort_function)editor_1,
        (ort_function)editor_2,
        (ort_function)editor_3,
    };

    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ort_has(rt, rows[i].slot))
            rt->table[rows[i].slot] = rows[i].thunks[index];
    if (ort_has(rt, ORT_GetModelEditorApi))
        rt->table[ORT_GetModelEditorApi] = editors[index];
}
