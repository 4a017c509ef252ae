// SPDX-License-Identifier: Apache-2.0
/*
 * A program that does not know libinferogram: client_host plugin FILE loads a plugin that does,
 * unloads it, and lets threads that used it end afterwards; client_host library FILE loads the
 * library itself.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <inferogram/inferogram.h>

typedef void work_function(int count);
typedef ifg_zone begin_function(ifg_location *location);
typedef void end_function(ifg_zone zone);

static pthread_barrier_t worked;
static pthread_barrier_t unloaded;

static void *use_plugin(void *work)
{
    work_function *function;

    memcpy(&function, &work, sizeof function);
    function(10);
    pthread_barrier_wait(&worked);
    pthread_barrier_wait(&unloaded);
    return NULL; /* the library's destructor for this thread runs now */
}

static int load_plugin(const char *path)
{
    for (int round = 0; round < 3; round++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *work = plugin ? dlsym(plugin, "plugin_work") : NULL;
        pthread_t threads[4];

        if (!work) {
            puts(dlerror());
            return 1;
        }
        pthread_barrier_init(&worked, NULL, 5);
        pthread_barrier_init(&unloaded, NULL, 5);
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, use_plugin, work))
                return 1;
        pthread_barrier_wait(&worked);
        if (dlclose(plugin))
            return 1;
        pthread_barrier_wait(&unloaded);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}

static int load_library(const char *path)
{
    static ifg_location here = { "by hand", "load_library", __FILE__, __LINE__, 0, 1, 0 };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbols[3] = { NULL };
    begin_function *begin;
    end_function *end;
    const uint32_t *const *word;

    if (library) {
        symbols[0] = dlsym(library, "ifg_zone_begin");
        symbols[1] = dlsym(library, "ifg_zone_end");
        symbols[2] = dlsym(library, "ifg_recording_word");
    }
    if (!symbols[0] || !symbols[1] || !symbols[2]) {
        puts(dlerror());
        return 1;
    }
    memcpy(&begin, &symbols[0], sizeof begin);
    memcpy(&end, &symbols[1], sizeof end);
    word = (const uint32_t *const *)symbols[2];
    for (int i = 0; i < 10 && **word; i++)
        end(begin(&here));
    return dlclose(library);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "plugin") == 0)
        return load_plugin(argv[2]);
    if (argc == 3 && strcmp(argv[1], "library") == 0)
        return load_library(argv[2]);
    return 64;
}
