// SPDX-License-Identifier: Apache-2.0
/* One creation of a session: what it is made from, what is asked in addition, what is learned. */
#ifndef IFG_HOOKS_ORT_CREATION_H
#define IFG_HOOKS_ORT_CREATION_H

#include "hooks/ort/identity.h"
#include "hooks/ort/wrap.h"

enum creation_how {
    FROM_PATH,
    FROM_ARRAY,
    FROM_PATH_WITH_CONTAINER,
    FROM_ARRAY_WITH_CONTAINER,
    FROM_EDITOR,
};

struct creation_time {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
};

struct cache_news;

struct creation {
    struct ort_runtime *rt;
    enum creation_how how;
    const struct ort_env *env;
    const char *path; /* NULL: from memory */
    const void *data;
    size_t bytes;
    const struct ort_session_options *options; /* the program's; may be NULL */
    void *container;

    struct model_identity identity;
    const struct ort_options *asked;
    ifg_model *model;
    bool is_new_model;
    uint32_t number;
    struct ort_session_options *ours; /* a copy with questions added; NULL: none */
    bool has_assignment;
    bool has_parts; /* the initialization is timed by a profile that ends with it */
    bool observed;
    struct ort_profile *profile;
    struct creation_time begin;
    struct creation_time end;
};

/* A version that nobody tested is given the options of the program, unchanged. */
void creation_ask_nothing(void);

/* Adds questions to creation->ours. */
void creation_ask(struct creation *creation);

void creation_clock(struct creation_time *out);

/* Writes the parts of the load and what is known of it; `session` is NULL if it failed. */
void creation_tell(struct creation *creation, ifg_zone load, struct ort_session *session,
                   struct ort_status *status, const struct cache_news *news);

/* Tells which provider got how many nodes. */
void creation_placement(struct creation *creation, struct ort_session *session);

/* Whether this model is new to this process. */
bool ort_models_note(const char *content_id, const char *path);

#endif
