// SPDX-License-Identifier: Apache-2.0
/* The table of `inferogram doctor`: rows by topic, and each command on lines of its own. */
#include <string.h>
#include <unistd.h>

#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/doctor.h"

#define NAME_COLUMNS   22
#define STATE_COLUMNS  6
#define DETAIL_COLUMN  (2 + NAME_COLUMNS + 1 + STATE_COLUMNS + 2)
#define COMMAND_COLUMN 6

static const char *const titles[] = {
    [DOCTOR_RECORDING] = "Recording",       [DOCTOR_SAMPLING] = "Sampling",
    [DOCTOR_CODE] = "Names and code",       [DOCTOR_MACHINE] = "The machine",
    [DOCTOR_ACCELERATORS] = "Accelerators",
};

static const char *const states[] = {
    [DOCTOR_WORKS] = "works",
    [DOCTOR_NO] = "no",
    [DOCTOR_ABSENT] = "absent",
};

/* The row above that has named the same command. */
static const char *named_before(const bool *chosen, const struct doctor_finding *findings,
                                unsigned index)
{
    for (unsigned i = 0; i < index; i++)
        if (chosen[i] && strcmp(findings[i].fix, findings[index].fix) == 0)
            return doctor_checks[i].name;
    return NULL;
}

static void put_row(struct ifg_bytes *out, const bool *chosen,
                    const struct doctor_finding *findings, unsigned index)
{
    const struct doctor_finding *finding = &findings[index];
    const char *before = *finding->fix ? named_before(chosen, findings, index) : NULL;
    bool no = finding->state == DOCTOR_NO;
    size_t columns = text_line_columns(STDOUT_FILENO);
    char clean[sizeof finding->detail];
    char fix[sizeof finding->fix];

    cli_clean(finding->detail, clean, sizeof clean);
    cli_clean(finding->fix, fix, sizeof fix);
    cli_print(out, "  %-*s %s%s%s", NAME_COLUMNS, doctor_checks[index].name,
              no ? cli_bold(true, STDOUT_FILENO) : "", states[finding->state],
              no ? cli_bold(false, STDOUT_FILENO) : "");
    if (*clean) {
        cli_print(out, "%*s", STATE_COLUMNS + 2 - (int)strlen(states[finding->state]), "");
        text_wrap(out, (struct text_frame){ DETAIL_COLUMN, DETAIL_COLUMN, 0 }, clean);
    }
    cli_print(out, "\n");
    if (before)
        cli_print(out, "%*sthe command at '%s' changes this too\n", DETAIL_COLUMN, "", before);
    else if (*fix)
        advice_put_command(
            out, fix, DETAIL_COLUMN + text_columns(fix) <= columns ? DETAIL_COLUMN : COMMAND_COLUMN,
            columns);
}

static void put_summary(struct ifg_bytes *out, const bool *chosen,
                        const struct doctor_finding *findings)
{
    unsigned counts[3] = { 0, 0, 0 };

    for (unsigned i = 0; i < doctor_check_count; i++)
        if (chosen[i])
            counts[findings[i].state]++;
    cli_print(out, "\n%u %s", counts[DOCTOR_WORKS], counts[DOCTOR_WORKS] == 1 ? "works" : "work");
    if (counts[DOCTOR_NO])
        cli_print(out, " · %s%u %s not%s", cli_bold(true, STDOUT_FILENO), counts[DOCTOR_NO],
                  counts[DOCTOR_NO] == 1 ? "does" : "do", cli_bold(false, STDOUT_FILENO));
    if (counts[DOCTOR_ABSENT])
        cli_print(out, " · %u %s not in this machine", counts[DOCTOR_ABSENT],
                  counts[DOCTOR_ABSENT] == 1 ? "is" : "are");
    cli_print(out, "\n");
}

void doctor_write_text(struct ifg_bytes *out, const bool *chosen,
                       const struct doctor_finding *findings)
{
    int group = -1;

    for (unsigned i = 0; i < doctor_check_count; i++) {
        if (!chosen[i])
            continue;
        if ((int)doctor_checks[i].group != group)
            cli_print(out, "%s%s%s%s\n", group < 0 ? "" : "\n", cli_bold(true, STDOUT_FILENO),
                      titles[doctor_checks[i].group], cli_bold(false, STDOUT_FILENO));
        group = (int)doctor_checks[i].group;
        put_row(out, chosen, findings, i);
    }
    for (unsigned i = 0; i < doctor_check_count; i++)
        if (chosen[i] && strcmp(doctor_checks[i].id, "devices") == 0)
            doctor_devices_text(out);
    put_summary(out, chosen, findings);
    text_fit(out);
}
