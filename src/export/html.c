// SPDX-License-Identifier: Apache-2.0
/* A page with its data in one file: see html.h. */
#include "export/html.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "export/pack.h"

static void put_text(struct ifg_bytes *out, const char *text)
{
    ifg_bytes_put(out, text, strlen(text));
}

static void put_escaped(struct ifg_bytes *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            put_text(out, "&lt;");
            break;
        case '>':
            put_text(out, "&gt;");
            break;
        case '&':
            put_text(out, "&amp;");
            break;
        case '"':
            put_text(out, "&quot;");
            break;
        default:
            ifg_bytes_put(out, text, 1);
            break;
        }
    }
}

/* Whether a text would end the element that it stands in, or hide its end. */
static bool breaks_out(const struct html_file *file)
{
    static const char *const words[] = { "</script", "</style", "<!--" };
    const char *text = file->data;

    for (size_t i = 0; i < file->size; i++) {
        if (text[i] != '<')
            continue;
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
            if (file->size - i >= strlen(words[w]) &&
                strncasecmp(text + i, words[w], strlen(words[w])) == 0)
                return true;
    }
    return false;
}

enum ifg_status html_begin(const struct html_page *page, struct ifg_bytes *out,
                           struct ifg_error *err)
{
    uint8_t hash[PACK_SHA256_BYTES];

    if (breaks_out(&page->script) || breaks_out(&page->style))
        return ifg_fail(err, IFG_UNSUPPORTED,
                        "the page that this program was built with cannot be put into one file");
    pack_sha256(page->script.data, page->script.size, hash);
    put_text(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "script-src 'sha256-");
    pack_base64(hash, sizeof hash, out);
    put_text(out, "'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
                  "form-action 'none'\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"generator\" content=\"Inferogram\">\n<title>");
    put_escaped(out, page->title);
    put_text(out, "</title>\n");
    if (page->icon.size) {
        put_text(out, "<link rel=\"icon\" href=\"data:image/svg+xml;base64,");
        pack_base64(page->icon.data, page->icon.size, out);
        put_text(out, "\">\n");
    }
    put_text(out, "<style>");
    ifg_bytes_put(out, page->style.data, page->style.size);
    put_text(out, "</style>\n<div id=\"app\"></div>\n"
                  "<noscript>This report draws itself: it needs JavaScript, and nothing else. It "
                  "asks no server for anything.</noscript>\n");
    return IFG_OK;
}

enum ifg_status html_section(const char *name, const void *data, size_t size, struct ifg_bytes *out)
{
    struct ifg_bytes packed;
    enum ifg_status status;

    ifg_bytes_init(&packed, SIZE_MAX / 4);
    status = pack_deflate(data, size, &packed);
    put_text(out, "<script type=\"text/plain\" id=\"ifg-");
    put_text(out, name);
    put_text(out, "\">");
    if (!status)
        pack_base64(packed.data, packed.size, out);
    put_text(out, "</script>\n");
    ifg_bytes_fini(&packed);
    return status;
}

void html_end(const struct html_page *page, struct ifg_bytes *out)
{
    put_text(out, "<script type=\"module\">");
    ifg_bytes_put(out, page->script.data, page->script.size);
    put_text(out, "</script>\n</html>\n");
}
