// SPDX-License-Identifier: Apache-2.0
/* Names that were written slightly wrong. */
#include "cli/nearest.h"

#include <string.h>

#include "tap.h"

static void letters_count(void)
{
    CHECK_UINT(nearest_distance("record", "record"), 0);
    CHECK_UINT(nearest_distance("Record", "rECORD"), 0);
    CHECK_UINT(nearest_distance("recrod", "record"), 1); /* swapped */
    CHECK_UINT(nearest_distance("recor", "record"), 1);
    CHECK_UINT(nearest_distance("reccord", "record"), 1);
    CHECK_UINT(nearest_distance("rekord", "record"), 1);
    CHECK_UINT(nearest_distance("ercodr", "record"), 2);
    CHECK_UINT(nearest_distance("lvie", "live"), 1);
}

static void strangers_are_far(void)
{
    char longer[300];

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_UINT(nearest_distance("rust", "record"), NEAREST_FAR);
    CHECK_UINT(nearest_distance("zz", "ls"), NEAREST_FAR);
    CHECK_UINT(nearest_distance("", "ls"), NEAREST_FAR);
    CHECK_UINT(nearest_distance("ls", ""), NEAREST_FAR);
    CHECK_UINT(nearest_distance(longer, longer), NEAREST_FAR);
    CHECK_UINT(nearest_distance("ls", longer), NEAREST_FAR);
}

static void words_of_long_names_count(void)
{
    const char *conv = "onnxruntime::contrib::NchwcConv::Compute(OpKernelContext*) const";

    CHECK_UINT(nearest_word("NchwcConf", conv), 1);
    CHECK_UINT(nearest_word("compute", conv), 0);
    CHECK_UINT(nearest_word("Matmul", conv), NEAREST_FAR);
    CHECK_UINT(nearest_word("mian", "main"), 1);
    CHECK_UINT(nearest_word("memmvoe", "__memmove_avx512_unaligned_erms"), 1);
    CHECK_UINT(nearest_word("page_falut", "exc_page_fault+page_fault"), 1);
    CHECK_UINT(nearest_word("x", "::()"), NEAREST_FAR);
}

TAP_MAIN(TAP_CASE(letters_count), TAP_CASE(strangers_are_far), TAP_CASE(words_of_long_names_count))
