// SPDX-License-Identifier: Apache-2.0
/* Command lines, read by the tables of commands: see options.h. */
#include "cli/options.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/memory_limit.h"
#include "cli/nearest.h"
#include "cli/terminal.h"

#define FIRST_VALUE 1000 /* of getopt: no letter */
#define LIST_BYTES  512u

static const struct option_row general_rows[] = {
    { .kind = OPTION_HEADING, .help = "General" },
    { 0 },
};

static const char *const color_choices[] = { "auto", "always", "never", NULL };

static int take_color(const struct option_use *use, void *request)
{
    size_t index;
    int code = options_take_choice(use, &index);

    (void)request;
    if (!code)
        terminal_set_color((enum terminal_color)index);
    return code;
}

static int take_no_pager(const struct option_use *use, void *request)
{
    (void)use;
    (void)request;
    terminal_set_pager(false);
    return CLI_YES;
}

const struct option_row options_color_rows[] = {
    { "color", 0, "WHEN", "use colors: {} [auto]", OPTION_CALL, .choices = color_choices,
      .take = take_color },
    { 0 },
};

static const struct option_row pager_rows[] = {
    { "no-pager", 0, NULL, "do not pipe long output into a pager", OPTION_CALL,
      .take = take_no_pager },
    { 0 },
};

static const struct option_row help_rows[] = {
    { .name = "help", .letter = 'h', .help = "print this help", .kind = OPTION_HELP },
    { 0 },
};

static bool is_there(const struct option_row *const *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i]->name && strcmp(rows[i]->name, name) == 0)
            return true;
    return false;
}

static size_t add_table(const struct option_row *table, const struct option_row **rows,
                        size_t count)
{
    for (; table && table->kind != OPTION_END; table++) {
        if (table->name && is_there(rows, count, table->name))
            continue;
        assert(count < OPTION_ROWS_MAX);
        rows[count++] = table;
    }
    return count;
}

size_t options_collect(const struct cli_command *command,
                       const struct option_row *out[OPTION_ROWS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < OPTION_TABLES; i++)
        count = add_table(command->tables[i], out, count);
    for (size_t i = 0, own = count; i < own && count == own; i++)
        if (out[i]->kind == OPTION_HEADING)
            count = add_table(general_rows, out, count);
    if (!command->silent) {
        count = add_table(options_color_rows, out, count);
        count = add_table(pager_rows, out, count);
    }
    if (command->reads)
        count = add_table(memory_limit_rows, out, count);
    return add_table(help_rows, out, count);
}

const char *options_choice(const struct option_row *row, size_t index)
{
    if (row->choice_at)
        return row->choice_at(index);
    return row->choices ? row->choices[index] : NULL;
}

/* ---- values ---- */

/* "zone, model or op" */
static void list_choices(const struct option_row *row, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; options_choice(row, i) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 !i                           ? ""
                                 : options_choice(row, i + 1) ? ", "
                                                              : " or ",
                                 options_choice(row, i));
}

int options_bad_value(const struct option_use *use, const char *what)
{
    return cli_usage(use->command, "--%s: '%s' is not %s", use->row->name, use->value, what);
}

static const char *default_what(const struct option_row *row, char *out, size_t size)
{
    switch (row->kind) {
    case OPTION_COUNT:
        if (row->most > 0)
            snprintf(out, size, "a whole number from %.0f to %.0f", row->least, row->most);
        else
            snprintf(out, size, "a whole number of %.0f or more", row->least);
        return out;
    case OPTION_NUMBER:
        return "a number that it can have";
    case OPTION_PERCENT:
        return "a percentage above 0";
    case OPTION_SIZE:
        return "a size (500k, 8M, 1G)";
    default:
        return row->zero ? "a time (2, 1.5s, 500ms, 3m; 0)" : "a time (2, 1.5s, 500ms, 3m)";
    }
}

static int refuse(const struct option_use *use)
{
    char what[100];

    return options_bad_value(use, use->row->what ? use->row->what
                                                 : default_what(use->row, what, sizeof what));
}

static void *place(const struct option_row *row, void *request)
{
    assert(row->at);
    return (char *)request + row->at - 1;
}

static void store(const struct option_row *row, const void *value, size_t bytes, void *request)
{
    assert(row->bytes == bytes);
    memcpy(place(row, request), value, bytes);
}

