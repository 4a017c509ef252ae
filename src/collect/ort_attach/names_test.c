// SPDX-License-Identifier: Apache-2.0
/* Names of sessions, inferred from made objects in our own memory: right, or none at all. */
#include "collect/ort_attach/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static char folder[] = "/tmp/ifg-names-XXXXXX";
static char first[64];
static char second[64];
static char absent[64];
static uint64_t object[2048];

static void make_file(char *out, size_t size, const char *name)
{
    int fd;

    snprintf(out, size, "%s/%s", folder, name);
    fd = open(out, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, "x", 1) == 1);
    close(fd);
}

static void begin(void)
{
    REQUIRE(mkdtemp(folder) != NULL);
    make_file(first, sizeof first, "first.onnx");
    make_file(second, sizeof second, "second.ort");
    snprintf(absent, sizeof absent, "%s/absent.onnx", folder);
    memset(object, 0x41, sizeof object);
    if (!names_process_memory(getpid(), (uintptr_t)object, &(char){ 0 }, 1))
        SKIP("this process may not read its own memory by process_vm_readv");
}

static void end(void)
{
    unlink(first);
    unlink(second);
    rmdir(folder);
}

static void put_string(size_t word, const char *text)
{
    object[word] = (uintptr_t)text;
    object[word + 1] = strlen(text);
}

static bool path_of(char *out, size_t size)
{
    return names_session_object_path(getpid(), (uintptr_t)object, out, size);
}

static void a_path_in_an_object_is_found(void)
{
    char path[PATH_MAX];

    begin();
    CHECK(!path_of(path, sizeof path));
    put_string(4, first);
    CHECK(path_of(path, sizeof path));
    CHECK_STR(path, first);
    put_string(9, first);   /* twice the same is one */
    put_string(14, absent); /* what is not there counts for nothing */
    CHECK(path_of(path, sizeof path));
    CHECK_STR(path, first);
    end();
}

static void two_paths_are_none(void)
{
    char path[PATH_MAX];

    begin();
    put_string(4, first);
    put_string(20, second);
    CHECK(!path_of(path, sizeof path));
    CHECK_STR(path, "");
    end();
}

static void paths_of_the_options_are_not_the_model(void)
{
    char path[PATH_MAX];

    begin();
    put_string(48, first); /* where the optimized model is to be written */
    CHECK(!path_of(path, sizeof path));
    end();
}

static void older_strings_are_found(void)
{
    static struct {
        uint64_t length, capacity, references;
        char text[64];
    } shared;
    char path[PATH_MAX];

    begin();
    shared.length = strlen(first);
    snprintf(shared.text, sizeof shared.text, "%s", first);
    object[11] = (uintptr_t)shared.text;
    CHECK(path_of(path, sizeof path));
    CHECK_STR(path, first);
    end();
}

static void wild_objects_do_no_harm(void)
{
    static const uint64_t wild[] = { 0, 1, 4096, UINT64_MAX, 1ull << 46, (1ull << 47) - 1 };
    char path[PATH_MAX];
    char *edge;

    begin();
    for (size_t i = 0; i < 38; i++) {
        object[i] = wild[i % 6];
        object[i + 1] = wild[(i + 1) % 6];
    }
    CHECK(!path_of(path, sizeof path));
    CHECK(!names_session_object_path(getpid(), 0, path, sizeof path));
    CHECK(!names_session_object_path(getpid(), UINT64_MAX - 100, path, sizeof path));
    edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(edge != MAP_FAILED && munmap(edge + 4096, 4096) == 0);
    CHECK(!names_session_object_path(getpid(), (uintptr_t)edge + 4000, path, sizeof path));
    memset(edge, 'a', 4096);
    CHECK(!names_process_text(getpid(), (uintptr_t)edge, path, sizeof path));
    edge[4095] = '\0';
    CHECK(names_process_text(getpid(), (uintptr_t)edge + 4000, path, sizeof path));
    CHECK_UINT(strlen(path), 95);
    end();
}

static void a_mapped_file_tells_if_it_is_all_of_it(void)
{
    struct stat file;
    char path[PATH_MAX];
    size_t bytes;
    void *data;
    int fd;

    begin();
    fd = open(first, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, 10000) == 0 && fstat(fd, &file) == 0);
    bytes = (size_t)file.st_size;
    data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    REQUIRE(data != MAP_FAILED);
    CHECK(names_session_mapped_file(getpid(), (uintptr_t)data, bytes, path, sizeof path));
    CHECK_STR(path, first);
    CHECK(!names_session_mapped_file(getpid(), (uintptr_t)data + 4096, bytes - 4096, path,
                                     sizeof path));
    CHECK(!names_session_mapped_file(getpid(), (uintptr_t)data, bytes - 1, path, sizeof path));
    munmap(data, bytes);
    /* It is still open, which means nothing. */
    CHECK(!names_session_mapped_file(getpid(), (uintptr_t)path, bytes, path, sizeof path));
    close(fd);
    end();
}

