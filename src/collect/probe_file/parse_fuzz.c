// SPDX-License-Identifier: Apache-2.0
/*
 * What this tries: descriptions of any content. Parsing must end, a refusal must name the file and
 * a line, and whatever is accepted must keep what the header promises: numbers in their ranges, a
 * model for every event, one text per function.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/probe_file/probe_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good)
{
    if (!good)
        abort();
}

static void check_rule(const struct probe_rule *rule)
{
    char text[40];

    require(rule->symbol && *rule->symbol && rule->line);
    require(rule->shows != PROBE_SHOWS_EVENT || rule->model_from);
    require(rule->shows != PROBE_SHOWS_ZONE || (rule->zone && *rule->zone));
    require(rule->model_argument <= 6 && rule->object_argument <= 6);
    require(rule->forget_argument <= 6 && rule->text_argument <= 6);
    require(rule->model_from != PROBE_MODEL_TEXT || rule->text_argument == rule->model_argument);
    require(rule->model_from != PROBE_MODEL_NAME || (rule->model_name && *rule->model_name));
    require(rule->model_from != PROBE_MODEL_OBJECT || rule->model_argument);
    require(rule->object_from != PROBE_OBJECT_STORED || rule->object_argument);
    require(!rule->function_argument || rule->function_argument == rule->text_argument);
    require(rule->attribute_count <= PROBE_ATTRIBUTES_MAX);
    for (size_t i = 0; i < rule->attribute_count; i++)
        require(
            rule->attributes[i].argument >= 1 && rule->attributes[i].argument <= 6 &&
            (!rule->attributes[i].is_text || rule->attributes[i].argument == rule->text_argument));
    probe_rule_failed(rule, 0, text, sizeof text);
    probe_rule_failed(rule, UINT64_MAX, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_file *file;
    struct ifg_error err = { 0 };

    if (probe_file_parse("x", data, size, &file, &err)) {
        require(!file && strncmp(err.message, "x:", 2) == 0 && strlen(err.message) > 8);
        return 0;
    }
    require(file->runtime && file->rule_count && file->rule_count <= PROBE_RULES_MAX);
    require(file->library_count && file->library_count <= PROBE_LIBRARIES_MAX);
    for (size_t i = 0; i < file->rule_count; i++)
        check_rule(&file->rules[i]);
    probe_file_wants(file, "/usr/lib/libx.so.1", true);
    probe_file_free(file);
    return 0;
}
