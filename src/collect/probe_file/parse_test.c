// SPDX-License-Identifier: Apache-2.0
/* Descriptions: what a good one says, and what is said of bad ones. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "collect/probe_file/probe_file.h"
#include "tap.h"

#define HEAD "version 1\nruntime test\nlibrary libx.so*\n"

static struct probe_file *parsed(const char *text)
{
    struct probe_file *file;
    struct ifg_error err = { 0 };
    enum ifg_status status = probe_file_parse("x.probe", text, strlen(text), &file, &err);

    if (status)
        tap_diag("%s", err.message);
    REQUIRE_INT(status, IFG_OK);
    return file;
}

static void check_refused(const char *text, const char *where, const char *what)
{
    struct probe_file *file;
    struct ifg_error err = { 0 };

    tap_note("%s", text);
    REQUIRE_INT(probe_file_parse("x.probe", text, strlen(text), &file, &err), IFG_CORRUPT);
    CHECK(!file);
    CHECK_CONTAINS(err.message, where);
    CHECK_CONTAINS(err.message, what);
}

static void every_line(void)
{
    struct probe_file *file = parsed("# a comment\n"
                                     "version 1   # first\r\n"
                                     "runtime Test Runtime 2\n"
                                     "note only the C interface\n"
                                     "library libx.so*\n"
                                     "library /opt/y/lib?.so\n"
                                     "executable\n"
                                     "\n"
                                     "probe x_load load\n"
                                     "\tmodel text 2\n"
                                     "    object stored 3\n"
                                     "    failed result != 0\n"
                                     "    attribute device text 2\n"
                                     "    attribute flags argument 4\n"
                                     "probe _ZN1x3run* inference\n"
                                     "  model object 1\n"
                                     "  function name step two # not part of it\n"
                                     "  failed long result < -5\n"
                                     "probe x_read zone read file #2\n"
                                     "probe x_free nothing\n"
                                     "  forget argument 1");
    const struct probe_rule *rule = file->rules;

    CHECK_STR(file->name, "x.probe");
    CHECK_STR(file->runtime, "Test Runtime 2");
    CHECK_STR(file->note, "only the C interface");
    REQUIRE_UINT(file->library_count, 3);
    CHECK(file->libraries[2].executable);
    REQUIRE_UINT(file->rule_count, 4);
    CHECK_STR(rule->symbol, "x_load");
    CHECK_UINT(rule->line, 9);
    CHECK_INT(rule->shows, PROBE_SHOWS_EVENT);
    CHECK_INT(rule->category, TRACE_CATEGORY_LOAD);
    CHECK_INT(rule->model_from, PROBE_MODEL_TEXT);
    CHECK_UINT(rule->model_argument, 2);
    CHECK_UINT(rule->text_argument, 2);
    CHECK_INT(rule->object_from, PROBE_OBJECT_STORED);
    CHECK_UINT(rule->object_argument, 3);
    CHECK_INT(rule->failed, PROBE_UNEQUAL);
    REQUIRE_UINT(rule->attribute_count, 2);
    CHECK_STR(rule->attributes[0].key, "device");
    CHECK(rule->attributes[0].is_text);
    CHECK(!rule->attributes[1].is_text);
    CHECK_UINT(rule->attributes[1].argument, 4);
    CHECK_STR(rule[1].symbol, "_ZN1x3run*");
    CHECK_STR(rule[1].function, "step two");
    CHECK_INT(rule[1].width, PROBE_LONG);
    CHECK_INT(rule[1].failed_value, -5);
    CHECK_INT(rule[2].shows, PROBE_SHOWS_ZONE);
    CHECK_STR(rule[2].zone, "read file");
    CHECK_INT(rule[3].shows, PROBE_SHOWS_NOTHING);
    CHECK_UINT(rule[3].forget_argument, 1);
    probe_file_free(file);
}

static void bad_heads(void)
{
    check_refused("", "x.probe:0:", "the file is empty");
    check_refused("# nothing\n\n", "x.probe:2:", "'version 1'");
    check_refused("runtime x\n", "x.probe:1:", "the first line of a description is 'version 1'");
    check_refused("version 2\n", "x.probe:1:", "this program reads version 1");
    check_refused("version\n", "x.probe:1:", "something is missing; the line is 'version 1'");
    check_refused("version 1 2\n", "x.probe:1:", "'2' is too much");
    check_refused("version 1\nversion 1\n", "x.probe:2:", "a second version");
    check_refused("version 1\nspeed 9\n", "x.probe:2:", "'speed' is not known; there are version");
    check_refused("version 1\nruntime a\nruntime b\n", "x.probe:3:", "a second time");
    check_refused("version 1\nruntime\n", "x.probe:2:", "the name of the runtime is missing");
    check_refused("version 1\nmodel text 1\n",
                  "x.probe:2:", "write 'probe SYMBOL CATEGORY' before");
    check_refused("version 1\nprobe a load\n", "x.probe:2:", "in which library?");
    check_refused("version 1\nlibrary *\n", "x.probe:2:", "is every library");
    check_refused("version 1\nlibrary a b\n", "x.probe:2:", "'b' is too much");
    check_refused("version 1\nexecutable yes\n", "x.probe:2:", "'yes' is too much");
    check_refused(HEAD, "x.probe:3:", "no function is described");
    check_refused("version 1\nlibrary a\nprobe f zone g\n", "x.probe:3:", "'runtime NAME'");
    check_refused(HEAD "probe f zone g\nlibrary liby.so\n", "x.probe:5:", "move this line up");
    check_refused(HEAD "probe f zone g\x01\n", "x.probe:4:", "control character (0x01)");
    check_refused("version 1\nlibrary a\nlibrary a\nlibrary a\nlibrary a\nlibrary a\nlibrary a\n"
                  "library a\nlibrary a\nlibrary a\n",
                  "x.probe:10:", "more than 8 libraries");
}

static void bad_probes(void)
{
    check_refused(HEAD "probe\n", "x.probe:4:", "'probe SYMBOL CATEGORY'");
    check_refused(HEAD "probe f\n", "x.probe:4:", "'probe SYMBOL CATEGORY'");
    check_refused(HEAD "probe f run\n", "x.probe:4:", "'run' is no category; there are prepare-ep");
    check_refused(HEAD "probe f load now\n", "x.probe:4:", "'now' is too much");
    check_refused(HEAD "probe f zone\n", "x.probe:4:", "the name of the zone is missing");
    check_refused(HEAD "probe ?* zone z\n", "x.probe:4:", "is every function");
    check_refused(HEAD "probe f zone z\nprobe f zone z\n", "x.probe:5:", "in line 4");
    check_refused(HEAD "\nprobe f load\n", "x.probe:5:", "which model it belongs to; add 'model");
    check_refused(HEAD "probe f zone z\nobject result\n", "x.probe:4:", "does not say of which");
    check_refused(HEAD "probe f nothing\n", "x.probe:4:", "has no effect");
    check_refused(HEAD "probe f load\nmodel unnamed\n", "x.probe:4:", "no object to know it by");
    check_refused(HEAD "probe f nothing\nforget argument 1\nattribute a argument 1\n",
                  "x.probe:4:", "no event that could carry them");
    check_refused(HEAD "probe f zone z\nfunction name g\n", "x.probe:4:", "only events");
}

static void bad_lines_of_probes(void)
{
#define PROBE HEAD "probe f load\n"
    check_refused(PROBE "model\n", "x.probe:5:", "'' is not where a model comes from");
    check_refused(PROBE "model text 0\n", "x.probe:5:", "'0' is not the number of an argument");
    check_refused(PROBE "model text 7\n", "x.probe:5:", "6 the last");
    check_refused(PROBE "model text 11\n", "x.probe:5:", "'11' is not");
    check_refused(PROBE "model object\n", "x.probe:5:", "'model object N'");
    check_refused(PROBE "model name\n", "x.probe:5:", "the name of the model is missing");
    check_refused(PROBE "model text 1\nmodel text 1\n", "x.probe:6:", "a second model");
    check_refused(PROBE "model text 1\nattribute a text 2\n", "x.probe:6:", "a second text");
    check_refused(PROBE "model text 1\nfunction text 2\n", "x.probe:6:", "one per function");
    check_refused(PROBE "function of\n", "x.probe:5:", "'function name NAME'");
    check_refused(PROBE "object new\n", "x.probe:5:", "'object stored N'");
    check_refused(PROBE "object result\nobject result\n", "x.probe:6:", "a second object");
    check_refused(PROBE "forget 1\n", "x.probe:5:", "'forget argument N'");
    check_refused(PROBE "forget the 1\n", "x.probe:5:", "'the' cannot be forgotten");
    check_refused(PROBE "failed result = 0\n", "x.probe:5:", "'=' is no comparison");
    check_refused(PROBE "failed status == 0\n", "x.probe:5:", "'status' cannot be compared");
    check_refused(PROBE "failed result == nil\n", "x.probe:5:", "'nil' is not a result");
    check_refused(PROBE "failed result < null\n", "x.probe:5:", "only be compared with ==");
    check_refused(PROBE "failed result == 3000000000\n", "x.probe:5:", "numbers of a C int");
    check_refused(PROBE "failed result\n", "x.probe:5:", "'failed result == 0'");
    check_refused(PROBE "attribute session argument 1\n", "x.probe:5:", "written by itself");
    check_refused(PROBE "attribute a word 1\n", "x.probe:5:", "'word' is no value");
    check_refused(PROBE "attribute a argument 1\nattribute a argument 1\nattribute a argument 1\n"
                        "attribute a argument 1\nattribute a argument 1\n",
                  "x.probe:9:", "more than 4 attributes");
}

static void limits(void)
{
    static char text[PROBE_FILE_BYTES_MAX + 2];
    char line[PROBE_LINE_MAX + 64];
    struct probe_file *file;
    struct ifg_error err = { 0 };
    size_t used = 0;

    memset(text, '\n', sizeof text);
    CHECK_INT(probe_file_parse("x", text, sizeof text, &file, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "more than 65536 bytes");
    memset(line, 'a', sizeof line);
    memcpy(line, "version 1\n", 10);
    line[sizeof line - 1] = '\0';
    check_refused(line, "x.probe:2:", "512 are the limit");
    line[10 + 300] = '\0';
    memcpy(line + 10, "runtime ", 8);
    check_refused(line, "x.probe:2:", "127 are the limit");
    used += (size_t)snprintf(text, sizeof text, HEAD);
    for (unsigned i = 0; i <= PROBE_RULES_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "probe f%u zone z\n", i);
    check_refused(text, "x.probe:132:", "more than 128 functions");
    CHECK_INT(probe_file_parse("x", "version 1\0", 11, &file, &err), IFG_CORRUPT);
}

static void check_failed(const char *condition, uint64_t result, bool failed, const char *text)
{
    char source[256];
    char told[40];
    struct probe_file *file;

    snprintf(source, sizeof source, HEAD "probe f zone z\nfailed %s\n", condition);
    file = parsed(source);
    tap_note("%s of %llx", condition, (unsigned long long)result);
    CHECK(probe_rule_failed(file->rules, result, told, sizeof told) == failed);
    CHECK_STR(told, text);
    probe_file_free(file);
}

static void results(void)
{
    check_failed("result == 0", 0, true, "0");
    check_failed("result == 0", 0x5500000000, true, "0"); /* an int: the rest is chance */
    check_failed("result < 0", 0xffffffff, true, "-1");
    check_failed("result < 0", 0x7fffffff, false, "2147483647");
    check_failed("result != 0", 7, true, "7");
    check_failed("result >= 3", 3, true, "3");
    check_failed("result > 3", 3, false, "3");
    check_failed("result <= -3", 0xfffffffd, true, "-3");
    check_failed("result == null", 0, true, "null");
    check_failed("result == null", 0x5500000000, false, "0x5500000000");
    check_failed("result == false", 0xab00, true, "false");
    check_failed("result != true", 0xab01, false, "true");
    check_failed("long result < 0", UINT64_MAX, true, "-1");
    check_failed("long result < 0", 0xffffffff, false, "4294967295");
    check_failed("result == 0x10", 16, true, "16");
}