/* Into an integer of any size, an enum or a bool. */
static void store_integer(const struct option_row *row, uint64_t value, void *request)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;
    uint32_t word = (uint32_t)value;

    if (row->bytes == sizeof byte)
        store(row, &byte, sizeof byte, request);
    else if (row->bytes == sizeof half)
        store(row, &half, sizeof half, request);
    else if (row->bytes == sizeof word)
        store(row, &word, sizeof word, request);
    else
        store(row, &value, sizeof value, request);
}

static int take_count(const struct option_use *use, void *request)
{
    const struct option_row *row = use->row;
    uint64_t number = (uint64_t)row->value;
    char *end;

    if (use->value) {
        errno = 0;
        number = strtoull(use->value, &end, 10);
        if (*use->value < '0' || *use->value > '9' || *end || errno ||
            (double)number < row->least || (row->most > 0 && (double)number > row->most) ||
            (row->bytes < sizeof number && number > UINT32_MAX))
            return refuse(use);
    }
    store_integer(row, number, request);
    return CLI_YES;
}

static int take_number(const struct option_use *use, void *request)
{
    const struct option_row *row = use->row;
    bool percent = row->kind == OPTION_PERCENT;
    const char *suffix = percent ? "%" : row->suffix ? row->suffix : "";
    double most = row->most > 0 ? row->most : percent ? 10000 : INFINITY;
    double number = row->value;
    char *end;

    if (use->value) {
        number = strtod(use->value, &end);
        if (end == use->value || (*end && strcmp(end, suffix) != 0) || !isfinite(number) ||
            number < row->least || number > most || (number <= 0 && !row->zero && row->least >= 0))
            return refuse(use);
    }
    number *= percent ? 0.01 : row->scale > 0 ? row->scale : 1;
    store(row, &number, sizeof number, request);
    return CLI_YES;
}

static int take_time(const struct option_use *use, void *request)
{
    const struct option_row *row = use->row;
    double seconds;
    uint64_t ns;

    if (!cli_parse_seconds(use->value, &seconds) || !cli_parse_ns(use->value, &ns) ||
        (!row->zero && row->kind == OPTION_SECONDS && !(seconds > 0)) ||
        (row->most > 0 && seconds > row->most))
        return refuse(use);
    seconds *= row->scale > 0 ? row->scale : 1;
    if (row->kind == OPTION_NS)
        store(row, &ns, sizeof ns, request);
    else
        store(row, &seconds, sizeof seconds, request);
    return CLI_YES;
}

static int take_size(const struct option_use *use, void *request)
{
    size_t bytes;

    if (!cli_parse_size(use->value, &bytes))
        return refuse(use);
    store(use->row, &bytes, sizeof bytes, request);
    return CLI_YES;
}

static bool find_choice(const struct option_row *row, const char *text, size_t bytes,
                        size_t *out_index)
{
    const char *name;

    for (*out_index = 0; (name = options_choice(row, *out_index)); (*out_index)++)
        if (strlen(name) == bytes && memcmp(name, text, bytes) == 0)
            return true;
    return false;
}

static int refuse_choice(const struct option_use *use, const char *text, size_t bytes)
{
    struct nearest best = { NULL, NEAREST_FAR };
    char list[LIST_BYTES] = "";
    char given[64];
    const char *name;

    snprintf(given, sizeof given, "%.*s", (int)bytes, text);
    for (size_t i = 0; (name = options_choice(use->row, i)); i++)
        nearest_keep(&best, name, nearest_distance(given, name));
    list_choices(use->row, list, sizeof list);
    if (best.name)
        return cli_usage(use->command, "--%s is %s, not '%.*s' (did you mean '%s'?)",
                         use->row->name, list, (int)bytes, text, best.name);
    return cli_usage(use->command, "--%s is %s, not '%.*s'", use->row->name, list, (int)bytes,
                     text);
}

int options_take_choice(const struct option_use *use, size_t *out_index)
{
    if (find_choice(use->row, use->value, strlen(use->value), out_index))
        return CLI_YES;
    return refuse_choice(use, use->value, strlen(use->value));
}

static int take_choice(const struct option_use *use, void *request)
{
    size_t index;
    int code = options_take_choice(use, &index);

    if (!code)
        store_integer(use->row, index + (uint64_t)use->row->value, request);
    return code;
}

