// SPDX-License-Identifier: Apache-2.0
/*
 * Names that tell models apart.
 *
 * Programs call their files model.onnx and put them into folders that say which it is. Models of
 * the same name that come from different files get as much of the path as it takes: en/model.
 * Everybody shows and groups by timeline_model.name, so this is the only place that knows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "timeline/timeline_internal.h"

/* Nobody reads a list of more; the others are called by their whole path. */
#define COMPARED_MAX 256u
#define LABEL_MAX    8192u

static int by_name_and_path(const void *a, const void *b, void *user)
{
    const struct timeline_model *models = user;
    const struct timeline_model *left = &models[*(const uint32_t *)a];
    const struct timeline_model *right = &models[*(const uint32_t *)b];
    int order = strcmp(left->given_name, right->given_name);

    return order ? order : strcmp(left->path, right->path);
}

/* The last so many parts of a path; the whole, if it has no more. */
static const char *last_parts(const char *path, size_t parts)
{
    const char *at = path + strlen(path);

    while (at > path) {
        while (at > path && at[-1] != '/')
            at--;
        if (!--parts || at == path)
            break;
        at--;
    }
    return at;
}

/* As much of a path as none of the others ends with. */
static const char *distinct_part(const char *path, const char *const *others, size_t count)
{
    const char *part = path;

    for (size_t parts = 1; count <= COMPARED_MAX; parts++) {
        bool shared = false;

        part = last_parts(path, parts);
        for (size_t i = 0; i < count && !shared; i++)
            shared = others[i] != path && strcmp(others[i], path) != 0 &&
                     strcmp(last_parts(others[i], parts), part) == 0;
        if (!shared || part == path)
            break;
    }
    return part;
}

/* "en/model" of ".../en/model.onnx" and "model"; "decoder (en/model.onnx)" of a name of its own. */
static const char *make_label(struct timeline_builder *builder, const char *name, const char *part)
{
    const char *file = strrchr(part, '/');
    size_t length = strlen(name);
    struct ifg_bytes text;
    const char *label;

    ifg_bytes_init(&text, LABEL_MAX);
    if (file && strncmp(file + 1, name, length) == 0 &&
        (!file[1 + length] || file[1 + length] == '.')) {
        ifg_bytes_put(&text, part, (size_t)(file + 1 - part) + length);
    } else if (!file && strncmp(part, name, length) == 0) {
        ifg_bytes_put(&text, part, strlen(part)); /* only what follows the dot differs */
    } else {
        ifg_bytes_put(&text, name, length);
        ifg_bytes_put(&text, " (", 2);
        ifg_bytes_put(&text, part, strlen(part));
        ifg_bytes_put(&text, ")", 1);
    }
    label = text.failed ? name
                        : ifg_strings_keep(&builder->strings, (const char *)text.data, text.size);
    ifg_bytes_fini(&text);
    return label;
}

/* Models of one name, by path: order[0 .. count). */
static bool name_alike(struct timeline_builder *builder, struct timeline_model *models,
                       const uint32_t *order, size_t count, const char **paths)
{
    size_t path_count = 0;

    for (size_t i = 0; i < count; i++)
        if (*models[order[i]].path &&
            (!path_count || strcmp(paths[path_count - 1], models[order[i]].path) != 0))
            paths[path_count++] = models[order[i]].path;
    if (path_count < 2)
        return true;
    for (size_t i = 0; i < count; i++) {
        struct timeline_model *model = &models[order[i]];

        if (!*model->path)
            continue;
        model->name =
            make_label(builder, model->given_name, distinct_part(model->path, paths, path_count));
        if (!model->name)
            return false;
    }
    return true;
}

/* ---- models of several machines ---- */

/* What a content id says of the file, without what it says of the session. */
static size_t content_bytes(const struct timeline_model *model)
{
    return strcspn(model->content_id, "-");
}

/* On one machine, what has the same name and file is the same model. On two, only what has the same
 * content is: /model.onnx of both are two, until somebody shows otherwise. */
static bool is_same_model(const struct timeline_builder *builder, const struct timeline_model *a,
                          const struct timeline_model *b)
{
    const struct timeline_process *processes = builder->timeline.processes;

    return strcmp(processes[a->process].host, processes[b->process].host) == 0 ||
           (content_bytes(a) && content_bytes(a) == content_bytes(b) &&
            memcmp(a->content_id, b->content_id, content_bytes(a)) == 0);
}

static bool add_host(struct timeline_builder *builder, struct timeline_model *model)
{
    const char *host = builder->timeline.processes[model->process].host;
    struct ifg_bytes text;
    const char *label = NULL;

    if (!*host)
        return true;
    ifg_bytes_init(&text, LABEL_MAX);
    ifg_bytes_put(&text, model->name, strlen(model->name));
    ifg_bytes_put(&text, " (", 2);
    ifg_bytes_put(&text, host, strlen(host));
    ifg_bytes_put(&text, ")", 1);
    if (!text.failed)
        label = ifg_strings_keep(&builder->strings, (const char *)text.data, text.size);
    ifg_bytes_fini(&text);
    model->name = label ? label : model->name;
    return label != NULL;
}

static int by_label(const void *a, const void *b, void *user)
{
    const struct timeline_model *models = user;

    return strcmp(models[*(const uint32_t *)a].name, models[*(const uint32_t *)b].name);
}

static bool name_hosts(struct timeline_builder *builder, struct timeline_model *models,
                       const uint32_t *order, size_t count)
{
    bool differ = false;

    for (size_t i = 1; i < count && !differ; i++)
        differ = !is_same_model(builder, &models[order[0]], &models[order[i]]);
    for (size_t i = 0; i < count && differ; i++)
        if (!add_host(builder, &models[order[i]]))
            return false;
    return true;
}

static bool name_merged(struct timeline_builder *builder, struct timeline_model *models,
                        uint32_t *order, size_t count)
{
    size_t end;

    if (!builder->timeline.several_machines)
        return true;
    if (count)
        qsort_r(order, count, sizeof *order, by_label, models);
    for (size_t i = 0; i < count; i = end) {
        for (end = i; end < count && strcmp(models[order[end]].name, models[order[i]].name) == 0;)
            end++;
        if (!name_hosts(builder, models, order + i, end - i))
            return false;
    }
    return true;
}

enum ifg_status timeline_name_models(struct timeline_builder *builder,
                                     struct timeline_model *models, size_t count)
{
    uint32_t *order = ifg_alloc(count, sizeof *order);
    const char **paths = ifg_alloc(count, sizeof *paths);
    bool memory = order && paths;
    size_t end;

    for (size_t i = 0; memory && i < count; i++)
        order[i] = (uint32_t)i;
    if (memory && count)
        qsort_r(order, count, sizeof *order, by_name_and_path, models);
    for (size_t i = 0; memory && i < count; i = end) {
        for (end = i; end < count &&
                      strcmp(models[order[end]].given_name, models[order[i]].given_name) == 0;)
            end++;
        memory = name_alike(builder, models, order + i, end - i, paths);
    }
    memory = memory && name_merged(builder, models, order, count);
    ifg_free(order);
    ifg_free(paths);
    return memory ? IFG_OK : IFG_NO_MEMORY;
}

bool timeline_model_is_called(const struct timeline_model *model, const char *name)
{
    return strcmp(model->name, name) == 0 || strcmp(model->given_name, name) == 0 ||
           (*model->path && strcmp(model->path, name) == 0);
}
