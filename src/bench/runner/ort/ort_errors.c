// SPDX-License-Identifier: Apache-2.0
/*
 * What ONNX Runtime says when something fails, as one sentence: without the source file and
 * function that it puts in front of some of its messages, and on one line.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/runner/ort/ort_internal.h"

int ort_say(const struct ort_error *error, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, error->size, format, arguments);
    va_end(arguments);
    return code;
}

/* Each of these takes one thing off the front; the text itself if it is not there. */

/* "/src/core/graph/model.cc:149 void onnxruntime::Model::Model(const X&) const Unsupported ..." is
 * "Unsupported ...". The signature ends at the first blank outside of brackets after its first
 * bracket; what ONNX Runtime found to be false is for its own people. */
static const char *without_location(const char *text)
{
    static const char was_false[] = " was false. ";
    const char *at = text + strcspn(text, " :");
    const char *claim;
    bool has_bracket = false;
    int depth = 0;

    if (text[0] != '/' || *at != ':' || !isdigit((unsigned char)at[1]))
        return text;
    for (; *at && !(*at == ' ' && has_bracket && depth <= 0); at++) {
        has_bracket = has_bracket || *at == '(';
        depth += *at == '(' || *at == '<' ? 1 : *at == ')' || *at == '>' ? -1 : 0;
    }
    if (strncmp(at, " const ", 7) == 0)
        at += 6;
    if (strncmp(at, " [with ", 7) == 0 && strchr(at, ']'))
        at = strchr(at, ']') + 1;
    claim = strstr(at, was_false);
    if (claim)
        at = claim + strlen(was_false);
    at += strspn(at, " ");
    return *at ? at : text;
}

/* "provider_options_utils.h:182 Parse Unknown ..." */
static const char *without_short_location(const char *text)
{
    size_t file = strcspn(text, " :/");
    size_t digits = text[file] == ':' ? strspn(text + file + 1, "0123456789") : 0;
    const char *at = text + file + 1 + digits;

    if (!digits || *at != ' ' || !memchr(text, '.', file))
        return text;
    at++;
    at += strcspn(at, " ");
    return at[0] && at[1] ? at + 1 : text;
}

/* "[ONNXRuntimeError] : 1 : FAIL : Failed ..." */
static const char *without_code(const char *text)
{
    static const char mark[] = "[ONNXRuntimeError]";
    const char *at = text + (strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0);
    size_t digits;
    size_t word;

    at += strspn(at, " :");
    digits = strspn(at, "0123456789");
    if (!digits || strncmp(at + digits, " : ", 3) != 0)
        return text;
    at += digits + 3;
    word = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    return word && strncmp(at + word, " : ", 3) == 0 ? at + word + 3 : text;
}

/* "Load model from FILE failed:", "Exception during initialization: ": we say that ourselves. */
static const char *without_occasion(const char *text)
{
    const char *end = NULL;

    if (strncmp(text, "Load model from ", 16) == 0)
        end = strstr(text, " failed:");
    else if (strncmp(text, "Exception during ", 17) == 0)
        end = strchr(text, ':');
    if (!end)
        return text;
    end += strcspn(end, ":") + 1;
    end += strspn(end, " ");
    return *end ? end : text;
}

static const char *without_front(const char *text)
{
    const char *before;

    do {
        before = text;
        text = without_occasion(without_code(without_short_location(without_location(text))));
    } while (text != before);
    return text;
}

/* The message on one line, without a full stop. */
static const char *words_of(const ifg_bench_context *context, void *status, char *out, size_t size)
{
    const char *text = ORT(context->api, ORT_GetErrorMessage, const char *, (const void *))(status);
    const char *tail;
    size_t length = 0;

    text = without_front(text ? text : "");
    for (; *text && length + 1 < size; text++) {
        char c = isspace((unsigned char)*text) || iscntrl((unsigned char)*text) ? ' ' : *text;

        if (c != ' ' || (length && out[length - 1] != ' '))
            out[length++] = c;
    }
    /* Where in its source a call of CUDA failed. */
    out[length] = '\0';
    tail = strstr(out, " ; GPU=");
    if (tail)
        length = (size_t)(tail - out);
    while (length && (out[length - 1] == ' ' || out[length - 1] == '.'))
        length--;
    out[length] = '\0';
    if (!length)
        snprintf(out, size, "it does not say why");
    return out;
}

static void release(const ifg_bench_context *context, void *status)
{
    ORT(context->api, ORT_ReleaseStatus, void, (void *))(status);
}

bool ort_good(const ifg_bench_context *context, void *status)
{
    if (status)
        release(context, status);
    return !status;
}

