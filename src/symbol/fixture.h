// SPDX-License-Identifier: Apache-2.0
/*
 * Small ELF files for tests, made of bytes: a library that looks like ONNX Runtime as far as this
 * room can see, for both machines, in the forms that compilers and linkers give it.
 */
#ifndef IFG_SYMBOL_FIXTURE_H
#define IFG_SYMBOL_FIXTURE_H

#include "base/bytes.h"
#include "symbol/elf_file.h"

#define FIXTURE_BUILD_ID "000102030405060708090a0b0c0d0e0f10111213"

enum fixture_load {
    FIXTURE_DIRECT,    /* lea; adrp and add */
    FIXTURE_GOT,       /* from the global offset table */
    FIXTURE_IMMEDIATE, /* mov $address, a program at a fixed address (x86-64 only) */
    FIXTURE_NOWHERE,   /* the code loads no address */
};

struct fixture_plan {
    enum elf_machine machine;
    const char *symbol_version; /* VERS_1.8.0, or NULL */
    const char *text_version;   /* 1.8.0, or NULL: GetVersionString loads nothing */
    unsigned slots;
    enum fixture_load load;
    bool jump;         /* OrtGetApiBase only jumps to where the address is loaded */
    bool packed;       /* RELR */
    bool by_symbol;    /* slots are relocated against a symbol */
    bool old_hash;     /* DT_HASH instead of DT_GNU_HASH */
    unsigned bad_slot; /* this one leads into data; 0 = none */
    bool second_run;   /* another table of the same length */
};

struct fixture {
    struct ifg_bytes bytes;
    uint64_t entry;       /* address of OrtGetApiBase */
    uint64_t text;        /* address of the executable segment ... */
    uint64_t text_offset; /* ... and where it is in the file */
    uint64_t table;       /* address of the table */
    uint64_t first_slot;  /* address of its first function; each takes 16 bytes */
    uint64_t rela_offset; /* where these are in the file */
    uint64_t hash_offset;
    uint64_t strings_offset;
    uint64_t dynamic_offset;
};

/* Every second function starts with endbr64 or bti. */
bool fixture_build(const struct fixture_plan *plan, struct fixture *out);
void fixture_fini(struct fixture *fixture);

/* A file without a name that holds these bytes; -1 if there can be none. */
int fixture_file(const void *data, size_t size);

#endif
