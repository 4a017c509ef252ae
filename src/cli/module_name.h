// SPDX-License-Identifier: Apache-2.0
/* Code without a name is called by the file it is in: "libx.so+0x12". */
#ifndef IFG_CLI_MODULE_NAME_H
#define IFG_CLI_MODULE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a function is called so, by this module. */
bool module_names(const char *module, const char *function);

/* For tables: "long.cpython-311-x86_64-linux-gnu.so+0x12" becomes "long.cpyth….so+0x12", since it
 * is the end that tells one from the other. Other names stay as they are. */
const char *module_name_short(const char *function, char *out, size_t size);

/* What was meant by a name that was copied from a table: without the mark of a recovered one, and
 * of a shortened one the address. */
const char *module_name_copied(const char *shown);

#endif
