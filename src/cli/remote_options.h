// SPDX-License-Identifier: Apache-2.0
/* What commands share that talk to an agent: where it is, its token and its fingerprint, and how
 * that can end. */
#ifndef IFG_CLI_REMOTE_OPTIONS_H
#define IFG_CLI_REMOTE_OPTIONS_H

#include "cli/options.h"
#include "cli/process_list.h"
#include "remote/capture.h"

/* Beside those of enum cli_exit, for scripts that capture. */
enum remote_exit {
    REMOTE_EXIT_VERSION = 5,
    REMOTE_EXIT_BUSY = 6,
    REMOTE_EXIT_LOST = 7,
    REMOTE_EXIT_EXISTS = 8,
    REMOTE_EXIT_CANNOT_WRITE = 9,
    REMOTE_EXIT_INSECURE = 10,
};

struct remote_options {
    const char *host;
    unsigned port;
    const char *token_file;
    const char *fingerprint;
};

#define REMOTE_ROWS(type, member)                                                                  \
    { "address",   'a',                                                                            \
      "HOST",      "the machine of the agent, or a forwarded port's",                              \
      OPTION_TEXT, IFG_AT(type, member.host) },                                                    \
        { "port",                                                                                  \
          'p',                                                                                     \
          "N",                                                                                     \
          "the agent's port [8086]",                                                               \
          OPTION_COUNT,                                                                            \
          IFG_AT(type, member.port),                                                               \
          .least = 1,                                                                              \
          .most = 65535,                                                                           \
          .what = "a port: 1 to 65535" },                                                          \
        { "token-file", 0,                                                                         \
          "FILE",       "the agent's token, if it is another user's",                              \
          OPTION_PATH,  IFG_AT(type, member.token_file) },                                         \
    {                                                                                              \
        "fingerprint", 0, "SHA256", "encrypt, and only with the agent that printed this",          \
            OPTION_TEXT, IFG_AT(type, member.fingerprint)                                          \
    }

/* What does not go together: CLI_YES, or CLI_USAGE after a message. */
int remote_options_check(const struct cli_command *command, const struct remote_options *options);

/* Fills in where the agent is, and the token; CLI_YES, or the exit status after a message. */
int remote_options_apply(const struct remote_options *options, struct remote_token *token,
                         struct capture_options *out);

/* "127.0.0.1", "127.0.0.1:8086", "[::1]:8086", "::1": a port of 0 if there is none. CLI_YES, or
 * CLI_USAGE after a message of that command and option. */
#define REMOTE_HOST_BYTES 256u
int remote_split_address(const char *command, const char *option, const char *text, char *out_host,
                         size_t size, unsigned *out_port);

int remote_exit_for(enum capture_end end);

/* The processes that an agent could record; CLI_YES, or the exit status after a message. */
int remote_list(const struct remote_options *options, process_list_visit *visit, void *user,
                struct remote_listed *out_listed);

#endif
