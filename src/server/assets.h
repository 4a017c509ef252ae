// SPDX-License-Identifier: Apache-2.0
/* The files of the page, which are part of the program. */
#ifndef IFG_SERVER_ASSETS_H
#define IFG_SERVER_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

struct asset {
    const char *path; /* "/app.js" */
    const char *content_type;
    const void *data;
    size_t size;
};

/* False: it was not there when the program was built; "/" says so. */
bool assets_have_page(void);

/* The file at an address; false if there is none. */
bool asset_find(const char *path, size_t length, struct asset *out_asset);

#endif
