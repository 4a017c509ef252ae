// SPDX-License-Identifier: Apache-2.0
/* The search for ONNX Runtime, in fake trees that stand for a machine. */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/runner/find_ort_internal.h"
#include "tap.h"

#if defined(__aarch64__)
#define NODE    "arm64"
#define MACHINE EM_AARCH64
#else
#define NODE    "x64"
#define MACHINE EM_X86_64
#endif

#define NODE_LIBRARY "onnxruntime-node/bin/napi-v6/linux/" NODE "/libonnxruntime.so.1"

/* A folder that stands for the machine, in the test's own. */
static char tree[PATH_MAX];
static char ldconfig[PATH_MAX + 32];
static struct ort_surroundings around;
static struct found_ort found;
static struct ifg_error err;

static const char *in_tree(const char *path)
{
    static char out[4][PATH_MAX + 256];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(out[turn], sizeof out[turn], "%s/%s", tree, path);
    return out[turn];
}

static void make_folders(const char *path)
{
    char folder[PATH_MAX + 256];

    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(folder, 0755);
        *at = '/';
    }
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file;

    make_folders(in_tree(path));
    file = fopen(in_tree(path), "w");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
        abort();
}

/* As much of a shared library as is looked at. */
static void write_library(const char *path, unsigned machine)
{
    unsigned char head[64] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 };

    head[16] = ET_DYN;
    head[18] = (unsigned char)machine;
    write_file(path, head, sizeof head);
}

static void put_library(const char *path)
{
    write_library(path, MACHINE);
}

static void put_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}

/* Nothing is anywhere. */
static void set_up(void)
{
    static const char *const variables[] = { "IFG_ORT",        "NODE_PATH",       "VIRTUAL_ENV",
                                             "CONDA_PREFIX",   "LD_LIBRARY_PATH", "PYTHONUSERBASE",
                                             "XDG_CACHE_HOME", "IFG_BENCH_RUNNER" };
    char real[PATH_MAX] = "";

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    snprintf(tree, sizeof tree, "%s/inferogram-find-XXXXXX", P_tmpdir);
    if (!mkdtemp(tree) || !realpath(tree, real))
        abort();
    memcpy(tree, real, sizeof tree);
    put_text("sbin/ldconfig", "#!/bin/sh\necho '1 libs found in cache'\n");
    snprintf(ldconfig, sizeof ldconfig, "%s/sbin/ldconfig", tree);
    chmod(ldconfig, 0755);
    mkdir(in_tree("home"), 0755);
    mkdir(in_tree("work"), 0755);
    setenv("HOME", in_tree("home"), 1);
    around = (struct ort_surroundings){ .root = tree, .ldconfig = ldconfig };
    around.cwd = strdup(in_tree("work"));
}

static void tear_down(void)
{
    char command[PATH_MAX + 16];

    free((void *)(uintptr_t)around.cwd);
    snprintf(command, sizeof command, "rm -rf '%s'", tree);
    if (system(command) != 0)
        abort();
}

static enum ifg_status look(const char *named)
{
    err = (struct ifg_error){ 0 };
    return find_ort_in(named, &around, &found, &err);
}

/* What was found, below the tree. */
static const char *got(void)
{
    size_t length = strlen(tree);

    return strncmp(found.path, tree, length) == 0 ? found.path + length + 1 : found.path;
}

static void tells_how_to_get_one(void)
{
    set_up();
    CHECK_INT(look(NULL), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "npm install onnxruntime-node");
    CHECK_CONTAINS(err.message, "pip install onnxruntime");
    CHECK_CONTAINS(err.message, "--ort");
    CHECK(!strstr(err.message, "without Python"));
    tear_down();
}

