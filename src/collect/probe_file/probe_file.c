// SPDX-License-Identifier: Apache-2.0
/* Finding a description, and the questions that it answers. */
#include "collect/probe_file/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "symbol/exported.h"

static void free_rule(struct probe_rule *rule)
{
    ifg_free(rule->symbol);
    ifg_free(rule->zone);
    ifg_free(rule->model_name);
    ifg_free(rule->function);
    for (size_t i = 0; i < rule->attribute_count; i++)
        ifg_free(rule->attributes[i].key);
}

void probe_file_free(struct probe_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->library_count; i++)
        ifg_free(file->libraries[i].pattern);
    for (size_t i = 0; i < file->rule_count; i++)
        free_rule(&file->rules[i]);
    ifg_free(file->rules);
    ifg_free(file->note);
    ifg_free(file->runtime);
    ifg_free(file->name);
    ifg_free(file);
}

/* ---- finding and reading ---- */

/* The path of a description that was named; false: there is none. */
static bool find(const char *name, const char *folders, char *out_path, size_t size)
{
    struct stat info;

    /* In the working directory, which may be one like /tmp, only what is ours. */
    snprintf(out_path, size, "%s", name);
    if (strchr(name, '/') || (stat(name, &info) == 0 && S_ISREG(info.st_mode) &&
                              (info.st_uid == 0 || info.st_uid == getuid())))
        return true;
    while (*folders) {
        size_t length = strcspn(folders, ":");

        snprintf(out_path, size, "%.*s/%s.probe", (int)length, folders, name);
        if (length && stat(out_path, &info) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

static enum ifg_status read_whole(const char *path, struct ifg_bytes *out, struct ifg_error *err)
{
    char part[4096];
    struct stat info;
    ssize_t got = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return ifg_fail_errno(err, "cannot open the description %.500s", path);
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return ifg_fail(err, IFG_INVALID,
                        "%.500s is not a file; --probe takes a description, see "
                        "docs/probes.md",
                        path);
    }
    while (got > 0 && !out->failed) {
        got = read(fd, part, sizeof part);
        if (got > 0)
            ifg_bytes_put(out, part, (size_t)got);
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    if (got < 0) {
        ifg_fail_errno(err, "cannot read %.500s", path);
        close(fd);
        return IFG_IO;
    }
    close(fd);
    if (out->failed)
        return ifg_fail(err, IFG_CORRUPT, "%.500s: more than %u bytes; is this a description?",
                        path, PROBE_FILE_BYTES_MAX);
    return IFG_OK;
}

enum ifg_status probe_file_load(const char *name, const char *folders, struct probe_file **out_file,
                                struct ifg_error *err)
{
    struct ifg_bytes bytes;
    char path[PATH_MAX];
    enum ifg_status status;

    *out_file = NULL;
    if (!*name)
        return ifg_fail(err, IFG_INVALID, "the name of the description is empty");
    if (strlen(name) + 16 > sizeof path)
        return ifg_fail(err, IFG_INVALID, "the name of the description is too long");
    if (!find(name, folders, path, sizeof path))
        return ifg_fail(err, IFG_NOT_FOUND,
                        "there is no description '%.200s': neither a file of that name, nor "
                        "%.200s.probe in %.200s",
                        name, name, *folders ? folders : "any folder of descriptions");
    ifg_bytes_init(&bytes, PROBE_FILE_BYTES_MAX);
    status = read_whole(path, &bytes, err);
    if (!status)
        status = probe_file_parse(path, bytes.data, bytes.size, out_file, err);
    ifg_bytes_fini(&bytes);
    return status;
}

/* ---- what it says ---- */

static int64_t as_number(enum probe_width width, uint64_t result)
{
    switch (width) {
    case PROBE_INT:
        return (int32_t)(uint32_t)result;
    case PROBE_BOOL:
        return (result & 0xff) != 0;
    case PROBE_LONG:
    case PROBE_POINTER:
        break;
    }
    return (int64_t)result;
}

bool probe_rule_failed(const struct probe_rule *rule, uint64_t result, char *out_text, size_t size)
{
    int64_t value = as_number(rule->width, result);
    int64_t limit = rule->failed_value;
    bool failed = false;

    if (size)
        out_text[0] = '\0';
    switch (rule->failed) {
    case PROBE_NEVER:
        return false;
    case PROBE_EQUAL:
        failed = value == limit;
        break;
    case PROBE_UNEQUAL:
        failed = value != limit;
        break;
    case PROBE_LESS:
        failed = value < limit;
        break;
    case PROBE_LESS_EQUAL:
        failed = value <= limit;
        break;
    case PROBE_GREATER:
        failed = value > limit;
        break;
    case PROBE_GREATER_EQUAL:
        failed = value >= limit;
        break;
    }
    if (rule->width == PROBE_BOOL)
        snprintf(out_text, size, "%s", value ? "true" : "false");
    else if (rule->width == PROBE_POINTER)
        snprintf(out_text, size, value ? "0x%" PRIx64 : "null", result);
    else
        snprintf(out_text, size, "%" PRId64, value);
    return failed;
}

bool probe_file_wants(const struct probe_file *file, const char *path, bool is_executable)
{
    const char *slash = strrchr(path, '/');

    for (size_t i = 0; i < file->library_count; i++) {
        const struct probe_library *library = &file->libraries[i];

        if (library->executable
                ? is_executable
                : exported_matches(library->pattern,
                                   strchr(library->pattern, '/') || !slash ? path : slash + 1))
            return true;
    }
    return false;
}
