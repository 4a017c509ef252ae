// SPDX-License-Identifier: Apache-2.0
/* Command lines against tables: what is stored, what is refused and how, and the help. */
#include "cli/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

enum color { COLOR_NONE, COLOR_RED, COLOR_GREEN };

struct request {
    bool flag;
    bool on;
    bool limit_given;
    enum color color;
    bool parts[3];
    const char *text;
    const char *path;
    uint16_t port;
    uint32_t limit;
    uint64_t seed;
    double rate;
    double share;
    double seconds;
    double slo_ms;
    uint64_t ns;
    size_t bytes;
    int called;
};

static int take_call(const struct option_use *use, void *user)
{
    struct request *request = user;

    if (strcmp(use->value, "bad") == 0)
        return options_bad_value(use, "good");
    request->called++;
    return CLI_YES;
}

static const char *const colors[] = { "red", "green", NULL };
static const char *const parts[] = { "head", "body", "tail", NULL };

#define AT(member) IFG_AT(struct request, member)

static const struct option_row rows[] = {
    { "flag", 'f', NULL, "a flag", OPTION_FLAG, AT(flag) },
    { "no-on", 0, NULL, "off", OPTION_OFF, AT(on) },
    { "color", 0, "COLOR", "one of {} [red]", OPTION_CHOICE, AT(color), .value = COLOR_RED,
      .choices = colors },
    { "parts", 0, "LIST", "some of {}", OPTION_LIST, AT(parts), .choices = parts },
    { .kind = OPTION_HEADING, .help = "Values" },
    { "text", 0, "TEXT", "any text", OPTION_TEXT, AT(text) },
    { "path", 'o', "FILE", "a file", OPTION_PATH, AT(path) },
    { "port", 0, "N", "a port", OPTION_COUNT, AT(port), .least = 1, .most = 65535 },
    { "limit", 0, "N", "a limit [4]", OPTION_COUNT, AT(limit),
      IFG_GIVEN(struct request, limit_given), .optional = true, .value = 4, .least = 1, .most = 100,
      .what = "a number of rows" },
    { "seed", 0, "N", "a seed", OPTION_COUNT, AT(seed) },
    { "rate", 0, "R", "a rate", OPTION_NUMBER, AT(rate), .most = 50, .suffix = "/s",
      .what = "a rate" },
    { "share", 0, "PCT", "a share", OPTION_PERCENT, AT(share) },
    { "seconds", 0, "T", "a time", OPTION_SECONDS, AT(seconds) },
    { "slo", 0, "T", "a time in ms", OPTION_SECONDS, AT(slo_ms), .scale = 1e3, .zero = true },
    { "from", 0, "T", "a time in ns", OPTION_NS, AT(ns) },
    { "size", 0, "SIZE", "bytes", OPTION_SIZE, AT(bytes) },
    { "call", 0, "X", "whatever", OPTION_CALL, .take = take_call },
    { 0 },
};

/* The first table wins. */
static const struct option_row more_rows[] = {
    { "text", 0, "OTHER", "hidden by the first table", OPTION_FLAG, AT(flag) },
    { "more", 0, NULL, "of another table", OPTION_FLAG, AT(flag) },
    { 0 },
};

static const struct cli_command command = {
    .name = "try",
    .summary = "for this test",
    .usage = "FILE\n--more FILE",
    .about = "Does nothing.\nMore of it.",
    .tables = { rows, more_rows },
    .notes = "A note.",
    .examples = "inferogram try a",
    .exits = "0 always",
};

static const struct cli_command stopping = { .name = "start",
                                             .tables = { rows },
                                             .operands = OPERANDS_PROGRAM };

/* Runs a command line; what it says is in `said`. The words are there until the next. */
static int parse_by(const struct cli_command *by, char **words, struct request *request,
                    struct option_words *out_words, char said[1024])
{
    static char *argv[20];
    int argc = 1;
    int pipes[2];
    int saved = dup(STDERR_FILENO);
    ssize_t length;
    int code;