static void takes_what_is_named(void)
{
    set_up();
    put_library("opt/onnxruntime-linux-x64-1.20.0/lib/libonnxruntime.so.1.20.0");
    put_library("opt/renamed");
    put_text("opt/page.html", "<html>");
    CHECK_INT(look(in_tree("opt/onnxruntime-linux-x64-1.20.0")), IFG_OK);
    CHECK_STR(got(), "opt/onnxruntime-linux-x64-1.20.0/lib/libonnxruntime.so.1.20.0");
    CHECK_STR(found.from, "--ort");
    CHECK_INT(look(in_tree("opt/renamed")), IFG_OK);
    CHECK_STR(got(), "opt/renamed");
    CHECK_INT(look(in_tree("opt/missing")), IFG_NOT_FOUND);
    CHECK_INT(look(in_tree("opt/page.html")), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "page.html is not a shared library");
    CHECK_INT(look(in_tree("home")), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "home");
    setenv("IFG_ORT", in_tree("opt/renamed"), 1);
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(found.from, "IFG_ORT");
    setenv("IFG_ORT", in_tree("nowhere"), 1);
    CHECK_INT(look(NULL), IFG_NOT_FOUND); /* not silently another one */
    CHECK_CONTAINS(err.message, "IFG_ORT");
    tear_down();
}

static void looks_into_named_folders(void)
{
    static const char *const folders[][2] = {
        { "a/node_modules", "a/node_modules/" NODE_LIBRARY },
        { "b", "b/node_modules/" NODE_LIBRARY },
        { "c/onnxruntime-node", "c/" NODE_LIBRARY },
        { "venv", "venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1" },
        { "site", "site/onnxruntime/capi/libonnxruntime.so.1.31.1" },
        { "onnxruntime", "onnxruntime/capi/libonnxruntime.so.1.31.1" },
        { "flat [1]*", "flat [1]*/libonnxruntime.so" },
    };

    set_up();
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        put_library(folders[i][1]);
        CHECK_INT(look(in_tree(folders[i][0])), IFG_OK);
        CHECK_STR(got(), folders[i][1]);
    }
    tear_down();
}

static void keeps_the_order_of_places(void)
{
    char listing[512];

    set_up();
    put_library("home/.cache/inferogram/ort-node-1.30.0/libonnxruntime.so");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(got(), "home/.cache/inferogram/ort-node-1.30.0/libonnxruntime.so");
    CHECK_CONTAINS(found.from, "cache ");
    put_library("usr/lib/python3.11/dist-packages/onnxruntime/capi/libonnxruntime.so.1.20.1");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(got(), "usr/lib/python3.11/dist-packages/");
    put_library(
        "home/.local/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.9.0");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(got(), "home/.local/");
    put_library("work/venv/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.19.0");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(got(), "work/venv/");
    put_library("conda/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.19.0");
    setenv("CONDA_PREFIX", in_tree("conda"), 1);
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(got(), "conda/");
    CHECK_CONTAINS(found.from, "Python of ");
    put_library("global/" NODE_LIBRARY);
    setenv("NODE_PATH", in_tree("global"), 1);
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(found.from, "NODE_PATH");
    put_library("node_modules/" NODE_LIBRARY); /* above the working directory */
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(got(), "node_modules/" NODE_LIBRARY);
    CHECK_CONTAINS(found.from, "node_modules of ");
    put_library("usr/lib/libonnxruntime.so.1.21.0");
    snprintf(listing, sizeof listing,
             "#!/bin/sh\nprintf '3 libs found in cache\\n"
             "\\tlibonnxruntime_providers_shared.so (libc6,x86-64) => /usr/lib/none\\n"
             "\\tlibonnxruntime.so.1 (libc6,x86-64) => /usr/lib/libonnxruntime.so.1.21.0\\n'\n");
    put_text("sbin/ldconfig", listing);
    chmod(in_tree("sbin/ldconfig"), 0755);
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(got(), "usr/lib/libonnxruntime.so.1.21.0");
    CHECK_STR(found.from, "system library");
    put_library("mine/libonnxruntime.so");
    setenv("LD_LIBRARY_PATH", in_tree("mine"), 1);
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(found.from, "LD_LIBRARY_PATH");
    tear_down();
}

