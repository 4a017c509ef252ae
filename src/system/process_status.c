// SPDX-License-Identifier: Apache-2.0
/* Reading /proc/PID/stat and /proc/PID/status: see process_status.h. */
#include "system/process_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/ticks.h"
#include "system/process_folder.h"

#define PATH_BYTES 512
#define TEXT_BYTES 8192 /* more than 256 groups take, and mostly all of it */
#define PF_EXITING 4    /* of the kernel */

/* ---- stat: "pid (name) state parent ..." ---- */

enum field {
    FIELD_STATE = 3,
    FIELD_PARENT,
    FIELD_FLAGS = 9,
    FIELD_MINOR_FAULTS,
    FIELD_MAJOR_FAULTS = 12,
    FIELD_USER_TICKS = 14,
    FIELD_SYSTEM_TICKS,
    FIELD_THREADS = 20,
    FIELD_START_TICKS = 22,
    FIELD_RSS_PAGES = 24,
    FIELD_CODE_START = 26,
    FIELD_CODE_END,
    FIELD_STACK_START,
    FIELD_LAST_CPU = 39,
    FIELDS,
};

bool process_stat_parse(const char *text, struct process_stat *out)
{
    const char *open = strchr(text, '(');
    const char *at = strrchr(text, ')'); /* a name may have anything in it, but not behind it */
    uint64_t fields[FIELDS] = { 0 };

    memset(out, 0, sizeof *out);
    if (!open || !at || at < open || at[1] != ' ' || !at[2] || at[3] != ' ')
        return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(at - open - 1), open + 1);
    out->state = at[2];
    at += 4;
    for (unsigned field = FIELD_PARENT; field < FIELDS; field++) {
        bool is_number = *at == '-' || ifg_parse_number(at, NULL, &fields[field]);

        at = strchr(at, ' ');
        if (field <= FIELD_RSS_PAGES && (!is_number || (!at && field < FIELD_RSS_PAGES)))
            return false;
        if (!at)
            break;
        at++;
    }
    out->parent = (pid_t)fields[FIELD_PARENT];
    out->is_exiting = fields[FIELD_FLAGS] & PF_EXITING;
    out->minor_faults = fields[FIELD_MINOR_FAULTS];
    out->major_faults = fields[FIELD_MAJOR_FAULTS];
    if (__builtin_add_overflow(fields[FIELD_USER_TICKS], fields[FIELD_SYSTEM_TICKS], &out->ticks))
        out->ticks = UINT64_MAX - 1;
    out->threads = fields[FIELD_THREADS];
    out->start_ticks = fields[FIELD_START_TICKS];
    out->rss_pages = fields[FIELD_RSS_PAGES];
    out->code_start = fields[FIELD_CODE_START];
    out->code_end = fields[FIELD_CODE_END];
    out->stack_start = fields[FIELD_STACK_START];
    out->last_cpu = fields[FIELD_LAST_CPU];
    return true;
}

bool process_stat_in(const char *folder, struct process_stat *out)
{
    char path[PATH_BYTES], text[2048];

    snprintf(path, sizeof path, "%s/stat", folder);
    errno = ESRCH; /* of a text that is none */
    return ifg_read_small(path, text, sizeof text) && process_stat_parse(text, out);
}

bool process_stat_of(pid_t pid, struct process_stat *out)
{
    char folder[PROCESS_FOLDER_BYTES];

    return process_stat_in(process_folder(pid, 0, folder), out);
}

uint64_t process_age_ns(uint64_t start_ticks)
{
    long per_second = sysconf(_SC_CLK_TCK);
    uint64_t tick_ns = 1000000000u / (per_second > 0 ? (uint64_t)per_second : 100);
    uint64_t boot_ns = ifg_clock_ns(CLOCK_BOOTTIME);

    return boot_ns != UINT64_MAX && start_ticks <= boot_ns / tick_ns
               ? boot_ns - start_ticks * tick_ns
               : 0;
}

bool process_has_ended(pid_t pid)
{
    struct process_stat now;

    if (!process_stat_of(pid, &now))
        return errno == ENOENT || errno == ESRCH;
    return now.state == 'Z' || now.state == 'X';
}

/* ---- status: "Key:\tvalue" ---- */

enum kind {
    KIND_NUMBER,
    KIND_BYTES,   /* told in KiB */
    KIND_BITS,    /* hexadecimal */
    KIND_PROCESS, /* the last of a list: as it is known innermost */
    KIND_FOUR,
    KIND_NAME,
    KIND_STATE,
    KIND_GROUPS,
    KIND_FEATURES,
};

#define ROW(key, kind, member)                                                                     \
    {                                                                                              \
        key ":", sizeof key, kind, offsetof(struct process_status, member)                         \
    }

