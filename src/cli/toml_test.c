// SPDX-License-Identifier: Apache-2.0
/* What is read of TOML, and what is refused with which words. */
#include "cli/toml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"

static struct toml *parsed(const char *text)
{
    struct ifg_error err = { 0 };
    struct toml *toml = NULL;

    CHECK_INT(toml_parse("t", text, strlen(text), &toml, &err), IFG_OK);
    CHECK_STR(err.message, "");
    return toml;
}

static void all_kinds(void)
{
    struct toml *toml = parsed("# settings\r\n"
                               "top = 1\n"
                               "[gate] # for all\n"
                               "a = \"x\\t\\u00e9\\U0001F600\\\"\"\n"
                               "b = 'C:\\n'\n"
                               "c = -1_000.5e+3   # number\n"
                               "d = true\n"
                               "\"e f\" = false\n"
                               "g = [ \"p99=50ms\", # one\n"
                               "\n"
                               "  7, 'x', ]\n"
                               "h=[]\n"
                               "[ models . \"my.model\" ]\n"
                               "a = +3");

    if (!toml)
        return;
    CHECK_UINT(toml->table_count, 3);
    CHECK_STR(toml->tables[1].name, "gate");
    CHECK(!toml->tables[1].child);
    CHECK_STR(toml->tables[2].name, "models");
    CHECK_STR(toml->tables[2].child, "my.model");
    CHECK_UINT(toml->tables[2].line, 13);
    CHECK_UINT(toml->entry_count, 9);
    CHECK_STR(toml->entries[0].key, "top");
    CHECK_UINT(toml->entries[0].table, 0);
    CHECK_STR(toml->entries[1].items[0], "x\t\xc3\xa9\xf0\x9f\x98\x80\"");
    CHECK_STR(toml->entries[2].items[0], "C:\\n");
    CHECK_STR(toml->entries[3].items[0], "-1000.5e+3");
    CHECK_INT(toml->entries[3].kind, TOML_NUMBER);
    CHECK_INT(toml->entries[4].kind, TOML_TRUE);
    CHECK_INT(toml->entries[5].kind, TOML_FALSE);
    CHECK_STR(toml->entries[5].key, "e f");
    CHECK_UINT(toml->entries[6].count, 3);
    CHECK_STR(toml->entries[6].items[1], "7");
    CHECK_STR(toml->entries[6].items[2], "x");
    CHECK_INT(toml->entries[7].kind, TOML_ARRAY);
    CHECK_UINT(toml->entries[7].count, 0);
    CHECK_STR(toml->entries[8].items[0], "3");
    CHECK_UINT(toml->entries[8].line, 14);
    CHECK_UINT(toml->entries[8].table, 2);
    toml_destroy(toml);
}