static int take_list(const struct option_use *use, void *request)
{
    bool *chosen = place(use->row, request);

    for (const char *at = use->value; *at; at += *at == ',') {
        size_t bytes = strcspn(at, ",");
        size_t index;

        if (!find_choice(use->row, at, bytes, &index))
            return refuse_choice(use, at, bytes);
        assert(index < use->row->bytes);
        chosen[index] = true;
        at += bytes;
    }
    return CLI_YES;
}

static int take_text(const struct option_use *use, void *request)
{
    const char *text = use->value;

    if (use->row->kind == OPTION_PATH && !*text)
        return cli_usage(use->command, "--%s: the file name is empty", use->row->name);
    store(use->row, &text, sizeof text, request);
    return CLI_YES;
}

static int take(const struct option_use *use, void *request)
{
    const struct option_row *row = use->row;

    if (row->given)
        *(bool *)((char *)request + row->given - 1) = true;
    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_OFF:
        store(row, &(bool){ row->kind == OPTION_FLAG }, sizeof(bool), request);
        return CLI_YES;
    case OPTION_SET:
        store_integer(row, (uint64_t)row->value, request);
        return CLI_YES;
    case OPTION_TEXT:
    case OPTION_PATH:
        return take_text(use, request);
    case OPTION_COUNT:
        return take_count(use, request);
    case OPTION_NUMBER:
    case OPTION_PERCENT:
        return take_number(use, request);
    case OPTION_SECONDS:
    case OPTION_NS:
        return take_time(use, request);
    case OPTION_SIZE:
        return take_size(use, request);
    case OPTION_CHOICE:
        return take_choice(use, request);
    case OPTION_LIST:
        return take_list(use, request);
    default:
        return row->take(use, request);
    }
}

/* ---- what is not understood ---- */

/* The names that an abbreviation may stand for, if there are several. */
static bool list_meant(const struct option_row *const *rows, size_t count, const char *given,
                       char *out, size_t size)
{
    size_t bytes = strcspn(given, "=");
    size_t found = 0;
    size_t used = 0;

    for (size_t i = 0; i < count && used < size; i++) {
        if (!rows[i]->name || strncmp(rows[i]->name, given, bytes) != 0)
            continue;
        used +=
            (size_t)snprintf(out + used, size - used, "%s--%s", found++ ? ", " : "", rows[i]->name);
    }
    return found > 1;
}

static int refuse_name(const char *command, const struct option_row *const *rows, size_t count,
                       const char *given)
{
    struct nearest best = { NULL, NEAREST_FAR };
    char name[64];
    char list[LIST_BYTES];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(given + 2, "="), given + 2);
    if (*name && list_meant(rows, count, name, list, sizeof list))
        return cli_usage(command, "option %s may be any of %s", given, list);
    for (size_t i = 0; i < count; i++)
        if (rows[i]->name)
            nearest_keep(&best, rows[i]->name, nearest_distance(name, rows[i]->name));
    if (best.name)
        return cli_usage(command, "unknown option %s (did you mean '--%s'?)", given, best.name);
    return cli_usage(command, "unknown option %s", given);
}

static int refuse_option(const char *command, const struct option_row *const *rows, size_t count,
                         int result, char **argv)
{
    const char *given = argv[optind - 1];
    bool letter = optopt && optopt < FIRST_VALUE;

    if (result == ':' && letter)
        return cli_usage(command, "option -%c needs a value", optopt);
    if (result == ':')
        return cli_usage(command, "option %s needs a value", given);
    if (letter)
        return cli_usage(command, "unknown option -%c", optopt);
    if (optopt)
        return cli_usage(command, "option %.*s takes no value", (int)strcspn(given, "="), given);
    return refuse_name(command, rows, count, given);
}

/* ---- the loop ---- */

struct getopt_tables {
    struct option names[OPTION_ROWS_MAX + 1];
    char letters[2 * OPTION_ROWS_MAX + 3];
};

static void fill_tables(const struct option_row *const *rows, size_t count, bool stops,
                        struct getopt_tables *out)
{
    size_t names = 0;
    char *letter = out->letters;