    argv[0] = (char *)(uintptr_t)by->name;
    for (; words[argc - 1]; argc++)
        argv[argc] = words[argc - 1];
    argv[argc] = NULL;
    REQUIRE(pipe(pipes) == 0);
    dup2(pipes[1], STDERR_FILENO);
    *request = (struct request){ .on = true };
    code = options_parse(by, argc, argv, request, out_words);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipes[1]);
    length = read(pipes[0], said, 1023);
    said[length > 0 ? length : 0] = '\0';
    close(pipes[0]);
    return code;
}

#define PARSE(...) parse_by(&command, (char *[]){ __VA_ARGS__, NULL }, &request, &words, said)

static void values_are_stored(void)
{
    struct option_words words;
    struct request request;
    char said[1024];

    CHECK_INT(PARSE("-f", "a", "--no-on", "--color", "green", "b", "--parts", "head,tail"),
              CLI_YES);
    CHECK(request.flag && !request.on);
    CHECK_INT(request.color, COLOR_GREEN);
    CHECK(request.parts[0] && !request.parts[1] && request.parts[2]);
    CHECK_UINT(words.count, 2);
    CHECK_STR(words.items[0], "a");
    CHECK_STR(words.items[1], "b");
    CHECK_INT(
        PARSE("--text", "", "-ofile", "--port=8080", "--limit", "--seed", "18446744073709551615"),
        CLI_YES);
    CHECK_STR(request.text, "");
    CHECK_STR(request.path, "file");
    CHECK_UINT(request.port, 8080);
    CHECK_UINT(request.limit, 4);
    CHECK(request.limit_given);
    CHECK_UINT(request.seed, UINT64_MAX);
    CHECK_INT(PARSE("--limit=7", "--rate", "2.5/s", "--share", "5%", "--seconds", "500ms", "--slo",
                    "20ms", "--from", "15us", "--size", "1.5M"),
              CLI_YES);
    CHECK_UINT(request.limit, 7);
    CHECK(request.rate == 2.5 && request.share > 0.0499 && request.share < 0.0501);
    CHECK(request.seconds == 0.5 && request.slo_ms > 19.99 && request.slo_ms < 20.01);
    CHECK_UINT(request.ns, 15000);
    CHECK_UINT(request.bytes, 1500000);
    CHECK_INT(PARSE("--call", "x", "--call", "y", "--mor"), CLI_YES);
    CHECK_INT(request.called, 2);
    CHECK(request.flag && !request.limit_given);
    CHECK_STR(said, "");
}

static void wrong_values_are_refused(void)
{
    static const struct {
        char *option;
        char *value;
        const char *sentence;
    } wrong[] = {
        { "--color", "blue", "--color is red or green, not 'blue';" },
        { "--color", "gren", "--color is red or green, not 'gren' (did you mean 'green'?);" },
        { "--parts", "head,leg", "--parts is head, body or tail, not 'leg';" },
        { "--path", "", "--path: the file name is empty;" },
        { "--port", "0", "--port: '0' is not a whole number from 1 to 65535;" },
        { "--port", "65536", "'65536' is not" },
        { "--port", "-1", "'-1' is not" },
        { "--port", "7x", "'7x' is not" },
        { "--seed", "18446744073709551616", "is not a whole number of 0 or more;" },
        { "--limit=0", "a", "--limit: '0' is not a number of rows;" },
        { "--limit=", "a", "--limit: '' is not a number of rows;" },
        { "--rate", "51", "--rate: '51' is not a rate;" },
        { "--rate", "nan", "'nan' is not a rate;" },
        { "--rate", "0", "'0' is not a rate;" },
        { "--share", "0", "--share: '0' is not a percentage above 0;" },
        { "--seconds", "0", "--seconds: '0' is not a time (2, 1.5s, 500ms, 3m);" },
        { "--seconds", "soon", "'soon' is not a time" },
        { "--from", "-1", "'-1' is not a time" },
        { "--size", "large", "--size: 'large' is not a size (500k, 8M, 1G);" },
        { "--call", "bad", "--call: 'bad' is not good; see 'inferogram try --help'" },
    };
    struct option_words words;
    struct request request;
    char said[1024];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_INT(PARSE(wrong[i].option, wrong[i].value), CLI_USAGE);
        CHECK_CONTAINS(said, wrong[i].sentence);
    }
}