static void libraries(void)
{
    struct probe_file *file =
        parsed("version 1\nruntime r\nlibrary libx.so*\nlibrary /opt/*/y.so\nprobe f zone z\n");

    CHECK(probe_file_wants(file, "/usr/lib/libx.so.1.2", false));
    CHECK(probe_file_wants(file, "libx.so", false));
    CHECK(!probe_file_wants(file, "/usr/lib/libxy.so", false));
    CHECK(!probe_file_wants(file, "/libx.so/other", false));
    CHECK(probe_file_wants(file, "/opt/a/y.so", false));
    CHECK(!probe_file_wants(file, "/srv/a/y.so", true));
    probe_file_free(file);
    file = parsed("version 1\nruntime r\nexecutable\nprobe f zone z\n");
    CHECK(probe_file_wants(file, "/usr/bin/anything", true));
    CHECK(!probe_file_wants(file, "/usr/lib/liba.so", false));
    probe_file_free(file);
}

static void memory_is_short(void)
{
    static const char text[] = HEAD "note n\nprobe f load\nmodel name m\nobject result\nfunction "
                                    "name g\nattribute a argument 1\nprobe g zone z\n";
    struct probe_file *file;
    struct ifg_error err;
    enum ifg_status status;
    long tries = 0;

    do {
        ifg_alloc_fail_after(tries++);
        status = probe_file_parse("x", text, sizeof text - 1, &file, &err);
        ifg_alloc_fail_after(-1);
        CHECK(status == IFG_OK || status == IFG_NO_MEMORY);
    } while (status && tries < 100);
    CHECK_INT(status, IFG_OK);
    CHECK(tries > 8);
    probe_file_free(file);
}

