// SPDX-License-Identifier: Apache-2.0
/* The two faces of `inferogram report`: a screen for people, a document for scripts. */
#ifndef IFG_CLI_REPORT_OUTPUT_H
#define IFG_CLI_REPORT_OUTPUT_H

#include "analyze/report.h"
#include "analyze/stats.h"
#include "base/bytes.h"
#include "cli/options.h"

struct report_request {
    const char *path;
    size_t limit; /* of models and operators; SIZE_MAX: all */
    bool limit_given;
    bool json;
    const struct report *report;
    const char *only;          /* the findings of one rule; NULL: all */
    const struct stats *zones; /* only where there is no model: by zone */
};

void report_write_text(const struct report_request *request, struct ifg_bytes *out);

/* report_findings.c: findings and the recording itself, for people. */
void report_write_findings(const struct report_request *request, struct ifg_bytes *out);
void report_write_recording(const struct report_request *request, struct ifg_bytes *out);

/* report_machine.c: what was used meanwhile; nothing if that was not recorded. */
/* What the inferences of a model took of devices' energy. */
void report_write_energy(const struct report_request *request, uint32_t model,
                         struct ifg_bytes *out);

void report_write_machine(const struct report_request *request, struct ifg_bytes *out);

/* report_memory.c: memory before, at most and after, and who held it; nothing if none is known. */
void report_write_memory(const struct report_request *request, struct ifg_bytes *out);

/* report_device.c: what devices did for one model (its position in report->models), and in all.
 * Nothing where no work of devices was recorded. */
void report_write_device_of(const struct report_request *request, size_t position,
                            struct ifg_bytes *out);
void report_write_device(const struct report_request *request, struct ifg_bytes *out);

/* report_roofline.c: how near operators come to what their device can do. */
void report_write_roofline_of(const struct report_request *request, const struct ml_model *model,
                              size_t limit, struct ifg_bytes *out);

/* report_samples.c: what samples and context switches say of one model (its position in
 * report->models), and of all. Nothing where there are none. */
void report_write_samples_of(const struct report_request *request, size_t position,
                             struct ifg_bytes *out);
void report_write_samples(const struct report_request *request, struct ifg_bytes *out);

/* A paragraph of at most 100 columns, every line behind so many blanks; the first begins with
 * `lead`, whose width counts too. Foreign text is cleaned. */
void report_wrap(struct ifg_bytes *out, int indent, const char *lead, const char *text);

/* report_parts.c: what summary and explain share. */
struct report_part {
    const char *path;
    const char *finding; /* NULL: all */
    bool json;
};

extern const struct option_row report_part_rows[];

struct ifg_json;
void report_line_begin(struct ifg_json *json, struct ifg_bytes *out, const char *type);
void report_line_end(struct ifg_json *json);
void report_finding_line(const struct report *report, const struct finding *finding,
                         struct ifg_bytes *out);

/* Loads the trace, makes its report, and prints what `write` makes of it; the exit status. */
int report_part_run(const struct report_part *wanted,
                    void (*write)(const struct report *, const struct report_part *,
                                  struct ifg_bytes *));

/* Appends to a text of so many bytes, as much as fits. */
void report_append(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
