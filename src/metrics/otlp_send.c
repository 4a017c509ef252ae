// SPDX-License-Identifier: Apache-2.0
/* OTLP over HTTP: see otlp_send.h. */
#include "metrics/otlp_send.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "metrics/curl_library.h"
#include "metrics/otlp.h"

#define REPLY_BYTES_MOST (64u << 10)
#define WAIT_MOST_S      300u

static struct curl_library library; /* set by otlp_send_prepare, before anything is sent */

/* ---- where to ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_name_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* One "name=value" as a line of HTTP. */
static bool set_header(const char *from, size_t length, char *to, size_t size)
{
    const char *equals = memchr(from, '=', length);
    size_t used = equals ? (size_t)(equals - from) : 0;

    if (!used || used + 3 >= size)
        return false;
    for (size_t i = 0; i < used; i++)
        if (!is_name_byte(from[i]))
            return false;
    memcpy(to, from, used);
    memcpy(to + used, ": ", 2);
    used += 2;
    for (const char *at = equals + 1; at < from + length; at++) {
        char c = *at;

        if (c == '%' && from + length - at > 2 && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
            c = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || used + 1 >= size)
            return false;
        to[used++] = c;
    }
    to[used] = '\0';
    return true;
}

static enum ifg_status set_headers(struct otlp_target *target, const char *headers,
                                   struct ifg_error *err)
{
    while (headers && *headers) {
        size_t whole = strcspn(headers, ",");
        size_t length = whole;

        while (length && *headers == ' ') {
            headers++;
            whole--;
            length--;
        }
        while (length && headers[length - 1] == ' ')
            length--;
        if (length && (target->header_count == OTLP_HEADERS_MOST ||
                       !set_header(headers, length, target->headers[target->header_count++],
                                   sizeof target->headers[0])))
            return ifg_fail(err, IFG_INVALID,
                            "%s: header %zu is not NAME=VALUE, or is too long, or there are more "
                            "than %u",
                            OTLP_HEADERS_VARIABLE, target->header_count, OTLP_HEADERS_MOST);
        headers += whole;
        headers += *headers == ',';
    }
    return IFG_OK;
}

enum ifg_status otlp_target_set(const char *url, const char *headers,
                                struct otlp_target *out_target, struct ifg_error *err)
{
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    size_t length = strlen(url);

    memset(out_target, 0, sizeof *out_target);
    while (length > scheme && url[length - 1] == '/')
        length--;
    if (!scheme || length == scheme || length >= sizeof out_target->base)
        return ifg_fail(err, IFG_INVALID,
                        "--otlp: '%.100s' is not the address of a collector, such as "
                        "http://127.0.0.1:4318",
                        url);
    /* What is on the command line can be read by everybody. */
    if (memchr(url + scheme, '@', strcspn(url + scheme, "/")))
        return ifg_fail(err, IFG_INVALID,
                        "--otlp: no user and password in the address; give them in the variable "
                        "%s (authorization=...)",
                        OTLP_HEADERS_VARIABLE);
    for (size_t i = 0; i < length; i++)
        if (url[i] <= ' ' || url[i] == 0x7f || strchr("?#\\", url[i]))
            return ifg_fail(err, IFG_INVALID,
                            "--otlp: an address without '?', '#' and spaces; /v1/metrics and "
                            "/v1/traces are appended to it");
    memcpy(out_target->base, url, length);
    return set_headers(out_target, headers, err);
}

/* ---- what ---- */

void otlp_load_init(struct otlp_load *load)
{
    memset(load, 0, sizeof *load);
    ifg_bytes_init(&load->metrics, OTLP_BYTES_MOST);
    ifg_bytes_init(&load->spans, OTLP_BYTES_MOST);
}

void otlp_load_clear(struct otlp_load *load)
{
    ifg_bytes_clear(&load->metrics);
    ifg_bytes_clear(&load->spans);
    load->span_count = 0;
}

