// SPDX-License-Identifier: Apache-2.0
/* inferogram explain: what is wrong, and what the rules of the report mean. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/report_output.h"
#include "cli/text.h"

#define OUTPUT_MAX (64u << 20)

/* docs/findings.md; embed_text.py */
extern const char explain_text[];

static bool is_finding(const char *text)
{
    for (size_t i = 0; finding_rule_id(i); i++)
        if (strcmp(finding_rule_id(i), text) == 0)
            return true;
    return false;
}

/* ---- the long text ---- */

/* The section of a rule in docs/findings.md; false: it has none. */
static bool find_section(const char *id, const char **out_text, size_t *out_bytes)
{
    char title[80];
    const char *at;
    const char *next;

    snprintf(title, sizeof title, "\n## %s\n", id);
    at = strstr(explain_text, title);
    if (!at)
        return false;
    at += strlen(title);
    next = strstr(at, "\n## ");
    *out_text = at + strspn(at, "\n");
    *out_bytes = next ? (size_t)(next - *out_text) : strlen(*out_text);
    return true;
}

/* Paragraphs without the marks of Markdown. */
static void write_section(const char *id, struct ifg_bytes *out)
{
    const char *text;
    size_t bytes;

    if (!find_section(id, &text, &bytes))
        return;
    cli_print(out, "\n%s\n\n", id);
    for (const char *end = text + bytes; text < end;) {
        const char *stop = strstr(text, "\n\n");
        char paragraph[4096];
        size_t used = 0;

        if (!stop || stop > end)
            stop = end;
        for (; text < stop && used < sizeof paragraph - 1; text++)
            if (*text != '*' && *text != '`')
                paragraph[used++] = *text == '\n' ? ' ' : *text;
        paragraph[used] = '\0';
        report_wrap(out, 2, "", paragraph);
        text = stop + strspn(stop, "\n");
        if (text < end)
            cli_print(out, "\n");
    }
}

/* ---- explain ---- */

static void explain(const struct report *report, const struct report_part *wanted,
                    struct ifg_bytes *out)
{
    const struct findings *findings = report->findings;
    const struct report_request request = { .report = report, .only = wanted->finding };
    size_t found = 0;

    for (size_t i = 0; i < findings->count; i++) {
        if (wanted->finding && strcmp(wanted->finding, findings->items[i].id) != 0)
            continue;
        found++;
        if (wanted->json)
            report_finding_line(report, &findings->items[i], out);
    }
    if (wanted->json)
        return;
    if (!found && wanted->finding)
        cli_print(out, "%s was not found in this recording.\n", wanted->finding);
    else if (!found)
        cli_print(out, "Nothing was found.\n");
    else
        report_write_findings(&request, out);
    for (size_t i = 0; finding_rule_id(i); i++) {
        bool said = wanted->finding && strcmp(wanted->finding, finding_rule_id(i)) == 0;

        for (size_t k = 0; !wanted->finding && k < findings->count && !said; k++)
            said = strcmp(findings->items[k].id, finding_rule_id(i)) == 0;
        if (said)
            write_section(finding_rule_id(i), out);
    }
}

/* ---- the command ---- */

static int explain_rule(const char *id)
{
    struct ifg_bytes out;
    int code;

    ifg_bytes_init(&out, OUTPUT_MAX);
    write_section(id, &out);
    text_fit(&out);
    code = cli_write_out(&out);
    ifg_bytes_fini(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct report_part wanted = { 0 };
    struct option_words words;
    int code = options_parse(&explain_command, argc, argv, &wanted, &words);

    if (code)
        return code;
    if (words.count == 1 && is_finding(words.items[0]))
        return explain_rule(words.items[0]);
    if (words.count > 2)
        return cli_usage("explain", "one finding at a time; '%s' is too many", words.items[2]);
    if (words.count == 2)
        wanted.finding = words.items[--words.count];
    code = options_one_trace(&explain_command, &words, &wanted.path);
    if (code)
        return code;
    if (wanted.finding && !is_finding(wanted.finding))
        return cli_usage("explain", "there is no finding '%s'; docs/findings.md has the list",
                         wanted.finding);
    return report_part_run(&wanted, explain);
}

const struct cli_command explain_command = {
    .name = "explain",
    .summary = "explain what is wrong, with the evidence and the fix",
    .usage = "[FILE] [FINDING] [--json]",
    .about = "Explains what is wrong in a recording: each finding with its evidence, its meaning "
             "and its fix. With the name of a FINDING, only that one, in full: what it means, "
             "when it is reported (the thresholds), and what to do. 'inferogram explain "
             "ep-fallback' needs no trace.",
    .tables = { report_part_rows },
    .exits = "0 whatever was found, 1 cannot write the output, 2 usage error, unreadable FILE or "
             "unknown FINDING",
    .operands = OPERANDS_TRACES,
    .operand_at = finding_rule_id,
    .reads = true,
    .run = run,
};
