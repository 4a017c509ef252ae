// SPDX-License-Identifier: Apache-2.0
/*
 * What is true of all traces together.
 *
 * Every fact of every trace is kept under the number of the trace. A fact of the whole is written
 * where the traces agree, or where a sum means something; nothing is said that is true of one
 * machine only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "merge/merge_internal.h"
#include "trace/keys.h"
#include "trace/writer.h"

#define TEXT_MAX 4096u

enum rule {
    RULE_SAME,    /* if those that have it agree */
    RULE_SUM,     /* whole numbers */
    RULE_SECONDS, /* the same with decimals */
    RULE_MOST,
    RULE_LIST,    /* all that there are, for people */
    RULE_MACHINE, /* means nothing where there are several */
    RULE_NONE,    /* of each trace alone */
};

/* A key that ends in a dot stands for all that begin with it. */
static const struct {
    const char *key;
    enum rule rule;
} rules[] = {
    { TRACE_FACT_SAMPLES_COUNT, RULE_SUM },
    { TRACE_FACT_SAMPLES_LOST, RULE_SUM },
    { TRACE_FACT_SAMPLES_THROTTLED, RULE_SUM },
    { TRACE_FACT_SAMPLES_SWITCHES, RULE_SUM },
    { TRACE_FACT_SAMPLES_WAKES, RULE_SUM },
    { TRACE_FACT_SAMPLES_WAKES_LOST, RULE_SUM },
    { TRACE_FACT_SAMPLES_FRAMES, RULE_SUM },
    { TRACE_FACT_SAMPLES_NAMED, RULE_SUM },
    { TRACE_FACT_SAMPLES_GUESSED, RULE_SUM },
    { TRACE_FACT_ALLOCATIONS_COUNT, RULE_SUM },
    { TRACE_FACT_ALLOCATIONS_ENDED, RULE_SUM },
    { TRACE_FACT_ALLOCATIONS_BYTES, RULE_SUM },
    { TRACE_FACT_ALLOCATIONS_LOST, RULE_SUM },
    { TRACE_FACT_MEMORY_LOOKS, RULE_SUM },
    { TRACE_FACT_MEMORY_GAPS, RULE_SUM },
    { TRACE_FACT_IMPORT_EVENTS, RULE_SUM },
    { TRACE_FACT_MEMORY_CPU_SECONDS, RULE_SECONDS },
    { TRACE_FACT_RESOURCES_CPU_SECONDS, RULE_SECONDS },
    { TRACE_FACT_DEVICES_LOOKS, RULE_SUM },
    { TRACE_FACT_DEVICES_CPU_SECONDS, RULE_SECONDS },
    { TRACE_FACT_DEVICES_LONGEST_MS, RULE_MOST },
    { TRACE_FACT_RECORD_CPU_SECONDS, RULE_SECONDS },
    { TRACE_FACT_DEVICE_CALL_S, RULE_SECONDS },
    { TRACE_FACT_DEVICE_READ_S, RULE_SECONDS },
    { TRACE_FACT_RECORD_SECONDS, RULE_MOST },
    { TRACE_FACT_MEMORY_LONGEST_GAP_MS, RULE_MOST },
    { TRACE_FACT_RECORD_PROGRAM, RULE_LIST },
    { TRACE_FACT_HOST_NAME, RULE_LIST },
    { TRACE_FACT_HOST_CPU, RULE_LIST },
    { TRACE_FACT_HOST_KERNEL, RULE_LIST },
    { TRACE_FACT_RESOURCES_GPU, RULE_LIST },
    { TRACE_FACT_RESOURCES_NPU, RULE_LIST },
    { TRACE_FACT_SAMPLES_NAMES_PROBLEM, RULE_LIST },
    { TRACE_FACT_HOST_CPUS, RULE_MACHINE },
    { TRACE_FACT_HOST_LOAD, RULE_MACHINE },
    { TRACE_FACT_HOST_MEMORY_BYTES, RULE_MACHINE },
    { TRACE_FACT_HOST_BOOT_ID, RULE_MACHINE },
    { TRACE_FACT_TOOL_VERSION, RULE_NONE },
    { TRACE_FACT_RECORD_MODE, RULE_NONE },
    { "capture.", RULE_NONE },
    { "flight.", RULE_NONE },
    { "merge.", RULE_NONE },
};