static void takes_the_newest(void)
{
    set_up();
    put_library("home/.cache/inferogram/ort-node-1.9.0/libonnxruntime.so");
    put_library("home/.cache/inferogram/ort-node-1.30.0/libonnxruntime.so");
    put_library("home/.cache/inferogram/ort-node-1.14.0/libonnxruntime.so");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(found.path, "ort-node-1.30.0");
    /* By the package when the file does not tell. */
    put_library("work/node_modules/" NODE_LIBRARY);
    put_text("work/node_modules/onnxruntime-node/package.json", "{\"version\": \"1.20.1\"}");
    put_library("work/node_modules/onnxruntime-node/bin/napi-v3/linux/" NODE
                "/libonnxruntime.so.1.14.0");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_STR(got(), "work/node_modules/" NODE_LIBRARY);
    put_library("work/node_modules/onnxruntime-node/bin/napi-v7/linux/" NODE
                "/libonnxruntime.so.1.100.0");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(found.path, "1.100.0");
    tear_down();
}

static void passes_over_what_cannot_be_used(void)
{
    set_up();
    put_library("work/.venv/lib/python3.9/site-packages/onnxruntime/capi/"
                "onnxruntime_pybind11_state.cpython-39.so");
    CHECK_INT(look(NULL), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "onnxruntime_pybind11_state");
    CHECK_CONTAINS(err.message, "without Python");
    CHECK_INT(look(in_tree("work/.venv")), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "without Python");
    /* Neither another machine's nor what is none at all. */
    write_library("work/node_modules/" NODE_LIBRARY, MACHINE == EM_X86_64 ? EM_AARCH64 : EM_X86_64);
    put_text("home/.cache/inferogram/ort-node-1.30.0/libonnxruntime.so", "broken");
    CHECK_INT(look(NULL), IFG_NOT_FOUND);
    put_library("home/.cache/inferogram/ort-node-1.14.0/libonnxruntime.so");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(found.path, "ort-node-1.14.0");
    tear_down();
}

/* Found, not named: in /tmp/node_modules anybody can put one. */
static void a_strangers_library_is_not_run(void)
{
    const char *library = "work/node_modules/" NODE_LIBRARY;

    if (getuid() != 0)
        SKIP("root: only root can make files of others");
    set_up();
    put_library(library);
    CHECK_INT(look(NULL), IFG_OK);
    REQUIRE_INT(chown(in_tree(library), 61234, 61234), 0);
    CHECK_INT(look(NULL), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "another user could have written it");
    CHECK_INT(look(in_tree(library)), IFG_OK);
    REQUIRE_INT(chown(in_tree(library), 0, 0), 0);
    REQUIRE_INT(chmod(in_tree("work"), 0777), 0); /* whose own it is does not help then */
    CHECK_INT(look(NULL), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "--ort");
    /* One further down the list is taken instead. */
    put_library("home/.cache/inferogram/ort-node-1.14.0/libonnxruntime.so");
    CHECK_INT(look(NULL), IFG_OK);
    CHECK_CONTAINS(found.path, "ort-node-1.14.0");
    tear_down();
}

static void searches_this_machine(void)
{
    enum ifg_status status = find_ort(NULL, &found, &err);

    CHECK(status == IFG_OK || status == IFG_NOT_FOUND);
    CHECK((status == IFG_OK) == (found.path[0] == '/'));
}

static void finds_the_runner(void)
{
    char path[PATH_MAX];

    set_up();
    put_text("runner", "#!/bin/sh\n");
    setenv("IFG_BENCH_RUNNER", in_tree("runner"), 1);
    CHECK_INT(find_runner(path, &err), IFG_NOT_FOUND); /* cannot be run */
    CHECK_CONTAINS(err.message, "IFG_BENCH_RUNNER");
    chmod(in_tree("runner"), 0755);
    CHECK_INT(find_runner(path, &err), IFG_OK);
    CHECK_STR(path, in_tree("runner"));
    unsetenv("IFG_BENCH_RUNNER");
    CHECK_INT(find_runner(path, &err), IFG_NOT_FOUND); /* not beside this test */
    CHECK_CONTAINS(err.message, "inferogram-bench-runner");
    tear_down();
}

TAP_MAIN(TAP_CASE(tells_how_to_get_one), TAP_CASE(takes_what_is_named),
         TAP_CASE(looks_into_named_folders), TAP_CASE(keeps_the_order_of_places),
         TAP_CASE(takes_the_newest), TAP_CASE(passes_over_what_cannot_be_used),
         TAP_CASE(a_strangers_library_is_not_run), TAP_CASE(searches_this_machine),
         TAP_CASE(finds_the_runner))
