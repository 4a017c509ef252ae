// SPDX-License-Identifier: Apache-2.0
/*
 * One table of options per command. Parsing, --help, shell completions and the check against the
 * man page all read it; a command only adds what its options mean together.
 *
 * A row says what an option is called, what it takes and where that goes: into a member of the
 * command's request, found by IFG_AT. What fits no kind is a function (OPTION_CALL).
 */
#ifndef IFG_CLI_OPTIONS_H
#define IFG_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "cli/cli.h"

enum option_kind {
    OPTION_END,     /* of a table */
    OPTION_HEADING, /* `help` stands above the rows below */
    OPTION_FLAG,    /* bool: true */
    OPTION_OFF,     /* bool: false */
    OPTION_SET,     /* an enum: `value` */
    OPTION_TEXT,    /* const char * */
    OPTION_PATH,    /* const char *, the name of a file; never empty */
    OPTION_COUNT,   /* an integer from `least` to `most` (0: no limit) */
    OPTION_NUMBER,  /* double from `least` to `most` (0: no limit), times `scale` */
    OPTION_PERCENT, /* double, a share: 5 and 5% are 0.05 */
    OPTION_SECONDS, /* double, times `scale`: 1.5, 500ms, 2m */
    OPTION_NS,      /* uint64_t: the same in nanoseconds */
    OPTION_SIZE,    /* size_t, bytes: 500k, 8M, 1G */
    OPTION_CHOICE,  /* an enum, or a bool: which of `choices` */
    OPTION_LIST,    /* bool[]: several of `choices`, with commas between them */
    OPTION_CALL,    /* whatever `take` does */
    OPTION_HELP,    /* prints the help */
};

/* An option on a command line. */
struct option_use {
    const char *command;
    const struct option_row *row;
    char *value; /* NULL: none */
};

struct option_row {
    const char *name;     /* the long one */
    char letter;          /* 0: none */
    const char *argument; /* what its value is called; NULL: it takes none */
    const char *help;     /* one line; {} becomes the list of choices, and marks as in `about` */
    enum option_kind kind;
    size_t at; /* IFG_AT */
    size_t bytes;
    size_t given;  /* IFG_GIVEN: a bool that becomes true as well; 0: none */
    bool optional; /* the value may be missing: --name[=VALUE] */
    bool zero;     /* OPTION_SECONDS, OPTION_NUMBER: 0 is allowed */
    double value;  /* of OPTION_SET; of a number without its value; of the first choice */
    double least;
    double most;
    double scale;       /* 0: 1 */
    const char *suffix; /* of a number, may be left out */
    const char *what;   /* a wrong value is not ... ("a number of rows") */
    const char *const *choices;
    const char *(*choice_at)(size_t index); /* instead of choices; NULL at the end */
    const char *files;                      /* OPTION_PATH: "*.ifg"; "/": directories */
    int (*take)(const struct option_use *use, void *request);
};

/* Where a value goes. 0 means nowhere, so offsets are counted from 1. */
#define IFG_AT(type, to)    .at = offsetof(type, to) + 1, .bytes = sizeof(((type *)0)->to)
#define IFG_GIVEN(type, to) .given = offsetof(type, to) + 1

#define OPTION_TABLES 4u

/* What a command takes besides options; completions want to know. */
enum cli_operands {
    OPERANDS_NONE,
    OPERANDS_TRACES,  /* *.ifg */
    OPERANDS_MODELS,  /* *.onnx, *.ort, directories */
    OPERANDS_FILES,   /* any */
    OPERANDS_WORDS,   /* those of operand_at */
    OPERANDS_PROGRAM, /* a command line; its own options are not ours */
};

struct cli_command {
    const char *name;
    const char *summary; /* one line of `inferogram --help` */
    const char *usage;   /* what follows the name; several forms are lines */
    const char *about;   /* paragraphs are lines; one {runtimes} or {attachable} in each */
    const struct option_row *tables[OPTION_TABLES]; /* where two have a name, the first wins */
    const char *notes;                              /* below the options; paragraphs are lines */
    const char *examples;                           /* lines */
    const char *exits;
    enum cli_operands operands;
    const char *(*operand_at)(size_t index);
    bool reads;  /* files from others: its memory is limited, and it has --max-memory */
    bool silent; /* prints nothing that is coloured or long: no --color, no --no-pager */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* --color, which others have by themselves. */
extern const struct option_row options_color_rows[];

/* The rows of a command as they count, with --color, --no-pager, --max-memory and --help; returns
 * how many. */
#define OPTION_ROWS_MAX 128u
size_t options_collect(const struct cli_command *command,
                       const struct option_row *out[OPTION_ROWS_MAX]);

/* What is left of a command line. */
struct option_words {
    char **items;
    size_t count;
};

/* Fills the request. CLI_YES, CLI_DONE after --help, or CLI_USAGE after a message. */
int options_parse(const struct cli_command *command, int argc, char **argv, void *request,
                  struct option_words *out_words);

/* The one word that a command wants: CLI_YES, or CLI_USAGE after asking `which` ("which trace? Give
 * a file") or refusing a second one ("one file at a time"). */
int options_one_word(const struct cli_command *command, const struct option_words *words,
                     const char *which, const char *one, const char **out_word);

/* The same for one trace. Without a word it is the newest in this directory, which is said. */
int options_one_trace(const struct cli_command *command, const struct option_words *words,
                      const char **out_path);

/* "--by is zone, model or op, not 'x'", and such. Returns CLI_USAGE. */
int options_bad_value(const struct option_use *use, const char *what);

/* Which of its choices an OPTION_CALL was given; CLI_USAGE after a message: none. */
int options_take_choice(const struct option_use *use, size_t *out_index);

/* The newest trace in this directory; NULL after a message: there is none. The text is there until
 * the next call. */
const char *options_newest_trace(const struct cli_command *command);

/* Whether a word that may be left out is the name of a trace, whether that exists or not. */
bool options_is_trace(const char *word);

/* The choices of a row; NULL at the end. */
const char *options_choice(const struct option_row *row, size_t index);

/* ---- options_help.c ---- */

/* --help, in lines of so many columns. */
void options_write_help(const struct cli_command *command, size_t columns, struct ifg_bytes *out);

/* For tests and scripts, a line for each option: command, long name, letter, argument, kind,
 * choices, with tabs between them. */
void options_write_list(const struct cli_command *command, struct ifg_bytes *out);

/* The help text of a row with its choices in place. */
void options_put_row_help(const struct option_row *row, char *out, size_t size);

#endif