static enum rule rule_of(const struct merging *merging, const char *key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        size_t length = strlen(rules[i].key);

        if (strcmp(key, rules[i].key) == 0 ||
            (rules[i].key[length - 1] == '.' && strncmp(key, rules[i].key, length) == 0))
            /* One trace alone stays as it was. */
            return merging->result->part_count > 1 ? rules[i].rule : RULE_SAME;
    }
    return RULE_SAME;
}

static int by_key(const void *a, const void *b)
{
    const struct trace_fact_entry *const *left = a;
    const struct trace_fact_entry *const *right = b;

    return strcmp((*left)->key, (*right)->key);
}

enum ifg_status merge_sort_facts(struct input *input, struct ifg_error *err)
{
    const struct trace_tables *tables = trace_reader_tables(input->reader);

    input->facts = ifg_alloc(tables->fact_count, sizeof *input->facts);
    if (!input->facts)
        return ifg_fail_no_memory(err, "for the facts of %s", input->path);
    for (size_t i = 0; i < tables->fact_count; i++)
        input->facts[i] = &tables->facts[i];
    if (tables->fact_count)
        qsort(input->facts, tables->fact_count, sizeof *input->facts, by_key);
    return IFG_OK;
}

const char *merge_fact(const struct merging *merging, const struct part *part, const char *key)
{
    const struct input *input = &merging->inputs[part->input];
    size_t count = trace_reader_tables(input->reader)->fact_count;
    char full[300];
    struct trace_fact_entry wanted = { .key = full };
    const struct trace_fact_entry *key_of = &wanted;
    const struct trace_fact_entry *const *found;

    if (!count || snprintf(full, sizeof full, "%s%s", part->prefix, key) >= (int)sizeof full)
        return NULL;
    found = bsearch(&key_of, input->facts, count, sizeof *input->facts, by_key);
    return found ? (*found)->value : NULL;
}

bool merge_fact_number(const struct merging *merging, const struct part *part, const char *key,
                       int64_t *out)
{
    const char *text = merge_fact(merging, part, key);
    char *end = NULL;
    long long value = text ? strtoll(text, &end, 10) : 0;

    if (!text || end == text || *end)
        return false;
    *out = value;
    return true;
}

/* The key of a fact, if it is one about this part that it brought along; else NULL. */
static const char *own_key(const struct part *part, const char *key)
{
    size_t length = strlen(part->prefix);

    if (!length)
        return key;
    if (strncmp(key, part->prefix, length) != 0 || !strchr(key + length, '.') ||
        strncmp(key + length, TRACE_MERGED_INSTRUMENT, strlen(TRACE_MERGED_INSTRUMENT)) == 0)
        return NULL;
    return key + length;
}

/* ---- facts of the whole ---- */

static void append(struct ifg_bytes *out, const char *separator, const char *text)
{
    if (out->size)
        ifg_bytes_put(out, separator, strlen(separator));
    ifg_bytes_put(out, text, strlen(text));
}

static void list_values(const struct merging *merging, const char *key, struct ifg_bytes *out)
{
    for (size_t i = 0; i < merging->result->part_count; i++) {
        const char *value = merge_fact(merging, &merging->parts[i], key);
        bool seen = false;

        for (size_t k = 0; value && k < i && !seen; k++) {
            const char *other = merge_fact(merging, &merging->parts[k], key);

            seen = other && strcmp(other, value) == 0;
        }
        if (value && !seen)
            append(out, ", ", value);
    }
}

static void add_values(const struct merging *merging, const char *key, enum rule rule,
                       struct ifg_bytes *out)
{
    unsigned long long whole = 0;
    double sum = 0, most = 0;
    char text[48];

    for (size_t i = 0; i < merging->result->part_count; i++) {
        const char *value = merge_fact(merging, &merging->parts[i], key);

        if (!value)
            continue;
        whole += strtoull(value, NULL, 10);
        sum += strtod(value, NULL);
        most = strtod(value, NULL) > most ? strtod(value, NULL) : most;
    }
    if (rule == RULE_SUM)
        snprintf(text, sizeof text, "%llu", whole);
    else
        snprintf(text, sizeof text, "%.6f", rule == RULE_MOST ? most : sum);
    append(out, "", text);
}

