// SPDX-License-Identifier: Apache-2.0
/* Which models of two traces belong together, where their names differ by a path. */
#include "analyze/diff_pairs.h"

#include "tap.h"

#define MOST 4

static const char *names[2][MOST];

static struct timeline_model model(const char *name, const char *path, const char *content)
{
    return (struct timeline_model){
        .name = name, .given_name = "model", .path = path, .content_id = content
    };
}

static void pair(const struct timeline_model *a, size_t a_count, const struct timeline_model *b,
                 size_t b_count)
{
    const struct timeline left = { .models = a, .model_count = a_count };
    const struct timeline right = { .models = b, .model_count = b_count };

    diff_pair_models(&left, &right, names[0], names[1]);
}

static void by_path(void)
{
    struct timeline_model a[] = { model("de/model", "/old/de/model.onnx", ""),
                                  model("en/model", "/old/en/model.onnx", "") };
    struct timeline_model b[] = { model("model", "/new/en/model.onnx", "") };

    pair(a, 2, b, 1);
    CHECK_STR(names[0][0], "de/model");
    CHECK_STR(names[0][1], "en/model");
    CHECK_STR(names[1][0], "en/model");
    pair(b, 1, a, 2);
    CHECK_STR(names[0][0], "en/model");
    CHECK_STR(names[1][1], "en/model");
}

static void by_content_before_path(void)
{
    struct timeline_model a[] = { model("de/model", "/old/de/model.onnx", "1"),
                                  model("en/model", "/old/en/model.onnx", "2") };
    struct timeline_model b[] = { model("model", "/new/en/model.onnx", "1") };

    pair(a, 2, b, 1);
    CHECK_STR(names[1][0], "de/model");
}

static void the_only_one(void)
{
    struct timeline_model a[] = { model("de/model", "/old/de/model.onnx", "1"),
                                  model("en/model", "/old/en/model.onnx", "2") };
    struct timeline_model b[] = { model("de/model", "/old/de/model.onnx", "1"),
                                  model("fr/model", "/old/fr/model.onnx", "3") };

    pair(a, 2, b, 2);
    CHECK_STR(names[0][0], "de/model");
    CHECK_STR(names[1][0], "de/model");
    CHECK_STR(names[1][1], names[0][1]);
}

static void nobody_guesses(void)
{
    struct timeline_model a[] = { model("de/model", "/old/de/model.onnx", "1"),
                                  model("en/model", "/old/en/model.onnx", "2") };
    struct timeline_model b[] = { model("model", "/elsewhere/model.onnx", "3") };

    pair(a, 2, b, 1);
    CHECK_STR(names[0][0], "de/model");
    CHECK_STR(names[0][1], "en/model");
    CHECK_STR(names[1][0], "model");
}

/* Part of a folder's name is no folder, and one model may have been loaded several times. */
static void whole_folders_and_several_loads(void)
{
    struct timeline_model a[] = { model("golden/model", "/old/golden/model.onnx", ""),
                                  model("en/model", "/old/en/model.onnx", ""),
                                  model("en/model", "/old/en/model.onnx", "") };
    struct timeline_model b[] = { model("model", "en/model.onnx", "") };

    pair(a, 3, b, 1);
    CHECK_STR(names[0][0], "golden/model");
    CHECK_STR(names[0][2], "en/model");
    CHECK_STR(names[1][0], "en/model");
}

TAP_MAIN(TAP_CASE(by_path), TAP_CASE(by_content_before_path), TAP_CASE(the_only_one),
         TAP_CASE(nobody_guesses), TAP_CASE(whole_folders_and_several_loads))
