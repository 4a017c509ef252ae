// SPDX-License-Identifier: Apache-2.0
/* Settings of `inferogram gate` in a file: see gate_config.h. */
#include "cli/gate_config.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "cli/nearest.h"

static const char *const command_line_only[] = { "help",     "config",     "only",
                                                 "run",      "measure",    "color",
                                                 "no-pager", "max-memory", NULL };
static const char *const outputs[] = { "json", "junit", "markdown", "github", "explain", NULL };
static const char *const of_one_model[] = {
    "model", "result", "trace", "against", "baseline", NULL
};
static const char *const repeatable[] = {
    "max", "min", "dim", "shape", "value", "set", "session-config", NULL
};

static bool is_in(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

static const struct option_row *find_row(const struct cli_command *command, const char *name)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);

    for (size_t i = 0; i < count; i++)
        if (rows[i]->name && strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

#define REFUSE(config, line_, format, ...)                                                         \
    ifg_fail(err, IFG_CORRUPT, "%s:%u: " format, (config)->path, (unsigned)(line_), ##__VA_ARGS__)

/* ---- checking ---- */

static enum ifg_status refuse_key(const struct gate_config *config,
                                  const struct cli_command *command, const struct toml_entry *entry,
                                  struct ifg_error *err)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);
    struct nearest best = { NULL, NEAREST_FAR };

    nearest_keep(&best, "model", nearest_distance(entry->key, "model"));
    for (size_t i = 0; i < count; i++)
        if (rows[i]->name && !is_in(rows[i]->name, command_line_only))
            nearest_keep(&best, rows[i]->name, nearest_distance(entry->key, rows[i]->name));
    if (best.name)
        return REFUSE(config, entry->line, "unknown key '%s' (did you mean '%s'?)", entry->key,
                      best.name);
    return REFUSE(config, entry->line,
                  "unknown key '%s'; keys are the options of 'inferogram gate --help' without --",
                  entry->key);
}

static enum ifg_status check_kind(const struct gate_config *config, const struct option_row *row,
                                  const struct toml_entry *entry, struct ifg_error *err)
{
    bool boolean = entry->kind == TOML_TRUE || entry->kind == TOML_FALSE;
    bool flag = row && row->kind == OPTION_FLAG;

    if (flag && !boolean)
        return REFUSE(config, entry->line, "'%s' is true or false, without quotes", entry->key);
    if (!flag && boolean)
        return REFUSE(config, entry->line, "'%s' needs a value, not true or false", entry->key);
    if (entry->kind == TOML_ARRAY && !is_in(entry->key, repeatable))
        return REFUSE(config, entry->line, "'%s' has one value, without [ ]", entry->key);
    for (size_t i = 0; i < entry->count; i++)
        if (!*entry->items[i])
            return REFUSE(config, entry->line, "'%s' is empty; leave it out instead", entry->key);
    return IFG_OK;
}

static enum ifg_status check_entry(const struct gate_config *config,
                                   const struct cli_command *command,
                                   const struct toml_entry *entry, struct ifg_error *err)
{
    const struct toml_table *table = &config->toml->tables[entry->table];
    const struct option_row *row = find_row(command, entry->key);

    if (!*table->name)
        return REFUSE(
            config, entry->line,
            "'%s' is in no table; write [gate] (for all models) or [models.NAME] above it",
            entry->key);
    if (is_in(entry->key, command_line_only))
        return REFUSE(config, entry->line,
                      "'%s' is for the command line only: inferogram gate --%s", entry->key,
                      entry->key);
    if (!row && strcmp(entry->key, "model") != 0)
        return refuse_key(config, command, entry, err);
    if (table->child && is_in(entry->key, outputs))
        return REFUSE(config, entry->line, "'%s' is for all models together: move it to [gate]",
                      entry->key);
    if (!table->child && is_in(entry->key, of_one_model))
        return REFUSE(config, entry->line, "'%s' is for one model: move it to [models.NAME]",
                      entry->key);
    return check_kind(config, row, entry, err);
}

static enum ifg_status check_table(struct gate_config *config, size_t index, struct ifg_error *err)
{
    const struct toml_table *table = &config->toml->tables[index];

    if (strcmp(table->name, "gate") == 0 && !table->child) {
        config->common = index;
        return IFG_OK;
    }
    if (strcmp(table->name, "models") != 0 || !table->child || !*table->child)
        return REFUSE(config, table->line,
                      "[%s%s%s] is not known here; there are [gate] and [models.NAME]", table->name,
                      table->child ? "." : "", table->child ? table->child : "");
    if (config->model_count == GATE_MODELS_MAX)
        return REFUSE(config, table->line, "more than %u models", GATE_MODELS_MAX);
    config->models[config->model_count++] = index;
    return IFG_OK;
}