static bool all_agree(const struct merging *merging, const char *key, const char *value)
{
    for (size_t i = 0; i < merging->result->part_count; i++) {
        const char *other = merge_fact(merging, &merging->parts[i], key);

        if (other && strcmp(other, value) != 0)
            return false;
    }
    return true;
}

static enum ifg_status write_whole(const struct merging *merging, struct trace_writer *writer,
                                   const char *key, const char *value, struct ifg_error *err)
{
    enum rule rule = rule_of(merging, key);
    struct ifg_bytes out;

    ifg_bytes_init(&out, TEXT_MAX);
    if (rule == RULE_LIST)
        list_values(merging, key, &out);
    else if (rule == RULE_SUM || rule == RULE_SECONDS || rule == RULE_MOST)
        add_values(merging, key, rule, &out);
    else if ((rule == RULE_SAME || (rule == RULE_MACHINE && merging->result->machines == 1)) &&
             all_agree(merging, key, value))
        trace_writer_fact(writer, key, value);
    ifg_bytes_put(&out, "", 1);
    if (out.size > 1 && !out.failed)
        trace_writer_fact(writer, key, (const char *)out.data);
    ifg_bytes_fini(&out);
    return trace_writer_status(writer, err);
}

/* ---- facts of each ---- */

static void write_of_part(struct trace_writer *writer, size_t part, const char *key,
                          const char *value)
{
    char full[400];

    if (snprintf(full, sizeof full, TRACE_FACT_MERGE "%zu.%s", part + 1, key) < (int)sizeof full)
        trace_writer_fact(writer, full, value);
}

static void write_number(struct trace_writer *writer, size_t part, const char *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64, value);
    write_of_part(writer, part, key, text);
}

static void write_part(const struct merging *merging, struct trace_writer *writer, size_t index)
{
    const struct merge_part *part = &merging->result->parts[index];

    write_of_part(writer, index, TRACE_MERGED_FILE, part->file);
    write_of_part(writer, index, TRACE_MERGED_METHOD, merge_method_key(part->method));
    write_number(writer, index, TRACE_MERGED_OFFSET_NS, part->offset_ns);
    if (part->has_error)
        write_number(writer, index, TRACE_MERGED_ERROR_NS, (int64_t)part->error_ns);
    write_number(writer, index, TRACE_MERGED_SHIFT_NS, part->shift_ns);
    write_number(writer, index, TRACE_MERGED_FIRST_PROCESS, part->first_process);
    write_number(writer, index, TRACE_MERGED_NUMBERS_FROM, part->numbers_from);
}

/* ---- instruments ---- */

static const char *const states[] = { "off", "on", "unavailable" };

/* An instrument of one part. */
struct instrument {
    const char *name;
    enum trace_instrument_state state;
    const char *reason;
};

/* The n-th of a part; false: it has no more. */
static bool instrument_at(const struct merging *merging, const struct part *part, size_t n,
                          struct instrument *out)
{
    const struct trace_tables *tables = trace_reader_tables(merging->inputs[part->input].reader);
    char prefix[64];

    if (!*part->prefix) {
        if (n >= tables->instrument_count)
            return false;
        *out = (struct instrument){ tables->instruments[n].name, tables->instruments[n].state,
                                    tables->instruments[n].reason };
        return true;
    }
    snprintf(prefix, sizeof prefix, "%s" TRACE_MERGED_INSTRUMENT, part->prefix);
    for (size_t i = 0; i < tables->fact_count; i++) {
        const char *value = tables->facts[i].value;

        if (strncmp(tables->facts[i].key, prefix, strlen(prefix)) != 0 || n--)
            continue;
        *out = (struct instrument){ .name = tables->facts[i].key + strlen(prefix) };
        for (unsigned s = 0; s < sizeof states / sizeof states[0]; s++)
            if (strncmp(value, states[s], strlen(states[s])) == 0 &&
                strchr(" ", value[strlen(states[s])]))
                out->state = (enum trace_instrument_state)s;
        out->reason = value + strcspn(value, " ");
        out->reason += *out->reason == ' ';
        return true;
    }
    return false;
}

