// SPDX-License-Identifier: Apache-2.0
/* Pages that are one file: packing, and that nothing of the data can become HTML. */
#include "export/html.h"

#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "export/pack.h"
#include "tap.h"

static bool holds(const struct ifg_bytes *bytes, const char *text)
{
    return memmem(bytes->data, bytes->size, text, strlen(text)) != NULL;
}

static void base64_vectors(void)
{
    static const char *const vectors[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };

    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct ifg_bytes out;

        ifg_bytes_init(&out, 1000);
        pack_base64(vectors[i][0], strlen(vectors[i][0]), &out);
        CHECK_UINT(out.size, strlen(vectors[i][1]));
        CHECK(out.size == 0 || memcmp(out.data, vectors[i][1], out.size) == 0);
        ifg_bytes_fini(&out);
    }
}

static void deflate_gives_back_what_went_in(void)
{
    size_t size = 3000000;
    uint8_t *data = ifg_alloc(size, 1);
    uint8_t *back = ifg_alloc(size, 1);
    struct ifg_bytes packed;
    uint32_t state = 1;

    REQUIRE(data && back);
    for (size_t i = 0; i < size; i++) {
        state = state * 1103515245u + 12345u;
        data[i] = (uint8_t)(state >> 28);
    }
    for (size_t length = 0; length <= size; length = length * 7 + 1) {
        z_stream stream = { .next_out = back, .avail_out = (uInt)size };

        ifg_bytes_init(&packed, 10000000);
        REQUIRE(pack_deflate(data, length, &packed) == IFG_OK);
        stream.next_in = packed.data;
        stream.avail_in = (uInt)packed.size;
        REQUIRE(inflateInit2(&stream, -MAX_WBITS) == Z_OK);
        CHECK_INT(inflate(&stream, Z_FINISH), Z_STREAM_END);
        CHECK_UINT(stream.total_out, length);
        CHECK(memcmp(data, back, length) == 0);
        inflateEnd(&stream);
        ifg_bytes_fini(&packed);
    }
    ifg_free(back);
    ifg_free(data);
}

static void deflate_into_too_little_room_is_an_error(void)
{
    char data[200000] = "";
    struct ifg_bytes packed;

    ifg_bytes_init(&packed, 100);
    CHECK(pack_deflate(data, sizeof data, &packed) == IFG_NO_MEMORY);
    ifg_bytes_fini(&packed);
}

static void a_page_names_its_script_by_its_hash(void)
{
    const struct html_page page = {
        .title = "a<b>\"&",
        .script = { "abc", 3 },
        .style = { "p{}", 3 },
        .icon = { "<svg/>", 6 },
    };
    struct ifg_error err = { 0 };
    struct ifg_bytes out;

    ifg_bytes_init(&out, 100000);
    REQUIRE(html_begin(&page, &out, &err) == IFG_OK);
    REQUIRE(html_section("data", "</script>", 9, &out) == IFG_OK);
    html_end(&page, &out);
    CHECK(!out.failed);
    /* FIPS 180-4's "abc" */
    CHECK(holds(&out, "script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=';"));
    CHECK(holds(&out, "default-src 'none';"));
    CHECK(holds(&out, "<title>a&lt;b&gt;&quot;&amp;</title>"));
    CHECK(holds(&out, "data:image/svg+xml;base64,PHN2Zy8+"));
    CHECK(holds(&out, "<script type=\"text/plain\" id=\"ifg-data\">"));
    CHECK(holds(&out, "<script type=\"module\">abc</script>"));
    ifg_bytes_fini(&out);
}

static void a_script_that_would_end_itself_is_refused(void)
{
    static const char *const bad[] = { "a</ScRiPt>b", "x<!--y", "'</style'" };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct html_page page = { .title = "", .script = { bad[i], strlen(bad[i]) } };
        struct ifg_error err = { 0 };
        struct ifg_bytes out;

        ifg_bytes_init(&out, 100000);
        CHECK(html_begin(&page, &out, &err) == IFG_UNSUPPORTED);
        CHECK(err.message[0] != '\0');
        ifg_bytes_fini(&out);
    }
}

TAP_MAIN(TAP_CASE(base64_vectors), TAP_CASE(deflate_gives_back_what_went_in),
         TAP_CASE(deflate_into_too_little_room_is_an_error),
         TAP_CASE(a_page_names_its_script_by_its_hash),
         TAP_CASE(a_script_that_would_end_itself_is_refused))