static void ours_are_good(void)
{
    static const char *const names[] = { "llama", "openvino" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct probe_file *file = NULL;
        struct ifg_error err = { 0 };
        enum ifg_status status = probe_file_load(names[i], "/nonexistent::" PROBES, &file, &err);

        tap_note("%s: %s", names[i], err.message);
        REQUIRE_INT(status, IFG_OK);
        CHECK_CONTAINS(file->name, names[i]);
        CHECK(file->rule_count > 4);
        probe_file_free(file);
    }
}

static void finding(void)
{
    struct probe_file *file;
    struct ifg_error err = { 0 };

    CHECK_INT(probe_file_load("nothing", PROBES, &file, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "there is no description 'nothing'");
    CHECK_CONTAINS(err.message, PROBES);
    CHECK_INT(probe_file_load("./nothing", PROBES, &file, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "cannot open the description ./nothing");
    CHECK_INT(probe_file_load("", PROBES, &file, &err), IFG_INVALID);
    CHECK_INT(probe_file_load("/", "", &file, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is not a file");
    CHECK_INT(probe_file_load("/dev/zero", "", &file, &err), IFG_INVALID);
    CHECK_INT(probe_file_load("../x", PROBES, &file, &err), IFG_NOT_FOUND);
}

TAP_MAIN(TAP_CASE(every_line), TAP_CASE(bad_heads), TAP_CASE(bad_probes),
         TAP_CASE(bad_lines_of_probes), TAP_CASE(limits), TAP_CASE(results), TAP_CASE(libraries),
         TAP_CASE(memory_is_short), TAP_CASE(ours_are_good), TAP_CASE(finding))
