// SPDX-License-Identifier: Apache-2.0
/* Reading a description, line by line. The grammar is in docs/probes.md. */
#include "collect/probe_file/probe_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"

#define WORDS_MAX 8

struct parser {
    struct probe_file *file;
    struct probe_rule *rule; /* the one that lines belong to; NULL before the first */
    struct ifg_error *err;
    unsigned line;
    bool has_version;
    char text[PROBE_LINE_MAX + 1]; /* the line without its comment */
    char words_text[PROBE_LINE_MAX + 1];
    char *words[WORDS_MAX];
    size_t rest[WORDS_MAX]; /* where each word begins in text */
    size_t count;           /* of words; those beyond WORDS_MAX are only counted */
};

static enum ifg_status wrong_at(struct parser *parser, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum ifg_status wrong_at(struct parser *parser, unsigned line, const char *format, ...)
{
    char text[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ifg_fail(parser->err, IFG_CORRUPT, "%.150s:%u: %s", parser->file->name, line, text);
}

#define WRONG(parser, ...) wrong_at(parser, (parser)->line, __VA_ARGS__)

static enum ifg_status no_memory(struct parser *parser)
{
    return ifg_fail_no_memory(parser->err, NULL);
}

/* ---- lines and words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Copies a line without its comment and without blanks at its ends. */
static enum ifg_status take_line(struct parser *parser, const char *at, size_t size)
{
    size_t end = 0;

    if (size && at[size - 1] == '\r')
        size--;
    if (size > PROBE_LINE_MAX)
        return WRONG(parser, "a line of %zu bytes; %u are the limit", size, PROBE_LINE_MAX);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)at[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return WRONG(parser,
                         "byte %zu is a control character (0x%02x); a description is plain text", i,
                         c);
    }
    while (end < size && !(at[end] == '#' && (end == 0 || is_blank(at[end - 1]))))
        end++;
    while (end && is_blank(at[end - 1]))
        end--;
    memcpy(parser->text, at, end);
    parser->text[end] = '\0';
    return IFG_OK;
}

static void split_words(struct parser *parser)
{
    char *at = parser->words_text;

    memcpy(at, parser->text, sizeof parser->words_text);
    parser->count = 0;
    for (;;) {
        while (is_blank(*at))
            at++;
        if (!*at)
            break;
        if (parser->count < WORDS_MAX) {
            parser->words[parser->count] = at;
            parser->rest[parser->count] = (size_t)(at - parser->words_text);
        }
        parser->count++;
        while (*at && !is_blank(*at))
            at++;
        if (*at)
            *at++ = '\0';
    }
}

static const char *word(const struct parser *parser, size_t index)
{
    return index < parser->count && index < WORDS_MAX ? parser->words[index] : "";
}

/* ---- values ---- */

/* The line from its index-th word on, as a name. */
static enum ifg_status take_rest(struct parser *parser, size_t index, size_t limit,
                                 const char *what, char **out_name)
{
    const char *name;

    if (*out_name)
        return WRONG(parser, "%s is given a second time; remove one of the two", what);
    if (parser->count <= index)
        return WRONG(parser, "%s is missing; write it after '%s'", what, word(parser, index - 1));
    name = parser->text + parser->rest[index];
    if (strlen(name) > limit)
        return WRONG(parser, "%s has %zu bytes; %zu are the limit", what, strlen(name), limit);
    *out_name = ifg_strdup(name);
    return *out_name ? IFG_OK : no_memory(parser);
}

/* Exactly so many words in this line. */
static enum ifg_status expect_words(struct parser *parser, size_t count, const char *form)
{
    if (parser->count < count)
        return WRONG(parser, "something is missing; the line is '%s'", form);
    if (parser->count > count)
        return WRONG(parser, "'%.100s' is too much; the line is '%s'", word(parser, count), form);
    return IFG_OK;
}

static enum ifg_status take_argument(struct parser *parser, size_t index, uint8_t *out_argument)
{
    const char *text = word(parser, index);

    if (text[0] < '1' || text[0] > '6' || text[1])
        return WRONG(parser,
                     "'%.100s' is not the number of an argument; 1 is the first, and 6 the last "
                     "that can be seen",
                     text);
    *out_argument = (uint8_t)(text[0] - '0');
    return IFG_OK;
}

/* An argument that is to be read as a text: the kernel reads one per function. */
static enum ifg_status take_text_argument(struct parser *parser, size_t index,
                                          uint8_t *out_argument)
{
    enum ifg_status status = take_argument(parser, index, out_argument);
    struct probe_rule *rule = parser->rule;

    if (status)
        return status;
    if (rule->text_argument && rule->text_argument != *out_argument)
        return WRONG(parser,
                     "a second text (argument %u, and argument %u before); one per function can "
                     "be read: remove one of the lines",
                     *out_argument, rule->text_argument);
    rule->text_argument = *out_argument;
    return IFG_OK;
}

/* ---- lines of a rule ---- */

static enum ifg_status take_model(struct parser *parser)
{
    struct probe_rule *rule = parser->rule;
    const char *from = word(parser, 1);
    enum ifg_status status;

    if (rule->model_from)
        return WRONG(parser, "a second model; remove one of the two");
    if (strcmp(from, "name") == 0) {
        rule->model_from = PROBE_MODEL_NAME;
        return take_rest(parser, 2, PROBE_NAME_MAX, "the name of the model", &rule->model_name);
    }
    if (strcmp(from, "unnamed") == 0) {
        rule->model_from = PROBE_MODEL_UNNAMED;
        return expect_words(parser, 2, "model unnamed");
    }
    if (strcmp(from, "text") != 0 && strcmp(from, "object") != 0)
        return WRONG(parser,
                     "'%.100s' is not where a model comes from; there are 'model text N', 'model "
                     "object N', 'model name NAME' and 'model unnamed'",
                     from);
    status = expect_words(parser, 3, from[0] == 't' ? "model text N" : "model object N");
    if (status)
        return status;
    rule->model_from = from[0] == 't' ? PROBE_MODEL_TEXT : PROBE_MODEL_OBJECT;
    if (from[0] == 't')
        return take_text_argument(parser, 2, &rule->model_argument);
    return take_argument(parser, 2, &rule->model_argument);
}

static enum ifg_status take_object(struct parser *parser)
{
    struct probe_rule *rule = parser->rule;
    const char *from = word(parser, 1);
    enum ifg_status status;

    if (rule->object_from)
        return WRONG(parser, "a second object; a call makes one: remove one of the two");
    if (strcmp(from, "result") == 0) {
        rule->object_from = PROBE_OBJECT_RESULT;
        return expect_words(parser, 2, "object result");
    }
    if (strcmp(from, "stored") != 0 && strcmp(from, "argument") != 0)
        return WRONG(parser,
                     "'%.100s' is not where an object is found; there are 'object result', 'object "
                     "stored N' and 'object argument N'",
                     from);
    status = expect_words(parser, 3, from[0] == 's' ? "object stored N" : "object argument N");
    if (status)
        return status;
    rule->object_from = from[0] == 's' ? PROBE_OBJECT_STORED : PROBE_OBJECT_ARGUMENT;
    return take_argument(parser, 2, &rule->object_argument);
}

static enum ifg_status take_forget(struct parser *parser)
{
    static const char form[] = "forget argument N";
    enum ifg_status status = expect_words(parser, 3, form);

    if (status)
        return status;
    if (strcmp(word(parser, 1), "argument") != 0)
        return WRONG(parser, "'%.100s' cannot be forgotten; the line is '%s'", word(parser, 1),
                     form);
    if (parser->rule->forget_argument)
        return WRONG(parser, "a second 'forget'; remove one of the two");
    return take_argument(parser, 2, &parser->rule->forget_argument);
}

static enum ifg_status take_function(struct parser *parser)
{
    struct probe_rule *rule = parser->rule;

    if (rule->function || rule->function_argument)
        return WRONG(parser, "a second function; remove one of the two");
    if (strcmp(word(parser, 1), "name") == 0)
        return take_rest(parser, 2, PROBE_NAME_MAX, "the name of the function", &rule->function);
    if (strcmp(word(parser, 1), "text") == 0) {
        enum ifg_status status = expect_words(parser, 3, "function text N");

        return status ? status : take_text_argument(parser, 2, &rule->function_argument);
    }
    return WRONG(parser,
                 "'%.100s' is not where a function comes from; there are 'function name NAME' and "
                 "'function text N'",
                 word(parser, 1));
}

static bool parse_comparison(const char *text, enum probe_comparison *out)
{
    static const char *const forms[] = {
        [PROBE_EQUAL] = "==",      [PROBE_UNEQUAL] = "!=", [PROBE_LESS] = "<",
        [PROBE_LESS_EQUAL] = "<=", [PROBE_GREATER] = ">",  [PROBE_GREATER_EQUAL] = ">=",
    };

    for (unsigned i = PROBE_EQUAL; i <= PROBE_GREATER_EQUAL; i++) {
        if (strcmp(text, forms[i]) == 0) {
            *out = (enum probe_comparison)i;
            return true;
        }
    }
    return false;
}

static enum ifg_status take_failed_value(struct parser *parser, const char *text, bool is_long)
{
    struct probe_rule *rule = parser->rule;
    bool ordered = rule->failed > PROBE_UNEQUAL;
    char *end;

    if (strcmp(text, "null") == 0 || strcmp(text, "false") == 0 || strcmp(text, "true") == 0) {
        if (ordered || is_long)
            return WRONG(parser, "'%s' can only be compared with == and !=%s", text,
                         is_long ? ", and without 'long'" : "");
        rule->width = text[0] == 'n' ? PROBE_POINTER : PROBE_BOOL;
        rule->failed_value = text[0] == 't';
        return IFG_OK;
    }
    rule->width = is_long ? PROBE_LONG : PROBE_INT;
    rule->failed_value = strtoll(text, &end, 0);
    if (!*text || *end || strlen(text) > 18 ||
        (!is_long && (rule->failed_value < INT32_MIN || rule->failed_value > INT32_MAX)))
        return WRONG(parser,
                     "'%.100s' is not a result; there are numbers of a C int (of 64 bits after "
                     "'failed long result'), null, true and false",
                     text);
    return IFG_OK;
}

static enum ifg_status take_failed(struct parser *parser)
{
    bool is_long = strcmp(word(parser, 1), "long") == 0;
    size_t at = is_long ? 2 : 1;
    enum ifg_status status =
        expect_words(parser, at + 3, is_long ? "failed long result < 0" : "failed result == 0");

    if (status)
        return status;
    if (parser->rule->failed)
        return WRONG(parser, "a second 'failed'; remove one of the two");
    if (strcmp(word(parser, at), "result") != 0)
        return WRONG(parser, "'%.100s' cannot be compared; the line is 'failed result == 0'",
                     word(parser, at));
    if (!parse_comparison(word(parser, at + 1), &parser->rule->failed))
        return WRONG(parser,
                     "'%.100s' is no comparison; there are == != < <= > >=", word(parser, at + 1));
    return take_failed_value(parser, word(parser, at + 2), is_long);
}

static enum ifg_status take_attribute(struct parser *parser)
{
    struct probe_rule *rule = parser->rule;
    struct probe_attribute *attribute = &rule->attributes[rule->attribute_count];
    enum ifg_status status = expect_words(parser, 4, "attribute KEY text N");
    const char *key = word(parser, 1);

    if (status)
        return status;
    if (rule->attribute_count == PROBE_ATTRIBUTES_MAX)
        return WRONG(parser, "more than %u attributes; remove one", PROBE_ATTRIBUTES_MAX);
    if (strcmp(key, "session") == 0 || strcmp(key, "status") == 0)
        return WRONG(parser, "the attribute '%s' is written by itself; call this one otherwise",
                     key);
    if (strlen(key) > PROBE_NAME_MAX)
        return WRONG(parser, "the attribute's name has %zu bytes; %u are the limit", strlen(key),
                     PROBE_NAME_MAX);
    if (strcmp(word(parser, 2), "text") == 0) {
        attribute->is_text = true;
        status = take_text_argument(parser, 3, &attribute->argument);
    } else if (strcmp(word(parser, 2), "argument") == 0) {
        status = take_argument(parser, 3, &attribute->argument);
    } else {
        status = WRONG(parser,
                       "'%.100s' is no value; there are 'attribute KEY text N' and 'attribute KEY "
                       "argument N' (a number)",
                       word(parser, 2));
    }
    if (status)
        return status;
    attribute->key = ifg_strdup(key);
    if (!attribute->key)
        return no_memory(parser);
    rule->attribute_count++;
    return IFG_OK;
}

/* ---- a new rule ---- */

/* What only shows when all lines of a rule are known. */
static enum ifg_status finish_rule(struct parser *parser)
{
    struct probe_rule *rule = parser->rule;

    if (!rule)
        return IFG_OK;
    parser->rule = NULL;
    if (rule->shows == PROBE_SHOWS_EVENT && !rule->model_from)
        return wrong_at(parser, rule->line,
                        "'%.100s' does not say which model it belongs to; add 'model text N', "
                        "'model object N' or 'model name NAME'",
                        rule->symbol);
    if (rule->object_from && !rule->model_from)
        return wrong_at(parser, rule->line,
                        "'%.100s' makes an object, and does not say of which model; add 'model "
                        "text N', 'model object N' or 'model name NAME'",
                        rule->symbol);
    if (rule->model_from == PROBE_MODEL_UNNAMED && !rule->object_from)
        return wrong_at(parser, rule->line,
                        "'%.100s' has a model without a name, and no object to know it by; add "
                        "'object result', 'object stored N' or 'object argument N'",
                        rule->symbol);
    if (rule->shows == PROBE_SHOWS_NOTHING && !rule->object_from && !rule->forget_argument)
        return wrong_at(parser, rule->line,
                        "'%.100s' has no effect: it shows nothing, and teaches nothing; add an "
                        "'object' or a 'forget' line, or give it a category",
                        rule->symbol);
    if (rule->shows == PROBE_SHOWS_NOTHING && rule->attribute_count)
        return wrong_at(parser, rule->line,
                        "'%.100s' has attributes, and no event that could carry them; give it a "
                        "category, or remove them",
                        rule->symbol);
    if (rule->shows != PROBE_SHOWS_EVENT && (rule->function || rule->function_argument))
        return wrong_at(parser, rule->line,
                        "'%.100s' names a function, which only events of the five categories have",
                        rule->symbol);
    return IFG_OK;
}

static enum ifg_status take_category(struct parser *parser, struct probe_rule *rule)
{
    static const char *const names[] = {
        [TRACE_CATEGORY_PREPARE_EP] = "prepare-ep",
        [TRACE_CATEGORY_SPECIALIZATION] = "specialization",
        [TRACE_CATEGORY_LOAD] = "load",
        [TRACE_CATEGORY_SETUP] = "setup",
        [TRACE_CATEGORY_INFERENCE] = "inference",
    };
    const char *category = word(parser, 2);

    if (strcmp(category, "zone") == 0) {
        rule->shows = PROBE_SHOWS_ZONE;
        return take_rest(parser, 3, PROBE_NAME_MAX, "the name of the zone", &rule->zone);
    }
    for (unsigned i = TRACE_CATEGORY_PREPARE_EP; i < TRACE_CATEGORIES; i++) {
        if (strcmp(category, names[i]) == 0) {
            rule->shows = PROBE_SHOWS_EVENT;
            rule->category = (enum trace_category)i;
        }
    }
    if (!rule->shows && strcmp(category, "nothing") != 0)
        return WRONG(parser,
                     "'%.100s' is no category; there are prepare-ep, specialization, load, setup, "
                     "inference, zone NAME and nothing",
                     category);
    return expect_words(parser, 3, "probe SYMBOL CATEGORY");
}

static enum ifg_status take_probe(struct parser *parser)
{
    struct probe_file *file = parser->file;
    const char *symbol = word(parser, 1);
    struct probe_rule *rule;
    enum ifg_status status = finish_rule(parser);

    if (status)
        return status;
    if (!file->library_count)
        return WRONG(parser, "in which library? Add a line such as 'library libname.so*' before");
    if (parser->count < 3)
        return WRONG(parser, "something is missing; the line is 'probe SYMBOL CATEGORY'");
    if (strlen(symbol) > PROBE_SYMBOL_MAX)
        return WRONG(parser, "the symbol has %zu bytes; %u are the limit", strlen(symbol),
                     PROBE_SYMBOL_MAX);
    if (symbol[strspn(symbol, "*?")] == '\0')
        return WRONG(parser, "'%.100s' is every function; write a name, or a part of one", symbol);
    for (size_t i = 0; i < file->rule_count; i++)
        if (strcmp(file->rules[i].symbol, symbol) == 0)
            return WRONG(parser, "'%.100s' has been described in line %u; remove one of the two",
                         symbol, file->rules[i].line);
    if (file->rule_count == PROBE_RULES_MAX)
        return WRONG(parser, "more than %u functions; divide the file into several",
                     PROBE_RULES_MAX);
    if (!IFG_ARRAY_ROOM(file->rules, file->rule_capacity, file->rule_count + 1, PROBE_RULES_MAX))
        return no_memory(parser);
    rule = &file->rules[file->rule_count];
    *rule = (struct probe_rule){ .symbol = ifg_strdup(symbol), .line = parser->line };
    if (!rule->symbol)
        return no_memory(parser);
    file->rule_count++;
    parser->rule = rule;
    return take_category(parser, rule);
}

/* ---- the head of the file ---- */

static enum ifg_status take_version(struct parser *parser)
{
    enum ifg_status status = expect_words(parser, 2, "version 1");

    if (status)
        return status;
    if (parser->has_version)
        return WRONG(parser, "a second version; remove one of the two");
    if (strcmp(word(parser, 1), "1") != 0)
        return WRONG(
            parser,
            "version '%.100s' is not known here; this program reads version 1, a newer one "
            "may read it",
            word(parser, 1));
    parser->has_version = true;
    return IFG_OK;
}

static enum ifg_status take_library(struct parser *parser)
{
    struct probe_file *file = parser->file;
    struct probe_library *library = &file->libraries[file->library_count];
    const char *pattern = word(parser, 1);
    enum ifg_status status = expect_words(parser, 2, "library PATTERN");

    if (status)
        return status;
    if (parser->rule)
        return WRONG(parser, "libraries come before the first 'probe'; move this line up");
    if (file->library_count == PROBE_LIBRARIES_MAX)
        return WRONG(parser, "more than %u libraries; remove one", PROBE_LIBRARIES_MAX);
    if (strlen(pattern) > PROBE_NAME_MAX)
        return WRONG(parser, "the library has %zu bytes; %u are the limit", strlen(pattern),
                     PROBE_NAME_MAX);
    if (pattern[strspn(pattern, "*?./")] == '\0')
        return WRONG(parser, "'%.100s' is every library; write a name, or a part of one", pattern);
    library->pattern = ifg_strdup(pattern);
    if (!library->pattern)
        return no_memory(parser);
    file->library_count++;
    return IFG_OK;
}

static enum ifg_status take_executable(struct parser *parser)
{
    struct probe_file *file = parser->file;
    enum ifg_status status = expect_words(parser, 1, "executable");

    if (status)
        return status;
    if (parser->rule)
        return WRONG(parser, "'executable' comes before the first 'probe'; move this line up");
    if (file->library_count == PROBE_LIBRARIES_MAX)
        return WRONG(parser, "more than %u libraries; remove one", PROBE_LIBRARIES_MAX);
    file->libraries[file->library_count++].executable = true;
    return IFG_OK;
}

static enum ifg_status take_runtime(struct parser *parser)
{
    return take_rest(parser, 1, PROBE_NAME_MAX, "the name of the runtime", &parser->file->runtime);
}

static enum ifg_status take_note(struct parser *parser)
{
    return take_rest(parser, 1, PROBE_NOTE_MAX, "a note", &parser->file->note);
}

static const struct {
    const char *word;
    bool in_rule;
    enum ifg_status (*take)(struct parser *parser);
} keywords[] = {
    { "version", false, take_version },
    { "runtime", false, take_runtime },
    { "note", false, take_note },
    { "library", false, take_library },
    { "executable", false, take_executable },
    { "probe", false, take_probe },
    { "model", true, take_model },
    { "object", true, take_object },
    { "forget", true, take_forget },
    { "function", true, take_function },
    { "failed", true, take_failed },
    { "attribute", true, take_attribute },
};

static enum ifg_status take_statement(struct parser *parser)
{
    const char *first = word(parser, 0);

    if (!parser->has_version && strcmp(first, "version") != 0)
        return WRONG(parser, "the first line of a description is 'version 1'");
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(first, keywords[i].word) != 0)
            continue;
        if (keywords[i].in_rule && !parser->rule)
            return WRONG(parser, "'%s' belongs to a function; write 'probe SYMBOL CATEGORY' before",
                         first);
        return keywords[i].take(parser);
    }
    return WRONG(parser,
                 "'%.100s' is not known; there are version, runtime, note, library, executable, "
                 "probe, and for a probe model, object, forget, function, failed, attribute",
                 first);
}

