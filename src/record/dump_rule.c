// SPDX-License-Identifier: Apache-2.0
/* Reading what --dump-when says: see dump_rule.h. */
#include "record/dump_rule.h"

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 32u

struct parser {
    const char *text;
    const char *at;
    struct ifg_error *err;
};

static const struct {
    const char *name;
    enum trace_category category;
} categories[] = {
    { "prepare-ep", TRACE_CATEGORY_PREPARE_EP },
    { "specialization", TRACE_CATEGORY_SPECIALIZATION },
    { "load", TRACE_CATEGORY_LOAD },
    { "setup", TRACE_CATEGORY_SETUP },
    { "inference", TRACE_CATEGORY_INFERENCE },
};

static const struct {
    const char *name;
    enum dump_metric metric;
    double quantile;
    size_t least;
} metrics[] = {
    { "latency", DUMP_LATENCY, 0, 0 },   { "p50", DUMP_QUANTILE, 0.5, 2 },
    { "p90", DUMP_QUANTILE, 0.9, 10 },   { "p95", DUMP_QUANTILE, 0.95, 20 },
    { "p99", DUMP_QUANTILE, 0.99, 100 }, { "count", DUMP_COUNT, 0, 0 },
    { "rate", DUMP_RATE, 0, 0 },         { "failures", DUMP_FAILURES, 0, 0 },
};

static const struct {
    const char *name;
    double ns;
} units[] = {
    { "ns", 1 },   { "us", 1e3 }, { "\xc2\xb5s", 1e3 }, { "\xce\xbcs", 1e3 },
    { "ms", 1e6 }, { "s", 1e9 },  { "m", 60e9 },        { "h", 3600e9 },
};

__attribute__((format(printf, 3, 4))) static enum ifg_status
refuse(const struct parser *parser, const char *where, const char *format, ...)
{
    char why[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return ifg_fail(parser->err, IFG_INVALID, "'%.200s': %s, at position %zu", parser->text, why,
                    (size_t)(where - parser->text) + 1);
}

static void skip_blanks(struct parser *parser)
{
    while (*parser->at == ' ' || *parser->at == '\t')
        parser->at++;
}

/* A word of letters, digits and dashes; "" if there is none. */
static const char *take_word(struct parser *parser, char out[WORD_BYTES])
{
    const char *begin = parser->at;
    size_t length = strspn(begin, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    snprintf(out, WORD_BYTES, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES - 1), begin);
    parser->at += length;
    return begin;
}

/* Names of models may have a slash: the last one counts that is before the comparison. */
static enum ifg_status take_model(struct parser *parser, struct dump_rule *rule)
{
    const char *less = strrchr(parser->at, '<');
    const char *more = strrchr(parser->at, '>');
    const char *end = less > more ? less : more;
    const char *slash =
        memrchr(parser->at, '/', end ? (size_t)(end - parser->at) : strlen(parser->at));
    size_t length = slash ? (size_t)(slash - parser->at) : 0;

    if (!slash)
        return IFG_OK;
    if (length == 0)
        return refuse(parser, parser->at, "there is no name of a model before the '/'");
    if (length >= sizeof rule->model)
        return refuse(parser, parser->at, "the name of the model is too long");
    memcpy(rule->model, parser->at, length);
    parser->at = slash + 1;
    return IFG_OK;
}

static enum ifg_status take_category(struct parser *parser, struct dump_rule *rule)
{
    char word[WORD_BYTES];
    const char *where = take_word(parser, word);

    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        if (strcmp(word, categories[i].name) == 0)
            rule->category = categories[i].category;
    if (!rule->category)
        return refuse(parser, where,
                      "'%s' is no category (prepare-ep, specialization, load, setup, inference)",
                      word);
    if (*parser->at != '.')
        return refuse(parser, parser->at,
                      "a '.' and a metric are missing, as in inference.latency");
    parser->at++;
    return IFG_OK;
}

static enum ifg_status take_metric(struct parser *parser, struct dump_rule *rule)
{
    char word[WORD_BYTES];
    const char *where = take_word(parser, word);

    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        if (strcmp(word, metrics[i].name) != 0)
            continue;
        rule->metric = metrics[i].metric;
        rule->quantile = metrics[i].quantile;
        rule->least = metrics[i].least;
        return IFG_OK;
    }
    return refuse(parser, where,
                  "'%s' is no metric (latency, p50, p90, p95, p99, count, rate, failures)", word);
}

static enum ifg_status take_comparison(struct parser *parser, struct dump_rule *rule)
{
    bool equal;

    skip_blanks(parser);
    if (*parser->at != '<' && *parser->at != '>')
        return refuse(parser, parser->at, "one of > >= < <= is missing");
    equal = parser->at[1] == '=';
    if (*parser->at == '>')
        rule->comparison = equal ? DUMP_AT_LEAST : DUMP_MORE;
    else
        rule->comparison = equal ? DUMP_AT_MOST : DUMP_LESS;
    parser->at += equal ? 2 : 1;
    skip_blanks(parser);
    return IFG_OK;
}