static const struct row {
    const char *key;
    size_t length;
    enum kind kind;
    size_t offset;
} rows[] = {
    ROW("Name", KIND_NAME, name),
    ROW("State", KIND_STATE, state),
    ROW("Groups", KIND_GROUPS, groups),
    ROW("x86_Thread_features", KIND_FEATURES, shadow_stack),
    ROW("PPid", KIND_PROCESS, parent),
    ROW("TracerPid", KIND_PROCESS, tracer),
    ROW("NStgid", KIND_PROCESS, own_pid),
    ROW("NSpid", KIND_PROCESS, own_tid),
    ROW("Uid", KIND_FOUR, uids),
    ROW("Gid", KIND_FOUR, gids),
    ROW("CapPrm", KIND_BITS, permitted),
    ROW("CapEff", KIND_BITS, effective),
    ROW("SigPnd", KIND_BITS, pending),
    ROW("ShdPnd", KIND_BITS, shared_pending),
    ROW("NoNewPrivs", KIND_NUMBER, no_new_privs),
    ROW("Seccomp", KIND_NUMBER, seccomp_mode),
    ROW("Seccomp_filters", KIND_NUMBER, seccomp_filters),
    ROW("VmRSS", KIND_BYTES, rss_bytes),
    ROW("RssAnon", KIND_BYTES, anon_bytes),
    ROW("VmHWM", KIND_BYTES, peak_rss_bytes),
    ROW("VmData", KIND_BYTES, data_bytes),
    ROW("voluntary_ctxt_switches", KIND_NUMBER, voluntary_switches),
    ROW("nonvoluntary_ctxt_switches", KIND_NUMBER, involuntary_switches),
};

static bool parse_bits(const char *at, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";
    const char *digit;
    uint64_t bits = 0;
    size_t count = 0;

    for (at += strspn(at, " \t"); *at && (digit = strchr(digits, *at)); at++, count++)
        bits = bits << 4 | (uint64_t)(digit - digits);
    if (count == 0 || count > 16)
        return false;
    *out = bits;
    return true;
}

static void take_groups(const char *at, struct process_status *out)
{
    uint64_t group;

    while (out->group_count < PROCESS_GROUPS_MAX && ifg_parse_number(at, &at, &group) &&
           group <= UINT32_MAX)
        out->groups[out->group_count++] = (uint32_t)group;
}

/* What makes no sense leaves the member as it is. */
static void take_row(enum kind kind, const char *at, void *member, struct process_status *out)
{
    uint64_t number, four[4];

    switch (kind) {
    case KIND_NUMBER:
        (void)ifg_parse_number(at, NULL, member);
        break;
    case KIND_BYTES:
        if (ifg_parse_number(at, NULL, &number) && number <= UINT64_MAX / 2048)
            *(uint64_t *)member = 1024 * number;
        break;
    case KIND_BITS:
        (void)parse_bits(at, member);
        break;
    case KIND_PROCESS:
        while (ifg_parse_number(at, &at, &number))
            *(pid_t *)member = number <= INT32_MAX ? (pid_t)number : 0;
        break;
    case KIND_FOUR:
        for (size_t i = 0; i < 4; i++)
            if (!ifg_parse_number(at, &at, &four[i]) || four[i] > UINT32_MAX)
                return;
        memcpy(member, four, sizeof four);
        break;
    case KIND_NAME:
        at += *at == '\t';
        snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(at, "\n"), at);
        break;
    case KIND_STATE:
        out->state = at[strspn(at, " \t")];
        break;
    case KIND_GROUPS:
        take_groups(at, out);
        break;
    case KIND_FEATURES:
        out->shadow_stack = memmem(at, strcspn(at, "\n"), "shstk", 5) != NULL;
        break;
    }
}

static void take_line(const char *line, struct process_status *out)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (line[0] == rows[i].key[0] && line[1] == rows[i].key[1] &&
            strncmp(line, rows[i].key, rows[i].length) == 0) {
            take_row(rows[i].kind, line + rows[i].length, (char *)out + rows[i].offset, out);
            return;
        }
}

/* Returns what is left: a line without an end. */
static const char *take_lines(const char *text, struct process_status *out)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        take_line(text, out);
    return text;
}

static void begin(struct process_status *out)
{
    memset(out, 0, sizeof *out);
    out->uids[0] = out->gids[0] = out->permitted = out->effective = IFG_NO_NUMBER;
    out->rss_bytes = out->anon_bytes = out->peak_rss_bytes = out->data_bytes = IFG_NO_NUMBER;
    out->voluntary_switches = out->involuntary_switches = IFG_NO_NUMBER;
}

/* Nobody may take what is missing for a right. */
static void end(struct process_status *out)
{
    out->has_owner = out->uids[0] != IFG_NO_NUMBER && out->gids[0] != IFG_NO_NUMBER &&
                     out->permitted != IFG_NO_NUMBER && out->effective != IFG_NO_NUMBER;
    if (!out->has_owner)
        out->permitted = out->effective = 0;
}

void process_status_parse(const char *text, struct process_status *out)
{
    begin(out);
    (void)take_lines(text, out);
    end(out);
}

bool process_status_in(const char *folder, struct process_status *out)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    size_t used = 0;
    bool found = false;
    ssize_t got;
    int fd;

    begin(out);
    snprintf(path, sizeof path, "%s/status", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd >= 0 && (got = read(fd, text + used, sizeof text - 1 - used)) > 0) {
        const char *rest;

        text[used + (size_t)got] = '\0';
        rest = take_lines(text, out);
        used = strlen(rest);
        memmove(text, rest, used + 1);
        if (used == sizeof text - 1) { /* a list that is longer than what is wanted of it */
            take_line(text, out);
            text[0] = ' '; /* no key begins like this: the rest of the line is passed over */
            used = 1;
        }
        found = true;
    }
    if (fd >= 0)
        close(fd);
    end(out);
    return found;
}

bool process_status_of(pid_t pid, struct process_status *out)
{
    char folder[PROCESS_FOLDER_BYTES];

    return process_status_in(process_folder(pid, 0, folder), out);
}