enum ifg_status gate_config_open(const char *path, const struct cli_command *command,
                                 struct gate_config *out, struct ifg_error *err)
{
    enum ifg_status status;

    *out = (struct gate_config){ .path = path, .common = SIZE_MAX };
    status = toml_read(path, &out->toml, err);
    for (size_t i = 1; !status && i < out->toml->table_count; i++)
        status = check_table(out, i, err);
    for (size_t i = 0; !status && i < out->toml->entry_count; i++)
        status = check_entry(out, command, &out->toml->entries[i], err);
    if (!status && !out->model_count)
        status =
            ifg_fail(err, IFG_CORRUPT,
                     "%s names no model; write [models.NAME] with model = \"FILE.onnx\"", path);
    if (status)
        gate_config_close(out);
    return status;
}

void gate_config_close(struct gate_config *config)
{
    for (size_t i = 0; i < config->word_count; i++)
        ifg_free(config->words[i]);
    ifg_free(config->words);
    toml_destroy(config->toml);
    config->words = NULL;
    config->word_count = 0;
    config->toml = NULL;
}

const char *gate_config_name(const struct gate_config *config, size_t model)
{
    return config->toml->tables[config->models[model]].child;
}

uint32_t gate_config_line(const struct gate_config *config, size_t model)
{
    return config->toml->tables[config->models[model]].line;
}

void gate_config_names(const struct gate_config *config, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < config->model_count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 !i                            ? ""
                                 : i + 1 < config->model_count ? ", "
                                                               : " and ",
                                 gate_config_name(config, i));
}

/* ---- applying ---- */

static bool overrides(const struct gate_config *config, size_t model, const char *key)
{
    const struct toml *toml = config->toml;

    for (size_t i = 0; i < toml->entry_count; i++)
        if (toml->entries[i].table == config->models[model] &&
            strcmp(toml->entries[i].key, key) == 0)
            return true;
    return false;
}

/* Paths are relative to the file that has them. */
static size_t folder_length(const struct gate_config *config, const struct option_row *row,
                            const char *value)
{
    const char *slash = strrchr(config->path, '/');
    bool path = !row || row->kind == OPTION_PATH;

    if (!path || !slash || *value == '/' || strcmp(value, "-") == 0)
        return 0;
    return (size_t)(slash - config->path) + 1;
}

/* NULL: not enough memory. */
static char *make_word(struct gate_config *config, const struct option_row *row, const char *value)
{
    size_t folder = value ? folder_length(config, row, value) : 0;
    size_t bytes = (row ? strlen(row->name) + 4 : 1) + folder + (value ? strlen(value) : 0);
    char *word;

    if (!IFG_ARRAY_ROOM(config->words, config->word_capacity, config->word_count + 1,
                        IFG_ARRAY_ANY))
        return NULL;
    word = ifg_alloc(bytes, 1);
    if (!word)
        return NULL;
    config->words[config->word_count++] = word;
    snprintf(word, bytes, "%s%s%s%.*s%s", row ? "--" : "", row ? row->name : "",
             row && value ? "=" : "", (int)folder, config->path, value ? value : "");
    return word;
}

static int apply_entry(struct gate_config *config, const struct option_row *row,
                       const struct toml_entry *entry, gate_config_take *take, void *user)
{
    bool flag = row && row->kind == OPTION_FLAG;

    if (entry->kind == TOML_FALSE)
        return CLI_YES;
    for (size_t i = 0; i < entry->count; i++) {
        struct gate_setting setting = { make_word(config, row, flag ? NULL : entry->items[i]), !row,
                                        entry->line };
        int code;

        if (!setting.word) {
            cli_say("not enough memory");
            return CLI_LACKS;
        }
        code = take(&setting, user);
        if (code)
            return code;
    }
    return CLI_YES;
}

int gate_config_apply(struct gate_config *config, const struct cli_command *command, size_t model,
                      gate_config_take *take, void *user)
{
    const struct toml *toml = config->toml;
    const size_t tables[] = { config->common, config->models[model] };

    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < toml->entry_count; i++) {
            const struct toml_entry *entry = &toml->entries[i];
            int code;

            if (entry->table != tables[t] || (t == 0 && overrides(config, model, entry->key)))
                continue;
            code = apply_entry(config, find_row(command, entry->key), entry, take, user);
            if (code)
                return code;
        }
    }
    return CLI_YES;
}
