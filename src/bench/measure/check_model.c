// SPDX-License-Identifier: Apache-2.0
/* Is this file a model at all? Asked before anything is started. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bench/measure/measure_internal.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

/* The first model of a folder, by name, as a hint. */
static void find_model_in(const char *folder, char *out, size_t size)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    *out = '\0';
    while (dir && (entry = readdir(dir)) != NULL) {
        if (!ends_with(entry->d_name, ".onnx") && !ends_with(entry->d_name, ".ort"))
            continue;
        if (!*out || strcmp(entry->d_name, out) < 0)
            snprintf(out, size, "%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
}

static enum ifg_status check_file(const char *path, bool plugin, struct stat *out_file,
                                  struct ifg_error *err)
{
    char inside[256];
    int fd;

    if (!*path)
        return ifg_fail(err, IFG_INVALID, "the name of the model is empty");
    if (stat(path, out_file) != 0)
        return ifg_fail(err, errno == EACCES ? IFG_PERMISSION : IFG_NOT_FOUND, "%s: %s", path,
                        strerror(errno));
    if (S_ISDIR(out_file->st_mode)) {
        if (plugin)
            return IFG_OK;
        find_model_in(path, inside, sizeof inside);
        if (*inside)
            return ifg_fail(err, IFG_INVALID,
                            "%s is a directory; name the model file in it, such as %s%s%s", path,
                            path, ends_with(path, "/") ? "" : "/", inside);
        return ifg_fail(err, IFG_INVALID,
                        "%s is a directory, and there is no .onnx or .ort file in it", path);
    }
    if (!S_ISREG(out_file->st_mode))
        return ifg_fail(err, IFG_INVALID, "%s is not a file", path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ifg_fail(err, errno == EACCES ? IFG_PERMISSION : IFG_NOT_FOUND, "%s: %s", path,
                        strerror(errno));
    close(fd);
    if (!out_file->st_size)
        return ifg_fail(err, IFG_CORRUPT, "%s is empty", path);
    return IFG_OK;
}

static bool replace(char **text, const char *by)
{
    char *copy = ifg_strdup(by);

    if (copy) {
        ifg_free(*text);
        *text = copy;
    }
    return copy != NULL;
}

/* The element type that most parameters have. */
static const char *main_type(const struct onnx_model *model)
{
    int32_t most = 0;

    for (int32_t type = 1; type < ONNX_TYPES; type++)
        if (model->weights[type].elements > model->weights[most].elements)
            most = type;
    return most ? onnx_type_name(most) : "";
}

static bool describe(const struct onnx_model *model, struct bench_result *result)
{
    char opsets[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < model->opset_count && used < sizeof opsets; i++)
        used += (size_t)snprintf(opsets + used, sizeof opsets - used, "%s%.100s %" PRId64,
                                 i ? ", " : "", model->opsets[i].domain, model->opsets[i].version);
    result->model_bytes = model->file_bytes + model->external_bytes;
    result->parameters = model->parameters;
    return replace(&result->model_hash, model->content_id ? model->content_id : "") &&
           replace(&result->precision, main_type(model)) && replace(&result->opsets, opsets);
}

static enum ifg_status check_external(const struct onnx_model *model, struct ifg_error *err)
{
    for (size_t i = 0; i < model->file_count; i++)
        if (model->files[i].missing)
            return ifg_fail(err, IFG_NOT_FOUND,
                            "%s keeps weights in %s, and that file is missing; put it beside the "
                            "model",
                            model->path, model->files[i].path);
    return IFG_OK;
}

enum ifg_status measure_open_model(const char *path, bool plugin, struct bench_result *result,
                                   struct onnx_model **out_model, struct ifg_error *err)
{
    const struct onnx_options options = { 0 };
    struct onnx_model *model = NULL;
    struct stat file;
    enum ifg_status status = check_file(path, plugin, &file, err);

    *out_model = NULL;
    if (status)
        return status;
    if (result) {
        result->model_bytes = (uint64_t)file.st_size;
        if (!replace(&result->model_path, path) || !replace(&result->model_name, file_name(path)))
            return ifg_fail_no_memory(err, NULL);
    }
    if (plugin)
        return IFG_OK;
    status = onnx_open(path, &options, &model, err);
    if (!status)
        status = check_external(model, err);
    if (!status && result && !describe(model, result))
        status = ifg_fail_no_memory(err, NULL);
    if (status) {
        onnx_close(model);
        return status;
    }
    *out_model = model;
    return IFG_OK;
}

enum ifg_status bench_check_model(const char *path, bool plugin, struct bench_result *result,
                                  struct ifg_error *err)
{
    struct onnx_model *model;
    enum ifg_status status = measure_open_model(path, plugin, result, &model, err);

    if (!status)
        onnx_close(model);
    return status;
}
