// SPDX-License-Identifier: Apache-2.0
/*
 * The settings of `inferogram gate` in a file: [gate] for all models, [models.NAME] for each. Keys
 * are the options of the command line, so that there is one list of them; docs/gate.md describes
 * it.
 */
#ifndef IFG_CLI_GATE_CONFIG_H
#define IFG_CLI_GATE_CONFIG_H

#include <limits.h>

#include "cli/options.h"
#include "cli/toml.h"

#define GATE_MODELS_MAX 64u

struct gate_config {
    const char *path;
    struct toml *toml;
    size_t common; /* table [gate], or SIZE_MAX */
    size_t models[GATE_MODELS_MAX];
    size_t model_count;
    char **words; /* options as they would be written, and paths */
    size_t word_count;
    size_t word_capacity;
};

/* An option ("--threads=2") or the model, with its line. CLI_YES goes on. */
struct gate_setting {
    char *word;
    bool is_model;
    uint32_t line;
};
typedef int gate_config_take(const struct gate_setting *setting, void *user);

/* Reads and checks names and kinds; values are the options' to judge. IFG_NOT_FOUND: there is no
 * such file. */
enum ifg_status gate_config_open(const char *path, const struct cli_command *command,
                                 struct gate_config *out, struct ifg_error *err) IFG_MUST_CHECK;
void gate_config_close(struct gate_config *config);

const char *gate_config_name(const struct gate_config *config, size_t model);
uint32_t gate_config_line(const struct gate_config *config, size_t model);

/* "a, b and c", for messages. */
void gate_config_names(const struct gate_config *config, char *out, size_t size);

/* What counts for a model: of [gate] what it does not set itself, then its own. Words live until
 * the settings are closed. CLI_YES, or the first other answer of `take`. */
int gate_config_apply(struct gate_config *config, const struct cli_command *command, size_t model,
                      gate_config_take *take, void *user);

#endif
