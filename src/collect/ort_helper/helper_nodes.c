// SPDX-License-Identifier: Apache-2.0
/*
 * What the nodes of a model are called: see helper.h. ONNX Runtime writes a profile into a folder
 * that exists only for that.
 *
 * A node's line in the profile comes when it ends, so nodes in the body of an If, Loop or Scan come
 * before the node that they belong to, and lie inside of its time.
 */
#include "collect/ort_helper/helper.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/fields.h"
#include "collect/ort_helper/job.h"
#include "collect/ort_profile/profile.h"
#include "trace/keys.h"

#define WORDS_MAX   (1u << 20)
#define PROFILE_MAX (256u << 20)
#define NO_PARENT   SIZE_MAX
#define DEPTH_MAX   16
#define NAME_BYTES  1024
#define PREFIX      "nodes"

/* ---- the directory ---- */

/* Started by hand as root, it becomes another user's, who may put a link in its place: from then on
 * it is used through the descriptor. For the same reason root does not ask TMPDIR. */
static enum ifg_status make_directory(const struct helper *helper, char *path, size_t size,
                                      int *out_fd, struct ifg_error *err)
{
    const char *base = geteuid() == 0 ? NULL : secure_getenv("TMPDIR");
    enum ifg_status status;

    snprintf(path, size, "%s/inferogram-nodes.XXXXXX", base && *base == '/' ? base : "/tmp");
    if (!mkdtemp(path)) {
        status = ifg_fail_errno(err, "%.300s", path);
        path[0] = '\0';
        return status;
    }
    *out_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*out_fd < 0 ||
        (helper->who.uid != geteuid() && fchown(*out_fd, helper->who.uid, helper->who.gid) < 0))
        return ifg_fail_errno(err, "%.300s", path);
    return IFG_OK;
}

/* A stream over the directory from its begin; fd stays open. */
static DIR *list(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = own >= 0 ? fdopendir(own) : NULL;

    if (!directory && own >= 0)
        close(own);
    return directory;
}

