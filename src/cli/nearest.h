// SPDX-License-Identifier: Apache-2.0
/* What somebody may have meant who wrote a name slightly wrong. */
#ifndef IFG_CLI_NEAREST_H
#define IFG_CLI_NEAREST_H

/* Letters that were changed, added, left out, or swapped with their neighbour; case does not count.
 * NEAREST_FAR if the two have little in common. */
#define NEAREST_FAR 1000u

unsigned nearest_distance(const char *given, const char *name);

/* The same with the nearest word of a longer name: "Conf" is near to "onnxruntime::Conv<float>". */
unsigned nearest_word(const char *given, const char *name);

/* The best of many: begin with { NULL, NEAREST_FAR }. name stays NULL if all are far. */
struct nearest {
    const char *name;
    unsigned distance;
};

void nearest_keep(struct nearest *best, const char *name, unsigned distance);

#endif
