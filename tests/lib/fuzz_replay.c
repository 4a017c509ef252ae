// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a fuzz target without a fuzzer: every file of its corpus, then that file cut short and with
 * single bytes changed. This keeps past findings fixed on every build, with any compiler.
 *
 * usage: x_fuzz TARGET CORPUS_DIRECTORY
 */
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUTS_MAX    256u /* truncations of one file */
#define CHANGES_MAX 512u /* changed bytes of one file */
#define FILE_MAX    (4u << 20)
#define SECONDS_MAX 6 /* for changed files; whole files are always replayed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static const char *corpus;
static struct dirent **entries;
static int entry_count;
static size_t inputs;

/* A copy of exactly this size, so that a sanitizer sees a read one byte past it. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    REQUIRE(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

static uint8_t *load(const char *name, size_t *out_size)
{
    char path[4096];
    uint8_t *data = malloc(FILE_MAX);
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", corpus, name);
    file = fopen(path, "rb");
    if (!file)
        tap_diag("cannot read %s: %s", path, strerror(errno));
    REQUIRE(file != NULL && data != NULL);
    *out_size = fread(data, 1, FILE_MAX, file);
    fclose(file);
    return data;
}

static void replay_changed(const char *name, uint8_t *data, size_t size, time_t deadline)
{
    static const uint8_t masks[] = { 0x01, 0x80, 0xff };
    size_t step = size / CUTS_MAX + 1;
    size_t at, i;

    for (at = 0; at < size && time(NULL) < deadline; at += step) {
        tap_note("%s cut to %zu bytes", name, at);
        feed(data, at);
    }
    step = size / CHANGES_MAX + 1;
    for (at = 0; at < size; at += step) {
        for (i = 0; i < sizeof masks && time(NULL) < deadline; i++) {
            tap_note("%s with byte %zu changed by 0x%02x", name, at, masks[i]);
            data[at] ^= masks[i];
            feed(data, size);
            data[at] ^= masks[i];
        }
    }
}

static void replay(void)
{
    time_t deadline = time(NULL) + SECONDS_MAX;
    int i;

    if (entry_count <= 0)
        tap_diag("no files in %s", corpus);
    REQUIRE(entry_count > 0);
    tap_note("an empty input");
    feed(NULL, 0);
    for (i = 0; i < 2 * entry_count; i++) {
        const char *name = entries[i % entry_count]->d_name;
        size_t size = 0;
        uint8_t *data = load(name, &size);

        tap_note("%s", name);
        if (i < entry_count)
            feed(data, size);
        else
            replay_changed(name, data, size, deadline);
        free(data);
    }
    tap_diag("%zu inputs", inputs);
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    char name[256];
    struct tap_case test = { name, replay, 300 };
    int result, i;

    if (argc < 3) {
        fprintf(stderr, "usage: %s TARGET CORPUS_DIRECTORY [-n]\n", argv[0]);
        return 2;
    }
    corpus = argv[2];
    entry_count = scandir(corpus, &entries, is_file, alphasort);
    snprintf(name, sizeof name, "%s: %d corpus files", argv[1], entry_count > 0 ? entry_count : 0);
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    argv[2] = argv[0];
    result = tap_run(argc - 2, argv + 2, &test, 1);
    for (i = 0; i < entry_count; i++)
        free(entries[i]);
    free(entries);
    return result;
}