void otlp_load_fini(struct otlp_load *load)
{
    ifg_bytes_fini(&load->metrics);
    ifg_bytes_fini(&load->spans);
}

static bool compress(const struct ifg_bytes *from, struct ifg_bytes *to)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
    size_t most;

    if (!compressor)
        return false;
    most = libdeflate_gzip_compress_bound(compressor, from->size);
    if (!from->failed && ifg_bytes_reserve(to, most))
        to->size = libdeflate_gzip_compress(compressor, from->data, from->size, to->data, most);
    libdeflate_free_compressor(compressor);
    return to->size > 0;
}

/* ---- a request ---- */

struct request {
    CURL *curl;
    struct curl_slist *headers;
    const atomic_bool *stop;
    struct ifg_bytes reply;
    char why[CURL_ERROR_SIZE];
};

static size_t take_reply(char *data, size_t size, size_t count, void *user)
{
    struct request *request = user;

    ifg_bytes_put(&request->reply, data, size * count);
    return size * count; /* more than is kept is not read, but no failure */
}

static int look_for_stop(void *user, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                         curl_off_t up)
{
    const struct request *request = user;

    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return request->stop && atomic_load(request->stop);
}

/* Programs may be started meanwhile. */
static int keep_socket(void *user, curl_socket_t fd, curlsocktype purpose)
{
    (void)user;
    (void)purpose;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return CURL_SOCKOPT_OK;
}

static bool begin_request(struct request *request, const struct otlp_target *target,
                          unsigned timeout_ms)
{
    static const char *const own[] = { "Content-Type: application/x-protobuf",
                                       "Content-Encoding: gzip", "Expect:" };
    CURL *curl = library.easy_init();

    request->curl = curl;
    for (size_t i = 0; i < target->header_count + sizeof own / sizeof own[0]; i++) {
        struct curl_slist *more = library.slist_append(
            request->headers,
            i < target->header_count ? target->headers[i] : own[i - target->header_count]);

        if (!more)
            return false;
        request->headers = more;
    }
    if (!curl)
        return false;
#if LIBCURL_VERSION_NUM >= 0x075500
    library.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#endif
    library.easy_setopt(curl, CURLOPT_PROXY, "");
    library.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    library.easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    library.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    library.easy_setopt(curl, CURLOPT_USERAGENT, "inferogram/" INFEROGRAM_VERSION);
    library.easy_setopt(curl, CURLOPT_HTTPHEADER, request->headers);
    library.easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    library.easy_setopt(curl, CURLOPT_ERRORBUFFER, request->why);
    library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
    library.easy_setopt(curl, CURLOPT_WRITEDATA, request);
    library.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    library.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_for_stop);
    library.easy_setopt(curl, CURLOPT_XFERINFODATA, request);
    library.easy_setopt(curl, CURLOPT_SOCKOPTFUNCTION, keep_socket);
    return true;
}

static void end_request(struct request *request)
{
    library.easy_cleanup(request->curl);
    library.slist_free_all(request->headers);
    ifg_bytes_fini(&request->reply);
}

/* ---- answers ---- */

enum answer { ANSWER_TAKEN, ANSWER_REFUSED, ANSWER_LATER };

static bool is_for_later(long code)
{
    return code == 429 || code == 502 || code == 503 || code == 504;
}

static enum answer judge(struct request *request, const char *url, uint64_t *out_rejected,
                         struct otlp_outcome *outcome)
{
    struct otlp_reply reply;
    curl_off_t wait_s = 0;
    long code = 0;

