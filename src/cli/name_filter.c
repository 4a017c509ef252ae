// SPDX-License-Identifier: Apache-2.0
/* A pattern for names: see name_filter.h. */
#include "cli/name_filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

/* A pattern that takes more steps than this on one name is not worth an answer. */
#define MATCH_LIMIT 1000000u

enum ifg_status name_filter_init(struct name_filter *filter, const char *pattern,
                                 struct ifg_error *err)
{
    PCRE2_SIZE where;
    int number;
    uint32_t options = PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                       PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    pcre2_match_context *limits;

    name_filter_fini(filter);
    filter->code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &number, &where, NULL);
    if (!filter->code) {
        PCRE2_UCHAR reason[160];

        pcre2_get_error_message(number, reason, sizeof reason);
        return ifg_fail(err, IFG_INVALID, "'%s' is not a valid pattern: %s, at character %zu",
                        pattern, (const char *)reason, (size_t)where + 1);
    }
    limits = pcre2_match_context_create(NULL);
    if (!limits)
        return ifg_fail_no_memory(err, NULL);
    pcre2_set_match_limit(limits, MATCH_LIMIT);
    filter->match = limits;
    return IFG_OK;
}

bool name_filter_matches(const char *name, void *user)
{
    struct name_filter *filter = user;
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(filter->code, NULL);
    int found;

    if (!data)
        return false;
    found = pcre2_match(filter->code, (PCRE2_SPTR)name, strlen(name), 0, 0, data, filter->match);
    pcre2_match_data_free(data);
    return found >= 0;
}

void name_filter_fini(struct name_filter *filter)
{
    pcre2_code_free(filter->code);
    pcre2_match_context_free(filter->match);
    filter->code = NULL;
    filter->match = NULL;
}
