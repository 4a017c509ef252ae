// SPDX-License-Identifier: Apache-2.0
/* Patterns over the names of models; regular expressions are PCRE2's, as close to ECMAScript as it
 * offers. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "handles/pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* A pattern that would try for seconds on a name does not match it. */
#define MATCH_LIMIT 100000u

#define ECMASCRIPT                                                                                 \
    (PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | \
     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF)

int pattern_init(struct pattern *pattern, const char *regex, const char *glob, char *why,
                 size_t why_bytes)
{
    PCRE2_SIZE at = 0;
    int error = 0;

    *pattern = (struct pattern){ 0 };
    if (regex && glob) {
        snprintf(why, why_bytes, "give a regular expression or a glob, not both");
        return -EINVAL;
    }
    if (regex) {
        pattern->regex =
            pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, ECMASCRIPT, &error, &at, NULL);
        if (!pattern->regex) {
            PCRE2_UCHAR reason[128] = "";

            pcre2_get_error_message(error, reason, sizeof reason);
            snprintf(why, why_bytes, "regular expression \"%.80s\", position %zu: %s", regex,
                     (size_t)at, (char *)reason);
            return -EINVAL;
        }
    }
    if (glob && !(pattern->glob = ifg_strdup(glob))) {
        snprintf(why, why_bytes, "not enough memory");
        return -ENOMEM;
    }
    return 0;
}

void pattern_fini(struct pattern *pattern)
{
    pcre2_code_free(pattern->regex);
    ifg_free(pattern->glob);
    *pattern = (struct pattern){ 0 };
}

static bool regex_is_found(const pcre2_code *regex, const char *name)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    int found = -1;

    if (context && match) {
        pcre2_set_match_limit(context, MATCH_LIMIT);
        found = pcre2_match(regex, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, match, context);
    }
    pcre2_match_data_free(match);
    pcre2_match_context_free(context);
    return found >= 0;
}

bool pattern_takes(const struct pattern *pattern, const char *name)
{
    if (pattern->glob)
        return fnmatch(pattern->glob, name, 0) == 0;
    return pattern->regex && regex_is_found(pattern->regex, name);
}
