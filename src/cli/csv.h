// SPDX-License-Identifier: Apache-2.0
/* One field of RFC 4180: quoted where it must be. */
#ifndef IFG_CLI_CSV_H
#define IFG_CLI_CSV_H

#include "base/bytes.h"

void csv_put(struct ifg_bytes *out, const char *text);

#endif
