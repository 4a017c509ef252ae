// SPDX-License-Identifier: Apache-2.0
/* Texts: wide characters become UTF-8, lengths are limited, and the same words are kept once. */
#include "hooks/annotations/annotations.h"

#include <stdio.h>
#include <string.h>

#include "tap.h"

static void wide_becomes_utf8(void)
{
    struct annotations_text text;
    wchar_t long_text[3000];

    annotations_text_wide(&text, L"a\u00e9\u20ac\U0001f600");
    CHECK_STR(text.bytes, "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK_UINT(text.length, 10);
    annotations_text_wide(&text, (const wchar_t[]){ 0xd800, 0x110000, -1, 'z', 0 });
    CHECK_STR(text.bytes, "???z");
    annotations_text_wide(&text, NULL);
    CHECK_STR(text.bytes, "");
    for (size_t i = 0; i < 2999; i++)
        long_text[i] = 0x20ac;
    long_text[2999] = 0;
    annotations_text_wide(&text, long_text);
    CHECK(text.length <= ANNOTATIONS_TEXT_MAX && text.length > ANNOTATIONS_TEXT_MAX - 8);
    CHECK_UINT(text.length % 3, 0);
}

static void narrow_is_cut(void)
{
    struct annotations_text text;
    char big[3000];

    memset(big, 'x', sizeof big); /* without an end */
    annotations_text_narrow(&text, big);
    CHECK_UINT(text.length, ANNOTATIONS_TEXT_MAX);
    annotations_text_narrow(&text, NULL);
    CHECK_UINT(text.length, 0);
}

static void words_are_kept_once(void)
{
    struct annotations_text text;
    const char *first;
    const char *last = NULL;
    char name[200];

    annotations_text_narrow(&text, "first");
    first = annotations_keep(&text);
    CHECK_STR(first, "first");
    CHECK(annotations_keep(&text) == first);
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "%0150d", i);
        annotations_text_narrow(&text, name);
        last = annotations_keep(&text);
    }
    CHECK_STR(last, "(more names than can be told apart)");
    annotations_text_narrow(&text, "first");
    CHECK(annotations_keep(&text) == first);
}

static void categories_have_names(void)
{
    struct annotations_domain *domain = annotations_domain(ANNOTATIONS_NVTX, "d");
    struct annotations_domain *other = annotations_domain(ANNOTATIONS_NVTX, "e");
    struct annotations_text text;

    annotations_text_narrow(&text, "loading");
    annotations_category_name(domain, 7, &text);
    CHECK_STR(annotations_category(domain, 7), "loading");
    CHECK(!annotations_category(other, 7));
    annotations_text_narrow(&text, "running");
    annotations_category_name(domain, 7, &text);
    CHECK_STR(annotations_category(domain, 7), "running");
    for (uint32_t i = 0; i < 5000; i++)
        annotations_category_name(other, i, &text);
    CHECK(!annotations_category(other, 4999));
}

TAP_MAIN(TAP_CASE(wide_becomes_utf8), TAP_CASE(narrow_is_cut), TAP_CASE(words_are_kept_once),
         TAP_CASE(categories_have_names))
