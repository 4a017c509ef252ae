// SPDX-License-Identifier: Apache-2.0
/* Input sets from .npz, .npy and directories of them: which file is which input. See inputs.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "bench/inputs/inputs_internal.h"

#define NAMES_TEXT 240 /* of each side, in a message that lists both */

/* ---- one array ---- */

static enum ifg_status wrong_type(const struct npy_source *source, const struct npy_header *header,
                                  const struct port *port, struct ifg_error *err)
{
    const char *type = tensor_type_name(port->type);

    if (port->type == IFG_BENCH_STRING)
        return ifg_fail(err, IFG_INVALID, "%s is %s; input %.*s takes strings: save x.astype(str)",
                        source->name, header->type_name, INPUTS_TEXT, port->name);
    if (header->kind == 'U' || header->kind == 'S')
        return ifg_fail(err, IFG_INVALID, "%s holds texts; input %.*s takes %s", source->name,
                        INPUTS_TEXT, port->name, type);
    return ifg_fail(err, IFG_INVALID, "%s is %s; input %.*s takes %s: save x.astype(%s.%s)",
                    source->name, header->type_name, INPUTS_TEXT, port->name, type,
                    port->type == IFG_BENCH_BFLOAT16 ? "ml_dtypes" : "np",
                    port->type == IFG_BENCH_BOOL ? "bool_" : type);
}

static enum ifg_status take_array(struct wanted_inputs *wanted, const struct wanted_input *input,
                                  struct npy_source *source, struct tensor *out_tensor,
                                  struct ifg_error *err)
{
    struct npy_header header;
    enum ifg_status status = npy_read_header(source, &header, err);

    if (status != IFG_OK)
        return status;
    if (npy_type(&header, input->port->type) != input->port->type)
        return wrong_type(source, &header, input->port, err);
    if (input->value)
        return ifg_fail(err, IFG_INVALID,
                        "input %.*s comes from --value and from %s; leave one out", INPUTS_TEXT,
                        input->port->name, source->name);
    status =
        inputs_accept_shape(wanted, input, source->name, header.dims, header.rank, out_tensor, err);
    if (status == IFG_OK)
        status = npy_read_data(source, &header, out_tensor, err);
    return status;
}

/* ---- .npy files ---- */