static void wrong_texts(void)
{
    static const struct {
        const char *text;
        enum ifg_status status;
        const char *message;
    } cases[] = {
        { "a = 50ms", IFG_CORRUPT, "t:1: '50ms' is no value; texts and numbers with a unit need" },
        { "\na = hello", IFG_CORRUPT, "t:2: 'hello' is no value" },
        { "a = 01", IFG_CORRUPT, "'01' is no value" },
        { "a = 1__0", IFG_CORRUPT, "'1__0' is no value" },
        { "a = 1_", IFG_CORRUPT, "'1_' is no value" },
        { "a = 1.", IFG_CORRUPT, "'1.' is no value" },
        { "a = 2026-11-18", IFG_CORRUPT, "'2026-11-18' is no value" },
        { "a =", IFG_CORRUPT, "'' is no value" },
        { "a = truex", IFG_CORRUPT, "something else behind it" },
        { "a", IFG_CORRUPT, "there is no = behind 'a'" },
        { "= 1", IFG_CORRUPT, "the name of a key is missing" },
        { "a.b = 1", IFG_UNSUPPORTED, "keys with dots" },
        { "a = {b = 1}", IFG_UNSUPPORTED, "inline tables" },
        { "[[models]]", IFG_UNSUPPORTED, "write [models.NAME] for each model" },
        { "[a.b.c]", IFG_UNSUPPORTED, "one or two names" },
        { "[a", IFG_CORRUPT, "no ] behind it" },
        { "[]", IFG_CORRUPT, "the name of the table is missing" },
        { "[a.]", IFG_CORRUPT, "the second name of the table is missing" },
        { "[a] b = 1", IFG_CORRUPT, "a line of its own" },
        { "a = 1 b = 2", IFG_CORRUPT, "a line of its own" },
        { "a = \"x", IFG_CORRUPT, "no \" at its end" },
        { "a = 'x\nb'", IFG_CORRUPT, "t:1: the string has no ' at its end" },
        { "a = \"\"\"x\"\"\"", IFG_UNSUPPORTED, "write it on one line" },
        { "a = \"\\x\"", IFG_CORRUPT, "for a plain backslash write '...'" },
        { "a = \"\\u12\"", IFG_CORRUPT, "\\u needs 4 hexadecimal digits" },
        { "a = \"\\u0000\"", IFG_CORRUPT, "is no character" },
        { "a = \"\\ud800\"", IFG_CORRUPT, "is no character" },
        { "a = \"\\UFFFFFFFF\"", IFG_CORRUPT, "is no character" },
        { "a = [1, 2", IFG_CORRUPT, "the array of line 1 has no ]" },
        { "a = [1 2]", IFG_CORRUPT, "no comma" },
        { "a = [[1]]", IFG_UNSUPPORTED, "strings and numbers only" },
        { "a = [\n1,,2]", IFG_CORRUPT, "t:2: '' is no value" },
        { "a = 1\nb = 2\na = 3", IFG_CORRUPT, "t:3: 'a' is there already, in line 1" },
        { "[a.b]\n[a.\"b\"]", IFG_CORRUPT, "t:2: [a.b] is there already, in line 1" },
        { "\n\na = \"\xff\"", IFG_CORRUPT, "t:3: this line is not UTF-8" },
        { "a = \"\x01\"", IFG_CORRUPT, "t:1: there is a control character" },
        { "a = 1\rb = 2", IFG_CORRUPT, "a control character" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_error err = { 0 };
        struct toml *toml = NULL;

        CHECK_INT(toml_parse("t", cases[i].text, strlen(cases[i].text), &toml, &err),
                  cases[i].status);
        CHECK_CONTAINS(err.message, cases[i].message);
        CHECK(!toml);
        toml_destroy(toml);
    }
}

/* Every beginning of a text is read to its end and no further: a sanitizer would tell. */
static void cut_texts(void)
{
    static const char text[] = "[gate]\na = \"x\\u00e9\"\nb = [1.5e3, 'y']\nc = true\n[m.\"n\"]\n";

    for (size_t size = 0; size < sizeof text; size++) {
        char *copy = ifg_alloc(size + 1, 1);
        struct ifg_error err = { 0 };
        struct toml *toml = NULL;
        enum ifg_status status;

        if (!copy)
            return;
        memcpy(copy + 1, text, size);
        status = toml_parse("t", copy + 1, size, &toml, &err);
        CHECK(!status == !!toml);
        toml_destroy(toml);
        ifg_free(copy);
    }
}

static void limits(void)
{
    struct ifg_error err = { 0 };
    struct toml *toml = NULL;
    char *text = ifg_alloc(TOML_BYTES_MAX + 2, 1);
    size_t used = 0;

    if (!text)
        return;
    memset(text, '#', TOML_BYTES_MAX + 1);
    CHECK_INT(toml_parse("t", text, TOML_BYTES_MAX + 1, &toml, &err), IFG_UNSUPPORTED);
    CHECK_INT(toml_parse("t", text, TOML_BYTES_MAX, &toml, &err), IFG_OK);
    toml_destroy(toml);
    for (unsigned i = 0; i <= TOML_TABLES_MAX; i++)
        used += (size_t)snprintf(text + used, 32, "[t%u]\n", i);
    CHECK_INT(toml_parse("t", text, used, &toml, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "more than 256 tables");
    used = 0;
    for (unsigned i = 0; i <= TOML_ENTRIES_MAX; i++)
        used += (size_t)snprintf(text + used, 32, "k%u=1\n", i);
    CHECK_INT(toml_parse("t", text, used, &toml, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "more than 2048 keys");
    used = (size_t)snprintf(text, 32, "a=[");
    for (unsigned i = 0; i <= TOML_ITEMS_MAX; i++)
        used += (size_t)snprintf(text + used, 32, "1,");
    CHECK_INT(toml_parse("t", text, used, &toml, &err), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "more than 4096 values");
    ifg_free(text);
}

static void files(void)
{
    char folder[] = "/tmp/toml-test-XXXXXX";
    char path[64];
    struct ifg_error err = { 0 };
    struct toml *toml = NULL;
    FILE *file;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/x.toml", folder);
    CHECK_INT(toml_read(path, &toml, &err), IFG_NOT_FOUND);
    CHECK_INT(toml_read(folder, &toml, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is not a regular file");
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK_INT(toml_read(path, &toml, &err), IFG_INVALID); /* and does not wait */
    unlink(path);
    file = fopen(path, "w");
    if (file) {
        fputs("\xef\xbb\xbf[gate]\na = 1\n", file);
        fclose(file);
    }
    CHECK_INT(toml_read(path, &toml, &err), IFG_OK);
    CHECK(toml && toml->entry_count == 1);
    toml_destroy(toml);
    for (long n = 0; n < 3; n++) {
        ifg_alloc_fail_after(n);
        CHECK_INT(toml_read(path, &toml, &err), IFG_NO_MEMORY);
        CHECK(!toml);
    }
    ifg_alloc_fail_after(-1);
    unlink(path);
    rmdir(folder);
}

TAP_MAIN(TAP_CASE(all_kinds), TAP_CASE(wrong_texts), TAP_CASE(cut_texts), TAP_CASE(limits),
         TAP_CASE(files))
