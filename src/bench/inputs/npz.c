// SPDX-License-Identifier: Apache-2.0
/*
 * Archives of numpy arrays: zip files whose members are NAME.npy, stored or deflated. An archive
 * may claim any size; a member is refused if it could not have been packed into the bytes that it
 * has.
 */
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "bench/inputs/inputs_internal.h"

#define MEMBERS_MAX   4096u
#define DEFLATE_RATIO 1040u /* deflate makes at most 1032 bytes of one */
#define DEFLATE_SLACK 4096u

struct member {
    char *name;
    zip_uint64_t index;
};

struct npz {
    zip_t *zip;
    zip_file_t *open;
    char *path;
    const char *base; /* the file's name, in path */
    struct member *members;
    size_t count;
    char source_name[320];
};

static enum ifg_status list_members(struct npz *archive, struct ifg_error *err)
{
    zip_int64_t entries = zip_get_num_entries(archive->zip, 0);

    if (entries < 0 || entries > MEMBERS_MAX)
        return ifg_fail(err, IFG_CORRUPT, "%s has %lld members; at most %u make sense",
                        archive->base, (long long)entries, MEMBERS_MAX);
    archive->members = ifg_alloc((size_t)entries, sizeof *archive->members);
    if (!archive->members)
        return ifg_fail_no_memory(err, "to read %s", archive->base);
    for (zip_uint64_t i = 0; i < (zip_uint64_t)entries; i++) {
        const char *name = zip_get_name(archive->zip, i, ZIP_FL_ENC_GUESS);
        size_t length = name ? strlen(name) : 0;

        if (length < 5 || strcmp(name + length - 4, ".npy") != 0)
            continue; /* numpy takes others for raw bytes; no model does */
        for (size_t j = 0; j < archive->count; j++)
            if (strncmp(archive->members[j].name, name, length - 4) == 0 &&
                !archive->members[j].name[length - 4])
                return ifg_fail(err, IFG_CORRUPT, "%s has two members of the name %.*s",
                                archive->base, INPUTS_TEXT, name);
        archive->members[archive->count].index = i;
        archive->members[archive->count].name = ifg_strndup(name, length - 4);
        if (!archive->members[archive->count++].name)
            return ifg_fail_no_memory(err, "to read %s", archive->base);
    }
    return IFG_OK;
}

enum ifg_status npz_open(const char *path, struct npz **out_archive, struct ifg_error *err)
{
    struct npz *archive = ifg_alloc(1, sizeof *archive);
    enum ifg_status status = IFG_OK;
    int code = 0;

    *out_archive = NULL;
    if (archive)
        archive->path = ifg_strdup(path);
    if (!archive || !archive->path) {
        npz_close(archive);
        return ifg_fail_no_memory(err, "to open %s", path);
    }
    archive->base = strrchr(archive->path, '/');
    archive->base = archive->base ? archive->base + 1 : archive->path;
    archive->zip = zip_open(path, ZIP_RDONLY, &code);
    if (archive->zip) {
        status = list_members(archive, err);
    } else {
        zip_error_t reason;

        zip_error_init_with_code(&reason, code);
        status = ifg_fail(err, IFG_CORRUPT, "%s cannot be read as .npz: %s", path,
                          zip_error_strerror(&reason));
        zip_error_fini(&reason);
    }
    if (status != IFG_OK) {
        npz_close(archive);
        return status;
    }
    *out_archive = archive;
    return IFG_OK;
}

void npz_close(struct npz *archive)
{
    if (!archive)
        return;
    if (archive->open)
        zip_fclose(archive->open);
    if (archive->zip)
        zip_discard(archive->zip);
    for (size_t i = 0; i < archive->count; i++)
        ifg_free(archive->members[i].name);
    ifg_free(archive->members);
    ifg_free(archive->path);
    ifg_free(archive);
}

size_t npz_count(const struct npz *archive)
{
    return archive->count;
}

const char *npz_name(const struct npz *archive, size_t index)
{
    return archive->members[index].name;
}

static bool read_member(void *context, void *out, size_t size)
{
    struct npz *archive = context;
    uint8_t *at = out;

    while (size) {
        zip_int64_t got = zip_fread(archive->open, at, size);

        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

enum ifg_status npz_begin(struct npz *archive, size_t index, struct npy_source *out_source,
                          struct ifg_error *err)
{
    const struct member *member = &archive->members[index];
    const zip_uint64_t known = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t facts;

    archive->source_name[0] = '\0';
    inputs_add_text(archive->source_name, 160, "", archive->base);
    inputs_add_text(archive->source_name, sizeof archive->source_name - 8, ": ", member->name);
    inputs_add_text(archive->source_name, sizeof archive->source_name, "", ".npy");
    if (zip_stat_index(archive->zip, member->index, 0, &facts) != 0 ||
        (facts.valid & known) != known)
        return ifg_fail(err, IFG_CORRUPT, "%s: the archive's table is damaged",
                        archive->source_name);
    if (facts.comp_method != ZIP_CM_STORE && facts.comp_method != ZIP_CM_DEFLATE)
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "%s is packed by method %u; numpy stores or deflates: np.savez or "
                        "np.savez_compressed",
                        archive->source_name, facts.comp_method);
    if (facts.comp_method == ZIP_CM_STORE
            ? facts.size != facts.comp_size
            : facts.comp_size < UINT64_MAX / DEFLATE_RATIO - DEFLATE_SLACK &&
                  facts.size > facts.comp_size * DEFLATE_RATIO + DEFLATE_SLACK)
        return ifg_fail(err, IFG_CORRUPT,
                        "%s claims to unpack %llu bytes from %llu, which cannot be",
                        archive->source_name, (unsigned long long)facts.size,
                        (unsigned long long)facts.comp_size);
    archive->open = zip_fopen_index(archive->zip, member->index, 0);
    if (!archive->open)
        return ifg_fail(err, IFG_CORRUPT, "%s cannot be read: %s", archive->source_name,
                        zip_strerror(archive->zip));
    *out_source = (struct npy_source){ archive->source_name, facts.size, read_member, archive };
    return IFG_OK;
}

enum ifg_status npz_end(struct npz *archive, struct ifg_error *err)
{
    char more;
    zip_int64_t got = zip_fread(archive->open, &more, 1); /* its end is where the sum is checked */
    enum ifg_status status = IFG_OK;

    if (got != 0)
        status = ifg_fail(err, IFG_CORRUPT, "%s is damaged: %s", archive->source_name,
                          got < 0 ? zip_file_strerror(archive->open) : "it goes on after its end");
    zip_fclose(archive->open);
    archive->open = NULL;
    return status;
}