static bool read_file(void *context, void *out, size_t size)
{
    int fd = *(int *)context;
    uint8_t *at = out;

    while (size) {
        ssize_t got = read(fd, at, size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static enum ifg_status take_file(struct wanted_inputs *wanted, const struct wanted_input *input,
                                 const char *path, struct tensor *out_tensor, struct ifg_error *err)
{
    const char *base = strrchr(path, '/');
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct npy_source source = { base ? base + 1 : path, 0, read_file, &fd };
    struct stat facts;
    enum ifg_status status;

    if (fd < 0)
        return ifg_fail_errno(err, "cannot open %s", path);
    if (fstat(fd, &facts) < 0)
        status = ifg_fail_errno(err, "cannot read %s", path);
    else if (!S_ISREG(facts.st_mode))
        status = ifg_fail(err, IFG_INVALID, "%s is not a file", path);
    else {
        source.bytes = (uint64_t)facts.st_size;
        status = take_array(wanted, input, &source, out_tensor, err);
    }
    close(fd);
    return status;
}

/* The input that a single array is for: the only one that has no --value; NULL: several. */
static const struct wanted_input *only_input(const struct wanted_inputs *wanted)
{
    const struct wanted_input *found = NULL;

    for (size_t i = 0; i < wanted->count; i++) {
        if (wanted->items[i].value)
            continue;
        if (found)
            return NULL;
        found = &wanted->items[i];
    }
    return found;
}

/* ---- sets ---- */

static struct tensor_list *add_set(const struct wanted_inputs *wanted, struct input_sets *sets)
{
    struct tensor_list *more;

    if (!IFG_ARRAY_ROOM(sets->sets, sets->capacity, sets->count + 1, IFG_ARRAY_ANY))
        return NULL;
    more = &sets->sets[sets->count];
    *more = (struct tensor_list){ 0 };
    more->items = ifg_alloc(wanted->count, sizeof *more->items);
    if (!more->items)
        return NULL;
    more->count = wanted->count;
    sets->count++;
    return more;
}

static enum ifg_status no_memory(const char *path, struct ifg_error *err)
{
    return ifg_fail_no_memory(err, "for the inputs in %s", path);
}

static enum ifg_status wrong_names(const struct wanted_inputs *wanted, const char *path,
                                   const char *what, const char *have, const char *missing,
                                   struct ifg_error *err)
{
    char takes[NAMES_TEXT];

    inputs_list_names(wanted, false, takes, sizeof takes);
    return ifg_fail(err, IFG_INVALID,
                    "%.120s does not fit the model: %s has: %s; the model takes: %s; %.60s is "
                    "missing",
                    path, what, have[0] ? have : "nothing", takes, missing);
}

/* One array, and the rest by --value. */
static enum ifg_status load_single(struct wanted_inputs *wanted, const char *path, uint64_t seed,
                                   struct input_sets *sets, struct ifg_error *err)
{
    const struct wanted_input *only = only_input(wanted);
    struct tensor_list *set;
    enum ifg_status status = IFG_OK;
    char names[NAMES_TEXT];

    if (!only) {
        inputs_list_names(wanted, false, names, sizeof names);
        return ifg_fail(
            err, IFG_INVALID,
            "%.200s is one array, but the model takes %zu inputs: %s; give an .npz with "
            "all of them, or a directory of NAME.npy files",
            path, wanted->count, names);
    }
    set = add_set(wanted, sets);
    if (!set)
        return no_memory(path, err);
    for (size_t i = 0; i < wanted->count && status == IFG_OK; i++) {
        const struct wanted_input *input = &wanted->items[i];

        status = input == only ? take_file(wanted, input, path, &set->items[i], err)
                               : inputs_fill_one(wanted, input, seed, &set->items[i], err);
    }
    return status;
}

static size_t find_member(const struct npz *archive, const char *name)
{
    for (size_t i = 0; i < npz_count(archive); i++)
        if (strcmp(npz_name(archive, i), name) == 0)
            return i;
    return SIZE_MAX;
}

static bool is_wanted(const struct wanted_inputs *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->items[i].port->name, name) == 0)
            return true;
    return false;
}

static enum ifg_status take_archive(struct wanted_inputs *wanted, const char *path,
                                    struct npz *archive, uint64_t seed, struct tensor_list *set,
                                    struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;
    char have[NAMES_TEXT] = "";

    for (size_t i = 0; i < npz_count(archive); i++)
        inputs_add_text(have, sizeof have, ", ", npz_name(archive, i));
    for (size_t i = 0; i < wanted->count; i++) /* before anything is read */
        if (!wanted->items[i].value &&
            find_member(archive, wanted->items[i].port->name) == SIZE_MAX)
            return wrong_names(wanted, path, "it", have, wanted->items[i].port->name, err);
    for (size_t i = 0; i < wanted->count && status == IFG_OK; i++) {
        const struct wanted_input *input = &wanted->items[i];
        size_t index = find_member(archive, input->port->name);
        struct npy_source source;

        if (index == SIZE_MAX) {
            status = inputs_fill_one(wanted, input, seed, &set->items[i], err);
            continue;
        }
        status = npz_begin(archive, index, &source, err);
        if (status == IFG_OK)
            status = take_array(wanted, input, &source, &set->items[i], err);
        if (status == IFG_OK)
            status = npz_end(archive, err);
    }
    return status;
}

static enum ifg_status load_archive(struct wanted_inputs *wanted, const char *path, uint64_t seed,
                                    struct input_sets *sets, char *unused, size_t unused_size,
                                    struct ifg_error *err)
{
    struct npz *archive;
    struct tensor_list *set = add_set(wanted, sets);
    enum ifg_status status;

    if (!set)
        return no_memory(path, err);
    status = npz_open(path, &archive, err);
    if (status != IFG_OK)
        return status;
    status = take_archive(wanted, path, archive, seed, set, err);
    for (size_t i = 0; i < npz_count(archive) && status == IFG_OK && sets->count == 1; i++)
        if (!is_wanted(wanted, npz_name(archive, i)))
            inputs_add_text(unused, unused_size, ", ", npz_name(archive, i));
    npz_close(archive);
    return status;
}

/* ---- directories ---- */

struct folder {
    const char *path;
    char **names; /* sorted */
    size_t count, capacity;
};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);

    return length > tail && strcmp(name + length - tail, end) == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void folder_fini(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        ifg_free(folder->names[i]);
    ifg_free(folder->names);
    folder->names = NULL;
    folder->count = 0;
}

/* The names that end in `end`, hidden ones apart. */
static enum ifg_status list_folder(const char *path, const char *end, struct folder *out,
                                   struct ifg_error *err)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    enum ifg_status status = IFG_OK;

    *out = (struct folder){ .path = path };
    if (!folder)
        return ifg_fail_errno(err, "cannot open directory %s", path);
    while (status == IFG_OK && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || !ends_with(entry->d_name, end))
            continue;
        if (out->count == INPUTS_SETS_MAX) {
            status = ifg_fail(err, IFG_INVALID, "%s has more than %u %s files; take a part of them",
                              path, INPUTS_SETS_MAX, end);
            break;
        }
        if (!IFG_ARRAY_ROOM(out->names, out->capacity, out->count + 1, INPUTS_SETS_MAX) ||
            !(out->names[out->count] = ifg_strdup(entry->d_name))) {
            status = no_memory(path, err);
            break;
        }
        out->count++;
    }
    closedir(folder);
    if (out->count > 1)
        qsort(out->names, out->count, sizeof *out->names, compare_names);
    if (status != IFG_OK)
        folder_fini(out);
    return status;
}

