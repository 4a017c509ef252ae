// SPDX-License-Identifier: Apache-2.0
/*
 * One function of the program: its instructions and source lines with the samples of each. Code and
 * sources come from the trace alone, so this works on any machine.
 */
#ifndef IFG_ANALYZE_ANNOTATE_H
#define IFG_ANALYZE_ANNOTATE_H

#include "analyze/hot.h"
#include "symbol/disassemble.h"

struct annotated_instruction {
    uint64_t address;
    struct disassembled what;
    bool is_target; /* a jump of this function leads here */
    uint32_t frame; /* number of a frame in it, for its lines; 0: none was sampled */
    uint64_t self;
    uint64_t total; /* including callees */
};

struct annotated_line {
    const char *file;
    uint32_t line;
    const char *text; /* not NUL-terminated; NULL: the source is not in the trace */
    size_t text_bytes;
    uint64_t self;  /* samples at this line */
    uint64_t total; /* and in what was inlined there or called from there */
};

struct annotation {
    uint32_t function;
    const char *name;
    const char *module;
    const struct trace_module *from; /* NULL: unknown memory */
    bool guessed;
    uint64_t start;
    uint64_t size;
    uint64_t self;
    uint64_t total;
    uint64_t samples; /* of all functions */
    bool by_timer;    /* samples point to the instruction behind the one that took the time */

    struct annotated_instruction *instructions;
    size_t instruction_count;
    char why_no_code[120]; /* "" if there are instructions */

    struct annotated_line *lines; /* those with samples, by file and line */
    size_t line_count;
};

/* Rows of `hot` that a text may mean: an address ("0x1234") inside, the whole name (with or without
 * its parameters), or else a part of it; of several versions that a runtime made of one function
 * the one with most samples. Puts at most `size` numbers of rows into out; returns how many there
 * are. */
size_t annotate_find(const struct hot *hot, const struct timeline_profile *profile,
                     const char *text, size_t *out, size_t size);

enum ifg_status annotate_create(const struct timeline *timeline, const struct hot *hot, size_t row,
                                struct annotation **out_annotation,
                                struct ifg_error *err) IFG_MUST_CHECK;
void annotate_destroy(struct annotation *annotation);

/* The text of a line of a source in the trace; NULL if it is not there. */
const char *annotate_source_line(const struct timeline_profile *profile, const char *file,
                                 uint32_t line, size_t *out_bytes);

#endif