static void wrong_options_are_named(void)
{
    struct option_words words;
    struct request request;
    char said[1024];

    CHECK_INT(PARSE("--colour", "red"), CLI_USAGE);
    CHECK_CONTAINS(said, "unknown option --colour (did you mean '--color'?); see 'inferogram try");
    CHECK_INT(PARSE("--zzzzzz"), CLI_USAGE);
    CHECK_CONTAINS(said, "unknown option --zzzzzz;");
    CHECK_INT(PARSE("-fZ"), CLI_USAGE);
    CHECK_CONTAINS(said, "unknown option -Z;");
    CHECK_INT(PARSE("--se", "1"), CLI_USAGE);
    CHECK_CONTAINS(said, "option --se may be any of --seed, --seconds;");
    CHECK_INT(PARSE("--flag=1"), CLI_USAGE);
    CHECK_CONTAINS(said, "option --flag takes no value;");
    CHECK_INT(PARSE("--text"), CLI_USAGE);
    CHECK_CONTAINS(said, "option --text needs a value;");
    CHECK_INT(PARSE("-fo"), CLI_USAGE);
    CHECK_CONTAINS(said, "option -o needs a value;");
    CHECK_INT(PARSE("--limit", "5"), CLI_USAGE);
    CHECK_CONTAINS(said, "a value of --limit stands behind an equals sign: --limit=5;");
}

static void programs_have_options_of_their_own(void)
{
    struct option_words words;
    struct request request;
    char said[1024];

    CHECK_INT(parse_by(&stopping, (char *[]){ "-f", "program", "--color", "x", NULL }, &request,
                       &words, said),
              CLI_YES);
    CHECK_UINT(words.count, 3);
    CHECK_STR(words.items[1], "--color");
    CHECK_INT(parse_by(&stopping, (char *[]){ "--limit", "--", "5", NULL }, &request, &words, said),
              CLI_YES);
    CHECK_STR(words.items[0], "5");
}

static void help_is_laid_out(void)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 20);
    options_write_help(&command, 60, &out);
    ifg_bytes_put(&out, "", 1);
    CHECK_STR((const char *)out.data, "usage: inferogram try FILE\n"
                                      "       inferogram try --more FILE\n"
                                      "\n"
                                      "Does nothing.\n"
                                      "More of it.\n"
                                      "\n"
                                      "  -f, --flag         a flag\n"
                                      "      --no-on        off\n"
                                      "      --color COLOR  one of red, green [red]\n"
                                      "      --parts LIST   some of head, body, tail\n"
                                      "\n"
                                      "Values:\n"
                                      "      --text TEXT    any text\n"
                                      "  -o, --path FILE    a file\n"
                                      "      --port N       a port\n"
                                      "      --limit[=N]    a limit [4]\n"
                                      "      --seed N       a seed\n"
                                      "      --rate R       a rate\n"
                                      "      --share PCT    a share\n"
                                      "      --seconds T    a time\n"
                                      "      --slo T        a time in ms\n"
                                      "      --from T       a time in ns\n"
                                      "      --size SIZE    bytes\n"
                                      "      --call X       whatever\n"
                                      "      --more         of another table\n"
                                      "\n"
                                      "General:\n"
                                      "      --no-pager     do not pipe long output into a pager\n"
                                      "  -h, --help         print this help\n"
                                      "\n"
                                      "A note.\n"
                                      "\n"
                                      "Examples:\n"
                                      "  inferogram try a\n"
                                      "\n"
                                      "Exit status: 0 always.\n");
    ifg_bytes_fini(&out);
}

static void options_are_listed(void)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 20);
    options_write_list(&command, &out);
    ifg_bytes_put(&out, "", 1);
    CHECK_CONTAINS((const char *)out.data, "try\t--flag\t-f\t-\tflag\t\n");
    CHECK_CONTAINS((const char *)out.data, "try\t--color\t-\tCOLOR\tchoice\tred,green\n");
    CHECK_CONTAINS((const char *)out.data, "try\t--help\t-h\t-\tflag\t\n");
    ifg_bytes_fini(&out);
}

TAP_MAIN(TAP_CASE(values_are_stored), TAP_CASE(wrong_values_are_refused),
         TAP_CASE(wrong_options_are_named), TAP_CASE(programs_have_options_of_their_own),
         TAP_CASE(help_is_laid_out), TAP_CASE(options_are_listed))