static bool find_instrument(const struct merging *merging, const struct part *part,
                            const char *name, struct instrument *out)
{
    for (size_t n = 0; instrument_at(merging, part, n, out); n++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* On if it was anywhere; why not, where it was not. */
static void write_instrument(const struct merging *merging, struct trace_writer *writer,
                             const struct instrument *first)
{
    enum trace_instrument_state state = first->state;
    const char *reason = first->reason;
    struct instrument one;
    struct ifg_bytes out;
    bool differ = false;

    for (size_t i = 0; i < merging->result->part_count; i++) {
        if (!find_instrument(merging, &merging->parts[i], first->name, &one))
            continue;
        differ = differ || one.state != first->state || strcmp(one.reason, first->reason) != 0;
        if (one.state == TRACE_INSTRUMENT_ON ||
            (one.state == TRACE_INSTRUMENT_UNAVAILABLE && state == TRACE_INSTRUMENT_OFF))
            state = one.state;
    }
    ifg_bytes_init(&out, TEXT_MAX);
    for (size_t i = 0; differ && i < merging->result->part_count; i++) {
        if (!find_instrument(merging, &merging->parts[i], first->name, &one) ||
            (one.state == state && !*one.reason))
            continue;
        append(&out, "; ", merging->result->parts[i].file);
        if (one.state != state)
            append(&out, ": ", one.state == TRACE_INSTRUMENT_UNAVAILABLE ? "not available" : "off");
        if (*one.reason)
            append(&out, ": ", one.reason);
    }
    ifg_bytes_put(&out, "", 1);
    trace_writer_instrument(writer, first->name, state,
                            out.failed || out.size == 1 ? (differ ? "" : reason)
                                                        : (const char *)out.data);
    ifg_bytes_fini(&out);
}

static enum ifg_status write_instruments(struct merging *merging, struct trace_writer *writer,
                                         struct ifg_error *err)
{
    struct ifg_strings names = { 0 };
    enum ifg_status status = IFG_OK;

    for (size_t i = 0; i < merging->result->part_count && !status; i++) {
        struct instrument one;

        for (size_t n = 0; instrument_at(merging, &merging->parts[i], n, &one) && !status; n++) {
            uint32_t before = names.count;
            uint32_t number = ifg_strings_add(&names, one.name, strlen(one.name));
            char key[300];
            char value[1200];

            if (number == IFG_STRINGS_NONE)
                status = ifg_fail_no_memory(err, "to merge instruments");
            else if (number == before)
                write_instrument(merging, writer, &one);
            snprintf(key, sizeof key, TRACE_MERGED_INSTRUMENT "%s", one.name);
            snprintf(value, sizeof value, "%s%s%s", states[one.state], *one.reason ? " " : "",
                     one.reason);
            write_of_part(writer, i, key, value);
        }
    }
    ifg_strings_fini(&names);
    return status ? status : trace_writer_status(writer, err);
}

enum ifg_status merge_write_facts(struct merging *merging, struct trace_writer *writer,
                                  struct ifg_error *err)
{
    struct ifg_strings keys = { 0 };
    enum ifg_status status = IFG_OK;
    char count[32];

    snprintf(count, sizeof count, "%zu", merging->result->part_count);
    trace_writer_fact(writer, TRACE_FACT_TOOL_VERSION, merging->options->tool_version);
    trace_writer_fact(writer, TRACE_FACT_RECORD_MODE, "merge");
    trace_writer_fact(writer, TRACE_FACT_MERGE_COUNT, count);
    for (size_t i = 0; i < merging->result->part_count && !status; i++) {
        const struct trace_tables *tables =
            trace_reader_tables(merging->inputs[merging->parts[i].input].reader);

        write_part(merging, writer, i);
        for (size_t f = 0; f < tables->fact_count && !status; f++) {
            const char *key = own_key(&merging->parts[i], tables->facts[f].key);
            uint32_t before = keys.count;
            uint32_t number = key ? ifg_strings_add(&keys, key, strlen(key)) : 0;

            if (!key)
                continue;
            if (number == IFG_STRINGS_NONE)
                status = ifg_fail_no_memory(err, "to merge facts");
            else if (number == before)
                status = write_whole(merging, writer, key, tables->facts[f].value, err);
            write_of_part(writer, i, key, tables->facts[f].value);
        }
    }
    ifg_strings_fini(&keys);
    return status ? status : write_instruments(merging, writer, err);
}
