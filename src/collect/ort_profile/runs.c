// SPDX-License-Identifier: Apache-2.0
/* Reading the list of runs: see runs.h. */
#include "collect/ort_profile/runs.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

#define RUNS_MAX 65536u

struct text {
    const char *at;
    const char *end;
};

/* Takes a word and the blank or line end behind it. */
static bool take_word(struct text *text, const char *word)
{
    size_t bytes = strlen(word);

    if ((size_t)(text->end - text->at) < bytes || memcmp(text->at, word, bytes) != 0)
        return false;
    text->at += bytes;
    return true;
}

static bool take_number(struct text *text, uint64_t *out_number)
{
    const char *begin = text->at;
    uint64_t number = 0;

    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        uint64_t digit = (uint64_t)(*text->at - '0');

        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out_number = number;
    return text->at > begin;
}

static bool take_line(struct text *text, char *out, size_t size)
{
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    size_t bytes = end ? (size_t)(end - text->at) : 0;

    if (!end || !bytes || bytes >= size || memchr(text->at, 0, bytes))
        return false;
    memcpy(out, text->at, bytes);
    out[bytes] = '\0';
    text->at = end + 1;
    return true;
}

static bool take_span(struct text *text, const char *word, struct ort_run *out_run)
{
    uint64_t tid;

    if (!take_word(text, word) || !take_number(text, &tid) || !take_word(text, " ") ||
        !take_number(text, &out_run->start) || !take_word(text, " ") ||
        !take_number(text, &out_run->end))
        return false;
    out_run->tid = (uint32_t)tid;
    return tid <= UINT32_MAX && out_run->end >= out_run->start;
}

static bool take_run(struct text *text, struct ort_run *out_run)
{
    return take_span(text, "run ", out_run) && take_word(text, "\n");
}

/* A line that makes no sense is as good as none. */
static void take_load(struct text *text, struct ort_load *out_load)
{
    struct text line = *text;
    uint64_t read_location;
    uint64_t initialize_location;
    uint64_t is_cold;
    struct ort_load load;

    if (!take_span(&line, "load ", &load.span) || !take_word(&line, " ") ||
        !take_number(&line, &read_location) || !take_word(&line, " ") ||
        !take_number(&line, &initialize_location) || !take_word(&line, " ") ||
        !take_number(&line, &is_cold) || !take_word(&line, "\n") || read_location > UINT32_MAX ||
        initialize_location > UINT32_MAX || is_cold > 1)
        return;
    load.read_location = (uint32_t)read_location;
    load.initialize_location = (uint32_t)initialize_location;
    load.is_cold = is_cold;
    *out_load = load;
    *text = line;
}

static size_t count_lines(const struct text *text)
{
    size_t lines = 0;

    for (const char *at = text->at; at < text->end; at++)
        lines += *at == '\n';
    return lines < RUNS_MAX ? lines : RUNS_MAX;
}

enum ifg_status ort_runs_parse(const char *data, size_t bytes, struct ort_runs *out_runs,
                               struct ifg_error *err)
{
    struct text text = { data, data + bytes };
    size_t most;

    memset(out_runs, 0, sizeof *out_runs);
    if (!take_word(&text, "inferogram ort-profile 1\nprofile ") ||
        !take_line(&text, out_runs->profile, sizeof out_runs->profile) ||
        !take_word(&text, "session ") || !take_number(&text, &out_runs->session) ||
        !take_word(&text, "\n")) {
        memset(out_runs, 0, sizeof *out_runs);
        return ifg_fail(err, IFG_CORRUPT, "not a list of profiled runs");
    }
    take_load(&text, &out_runs->load);
    most = count_lines(&text);
    out_runs->items = ifg_alloc(most ? most : 1, sizeof *out_runs->items);
    if (!out_runs->items)
        return ifg_fail_no_memory(err, "for the runs of a profile");
    while (out_runs->count < most && take_run(&text, &out_runs->items[out_runs->count]))
        out_runs->count++; /* what is cut or wrong ends the list; the profile may have more */
    return IFG_OK;
}

void ort_runs_fini(struct ort_runs *runs)
{
    ifg_free(runs->items);
    memset(runs, 0, sizeof *runs);
}
