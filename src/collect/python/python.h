// SPDX-License-Identifier: Apache-2.0
/*
 * Python functions on the stacks of samples, CPython 3.8 to 3.14.
 *
 * The kernel reads the chain of calls of a thread while it stands still for a sample (chain.h).
 * That gives addresses: what is behind them is read from the process afterwards, and believed only
 * if it is still what the kernel saw (chain_print) and of the right type: a code object of this
 * interpreter, with texts and a table of lines that are such. What is not gets no name; a chain
 * without any, or one that does not fit to the stack, is left out and counted: a stack without
 * Python frames is poorer, one with wrong ones is worthless.
 *
 * All that is read is the program's, and hostile.
 */
#ifndef IFG_COLLECT_PYTHON_PYTHON_H
#define IFG_COLLECT_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "collect/python/chain_record.h"
#include "symbol/elf_file.h"

struct python;

/* Code that was freed before it could be read: there was a call, of what is not known. */
#define PYTHON_NAMELESS 0xfffffffu

struct python_call {
    uint32_t code;   /* a number: python_function(); 0: no call, only the place of one */
    uint32_t line;   /* 0: not known */
    bool ends;       /* the C function that runs it has no call further out */
    uint64_t anchor; /* with that: an address in the frame of the C function; 0: not known */
};

/* The chain of one sample. */
struct python_stack {
    size_t count;
    bool whole;                             /* it leads to the thread's first call */
    bool anchored;                          /* all that end have an anchor */
    struct python_call calls[CHAIN_FRAMES]; /* the innermost first */
};

struct python_function {
    const char *name; /* "Layer.forward (model.py:12)" */
    const char *file;
};

struct python_counts {
    uint64_t named;    /* samples that have Python frames */
    uint64_t refused;  /* whose chain could not be believed, or did not fit to the stack */
    uint64_t lost;     /* whose chain did not come, or came too late */
    uint64_t versions; /* bit n: there was a Python 3.n */
    bool unknown;      /* there was one that is not known */
    uint64_t chains;   /* that were read */
    double chain_us;   /* that all of them took from the sampled threads */
};

/* IFG_PERMISSION, IFG_UNSUPPORTED: why the kernel does not read chains. */
enum ifg_status python_open(struct python **out_python, struct ifg_error *err) IFG_MUST_CHECK;
void python_close(struct python *python); /* accepts NULL */

int python_program(const struct python *python); /* for PERF_EVENT_IOC_SET_BPF */

/* Whether a file is called as an interpreter or its library is. */
bool python_is_named(const char *path);

/* A process has mapped a file with code; bias: address in memory minus that in the file. The file
 * stays open. True: it is an interpreter. */
bool python_mapped(struct python *python, uint32_t pid, struct elf_file *elf, const char *path,
                   uint64_t bias, uint32_t module);
void python_forked(struct python *python, uint32_t parent, uint32_t pid);
void python_dropped(struct python *python, uint32_t pid); /* it ended, or calls exec */

/* Takes what the kernel has, and looks whether interpreters are ready by now. */
void python_take(struct python *python);

/* The chain of the sample that a thread had then, at this instruction (0: not known). NULL: there
 * is none, or none that can be believed. Good until the next call. */
const struct python_stack *python_find(struct python *python, uint32_t pid, uint32_t tid,
                                       uint64_t time_ns, uint64_t ip);

/* Whether this is the file of the interpreter. */
bool python_is_module(const struct python *python, uint32_t pid, uint32_t module);

/* Whether this place in a file is in the C function that runs Python code. */
bool python_runs_at(const struct python *python, uint32_t pid, uint32_t module, uint64_t address);

/* The version of a process's interpreter: 3.n; 0: it has none. */
unsigned python_version(const struct python *python, uint32_t pid);

/* Whether the chain found its place on the stack. */
void python_merged(struct python *python, bool merged);

struct python_function python_function(const struct python *python, uint32_t code);
void python_count(const struct python *python, struct python_counts *out_counts);

#endif
