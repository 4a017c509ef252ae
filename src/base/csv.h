// SPDX-License-Identifier: Apache-2.0
/* One field of CSV, as RFC 4180 has it: quoted where it must be. Separators and line ends are the
 * caller's. */
#ifndef IFG_BASE_CSV_H
#define IFG_BASE_CSV_H

#include "base/bytes.h"

/* Also quoted is what begins or ends with a blank: some readers cut those. The separator, one
 * character or a few, is what the fields of this file are divided by. */
void ifg_csv_put(struct ifg_bytes *out, const char *text, const char *separator);

#endif