int ort_say_status(const ifg_bench_context *context, void *status, const struct ort_error *error,
                   int code, const char *format, ...)
{
    char words[512];
    char what[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    ort_say(error, code, "%s: %s", what, words_of(context, status, words, sizeof words));
    release(context, status);
    return code;
}

/* The word before or after a phrase of ONNX Runtime's. */
static bool find_operator(const char *words, char *out, size_t size)
{
    static const char *const before[] = { "No Op registered for ",
                                          "Could not find an implementation for ",
                                          "Failed to find kernel for " };
    static const char after[] = " is not a registered function/op";
    const char *at = NULL;
    size_t length;

    for (size_t i = 0; i < sizeof before / sizeof *before && !at; i++) {
        at = strstr(words, before[i]);
        if (at)
            at += strlen(before[i]);
    }
    if (!at) {
        const char *end = strstr(words, after);

        if (!end)
            return false;
        for (at = end; at > words && at[-1] != ' ';)
            at--;
    }
    length = strcspn(at, " (");
    if (!length || length >= size)
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

/* "... Opset 9999 is under development ... is till opset 26" */
static bool find_opsets(const char *words, unsigned long *out_needed, unsigned long *out_supported)
{
    static const char opset[] = "Opset ";
    static const char till[] = "is till opset ";
    const char *needed = strstr(words, opset);
    const char *supported = strstr(words, till);

    if (!needed || !supported)
        return false;
    *out_needed = strtoul(needed + strlen(opset), NULL, 10);
    *out_supported = strtoul(supported + strlen(till), NULL, 10);
    return *out_needed && *out_supported;
}

static bool says(const char *words, const char *const *phrases)
{
    for (; *phrases; phrases++)
        if (strcasestr(words, *phrases))
            return true;
    return false;
}

int ort_say_load(const ifg_bench_context *context, void *status, const char *path, bool is_cpu_only,
                 const struct ort_error *error)
{
    static const char *const newer[] = { "Unsupported model IR version", "under development",
                                         "opset", NULL };
    static const char *const missing[] = { "external data", "No such file", "GetFileLength",
                                           "is a directory", NULL };
    static const char *const fallback[] = { "fallback to CPU EP has been explicitly disabled",
                                            NULL };
    int code = ORT(context->api, ORT_GetErrorCode, int, (const void *))(status);
    char words[640];
    char op[128];
    unsigned long needed;
    unsigned long supported;
    int result;

    words_of(context, status, words, sizeof words);
    release(context, status);
    if (find_operator(words, op, sizeof op))
        result = ort_say(
            error, IFG_BENCH_FAILED, "ONNX Runtime %s %s the operator %s%s: %s", context->version,
            code == ORT_CODE_NOT_IMPLEMENTED ? "does not implement" : "does not have", op,
            code == ORT_CODE_NOT_IMPLEMENTED ? " as the model uses it" : "", words);
    else if (says(words, fallback))
        result =
            ort_say(error, IFG_BENCH_UNAVAILABLE,
                    "the provider does not take all nodes, and the CPU may not help: %s", words);
    else if (code == ORT_CODE_NO_SUCH_FILE || code == ORT_CODE_NO_MODEL ||
             code == ORT_CODE_INVALID_PROTOBUF)
        result =
            ort_say(error, IFG_BENCH_BAD_MODEL, "%s cannot be read as a model: %s", path, words);
    else if (find_opsets(words, &needed, &supported))
        result = ort_say(error, IFG_BENCH_FAILED,
                         "the model needs version %lu of the operators; ONNX Runtime %s has up to "
                         "version %lu",
                         needed, context->version, supported);
    else if (says(words, newer))
        result =
            ort_say(error, IFG_BENCH_FAILED, "the model needs a newer ONNX Runtime than %s: %s",
                    context->version, words);
    else if (code == ORT_CODE_INVALID_GRAPH || says(words, missing))
        result = ort_say(error, IFG_BENCH_BAD_MODEL, "%s is not a valid model: %s", path, words);
    else if (!is_cpu_only)
        result = ort_say(error, IFG_BENCH_UNAVAILABLE,
                         "the provider cannot run this model here: %s", words);
    else
        result = ort_say(error, IFG_BENCH_FAILED, "ONNX Runtime %s cannot load the model: %s",
                         context->version, words);
    return result;
}

int ort_say_run(const ifg_bench_context *context, void *status, const struct ort_error *error)
{
    int code = ORT(context->api, ORT_GetErrorCode, int, (const void *))(status);

    return code == ORT_CODE_INVALID_ARGUMENT
               ? ort_say_status(context, status, error, IFG_BENCH_BAD_INPUT,
                                "the inputs do not fit the model")
               : ort_say_status(context, status, error, IFG_BENCH_FAILED, "the inference failed");
}