static enum ifg_status finish_file(struct parser *parser)
{
    struct probe_file *file = parser->file;
    enum ifg_status status = finish_rule(parser);

    if (status)
        return status;
    if (!parser->has_version)
        return WRONG(parser, "the file is empty; the first line of a description is 'version 1'");
    if (!file->rule_count)
        return WRONG(parser, "no function is described; add lines 'probe SYMBOL CATEGORY'");
    if (!file->runtime)
        return WRONG(parser, "the runtime has no name; add a line 'runtime NAME' behind 'version "
                             "1'");
    return IFG_OK;
}

enum ifg_status probe_file_parse(const char *name, const void *bytes, size_t size,
                                 struct probe_file **out_file, struct ifg_error *err)
{
    struct parser parser = { .err = err };
    const char *at = bytes;
    const char *end = size ? at + size : at;
    enum ifg_status status = IFG_OK;

    *out_file = NULL;
    parser.file = ifg_alloc(1, sizeof *parser.file);
    if (!parser.file || !(parser.file->name = ifg_strdup(name))) {
        probe_file_free(parser.file);
        return ifg_fail_no_memory(err, NULL);
    }
    if (size > PROBE_FILE_BYTES_MAX)
        status = ifg_fail(err, IFG_CORRUPT, "%.150s: more than %u bytes; is this a description?",
                          name, PROBE_FILE_BYTES_MAX);
    while (!status && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;

        parser.line++;
        status = take_line(&parser, at, (size_t)(stop - at));
        split_words(&parser);
        if (!status && parser.count)
            status = take_statement(&parser);
        at = newline ? newline + 1 : end;
    }
    if (!status)
        status = finish_file(&parser);
    if (status) {
        probe_file_free(parser.file);
        return status;
    }
    *out_file = parser.file;
    return IFG_OK;
}
