// SPDX-License-Identifier: Apache-2.0
/*
 * quantized-slower: a quantized model that spends its time converting, or that is slower than the
 * float model of the same name in the same recording.
 */
#include "analyze/findings/findings_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

/* Conversions between float and integer are pure cost; a fifth of the operators' time eats what
 * integer arithmetic can win. */
#define CONVERSION_SHARE 0.2
#define OPERATORS_LEAST  20u

/* Two models of one name: a tenth slower, by medians of at least 20 inferences with the same
 * shapes. */
#define TIMES_SLOWER 1.1
#define COUNT_LEAST  20u
#define MODELS_MAX   1000u

#define BASE_BYTES 64u

struct named {
    char base[BASE_BYTES]; /* the name without words that tell the kind of numbers */
    bool quantized;
    uint32_t model;
    const struct ml_events *runs;
};

static bool is_word(const char *text, size_t bytes, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == bytes && strncasecmp(text, words[i], bytes) == 0)
            return true;
    return false;
}

static void split_name(const char *name, struct named *out)
{
    static const char *const quantized[] = { "int8", "uint8", "i8",    "u8",        "q8",   "int4",
                                             "q4",   "qdq",   "quant", "quantized", "qint8" };
    static const char *const plain[] = { "f32", "fp32", "float", "float32", "fp16", "f16" };
    size_t used = 0;

    out->quantized = false;
    while (*name) {
        size_t bytes = strcspn(name, "-_. ");

        if (is_word(name, bytes, quantized, sizeof quantized / sizeof quantized[0])) {
            out->quantized = true;
        } else if (!is_word(name, bytes, plain, sizeof plain / sizeof plain[0])) {
            for (size_t i = 0; i < bytes && used + 2 < BASE_BYTES; i++)
                out->base[used++] = (char)tolower((unsigned char)name[i]);
            if (bytes && used + 1 < BASE_BYTES)
                out->base[used++] = '-';
        }
        name += bytes;
        name += strspn(name, "-_. ");
    }
    out->base[used] = '\0';
}

static void report_twins(const struct ml_input *input, const struct named *slow,
                         const struct named *plain, struct findings *out)
{
    double a = slow->runs->timing.median_ns;
    double b = plain->runs->timing.median_ns;
    struct finding *finding = finding_add(out, FINDING_MEDIUM, slow->model);

    if (!finding)
        return;
    finding->weight_ns = (a - b) * (double)slow->runs->timing.count;
    finding_title(finding, "the quantized model takes %s, the float one %s",
                  finding_words_time(a).text, finding_words_time(b).text);
    finding_sentence(finding, "The quantized model %s is slower than %s: %s against %s.",
                     finding_words_model(input, slow->model).text,
                     finding_words_model(input, plain->model).text, finding_words_time(a).text,
                     finding_words_time(b).text);
    finding_evidence(
        finding, "medians of %llu and %llu inferences with the same shapes, by name: %s and %s",
        (unsigned long long)slow->runs->timing.count, (unsigned long long)plain->runs->timing.count,
        finding_words_model(input, slow->model).text,
        finding_words_model(input, plain->model).text);
    finding_fix(
        finding,
        "use the float model here, or quantize in a way that is fast on this CPU (static "
        "QDQ with U8S8 weights and reduce_range on CPUs without VNNI); --ops shows its operators");
    finding_number(finding, "quantized_ms", a / MS);
    finding_number(finding, "float_ms", b / MS);
    finding_number(finding, "ratio", a / b);
}

static void compare_twins(const struct ml_input *input, struct findings *out)
{
    size_t most = input->function_count < MODELS_MAX ? input->function_count : MODELS_MAX;
    struct named *names = ifg_alloc(most, sizeof *names);
    size_t count = 0;

    if (!names) {
        out->status = IFG_NO_MEMORY;
        return;
    }
    for (size_t f = 0; f < input->function_count && count < most; f++) {
        const struct ml_function *function = &input->functions[f];
        const struct ml_events *runs = &function->events[TRACE_CATEGORY_INFERENCE];

        if (runs->timing.count < COUNT_LEAST)
            continue;
        split_name(input->models[function->model].model->name, &names[count]);
        names[count].model = function->model;
        names[count].runs = runs;
        count++;
    }
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; names[a].quantized && b < count; b++)
            if (!names[b].quantized && *names[a].base &&
                strcmp(names[a].base, names[b].base) == 0 &&
                names[a].runs->items[0].detail == names[b].runs->items[0].detail &&
                names[b].runs->timing.median_ns > 0 &&
                names[a].runs->timing.median_ns >= TIMES_SLOWER * names[b].runs->timing.median_ns) {
                report_twins(input, &names[a], &names[b], out);
                break;
            }
    ifg_free(names);
}

static bool is_conversion(const char *type)
{
    return strcmp(type, "QuantizeLinear") == 0 || strcmp(type, "DequantizeLinear") == 0 ||
           strcmp(type, "DynamicQuantizeLinear") == 0;
}

static void look_at_operators(const struct ml_input *input, uint32_t index, struct findings *out)
{
    const struct ml_model *model = &input->models[index];
    double self = 0;
    uint64_t count = 0;
    double share;
    struct finding *finding;

    for (size_t i = 0; i < model->operator_count; i++) {
        const struct ml_operator *item = &input->operators[model->first_operator + i];

        if (!is_conversion(item->type))
            continue;
        self += (double)item->self_ns;
        count += item->count;
    }
    share = model->operator_self_ns ? self / (double)model->operator_self_ns : 0;
    if (model->operator_events < OPERATORS_LEAST || share < CONVERSION_SHARE)
        return;
    finding = finding_add(out, FINDING_MEDIUM, index);
    if (!finding)
        return;
    finding->weight_ns = share * (double)model->total_ns;
    finding_title(finding, "%s of the operators' time converts between float and integer",
                  finding_words_share(share).text);
    finding_sentence(finding, "%s%s of the operators' time converts between float and integer.",
                     finding_words_about(input, index).text, finding_words_share(share).text);
    finding_evidence(finding,
                     "QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: %llu executions, "
                     "%s of %s self time",
                     (unsigned long long)count, finding_words_time(self).text,
                     finding_words_time((double)model->operator_self_ns).text);
    finding_fix(
        finding,
        "quantize the operators between them too, or leave those that convert most in float "
        "(nodes_to_exclude of quantize_static); compare with the float model");
    finding_number(finding, "share", share);
    finding_number(finding, "conversion_ms", self / MS);
}

void rule_quantized_slower(const struct ml_input *input, struct findings *out)
{
    for (uint32_t i = 0; i < input->model_count; i++)
        look_at_operators(input, i, out);
    if (input->model_count > 1)
        compare_twins(input, out);
}
