// SPDX-License-Identifier: Apache-2.0
/* The files of the page: see assets.h. The bytes come from page.S, which embed_page.py writes. */
#include "server/assets.h"

#include <stdint.h>
#include <string.h>

#define DECLARE(name) extern const uint8_t page_##name[], page_##name##_end[]

DECLARE(index_html);
DECLARE(app_js);
DECLARE(app_css);
DECLARE(favicon_svg);

static const struct {
    const char *path;
    const char *content_type;
    const uint8_t *data;
    const uint8_t *end;
} files[] = {
    { "/", "text/html; charset=utf-8", page_index_html, page_index_html_end },
    { "/index.html", "text/html; charset=utf-8", page_index_html, page_index_html_end },
    { "/app.js", "text/javascript; charset=utf-8", page_app_js, page_app_js_end },
    { "/app.css", "text/css; charset=utf-8", page_app_css, page_app_css_end },
    { "/favicon.svg", "image/svg+xml", page_favicon_svg, page_favicon_svg_end },
};

static const char missing[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Inferogram</title>"
    "<h1>This Inferogram was built without its page</h1>"
    "<p>The traces are loaded and the interface under <code>/api/</code> works, but there is no "
    "page to show them: when the program was built, <code>ui/dist</code> was not there.</p>"
    "<p>To get it, with npm installed, in the source tree: <code>cd ui &amp;&amp; npm ci "
    "&amp;&amp; node build.mjs</code>, then build the program again.</p></html>\n";

bool assets_have_page(void)
{
    return files[0].data != files[0].end && files[2].data != files[2].end; /* index, app.js */
}

bool asset_find(const char *path, size_t length, struct asset *out_asset)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strlen(files[i].path) != length || memcmp(files[i].path, path, length) != 0)
            continue;
        out_asset->path = files[i].path;
        out_asset->content_type = files[i].content_type;
        out_asset->data = files[i].data;
        out_asset->size = (size_t)(files[i].end - files[i].data);
        if (out_asset->size == 0 && i < 2) {
            out_asset->data = missing;
            out_asset->size = sizeof missing - 1;
        }
        return out_asset->size > 0;
    }
    return false;
}
