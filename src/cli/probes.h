// SPDX-License-Identifier: Apache-2.0
/* The descriptions that --probe names. */
#ifndef IFG_CLI_PROBES_H
#define IFG_CLI_PROBES_H

#include <stddef.h>

#include "collect/probe_file/probe_file.h"

#define CLI_PROBES_MAX 8

/* Adds the description of that name. CLI_YES, or the exit status, with the reason said. */
int cli_add_probe(const char *name, struct probe_file **files, size_t *count);
void cli_free_probes(struct probe_file **files, size_t count);

#endif
