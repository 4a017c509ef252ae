// SPDX-License-Identifier: Apache-2.0
/* The fields of a line of text from outside: words between blanks, numbers, escaped texts. */
#ifndef IFG_COLLECT_ORT_HELPER_FIELDS_H
#define IFG_COLLECT_ORT_HELPER_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields {
    const char *at;
    const char *end;
};

void fields_over(struct fields *fields, const char *line, size_t bytes);
bool fields_at_end(struct fields *fields);

/* Each takes the next field; false, and nothing taken, if there is none or it does not fit. */
bool fields_number(struct fields *fields, uint64_t *out_number); /* 0x... or decimal */
bool fields_text(struct fields *fields, char *out, size_t size); /* %XX undone; see tell_text */

/* All that is left, as one sentence: cut to fit, control characters replaced. */
void fields_rest(struct fields *fields, char *out, size_t size);

#endif