static char *join(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = ifg_alloc(size, 1);

    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* Names of inputs may have letters that files are not named with: "input:0" is input_0.npy. */
static bool is_file_of(const char *file, const char *input)
{
    size_t length = strlen(input);

    if (strlen(file) != length + 4)
        return false;
    for (size_t i = 0; i < length; i++)
        if (file[i] != input[i] && (file[i] != '_' || !strchr("/:;\\ ?*|<>\"", input[i])))
            return false;
    return true;
}

static const char *find_file(const struct folder *folder, const char *input)
{
    for (size_t i = 0; i < folder->count; i++)
        if (is_file_of(folder->names[i], input))
            return folder->names[i];
    return NULL;
}

/* NAME.npy for every input: one set. */
static enum ifg_status load_named(struct wanted_inputs *wanted, const struct folder *folder,
                                  uint64_t seed, struct input_sets *sets, struct ifg_error *err)
{
    struct tensor_list *set = add_set(wanted, sets);
    enum ifg_status status = IFG_OK;
    char have[NAMES_TEXT] = "";

    if (!set)
        return no_memory(folder->path, err);
    for (size_t i = 0; i < folder->count; i++)
        inputs_add_text(have, sizeof have, ", ", folder->names[i]);
    for (size_t i = 0; i < wanted->count && status == IFG_OK; i++) {
        const struct wanted_input *input = &wanted->items[i];
        const char *file = find_file(folder, input->port->name);
        char *path = NULL;

        if (!file && !input->value)
            return wrong_names(wanted, folder->path, "it", have, input->port->name, err);
        if (!file) {
            status = inputs_fill_one(wanted, input, seed, &set->items[i], err);
            continue;
        }
        path = join(folder->path, file);
        status = path ? take_file(wanted, input, path, &set->items[i], err)
                      : no_memory(folder->path, err);
        ifg_free(path);
    }
    return status;
}

/* A set of every file: archives, or arrays for a model's only input. */
static enum ifg_status load_each(struct wanted_inputs *wanted, const struct folder *folder,
                                 bool archives, uint64_t seed, struct input_sets *sets,
                                 char *unused, size_t unused_size, struct ifg_error *err)
{
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < folder->count && status == IFG_OK; i++) {
        char *path = join(folder->path, folder->names[i]);

        if (!path)
            return no_memory(folder->path, err);
        status = archives ? load_archive(wanted, path, seed, sets, unused, unused_size, err)
                          : load_single(wanted, path, seed, sets, err);
        ifg_free(path);
    }
    return status;
}

static enum ifg_status load_folder(struct wanted_inputs *wanted, const char *path, uint64_t seed,
                                   struct input_sets *sets, char *unused, size_t unused_size,
                                   struct ifg_error *err)
{
    const struct wanted_input *only = only_input(wanted);
    struct folder folder;
    enum ifg_status status = list_folder(path, ".npz", &folder, err);

    if (status != IFG_OK)
        return status;
    if (folder.count) {
        status = load_each(wanted, &folder, true, seed, sets, unused, unused_size, err);
        folder_fini(&folder);
        return status;
    }
    folder_fini(&folder);
    status = list_folder(path, ".npy", &folder, err);
    if (status != IFG_OK)
        return status;
    if (folder.count == 0)
        status = ifg_fail(err, IFG_NOT_FOUND, "directory %s has no .npz and no .npy files", path);
    else if (only && !find_file(&folder, only->port->name))
        status = load_each(wanted, &folder, false, seed, sets, unused, unused_size, err);
    else
        status = load_named(wanted, &folder, seed, sets, err);
    folder_fini(&folder);
    return status;
}

/* Zip archives begin with "PK": content tells more than a file's name. */
static bool is_archive(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char start[2] = "";
    bool found = fd >= 0 && read(fd, start, 2) == 2 && memcmp(start, "PK", 2) == 0;

    if (fd >= 0)
        close(fd);
    return found;
}

enum ifg_status inputs_load(struct wanted_inputs *wanted, const char *path, uint64_t seed,
                            struct input_sets *sets, char *unused, size_t unused_size,
                            struct ifg_error *err)
{
    struct stat facts;

    if (stat(path, &facts) < 0)
        return ifg_fail_errno(err, "cannot open input data %s", path);
    if (S_ISDIR(facts.st_mode))
        return load_folder(wanted, path, seed, sets, unused, unused_size, err);
    if (!S_ISREG(facts.st_mode))
        return ifg_fail(err, IFG_INVALID,
                        "input data %s is neither a file nor a directory; give an .npz, an .npy or "
                        "a directory of them",
                        path);
    if (is_archive(path) || ends_with(path, ".npz"))
        return load_archive(wanted, path, seed, sets, unused, unused_size, err);
    return load_single(wanted, path, seed, sets, err);
}