static void the_content_is_that_of_the_bytes(void)
{
    static unsigned char model[3000000];
    uint64_t hash, same, other;

    if (!names_process_memory(getpid(), (uintptr_t)model, &hash, sizeof hash))
        SKIP("this process may not read its own memory by process_vm_readv");
    REQUIRE(names_session_content(getpid(), (uintptr_t)model, sizeof model, &hash));
    CHECK(names_session_content(getpid(), (uintptr_t)model, sizeof model, &same));
    CHECK_UINT(same, hash);
    CHECK(names_session_content(getpid(), (uintptr_t)model, sizeof model - 1, &other));
    CHECK(other != hash);
    model[sizeof model - 1] = 1;
    CHECK(names_session_content(getpid(), (uintptr_t)model, sizeof model, &other));
    CHECK(other != hash);
    CHECK(!names_session_content(getpid(), 4096, sizeof model, &other));
    CHECK(!names_session_content(getpid(), (uintptr_t)model, 0, &other));
}

static void names_come_from_paths(void)
{
    char name[16];
    char path[PATH_MAX];
    char here[PATH_MAX];

    model_name_of("/a/b/model.onnx", name, sizeof name);
    CHECK_STR(name, "model");
    model_name_of("model.ort", name, sizeof name);
    CHECK_STR(name, "model");
    model_name_of("/a/.onnx", name, sizeof name);
    CHECK_STR(name, ".onnx");
    model_name_of("/a/model.bin", name, sizeof name);
    CHECK_STR(name, "model.bin");
    model_name_of("/a/a-very-long-name-of-a-model.onnx", name, sizeof name);
    CHECK_STR(name, "a-very-long-nam");
    REQUIRE(getcwd(here, sizeof here) != NULL);
    CHECK(names_process_absolute(getpid(), "./x/m.onnx", path, sizeof path));
    CHECK(strncmp(path, here, strlen(here)) == 0 && strstr(path, "/x/m.onnx"));
    CHECK(!names_process_absolute(getpid(), "", path, sizeof path));
    CHECK(!names_process_absolute(getpid(), "m", path, 4));
}

static void graphs_have_names(void)
{
    /* ir_version, then a graph of one empty node and a name. */
    static const unsigned char model[] = { 0x08, 8, 0x3a, 7, 0x0a, 0, 0x12, 3, 'n', 'e', 't' };
    static const unsigned char broken[] = { 0x3a, 0xff, 0xff, 0xff, 0x7f, 0x12 };
    unsigned char cut[sizeof model];
    char name[32];

    if (!names_process_memory(getpid(), (uintptr_t)model, name, 1))
        SKIP("this process may not read its own memory by process_vm_readv");
    CHECK(names_session_graph_name(getpid(), (uintptr_t)model, sizeof model, name, sizeof name));
    CHECK_STR(name, "net");
    for (size_t i = 0; i < sizeof model; i++)
        CHECK(!names_session_graph_name(getpid(), (uintptr_t)model, i, name, sizeof name));
    CHECK(!names_session_graph_name(getpid(), (uintptr_t)broken, sizeof broken, name, sizeof name));
    CHECK(!names_session_graph_name(getpid(), 0, 100, name, sizeof name));
    CHECK(!names_session_graph_name(getpid(), (uintptr_t)model, UINT64_MAX, name, sizeof name));
    memcpy(cut, model, sizeof cut);
    cut[8] = '\n'; /* no name for people */
    CHECK(!names_session_graph_name(getpid(), (uintptr_t)cut, sizeof cut, name, sizeof name));
}

TAP_MAIN(TAP_CASE(a_path_in_an_object_is_found), TAP_CASE(two_paths_are_none),
         TAP_CASE(paths_of_the_options_are_not_the_model), TAP_CASE(older_strings_are_found),
         TAP_CASE(wild_objects_do_no_harm), TAP_CASE(a_mapped_file_tells_if_it_is_all_of_it),
         TAP_CASE(the_content_is_that_of_the_bytes), TAP_CASE(names_come_from_paths),
         TAP_CASE(graphs_have_names))
