// SPDX-License-Identifier: Apache-2.0
/*
 * The versions of ONNX Runtime's C interface.
 *
 * It is one table of functions. By ONNX Runtime's own rule, which its build checks, a release only
 * appends to it; so the functions that we know stand where they stood in every later version, and
 * only the length of a newer table is unknown. One exception: 1.8 inserted a function, and what is
 * older is left alone.
 */
#ifndef IFG_ORT_ABI_VERSIONS_H
#define IFG_ORT_ABI_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ORT_ABI_OLDEST    8
#define ORT_ABI_COUNTED   30  /* up to here the length of the table is known */
#define ORT_ABI_TRIED     31  /* up to here tests run the real library */
#define ORT_ABI_SLOTS_MAX 425 /* functions whose place is known */

/* 1.MINOR, and then nothing or a dot. */
static inline bool ort_abi_parse_version(const char *text, unsigned *out_minor)
{
    unsigned long minor;
    char *end;

    *out_minor = 0;
    if (!text || strncmp(text, "1.", 2) != 0 || text[2] < '0' || text[2] > '9')
        return false;
    minor = strtoul(text + 2, &end, 10);
    if (minor > 999 || (*end && *end != '.'))
        return false;
    *out_minor = (unsigned)minor;
    return true;
}

/* How many functions of 1.minor are known; 0 for versions that are too old. */
static inline unsigned ort_abi_slots_of(unsigned minor)
{
    static const uint16_t slots[ORT_ABI_COUNTED + 1] = {
        [8] = 170,
        [9] = 192,
        [10] = 204,
        [11] = 210,
        [12] = 219,
        [13] = 225,
        [14] = 239,
        [15] = 255,
        [16] = 266,
        [17] = 276,
        [18] = 280,
        [19] = 280,
        [20] = 285,
        [21] = 285,
        [22] = 318,
        [23] = 390,
        [24] = 415,
        [25] = 419,
        [26] = 419,
        [27] = 422,
        [28] = 424,
        [29] = 425,
        [30] = ORT_ABI_SLOTS_MAX,
    };

    return minor > ORT_ABI_COUNTED ? ORT_ABI_SLOTS_MAX : slots[minor];
}

/* Whether the table may have more functions than those. */
static inline bool ort_abi_is_longer(unsigned minor)
{
    return minor > ORT_ABI_COUNTED;
}

/* Whether nobody has tried this version: its table is used if it checks out, and marked. */
static inline bool ort_abi_is_untried(unsigned minor)
{
    return minor > ORT_ABI_TRIED;
}

#endif
