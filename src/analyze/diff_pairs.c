// SPDX-License-Identifier: Apache-2.0
/* Pairing the models of two traces that have different names, by how alike they are. */
#include "analyze/diff_pairs.h"

#include <string.h>

#define SIDES      2
#define SINGLE_MAX 256u /* more of them than anybody reads are compared by their names alone */
#define MODELS_MAX 4096u
#define SAME_BYTES 1000u

/* Models of one side that the other has no name for, each name once. */
struct singles {
    const struct timeline *timeline;
    const char **names; /* what its models are called */
    const struct timeline_model *models[SINGLE_MAX];
    size_t count;
};

static bool has_name(const struct timeline *timeline, const char *name)
{
    for (size_t i = 0; i < timeline->model_count; i++)
        if (strcmp(timeline->models[i].name, name) == 0)
            return true;
    return false;
}

static bool is_listed(const struct singles *side, const char *name)
{
    for (size_t i = 0; i < side->count; i++)
        if (strcmp(side->models[i]->name, name) == 0)
            return true;
    return false;
}

/* False: there are too many. */
static bool list_singles(struct singles *side, const struct timeline *other)
{
    for (size_t i = 0; i < side->timeline->model_count; i++) {
        const struct timeline_model *model = &side->timeline->models[i];

        if (has_name(other, model->name) || is_listed(side, model->name))
            continue;
        if (side->count == SINGLE_MAX)
            return false;
        side->models[side->count++] = model;
    }
    return true;
}

/* How many parts at the ends of two paths are the same. */
static unsigned shared_parts(const char *a, const char *b)
{
    size_t left = strlen(a), right = strlen(b);
    unsigned parts = 0;

    while (left && right && a[left - 1] == b[right - 1]) {
        left--;
        right--;
        parts += a[left] == '/';
    }
    /* The last one counts if it is whole. */
    return parts + ((!left || a[left - 1] == '/') && (!right || b[right - 1] == '/') &&
                    a[left] != '/' && a[left]);
}

/* 0: they are not the same model. 1: nothing but the name speaks for it. */
static unsigned likeness(const struct timeline_model *a, const struct timeline_model *b)
{
    unsigned score = 1;

    if (strcmp(a->given_name, b->given_name) != 0)
        return 0;
    if (*a->content_id && strcmp(a->content_id, b->content_id) == 0)
        score += SAME_BYTES;
    if (shared_parts(a->path, b->path) > 1)
        score += shared_parts(a->path, b->path);
    return score;
}

/* The one that is most like a model; NULL if there is none, or another is as much like it. */
static const struct timeline_model *most_alike(const struct timeline_model *model,
                                               const struct singles *others)
{
    const struct timeline_model *found = NULL;
    unsigned best = 0;

    for (size_t i = 0; i < others->count; i++) {
        unsigned score = likeness(model, others->models[i]);

        if (score < best || !score)
            continue;
        found = score > best ? others->models[i] : NULL;
        best = score;
    }
    return found;
}

static void call(const struct singles *side, const char *name, const char *new_name)
{
    for (size_t i = 0; i < side->timeline->model_count; i++)
        if (strcmp(side->timeline->models[i].name, name) == 0)
            side->names[i] = new_name;
}

void diff_pair_models(const struct timeline *a, const struct timeline *b, const char **out_a,
                      const char **out_b)
{
    struct singles side[SIDES] = { { .timeline = a, .names = out_a },
                                   { .timeline = b, .names = out_b } };

    for (size_t i = 0; i < SIDES; i++)
        for (size_t model = 0; model < side[i].timeline->model_count; model++)
            side[i].names[model] = side[i].timeline->models[model].name;
    if (a->model_count > MODELS_MAX || b->model_count > MODELS_MAX || !list_singles(&side[0], b) ||
        !list_singles(&side[1], a))
        return;
    for (size_t i = 0; i < side[0].count; i++) {
        const struct timeline_model *one = side[0].models[i];
        const struct timeline_model *other = most_alike(one, &side[1]);

        if (!other || most_alike(other, &side[0]) != one)
            continue;
        if (strlen(one->name) >= strlen(other->name))
            call(&side[1], other->name, one->name);
        else
            call(&side[0], one->name, other->name);
    }
}