    library.easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code >= 200 && code < 300) {
        if (!request->reply.failed &&
            otlp_read_reply(request->reply.data, request->reply.size, &reply) &&
            (reply.rejected || *reply.message)) {
            *out_rejected = reply.rejected;
            snprintf(outcome->problem, sizeof outcome->problem, "%.150s took not all (%s)", url,
                     *reply.message ? reply.message : "without a reason");
        }
        return ANSWER_TAKEN;
    }
    library.easy_getinfo(request->curl, CURLINFO_RETRY_AFTER, &wait_s);
    if (is_for_later(code) && wait_s > 0)
        outcome->wait_s = wait_s < (curl_off_t)WAIT_MOST_S ? (uint32_t)wait_s : WAIT_MOST_S;
    snprintf(outcome->problem, sizeof outcome->problem, "%.200s answers with status %ld%s", url,
             code,
             is_for_later(code) ? ""
             : code / 100 == 3  ? ": redirects are not followed"
                                : ": what was sent is not wanted");
    return is_for_later(code) ? ANSWER_LATER : ANSWER_REFUSED;
}

static enum answer post(struct request *request, const struct otlp_target *target, const char *path,
                        const struct ifg_bytes *body, uint64_t *out_rejected,
                        struct otlp_outcome *outcome)
{
    struct ifg_bytes small;
    char url[sizeof target->base + 16];
    enum answer answer = ANSWER_LATER;
    bool is_about_trust;
    CURLcode result;

    *out_rejected = 0;
    snprintf(url, sizeof url, "%s%s", target->base, path);
    ifg_bytes_init(&small, OTLP_BYTES_MOST);
    ifg_bytes_clear(&request->reply);
    if (!compress(body, &small)) {
        snprintf(outcome->problem, sizeof outcome->problem, "not enough memory to send to %.200s",
                 url);
        ifg_bytes_fini(&small);
        return ANSWER_REFUSED;
    }
    library.easy_setopt(request->curl, CURLOPT_URL, url);
    library.easy_setopt(request->curl, CURLOPT_POSTFIELDS, (const char *)small.data);
    library.easy_setopt(request->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)small.size);
    result = library.easy_perform(request->curl);
    /* Other reasons have numbers in them, and would be told anew each time. */
    is_about_trust = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CONNECT_ERROR;
    if (result == CURLE_OK)
        answer = judge(request, url, out_rejected, outcome);
    else
        snprintf(outcome->problem, sizeof outcome->problem, "cannot send to %.200s: %.180s", url,
                 is_about_trust && *request->why ? request->why : library.easy_strerror(result));
    ifg_bytes_fini(&small);
    return answer;
}

static void send_both(struct request *request, const struct otlp_target *target,
                      const struct otlp_load *load, struct otlp_outcome *outcome)
{
    uint64_t rejected;
    enum answer answer = post(request, target, "/v1/metrics", &load->metrics, &rejected, outcome);

    outcome->is_to_repeat = answer == ANSWER_LATER;
    if (!load->span_count || outcome->is_to_repeat)
        return;
    answer = post(request, target, "/v1/traces", &load->spans, &rejected, outcome);
    outcome->is_to_repeat = answer == ANSWER_LATER;
    if (rejected > load->span_count)
        rejected = load->span_count;
    if (answer == ANSWER_REFUSED)
        rejected = load->span_count;
    outcome->spans_lost = answer == ANSWER_LATER ? 0 : rejected;
    outcome->spans_sent = answer == ANSWER_TAKEN ? load->span_count - rejected : 0;
}

enum ifg_status otlp_send_prepare(struct ifg_error *err)
{
    return curl_library_load(&library, err);
}

bool otlp_send_begin(void)
{
    return library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

void otlp_send(const struct otlp_target *target, const struct otlp_load *load, unsigned timeout_ms,
               const atomic_bool *stop, struct otlp_outcome *out_outcome)
{
    struct request request = { .stop = stop };

    memset(out_outcome, 0, sizeof *out_outcome);
    ifg_bytes_init(&request.reply, REPLY_BYTES_MOST);
    if (begin_request(&request, target, timeout_ms)) {
        send_both(&request, target, load, out_outcome);
    } else {
        snprintf(out_outcome->problem, sizeof out_outcome->problem, "not enough memory to send");
        out_outcome->is_to_repeat = true;
    }
    end_request(&request);
    out_outcome->is_known = true;
}
