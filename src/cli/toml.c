// SPDX-License-Identifier: Apache-2.0
/* Settings in a part of TOML: see toml.h. */
#include "cli/toml.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"

struct reading {
    const char *name;
    const char *at;
    const char *end;
    uint32_t line;
    struct toml *toml;
    struct ifg_error *err;
};

#define REFUSE(reading, status, format, ...)                                                       \
    ifg_fail((reading)->err, status, "%s:%u: " format, (reading)->name, (unsigned)(reading)->line, \
             ##__VA_ARGS__)

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static char peek(const struct reading *reading)
{
    return reading->at < reading->end ? *reading->at : '\0';
}

static bool begins(const struct reading *reading, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(reading->end - reading->at) >= length && memcmp(reading->at, text, length) == 0;
}

static void skip_blanks(struct reading *reading)
{
    while (peek(reading) == ' ' || peek(reading) == '\t')
        reading->at++;
}

static void skip_comment(struct reading *reading)
{
    skip_blanks(reading);
    if (peek(reading) == '#')
        while (reading->at < reading->end && *reading->at != '\n')
            reading->at++;
    if (begins(reading, "\r\n"))
        reading->at++;
}

/* Over ends of lines, too, within an array and between lines. */
static void skip_lines(struct reading *reading)
{
    for (skip_comment(reading); peek(reading) == '\n'; skip_comment(reading)) {
        reading->at++;
        reading->line++;
    }
}

static void put(struct reading *reading, char c)
{
    reading->toml->texts[reading->toml->used++] = c;
}

/* ---- strings ---- */

static void put_utf8(struct reading *reading, uint32_t code)
{
    if (code < 0x80) {
        put(reading, (char)code);
        return;
    }
    if (code < 0x800) {
        put(reading, (char)(0xc0 | code >> 6));
    } else {
        if (code < 0x10000) {
            put(reading, (char)(0xe0 | code >> 12));
        } else {
            put(reading, (char)(0xf0 | code >> 18));
            put(reading, (char)(0x80 | (code >> 12 & 0x3f)));
        }
        put(reading, (char)(0x80 | (code >> 6 & 0x3f)));
    }
    put(reading, (char)(0x80 | (code & 0x3f)));
}

static enum ifg_status read_code(struct reading *reading, int digits)
{
    uint32_t code = 0;

    for (int i = 0; i < digits; i++, reading->at++) {
        char c = peek(reading);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0)
            return REFUSE(reading, IFG_CORRUPT, "\\%c needs %d hexadecimal digits",
                          digits == 4 ? 'u' : 'U', digits);
        code = code << 4 | (uint32_t)digit;
    }
    if (!code || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return REFUSE(reading, IFG_CORRUPT, "\\u%04x is no character", code);
    put_utf8(reading, code);
    return IFG_OK;
}

static enum ifg_status read_escape(struct reading *reading)
{
    static const char letters[] = "btnfr\"\\";
    static const char meant[] = "\b\t\n\f\r\"\\";
    char c = peek(reading);
    const char *found = c ? strchr(letters, c) : NULL;

    if (c == 'u' || c == 'U') {
        reading->at++;
        return read_code(reading, c == 'u' ? 4 : 8);
    }
    if (!found)
        return REFUSE(reading, IFG_CORRUPT,
                      "a backslash in \"...\" needs one of b t n f r u U \" \\ behind it; for a "
                      "plain backslash write '...'");
    reading->at++;
    put(reading, meant[found - letters]);
    return IFG_OK;
}

/* "..." or '...', at its first quote. */
static enum ifg_status read_string(struct reading *reading, const char **out)
{
    char quote = *reading->at;

    *out = reading->toml->texts + reading->toml->used;
    if (begins(reading, "\"\"\"") || begins(reading, "'''"))
        return REFUSE(reading, IFG_UNSUPPORTED,
                      "texts of several lines are not read here; write it on one line");
    for (reading->at++; peek(reading) != quote;) {
        char c = peek(reading);

        if (reading->at == reading->end || c == '\n' || c == '\r')
            return REFUSE(reading, IFG_CORRUPT, "the string has no %c at its end", quote);
        reading->at++;
        if (c != '\\' || quote == '\'') {
            put(reading, c);
        } else {
            enum ifg_status status = read_escape(reading);

            if (status)
                return status;
        }
    }
    reading->at++;
    put(reading, '\0');
    return IFG_OK;
}

/* ---- names ---- */

static enum ifg_status read_name(struct reading *reading, const char *what, const char **out)
{
    *out = "";
    if (peek(reading) == '"' || peek(reading) == '\'')
        return read_string(reading, out);
    if (!is_bare(peek(reading)))
        return REFUSE(reading, IFG_CORRUPT,
                      "%s is missing, or has to be in quotes: letters, digits, - and _ need none",
                      what);
    *out = reading->toml->texts + reading->toml->used;
    while (is_bare(peek(reading)))
        put(reading, *reading->at++);
    put(reading, '\0');
    return IFG_OK;
}

static bool are_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static enum ifg_status add_table(struct reading *reading, const struct toml_table *table)
{
    struct toml *toml = reading->toml;

    for (size_t i = 0; i < toml->table_count; i++)
        if (are_same(toml->tables[i].name, table->name) &&
            are_same(toml->tables[i].child, table->child))
            return REFUSE(reading, IFG_CORRUPT, "[%s%s%s] is there already, in line %u",
                          table->name, table->child ? "." : "", table->child ? table->child : "",
                          (unsigned)toml->tables[i].line);
    if (toml->table_count == TOML_TABLES_MAX)
        return REFUSE(reading, IFG_UNSUPPORTED, "more than %u tables", TOML_TABLES_MAX);
    toml->tables[toml->table_count++] = *table;
    return IFG_OK;
}

static enum ifg_status read_table(struct reading *reading)
{
    struct toml_table table = { .line = reading->line };
    enum ifg_status status;

    if (begins(reading, "[["))
        return REFUSE(reading, IFG_UNSUPPORTED,
                      "arrays of tables are not read here; write [models.NAME] for each model");
    reading->at++;
    skip_blanks(reading);
    status = read_name(reading, "the name of the table", &table.name);
    skip_blanks(reading);
    if (!status && peek(reading) == '.') {
        reading->at++;
        skip_blanks(reading);
        status = read_name(reading, "the second name of the table", &table.child);
        skip_blanks(reading);
    }
    if (status)
        return status;
    if (peek(reading) == '.')
        return REFUSE(reading, IFG_UNSUPPORTED,
                      "a table has one or two names here: [models.NAME]; a name with a dot needs "
                      "quotes");
    if (peek(reading) != ']')
        return REFUSE(reading, IFG_CORRUPT, "the name of the table has no ] behind it");
    reading->at++;
    return add_table(reading, &table);
}

/* ---- values ---- */

static size_t digits(struct reading *reading, bool *out_wrong)
{
    size_t count = 0;

    for (; (peek(reading) >= '0' && peek(reading) <= '9') || (count && peek(reading) == '_');
         reading->at++) {
        if (*reading->at == '_') {
            *out_wrong |= reading->at[-1] == '_' || reading->at + 1 == reading->end ||
                          reading->at[1] < '0' || reading->at[1] > '9';
            continue;
        }
        put(reading, *reading->at);
        count++;
    }
    return count;
}

/* -12, 1_000, 0.5, 1e-3 */
static bool is_number(struct reading *reading)
{
    bool wrong = false;
    const char *whole;
    size_t count;

    if (peek(reading) == '+')
        reading->at++;
    else if (peek(reading) == '-')
        put(reading, *reading->at++);
    whole = reading->at;
    count = digits(reading, &wrong);
    if (!count || (count > 1 && *whole == '0'))
        return false;
    if (peek(reading) == '.') {
        put(reading, *reading->at++);
        if (!digits(reading, &wrong))
            return false;
    }
    if (peek(reading) == 'e' || peek(reading) == 'E') {
        put(reading, *reading->at++);
        if (peek(reading) == '+' || peek(reading) == '-')
            put(reading, *reading->at++);
        if (!digits(reading, &wrong))
            return false;
    }
    return !wrong;
}

static bool ends_value(const struct reading *reading)
{
    return reading->at == reading->end || strchr(" \t\r\n#,]", *reading->at);
}

static enum ifg_status read_number(struct reading *reading, const char **out)
{
    const char *from = reading->at;
    size_t length = 0;

    *out = reading->toml->texts + reading->toml->used;
    if (is_number(reading) && ends_value(reading)) {
        put(reading, '\0');
        return IFG_OK;
    }
    while (length < 40 && from + length < reading->end && !strchr(" \t\r\n#,]", from[length]))
        length++;
    return REFUSE(reading, IFG_CORRUPT,
                  "'%.*s' is no value; texts and numbers with a unit need quotes: \"50ms\"",
                  (int)length, from);
}

/* What an array may have, too. */
static enum ifg_status read_item(struct reading *reading, enum toml_kind *out_kind)
{
    struct toml *toml = reading->toml;
    const char **item = &toml->items[toml->item_count];
    char c = peek(reading);

    if (toml->item_count == TOML_ITEMS_MAX)
        return REFUSE(reading, IFG_UNSUPPORTED, "more than %u values", TOML_ITEMS_MAX);
    toml->item_count++;
    *out_kind = TOML_STRING;
    if (c == '"' || c == '\'')
        return read_string(reading, item);
    *out_kind = TOML_NUMBER;
    return read_number(reading, item);
}

static enum ifg_status read_array(struct reading *reading, struct toml_entry *entry)
{
    reading->at++;
    for (skip_lines(reading); peek(reading) != ']'; skip_lines(reading)) {
        enum toml_kind kind;
        enum ifg_status status;

        if (reading->at == reading->end)
            return REFUSE(reading, IFG_CORRUPT, "the array of line %u has no ] at its end",
                          (unsigned)entry->line);
        if (peek(reading) == '[' || peek(reading) == '{')
            return REFUSE(reading, IFG_UNSUPPORTED,
                          "an array has strings and numbers only, as in [\"p99=50ms\"]");
        status = read_item(reading, &kind);
        if (status)
            return status;
        entry->count++;
        skip_lines(reading);
        if (peek(reading) == ',')
            reading->at++;
        else if (peek(reading) != ']' && reading->at < reading->end)
            return REFUSE(reading, IFG_CORRUPT, "there is no comma between two values of an array");
    }
    reading->at++;
    return IFG_OK;
}

static enum ifg_status read_value(struct reading *reading, struct toml_entry *entry)
{
    struct toml *toml = reading->toml;
    const char *word = NULL;
    enum ifg_status status;

    entry->items = toml->items + toml->item_count;
    if (peek(reading) == '[') {
        entry->kind = TOML_ARRAY;
        return read_array(reading, entry);
    }
    if (peek(reading) == '{')
        return REFUSE(reading, IFG_UNSUPPORTED, "inline tables are not read here; write a [table]");
    entry->kind = begins(reading, "true") ? TOML_TRUE : TOML_FALSE;
    word = begins(reading, "true") ? "true" : begins(reading, "false") ? "false" : NULL;
    entry->count = 1;
    if (!word)
        return read_item(reading, &entry->kind);
    status = toml->item_count < TOML_ITEMS_MAX
                 ? IFG_OK
                 : REFUSE(reading, IFG_UNSUPPORTED, "more than %u values", TOML_ITEMS_MAX);
    if (status)
        return status;
    toml->items[toml->item_count++] = word;
    reading->at += strlen(word);
    return IFG_OK;
}

static enum ifg_status read_entry(struct reading *reading)
{
    struct toml *toml = reading->toml;
    struct toml_entry entry = { .table = toml->table_count - 1, .line = reading->line };
    enum ifg_status status = read_name(reading, "the name of a key", &entry.key);

    if (status)
        return status;
    skip_blanks(reading);
    if (peek(reading) == '.')
        return REFUSE(reading, IFG_UNSUPPORTED,
                      "keys with dots are not read here; write a [table]");
    if (peek(reading) != '=')
        return REFUSE(reading, IFG_CORRUPT, "there is no = behind '%s'", entry.key);
    reading->at++;
    skip_blanks(reading);
    status = read_value(reading, &entry);
    if (status)
        return status;
    for (size_t i = 0; i < toml->entry_count; i++)
        if (toml->entries[i].table == entry.table && strcmp(toml->entries[i].key, entry.key) == 0)
            return REFUSE(reading, IFG_CORRUPT, "'%s' is there already, in line %u", entry.key,
                          (unsigned)toml->entries[i].line);
    if (toml->entry_count == TOML_ENTRIES_MAX)
        return REFUSE(reading, IFG_UNSUPPORTED, "more than %u keys", TOML_ENTRIES_MAX);
    toml->entries[toml->entry_count++] = entry;
    return IFG_OK;
}

/* ---- all of it ---- */

/* Afterwards '\0' is the end, whatever peek() is asked. */
static enum ifg_status check_text(struct reading *reading)
{
    const char *at = reading->at;

    while (at < reading->end) {
        size_t length = ifg_utf8_length((const unsigned char *)at, (size_t)(reading->end - at));
        bool returns = *at == '\r' && at + 1 < reading->end && at[1] == '\n';

        if (!length)
            return REFUSE(reading, IFG_CORRUPT, "this line is not UTF-8");
        if (((unsigned char)*at < 0x20 && *at != '\t' && *at != '\n' && !returns) || *at == 0x7f)
            return REFUSE(reading, IFG_CORRUPT, "there is a control character in this line");
        reading->line += *at == '\n';
        at += length;
    }
    reading->line = 1;
    return IFG_OK;
}

static enum ifg_status read_all(struct reading *reading)
{
    static const struct toml_table top = { "", NULL, 1 };
    enum ifg_status status = check_text(reading);

    if (begins(reading, "\xef\xbb\xbf"))
        reading->at += 3;
    if (!status)
        status = add_table(reading, &top);
    while (!status) {
        skip_lines(reading);
        if (reading->at == reading->end)
            break;
        status = peek(reading) == '[' ? read_table(reading) : read_entry(reading);
        if (status)
            break;
        skip_comment(reading);
        if (reading->at < reading->end && *reading->at != '\n')
            status = REFUSE(reading, IFG_CORRUPT,
                            "there is something else behind it; each key and each [table] has a "
                            "line of its own");
    }
    return status;
}

enum ifg_status toml_parse(const char *name, const char *text, size_t size, struct toml **out,
                           struct ifg_error *err)
{
    struct reading reading = { name, text, text + size, 1, NULL, err };
    struct toml *toml = NULL;
    enum ifg_status status;

    *out = NULL;
    if (size > TOML_BYTES_MAX)
        return ifg_fail(err, IFG_UNSUPPORTED, "%s has more than %u bytes", name, TOML_BYTES_MAX);
    toml = ifg_alloc(1, sizeof *toml);
    /* What is kept is never longer than it was written, but for the NUL behind it. */
    if (toml)
        toml->texts = ifg_alloc(2 * size + 2, 1);
    if (!toml || !toml->texts) {
        status = ifg_fail_no_memory(err, "to read %s", name);
        goto out;
    }
    reading.toml = toml;
    status = read_all(&reading);
    if (status)
        goto out;
    *out = toml;
    toml = NULL;
out:
    toml_destroy(toml);
    return status;
}

static enum ifg_status read_file(int fd, const char *path, char *text, size_t *out_size,
                                 struct ifg_error *err)
{
    size_t used = 0;

    for (;;) {
        ssize_t got = read(fd, text + used, TOML_BYTES_MAX + 1 - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ifg_fail_errno(err, "cannot read %s", path);
        used += (size_t)got;
        if (!got || used > TOML_BYTES_MAX)
            break;
    }
    *out_size = used;
    return IFG_OK;
}

enum ifg_status toml_read(const char *path, struct toml **out, struct ifg_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat facts;
    char *text = NULL;
    size_t size = 0;
    enum ifg_status status = IFG_OK;

    *out = NULL;
    if (fd < 0)
        return ifg_fail_errno(err, "cannot open %s", path);
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        status = ifg_fail(err, IFG_INVALID, "%s is not a regular file", path);
        goto out;
    }
    text = ifg_alloc(TOML_BYTES_MAX + 1, 1);
    if (!text) {
        status = ifg_fail_no_memory(err, "to read %s", path);
        goto out;
    }
    status = read_file(fd, path, text, &size, err);
    if (!status)
        status = toml_parse(path, text, size, out, err);
out:
    ifg_free(text);
    close(fd);
    return status;
}

void toml_destroy(struct toml *toml)
{
    if (toml)
        ifg_free(toml->texts);
    ifg_free(toml);
}
