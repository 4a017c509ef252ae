// SPDX-License-Identifier: Apache-2.0
/* See nearest.h: the distance of Damerau and Levenshtein (optimal string alignment). */
#include "cli/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LONGEST 63u /* names beyond that are not typed by hand */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char letter(const char *text, size_t at)
{
    return (char)tolower((unsigned char)text[at]);
}

/* One letter in three may be wrong; of short names at least one. */
static unsigned limit_of(size_t length)
{
    return length < 6 ? 1 : (unsigned)(length / 3);
}

static unsigned distance(const char *given, size_t rows, const char *name, size_t columns)
{
    unsigned table[3][LONGEST + 1]; /* of the last three rows */
    unsigned limit = limit_of(rows);
    size_t apart = rows > columns ? rows - columns : columns - rows;

    if (!rows || !columns || rows > LONGEST || columns > LONGEST || apart > limit)
        return NEAREST_FAR;
    for (size_t c = 0; c <= columns; c++)
        table[0][c] = (unsigned)c;
    for (size_t r = 1; r <= rows; r++) {
        unsigned *now = table[r % 3];
        const unsigned *before = table[(r - 1) % 3];
        const unsigned *two_before = table[(r + 1) % 3];

        now[0] = (unsigned)r;
        for (size_t c = 1; c <= columns; c++) {
            bool same = letter(given, r - 1) == letter(name, c - 1);

            now[c] = least(before[c] + 1, now[c - 1] + 1);
            now[c] = least(now[c], before[c - 1] + !same);
            if (r > 1 && c > 1 && letter(given, r - 1) == letter(name, c - 2) &&
                letter(given, r - 2) == letter(name, c - 1))
                now[c] = least(now[c], two_before[c - 2] + 1);
        }
    }
    return table[rows % 3][columns] <= limit ? table[rows % 3][columns] : NEAREST_FAR;
}

unsigned nearest_distance(const char *given, const char *name)
{
    return distance(given, strnlen(given, LONGEST + 1), name, strnlen(name, LONGEST + 1));
}

static unsigned nearest_of_words(const char *given, const char *name, const char *of_words)
{
    size_t length = strnlen(given, LONGEST + 1);
    unsigned nearest = NEAREST_FAR;

    while (*name) {
        size_t bytes = strspn(name, of_words);

        nearest = least(nearest, distance(given, length, name, bytes));
        name += bytes ? bytes : 1;
    }
    return nearest;
}

unsigned nearest_word(const char *given, const char *name)
{
    static const char letters[] = "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    unsigned nearest = nearest_distance(given, name);

    nearest = least(nearest, nearest_of_words(given, name, letters));
    return least(nearest, nearest_of_words(given, name, letters + 1)); /* __memmove_avx */
}

void nearest_keep(struct nearest *best, const char *name, unsigned distance)
{
    if (distance >= best->distance)
        return;
    best->name = name;
    best->distance = distance;
}
