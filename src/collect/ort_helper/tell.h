// SPDX-License-Identifier: Apache-2.0
/*
 * Lines from the process that runs foreign code to the one that watches it. No heap and no streams:
 * they are also told from a signal handler.
 */
#ifndef IFG_COLLECT_ORT_HELPER_TELL_H
#define IFG_COLLECT_ORT_HELPER_TELL_H

#include <stddef.h>
#include <stdint.h>

#define TELL_BYTES 4096

/* Fields are separated by blanks; a text is written so that it has none, see tell_text. */
struct tell {
    size_t used;
    char text[TELL_BYTES];
};

void tell_to(int fd); /* where all lines go; -1 = nowhere */
void tell_begin(struct tell *line, const char *word);
void tell_word(struct tell *line, const char *word);
void tell_hex(struct tell *line, uint64_t value);
void tell_number(struct tell *line, uint64_t value);
/* Blanks, control characters and % become %XX; an empty text is %. */
void tell_text(struct tell *line, const char *text);
void tell_end(struct tell *line);

/* A word, then a sentence up to the end of the line; why may be NULL. */
void tell_sentence(const char *word, const char *what, const char *why);
/* A line of two words. */
void tell_pair(const char *word, const char *text);

#endif