    if (stops)
        *letter++ = '+';
    *letter++ = ':';
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->kind == OPTION_HEADING)
            continue;
        out->names[names++] = (struct option){
            .name = rows[i]->name,
            .has_arg = !rows[i]->argument  ? no_argument
                       : rows[i]->optional ? optional_argument
                                           : required_argument,
            .val = FIRST_VALUE + (int)i,
        };
        if (!rows[i]->letter)
            continue;
        *letter++ = rows[i]->letter;
        if (rows[i]->argument)
            *letter++ = ':';
    }
    *letter = '\0';
    out->names[names] = (struct option){ 0 };
}

static const struct option_row *find_row(const struct option_row *const *rows, size_t count,
                                         int result)
{
    if (result >= FIRST_VALUE)
        return rows[result - FIRST_VALUE];
    for (size_t i = 0; i < count; i++)
        if (rows[i]->letter == result)
            return rows[i];
    return NULL;
}

static int print_help(const struct cli_command *command)
{
    struct ifg_bytes out;
    int code;

    ifg_bytes_init(&out, 1u << 20);
    options_write_help(command, 0, &out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code ? code : CLI_DONE;
}

int options_parse(const struct cli_command *command, int argc, char **argv, void *request,
                  struct option_words *out_words)
{
    const struct option_row *rows[OPTION_ROWS_MAX];
    size_t count = options_collect(command, rows);
    struct getopt_tables tables;
    int result;

    fill_tables(rows, count, command->operands == OPERANDS_PROGRAM, &tables);
    optind = 0; /* begins anew */
    while ((result = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        const struct option_row *row = find_row(rows, count, result);
        struct option_use use = { command->name, row, optarg };
        int code;

        if (!row)
            return refuse_option(command->name, rows, count, result, argv);
        if (row->kind == OPTION_HELP)
            return print_help(command);
        /* "--sample 99" would run a program called 99. */
        if (row->optional && !optarg && optind < argc && *argv[optind] >= '0' &&
            *argv[optind] <= '9')
            return cli_usage(command->name, "a value of --%s stands behind an equals sign: --%s=%s",
                             row->name, row->name, argv[optind]);
        code = take(&use, request);
        if (code)
            return code;
    }
    out_words->items = argv + optind;
    out_words->count = (size_t)(argc - optind);
    return CLI_YES;
}

int options_one_word(const struct cli_command *command, const struct option_words *words,
                     const char *which, const char *one, const char **out_word)
{
    if (!words->count)
        return cli_usage(command->name, "%s", which);
    if (words->count > 1)
        return cli_usage(command->name, "%s; '%s' is too many", one, words->items[1]);
    *out_word = words->items[0];
    return CLI_YES;
}

int options_one_trace(const struct cli_command *command, const struct option_words *words,
                      const char **out_path)
{
    if (!words->count) {
        *out_path = options_newest_trace(command);
        return *out_path ? CLI_YES : CLI_USAGE;
    }
    return options_one_word(command, words, "", "one file at a time", out_path);
}

static bool has_extension(const char *name)
{
    size_t length = strlen(name);

    return length > 4 && strcmp(name + length - 4, ".ifg") == 0;
}

bool options_is_trace(const char *word)
{
    return has_extension(word) || access(word, F_OK) == 0;
}

/* Whether a is newer; of the same age, whose name comes last: names end in the time. */
static bool is_newer(const struct stat *a, const char *name, const struct stat *b,
                     const char *other)
{
    if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
        return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
    if (a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)
        return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
    return strcmp(name, other) > 0;
}

const char *options_newest_trace(const struct cli_command *command)
{
    static char newest[NAME_MAX + 1];
    DIR *directory = opendir(".");
    struct stat best = { 0 };
    struct dirent *entry;

    newest[0] = '\0';
    while (directory && (entry = readdir(directory))) {
        struct stat facts;

        if (!has_extension(entry->d_name) || stat(entry->d_name, &facts) != 0 ||
            !S_ISREG(facts.st_mode) || (*newest && !is_newer(&facts, entry->d_name, &best, newest)))
            continue;
        best = facts;
        snprintf(newest, sizeof newest, "%s", entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (*newest) {
        cli_say("%s is the newest trace here", newest);
        return newest;
    }
    cli_usage(command->name, "which trace? There is no *.ifg in this directory: give a file, or "
                             "make one with 'inferogram record -- CMD'");
    return NULL;
}
