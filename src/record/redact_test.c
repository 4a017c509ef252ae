// SPDX-License-Identifier: Apache-2.0
/* What of a command line is told. */
#include "record/redact.h"

#include <string.h>

#include "tap.h"

/* Arguments are written with '|' between them. */
static void check(const struct redaction *redaction, const char *arguments, const char *expected)
{
    char in[1024];
    char out[REDACT_TEXT_BYTES + 1];
    size_t bytes = strlen(arguments);

    for (size_t i = 0; i < bytes; i++)
        in[i] = arguments[i] == '|' ? '\0' : arguments[i];
    bytes = redact_arguments(redaction, in, bytes, out);
    for (size_t i = 0; i < bytes; i++)
        out[i] = out[i] ? out[i] : '|';
    out[bytes] = '\0';
    CHECK_STR(out, expected);
}

static void test_secrets(void)
{
    check(NULL, "run|--token=abc|x", "run|--token=[redacted]|x");
    check(NULL, "run|--hf-token|abc|x", "run|--hf-token|[redacted]|x");
    check(NULL, "run|--password|-x", "run|--password|-x");
    check(NULL, "env|AWS_SECRET_ACCESS_KEY=a/b+c|run", "env|AWS_SECRET_ACCESS_KEY=[redacted]|run");
    check(NULL, "sh|-c|API_KEY='a b' run; x", "sh|-c|API_KEY=[redacted] run; x");
    check(NULL, "get|http://h/x?token=abc&n=1", "get|http://h/x?token=[redacted]&n=1");
    check(NULL, "get|https://me:pw@host/x", "get|https://me:[redacted]@host/x");
    check(NULL, "get|--db-password=", "get|--db-password=");
}

static void test_harmless(void)
{
    check(NULL, "run|--max-tokens=10|--tokenizer|a.json|--eos-token=2|--pad_token_id=0",
          "run|--max-tokens=10|--tokenizer|a.json|--eos-token=2|--pad_token_id=0");
    check(NULL, "run|http://host:80/x|a=b|--key=value", "run|http://host:80/x|a=b|--key=value");
    check(NULL, "", "");
    check(NULL, "run||x", "run||x");
}

static void test_patterns(void)
{
    struct redaction redaction = { 0 };
    struct ifg_error err = { .message = "" };

    CHECK(redact_add(&redaction, "customer-[0-9]+", &err) == IFG_OK);
    CHECK(redact_add(&redaction, "x*", &err) == IFG_OK);
    check(&redaction, "run|customer-12|a-customer-7b|xx",
          "run|[redacted]|a-[redacted]b|[redacted]");
    CHECK(redact_add(&redaction, "(", &err) == IFG_INVALID);
    CHECK(strstr(err.message, "not a valid pattern") != NULL);
    redact_fini(&redaction);
}

static void test_no_arguments(void)
{
    const struct redaction redaction = { .no_args = true };

    check(&redaction, "run|one|two", "run");
    check(&redaction, "", "");
}

TAP_MAIN(TAP_CASE(test_secrets), TAP_CASE(test_harmless), TAP_CASE(test_patterns),
         TAP_CASE(test_no_arguments))
