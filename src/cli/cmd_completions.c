// SPDX-License-Identifier: Apache-2.0
/* inferogram completions: what a shell needs to complete our command lines. */
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/completions.h"

#define OUTPUT_MAX (1u << 20)

static const struct {
    const char *name;
    void (*write)(struct ifg_bytes *out);
} shells[] = {
    { "bash", completions_write_bash },
    { "zsh", completions_write_zsh },
    { "fish", completions_write_fish },
};

static const char *shell_name(size_t index)
{
    return index < sizeof shells / sizeof shells[0] ? shells[index].name : NULL;
}

static int run(int argc, char **argv)
{
    struct option_words words;
    const char *shell = NULL;
    struct ifg_bytes out;
    int code = options_parse(&completions_command, argc, argv, NULL, &words);

    if (!code)
        code = options_one_word(&completions_command, &words, "which shell? Give bash, zsh or fish",
                                "one shell at a time", &shell);
    for (size_t i = 0; !code && shell_name(i); i++) {
        if (strcmp(shell, shell_name(i)) != 0)
            continue;
        ifg_bytes_init(&out, OUTPUT_MAX);
        shells[i].write(&out);
        code = cli_write_out(&out);
        ifg_bytes_fini(&out);
        return code;
    }
    return code ? code
                : cli_usage("completions", "there are completions for bash, zsh and fish, not '%s'",
                            shell);
}

const struct cli_command completions_command = {
    .name = "completions",
    .summary = "print shell completions for bash, zsh and fish",
    .usage = "bash|zsh|fish",
    .about = "Prints a script that completes commands, options, their values and file names. "
             "After 'make install', or from a package, shells find it by themselves.",
    .examples = "source <(inferogram completions bash)\n"
                "inferogram completions zsh > ~/.zfunc/_inferogram\n"
                "inferogram completions fish > ~/.config/fish/completions/inferogram.fish",
    .exits = "0 success, 1 cannot write the output, 2 unknown shell",
    .operands = OPERANDS_WORDS,
    .operand_at = shell_name,
    .silent = true,
    .run = run,
};
