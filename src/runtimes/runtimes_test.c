// SPDX-License-Identifier: Apache-2.0
/* The table of runtimes agrees with its own words and with the descriptions that are installed. */
#include "runtimes/runtimes.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static void words_are_those_of_the_rows(void)
{
    char watched[256] = "", described[256] = "";

    for (size_t i = 0; i < runtime_count; i++) {
        char *list = runtimes[i].probes ? described : watched;
        size_t used = strlen(list);

        snprintf(list + used, sizeof watched - used, "%s%s",
                 !used                ? ""
                 : runtimes[i].probes ? ", "
                                      : " or ",
                 runtimes[i].probes ? runtimes[i].probes : runtimes[i].name);
    }
    CHECK_STR(watched, RUNTIMES_WATCHED);
    CHECK_STR(described, RUNTIMES_DESCRIBED);
}

/* Each description in probes/ is a row with the name that it gives its runtime. */
static void descriptions_are_rows(void)
{
    size_t rows = 0;
    glob_t found;

    REQUIRE(glob(PROBES "/*.probe", 0, NULL, &found) == 0);
    for (size_t i = 0; i < runtime_count; i++)
        rows += runtimes[i].probes != NULL;
    CHECK_UINT(found.gl_pathc, rows);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "re");
        char line[512], name[128] = "";
        const struct runtime *runtime;

        REQUIRE(file != NULL);
        while (!name[0] && fgets(line, sizeof line, file))
            if (strncmp(line, "runtime ", 8) == 0)
                snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 8, "\n"), line + 8);
        fclose(file);
        runtime = runtime_called(name);
        REQUIRE(runtime != NULL);
        CHECK_STR(runtime->name, name);
        CHECK_CONTAINS(found.gl_pathv[i], runtime->probes);
    }
    globfree(&found);
}

static void names_and_files_are_known(void)
{
    bool is_module;

    CHECK(runtime_called("ONNX Runtime 1.30.0") == runtime_ort);
    CHECK(runtime_called("onnxruntime (Python) 1.20.1") == runtime_ort);
    CHECK(runtime_called("operators") == NULL);
    CHECK(runtime_called("") == NULL);
    CHECK(runtime_of_file("libonnxruntime.so.1.20.1", &is_module) == runtime_ort && !is_module);
    CHECK(runtime_of_file("onnxruntime_pybind11_state.so", &is_module) == runtime_ort && is_module);
    CHECK(runtime_of_file("libonnxruntime_providers_shared.so", &is_module) == NULL);
    CHECK(runtime_of_file("libc.so.6", &is_module) == NULL && !is_module);
}

TAP_MAIN(TAP_CASE(words_are_those_of_the_rows), TAP_CASE(descriptions_are_rows),
         TAP_CASE(names_and_files_are_known))