/* Only files are in it; what else there may be stays. */
static void remove_directory(const char *path, int fd)
{
    DIR *directory = fd >= 0 ? list(fd) : NULL;
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        unlinkat(fd, entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (fd >= 0)
        close(fd);
    if (path[0])
        rmdir(path); /* empty, and no link */
}

/* The one file that begins with our prefix: what it is called was said by foreign code, so that is
 * not believed. */
static int open_profile(int folder)
{
    DIR *directory = list(folder);
    struct dirent *entry;
    struct stat found;
    int fd = -1;

    while (directory && fd < 0 && (entry = readdir(directory)))
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            fd = openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (directory)
        closedir(directory);
    if (fd >= 0 && (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static enum ifg_status read_profile(int folder, struct ifg_bytes *out, struct ifg_error *err)
{
    int fd = open_profile(folder);
    char buffer[65536];
    ssize_t got;

    if (fd < 0)
        return ifg_fail(err, IFG_UNSUPPORTED, "ONNX Runtime wrote no profile");
    while ((got = read(fd, buffer, sizeof buffer)) > 0 && !out->failed)
        ifg_bytes_put(out, buffer, (size_t)got);
    close(fd);
    if (out->failed)
        return ifg_fail(err, IFG_UNSUPPORTED, "the profile is larger than %u MB",
                        PROFILE_MAX >> 20);
    return IFG_OK;
}

/* ---- the profile ---- */

struct node {
    size_t parent; /* in the list; NO_PARENT = main graph */
    int64_t index; /* -1: not said */
    char type[64];
    char provider[128];
};

static void take_text(const struct profile_attribute *attribute, char *out, size_t size)
{
    size_t bytes = attribute->bytes < size ? attribute->bytes : size - 1;

    memcpy(out, attribute->value, bytes);
    out[bytes] = '\0';
}

static void describe(const struct profile *profile, const struct profile_op *op, struct node *out)
{
    size_t at = op->attributes;

    *out = (struct node){ .parent = NO_PARENT, .index = -1 };
    for (uint32_t i = 0; i < op->attribute_count; i++) {
        struct profile_attribute attribute = profile_attribute_at(profile, at);

        if (strcmp(attribute.key, TRACE_KEY_OP_NAME) == 0)
            take_text(&attribute, out->type, sizeof out->type);
        else if (strcmp(attribute.key, TRACE_KEY_PROVIDER) == 0)
            take_text(&attribute, out->provider, sizeof out->provider);
        else if (strcmp(attribute.key, TRACE_KEY_NODE_INDEX) == 0 &&
                 attribute.type == TRACE_VALUE_SIGNED)
            memcpy(&out->index, attribute.value, sizeof out->index);
        at = attribute.next_at;
    }
}

static bool has_graph(const char *type)
{
    static const char *const types[] = { "If",         "Loop",
                                         "Scan",       "SequenceMap",
                                         "BeamSearch", "GreedySearch",
                                         "Sampling",   "WhisperBeamSearch" };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Nodes right before it that have no parent yet and lie inside of its time. */
static void adopt(const struct profile *profile, struct node *nodes, size_t i)
{
    const struct profile_op *parent = &profile->ops[i];

    for (size_t j = i; j-- > 0;) {
        const struct profile_op *op = &profile->ops[j];

        if (op->tid != parent->tid)
            continue;
        if (op->start_ns < parent->start_ns || op->end_ns > parent->end_ns)
            return;
        if (nodes[j].parent == NO_PARENT)
            nodes[j].parent = i;
    }
}

static void put_parent(struct ifg_bytes *out, const struct node *nodes, size_t i)
{
    size_t path[DEPTH_MAX];
    size_t depth = 0;

    for (size_t at = nodes[i].parent; at != NO_PARENT && depth < DEPTH_MAX; at = nodes[at].parent)
        path[depth++] = at;
    answer_put(out, depth ? " " : " %%");
    while (depth-- > 0)
        answer_put(out, "%" PRId64 "%s", nodes[path[depth]].index, depth ? "/" : "");
}

/* The run that succeeded, or the last attempt. */
static bool is_in_last_run(const struct profile *profile, size_t i)
{
    const struct profile_run *last =
        profile->run_count ? &profile->runs[profile->run_count - 1] : NULL;

    return !last || profile->ops[i].start_ns >= last->start_ns;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Each line once: in the next run of a body the same nodes run again. */
static enum ifg_status put_different(struct ifg_bytes *lines, struct ifg_bytes *out,
                                     struct ifg_error *err)
{
    size_t count = 0;
    size_t filled = 0;
    const char **texts;

    for (size_t i = 0; i < lines->size; i++)
        count += lines->data[i] == '\n';
    texts = ifg_alloc(count + 1, sizeof *texts);
    if (!texts)
        return ifg_fail_no_memory(err, "for the nodes");
    for (size_t i = 0, start = 0; i < lines->size; i++) {
        if (lines->data[i] != '\n')
            continue;
        lines->data[i] = '\0';
        texts[filled++] = (const char *)lines->data + start;
        start = i + 1;
    }
    qsort(texts, filled, sizeof *texts, by_text);
    for (size_t i = 0; i < filled; i++)
        if (!i || strcmp(texts[i], texts[i - 1]) != 0) {
            ifg_bytes_put(out, texts[i], strlen(texts[i]));
            ifg_bytes_put(out, "\n", 1);
        }
    ifg_free(texts);
    return IFG_OK;
}

static enum ifg_status put_nodes(const struct profile *profile, struct ifg_bytes *out,
                                 struct ifg_error *err)
{
    struct node *nodes = ifg_alloc(profile->op_count + 1, sizeof *nodes);
    struct ifg_bytes lines;
    enum ifg_status status;

    if (!nodes)
        return ifg_fail_no_memory(err, "for the nodes");
    ifg_bytes_init(&lines, PROFILE_MAX);
    for (size_t i = 0; i < profile->op_count; i++) {
        describe(profile, &profile->ops[i], &nodes[i]);
        if (has_graph(nodes[i].type))
            adopt(profile, nodes, i);
    }
    for (size_t i = 0; i < profile->op_count; i++) {
        if (nodes[i].index < 0)
            continue;
        answer_put(&lines, "%s %08" PRId64, is_in_last_run(profile, i) ? "node" : "other",
                   nodes[i].index);
        put_parent(&lines, nodes, i);
        answer_put_text(&lines, ifg_strings_get(&profile->node_names, profile->ops[i].node_name));
        answer_put_text(&lines, nodes[i].type);
        answer_put_text(&lines, nodes[i].provider);
        answer_put(&lines, "\n");
    }
    status = put_different(&lines, out, err);
    ifg_bytes_fini(&lines);
    ifg_free(nodes);
    return status;
}

/* ---- the job ---- */

static bool make_job(const struct helper *helper, const char *directory, char *out, size_t size)
{
    struct ifg_bytes text;
    bool fits;

    ifg_bytes_init(&text, size - 1);
    answer_put(&text, "nodes\nprofile %s/" PREFIX "\nlevel %ld\nthreads %ld\nsize %ld\n", directory,
               helper->level, helper->threads, helper->size);
    for (size_t i = 0; i < helper->provider_count; i++)
        answer_put(&text, "provider %.100s\n", helper->providers[i]);
    answer_put(&text, "model ");
    ifg_bytes_put(&text, helper->model, strlen(helper->model));
    fits = !text.failed && !strchr(helper->model, '\n');
    if (fits) {
        memcpy(out, text.data, text.size);
        out[text.size] = '\0';
    }
    ifg_bytes_fini(&text);
    return fits;
}

/* "run ok ..." or "run failed ..." as it was told. */
static void put_run(struct ifg_bytes *out, const struct ifg_bytes *words)
{
    const char *at = (const char *)words->data;
    const char *end = at + words->size;

    for (const char *stop; at && at < end; at = stop + 1) {
        struct fields fields;
        char sentence[400];

        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            break;
        if (stop - at < 4 || memcmp(at, "run ", 4) != 0)
            continue;
        fields_over(&fields, at + 4, (size_t)(stop - at) - 4);
        fields_rest(&fields, sentence, sizeof sentence);
        answer_put(out, "run %s\n", sentence);
        return;
    }
    answer_put(out, "run failed without a word\n");
}

enum ifg_status helper_nodes(const struct helper *helper, struct ifg_bytes *out,
                             struct ifg_error *err)
{
    char directory[PATH_MAX] = "";
    char job[JOB_BYTES];
    struct ifg_bytes words, json;
    struct profile profile = { 0 };
    enum ifg_status status;
    int folder = -1;

    ifg_bytes_init(&words, WORDS_MAX);
    ifg_bytes_init(&json, PROFILE_MAX);
    status = make_directory(helper, directory, sizeof directory, &folder, err);
    if (!status && !make_job(helper, directory, job, sizeof job))
        status = ifg_fail(err, IFG_INVALID, "the model has a name that cannot be handed over");
    if (!status)
        status = helper_run_job(helper, job, &words, err);
    if (!status)
        status = read_profile(folder, &json, err);
    if (!status)
        status = profile_read((const char *)json.data, json.size, &profile, err);
    if (!status && !profile.op_count)
        status = ifg_fail(err, IFG_UNSUPPORTED, "no node of %.300s ran with random inputs",
                          helper->model);
    if (!status) {
        answer_put(out, "%s\n", ANSWER_FIRST_LINE);
        put_run(out, &words);
        status = put_nodes(&profile, out, err);
        answer_put(out, "end\n");
    }
    remove_directory(directory, folder);
    profile_fini(&profile);
    ifg_bytes_fini(&json);
    ifg_bytes_fini(&words);
    return status;
}