/* Digits and a point: neither signs nor exponents nor infinity. */
static enum ifg_status take_number(struct parser *parser, double *out)
{
    const char *where = parser->at;
    size_t length = strspn(where, "0123456789.");
    char text[WORD_BYTES];
    char *end;

    if (length == 0)
        return refuse(parser, where, "a number is missing");
    if (length >= sizeof text)
        return refuse(parser, where, "the number is too long");
    memcpy(text, where, length);
    text[length] = '\0';
    *out = strtod(text, &end);
    if (*end)
        return refuse(parser, where, "'%s' is no number", text);
    parser->at += length;
    return IFG_OK;
}

static enum ifg_status take_time(struct parser *parser, double *out_ns)
{
    const char *where;
    size_t length;
    enum ifg_status status = take_number(parser, out_ns);

    if (status)
        return status;
    where = parser->at;
    length = strcspn(where, " \t");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) != length || memcmp(where, units[i].name, length) != 0)
            continue;
        *out_ns *= units[i].ns;
        parser->at += length;
        return IFG_OK;
    }
    return refuse(parser, where, "a unit is missing (ns, us, ms, s, m, h)");
}

static enum ifg_status take_value(struct parser *parser, struct dump_rule *rule)
{
    enum ifg_status status;

    if (rule->metric == DUMP_LATENCY || rule->metric == DUMP_QUANTILE)
        return take_time(parser, &rule->value);
    status = take_number(parser, &rule->value);
    if (!status && rule->metric == DUMP_RATE && strncmp(parser->at, "/s", 2) == 0)
        parser->at += 2;
    if (!status && *parser->at && *parser->at != ' ' && *parser->at != '\t')
        return refuse(parser, parser->at, "'%.20s' does not belong here", parser->at);
    return status;
}

static enum ifg_status take_over(struct parser *parser, struct dump_rule *rule)
{
    char word[WORD_BYTES];
    const char *where;
    double ns = (double)DUMP_OVER_NS;
    enum ifg_status status = IFG_OK;

    skip_blanks(parser);
    if (*parser->at) {
        where = take_word(parser, word);
        if (strcmp(word, "over") != 0)
            return refuse(parser, where, "'%.20s' does not belong here", where);
        if (rule->metric == DUMP_LATENCY)
            return refuse(parser, where, "latency is of one event and has no 'over'");
        skip_blanks(parser);
        where = parser->at;
        status = take_time(parser, &ns);
        if (!status && !(ns >= 1e6 && ns <= (double)DUMP_OVER_MAX_NS))
            return refuse(parser, where, "the time is not between 1ms and 1h");
        skip_blanks(parser);
        if (!status && *parser->at)
            return refuse(parser, parser->at, "'%.20s' does not belong here", parser->at);
    }
    if (status)
        return status;
    rule->over_ns = rule->metric == DUMP_LATENCY ? 0 : (uint64_t)ns;
    return IFG_OK;
}

/* A rule that can never come true is a mistake. */
static enum ifg_status check(const struct parser *parser, const struct dump_rule *rule)
{
    double events =
        rule->metric == DUMP_RATE ? rule->value * (double)rule->over_ns * 1e-9 : rule->value;

    if (rule->comparison == DUMP_LESS && rule->value <= 0)
        return refuse(parser, parser->at, "nothing is less than 0");
    if (rule->metric != DUMP_LATENCY && rule->metric != DUMP_QUANTILE && events >= DUMP_EVENTS_MAX)
        return refuse(parser, parser->at, "that is more than the %u events that are remembered",
                      DUMP_EVENTS_MAX);
    return IFG_OK;
}

enum ifg_status dump_rule_parse(const char *text, struct dump_rule *out_rule, struct ifg_error *err)
{
    struct parser parser = { text, text, err };
    enum ifg_status status;

    memset(out_rule, 0, sizeof *out_rule);
    if (strlen(text) >= sizeof out_rule->text)
        return ifg_fail(err, IFG_INVALID, "'%.40s...' is longer than %u characters", text,
                        DUMP_RULE_TEXT - 1);
    strncpy(out_rule->text, text, sizeof out_rule->text - 1);
    skip_blanks(&parser);
    status = take_model(&parser, out_rule);
    if (!status)
        status = take_category(&parser, out_rule);
    if (!status)
        status = take_metric(&parser, out_rule);
    if (!status)
        status = take_comparison(&parser, out_rule);
    if (!status)
        status = take_value(&parser, out_rule);
    if (!status)
        status = take_over(&parser, out_rule);
    return status ? status : check(&parser, out_rule);
}

bool dump_rule_takes(const struct dump_rule *rule, enum trace_category category, const char *model)
{
    return category == rule->category && (!rule->model[0] || fnmatch(rule->model, model, 0) == 0);
}

bool dump_rule_holds(const struct dump_rule *rule, double value)
{
    switch (rule->comparison) {
    case DUMP_MORE:
        return value > rule->value;
    case DUMP_AT_LEAST:
        return value >= rule->value;
    case DUMP_LESS:
        return value < rule->value;
    default:
        return value <= rule->value;
    }
}
