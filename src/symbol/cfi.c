// SPDX-License-Identifier: Apache-2.0
/* See cfi.h. Only the frame's address, the frame pointer and the return address are followed. */
#include "symbol/cfi.h"

#include <dwarf.h>
#include <string.h>

#define STATES_MAX 16 /* DW_CFA_remember_state, nested */

/* DWARF's numbers of registers. */
struct registers {
    uint64_t fp, sp, ra;
};

static const struct registers registers_x86_64 = { 6, 7, 16 };
static const struct registers registers_aarch64 = { 29, 31, 30 };

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

struct common { /* what functions of one CIE share */
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t encoding;
    bool has_augmentation;
    bool signal_frame;
    struct reader program;
};

struct state {
    enum unwind_rule rule;
    int64_t offset;
    enum unwind_saved saved;
    int64_t saved_fp;
    int64_t saved_ra;
    bool no_return;
};

struct machine {
    const struct cfi *cfi;
    const struct registers *registers;
    const struct common *common;
    struct state now;
    struct state initial;
    struct state kept[STATES_MAX];
    size_t kept_count;
    uint64_t address;
    uint64_t end;
    cfi_take_row *take_row;
    void *user;
    bool stopped;
};

static uint64_t take(struct reader *reader, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < size) {
        reader->failed = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, size);
    reader->at += size;
    return value;
}

static uint64_t take_uleb(struct reader *reader)
{
    uint64_t value = 0;

    for (unsigned shift = 0; reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    reader->failed = true;
    return 0;
}

static int64_t take_sleb(struct reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;

    while (reader->at < reader->end) {
        uint8_t byte = *reader->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && byte & 0x40)
            value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
    }
    reader->failed = true;
    return 0;
}

static int64_t scaled(uint64_t factor, int64_t align)
{
    return (int64_t)(factor * (uint64_t)align); /* wraps rather than overflows */
}

bool cfi_read_pointer(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t address,
                      uint64_t data_base, uint64_t *out_value)
{
    struct reader reader = { *at, end, false };
    uint64_t value;

    *out_value = 0;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = take(&reader, 8);
        break;
    case DW_EH_PE_udata4:
        value = take(&reader, 4);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)(int64_t)(int32_t)take(&reader, 4);
        break;
    case DW_EH_PE_udata2:
        value = take(&reader, 2);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)(int64_t)(int16_t)take(&reader, 2);
        break;
    case DW_EH_PE_uleb128:
        value = take_uleb(&reader);
        break;
    case DW_EH_PE_sleb128:
        value = (uint64_t)take_sleb(&reader);
        break;
    default:
        return false;
    }
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr:
        break;
    case DW_EH_PE_pcrel:
        value += address;
        break;
    case DW_EH_PE_datarel:
        value += data_base;
        break;
    default:
        return false;
    }
    *at = reader.at;
    *out_value = value;
    return !reader.failed;
}

/* ---- expressions that compilers and linkers really write ---- */

static void set_cfa_expression(struct machine *machine, const uint8_t *code, size_t size)
{
    static const uint8_t plt[] = { DW_OP_breg7, 8,         DW_OP_breg16, 0,
                                   DW_OP_lit15, DW_OP_and, DW_OP_lit0,   DW_OP_ge,
                                   DW_OP_lit3,  DW_OP_shl, DW_OP_plus };
    struct state *now = &machine->now;
    struct reader reader = { code, code + size, false };
    uint64_t op;

    now->rule = UNWIND_UNKNOWN;
    now->offset = 0;
    if (size == sizeof plt && memcmp(code, plt, 6) == 0 && memcmp(code + 7, plt + 7, 4) == 0 &&
        code[6] >= DW_OP_lit0 && code[6] <= DW_OP_lit31) {
        now->rule = UNWIND_PLT;
        now->offset = code[6] - DW_OP_lit0;
        return;
    }
    op = take(&reader, 1);
    if (op == DW_OP_breg0 + machine->registers->fp) { /* *(fp + n): the stack was realigned */
        int64_t offset = take_sleb(&reader);

        if (take(&reader, 1) == DW_OP_deref && !reader.failed && reader.at == reader.end) {
            now->rule = UNWIND_FP_LOAD;
            now->offset = offset;
        }
    }
}

static void set_register_expression(struct machine *machine, uint64_t number, const uint8_t *code,
                                    size_t size)
{
    if (number == machine->registers->ra)
        machine->now.rule = UNWIND_UNKNOWN;
    if (number != machine->registers->fp)
        return;
    machine->now.saved = size == 2 && code[0] == DW_OP_breg0 + machine->registers->fp && !code[1]
                             ? UNWIND_AT_FP
                             : UNWIND_LOST;
}

/* ---- the program ---- */

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->now.offset = offset;
    machine->now.rule = number == machine->registers->sp   ? UNWIND_SP
                        : number == machine->registers->fp ? UNWIND_FP
                                                           : UNWIND_UNKNOWN;
}

static void set_saved(struct machine *machine, uint64_t number, int64_t offset)
{
    if (number == machine->registers->fp) {
        machine->now.saved = UNWIND_AT_CFA;
        machine->now.saved_fp = offset;
    } else if (number == machine->registers->ra) {
        machine->now.saved_ra = offset;
        machine->now.no_return = false;
    }
}

static void restore(struct machine *machine, uint64_t number)
{
    if (number == machine->registers->fp) {
        machine->now.saved = machine->initial.saved;
        machine->now.saved_fp = machine->initial.saved_fp;
    } else if (number == machine->registers->ra) {
        machine->now.saved_ra = machine->initial.saved_ra;
        machine->now.no_return = machine->initial.no_return;
    }
}

static void emit(struct machine *machine)
{
    const struct state *now = &machine->now;
    struct cfi_row row = { machine->address, now->rule,     now->offset,
                           now->saved,       now->saved_fp, now->saved_ra };

    if (machine->common->signal_frame)
        row.rule = UNWIND_SIGNAL;
    else if (now->no_return)
        row.rule = UNWIND_ROOT;
    if (machine->take_row && !machine->stopped && machine->address < machine->end)
        machine->stopped = !machine->take_row(&row, machine->user);
}

static void advance(struct machine *machine, uint64_t factor)
{
    emit(machine);
    machine->address += factor * machine->common->code_align;
}

static void remember(struct machine *machine, struct reader *reader)
{
    if (machine->kept_count == STATES_MAX)
        reader->failed = true;
    else
        machine->kept[machine->kept_count++] = machine->now;
}

static void recall(struct machine *machine, struct reader *reader)
{
    if (!machine->kept_count)
        reader->failed = true;
    else
        machine->now = machine->kept[--machine->kept_count];
}

static void take_expression(struct machine *machine, struct reader *reader, uint64_t op)
{
    uint64_t number = op == DW_CFA_def_cfa_expression ? 0 : take_uleb(reader);
    uint64_t size = take_uleb(reader);

    if (reader->failed || size > (size_t)(reader->end - reader->at)) {
        reader->failed = true;
        return;
    }
    if (op == DW_CFA_def_cfa_expression)
        set_cfa_expression(machine, reader->at, (size_t)size);
    else if (op == DW_CFA_expression)
        set_register_expression(machine, number, reader->at, (size_t)size);
    else if (number == machine->registers->fp)
        machine->now.saved = UNWIND_LOST;
    reader->at += size;
}

static void take_register_rule(struct machine *machine, struct reader *reader, uint64_t op)
{
    const struct registers *registers = machine->registers;
    uint64_t number = take_uleb(reader);

    switch (op) {
    case DW_CFA_offset_extended:
        set_saved(machine, number, scaled(take_uleb(reader), machine->common->data_align));
        break;
    case DW_CFA_offset_extended_sf:
        set_saved(machine, number,
                  scaled((uint64_t)take_sleb(reader), machine->common->data_align));
        break;
    case DW_CFA_restore_extended:
        restore(machine, number);
        break;
    case DW_CFA_undefined:
        machine->now.no_return = machine->now.no_return || number == registers->ra;
        if (number == registers->fp)
            machine->now.saved = UNWIND_LOST;
        break;
    case DW_CFA_same_value:
        if (number == registers->fp)
            machine->now.saved = UNWIND_KEPT;
        break;
    default: /* DW_CFA_register, DW_CFA_val_offset(_sf): nothing that we could follow */
        take_uleb(reader);
        if (number == registers->fp)
            machine->now.saved = UNWIND_LOST;
        if (number == registers->ra)
            machine->now.rule = UNWIND_UNKNOWN;
    }
}

static void take_extended(struct machine *machine, struct reader *reader, uint64_t op)
{
    uint64_t number;
    uint64_t value;

    switch (op) {
    case DW_CFA_nop:
        break;
    case DW_CFA_set_loc:
        emit(machine);
        value = machine->cfi->address + (uint64_t)(reader->at - machine->cfi->data);
        if (!cfi_read_pointer(&reader->at, reader->end, machine->common->encoding, value, 0,
                              &machine->address))
            reader->failed = true;
        break;
    case DW_CFA_advance_loc1:
        advance(machine, take(reader, 1));
        break;
    case DW_CFA_advance_loc2:
        advance(machine, take(reader, 2));
        break;
    case DW_CFA_advance_loc4:
        advance(machine, take(reader, 4));
        break;
    case DW_CFA_remember_state:
        remember(machine, reader);
        break;
    case DW_CFA_restore_state:
        recall(machine, reader);
        break;
    case DW_CFA_def_cfa:
        number = take_uleb(reader);
        set_cfa(machine, number, (int64_t)take_uleb(reader));
        break;
    case DW_CFA_def_cfa_sf:
        number = take_uleb(reader);
        set_cfa(machine, number, scaled((uint64_t)take_sleb(reader), machine->common->data_align));
        break;
    case DW_CFA_def_cfa_register:
        set_cfa(machine, take_uleb(reader), machine->now.offset);
        break;
    case DW_CFA_def_cfa_offset:
        machine->now.offset = (int64_t)take_uleb(reader);
        break;
    case DW_CFA_def_cfa_offset_sf:
        machine->now.offset = scaled((uint64_t)take_sleb(reader), machine->common->data_align);
        break;
    case DW_CFA_def_cfa_expression:
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        take_expression(machine, reader, op);
        break;
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_register:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        take_register_rule(machine, reader, op);
        break;
    case DW_CFA_GNU_window_save: /* on arm64: the return address is (no longer) signed */
        break;
    case DW_CFA_GNU_args_size:
        take_uleb(reader);
        break;
    default:
        reader->failed = true;
    }
}

static bool run_program(struct machine *machine, struct reader reader)
{
    while (reader.at < reader.end && !reader.failed && !machine->stopped) {
        uint64_t op = take(&reader, 1);
        uint64_t low = op & 0x3f;

        switch (op & 0xc0) {
        case DW_CFA_advance_loc:
            advance(machine, low);
            break;
        case DW_CFA_offset:
            set_saved(machine, low, scaled(take_uleb(&reader), machine->common->data_align));
            break;
        case DW_CFA_restore:
            restore(machine, low);
            break;
        default:
            take_extended(machine, &reader, op);
        }
    }
    return !reader.failed;
}

/* ---- entries ---- */

/* The body of the entry at `offset`; false at the end, or if it does not fit. */
static bool take_entry(const struct cfi *cfi, size_t offset, struct reader *out_body,
                       size_t *out_next)
{
    struct reader reader = { cfi->data + offset, cfi->data + cfi->size, false };
    uint64_t length;

    if (offset >= cfi->size)
        return false;
    length = take(&reader, 4);
    if (length == 0xffffffff)
        length = take(&reader, 8);
    if (reader.failed || !length || length > (size_t)(reader.end - reader.at))
        return false;
    out_body->at = reader.at;
    out_body->end = reader.at + length;
    out_body->failed = false;
    *out_next = (size_t)(out_body->end - cfi->data);
    return true;
}

static bool take_augmentation(const struct cfi *cfi, struct reader *reader, const char *letters,
                              struct common *common)
{
    uint64_t size = take_uleb(reader);
    const uint8_t *end;
    uint64_t ignored;

    if (reader->failed || size > (size_t)(reader->end - reader->at))
        return false;
    end = reader->at + size;
    common->has_augmentation = true;
    for (; *letters; letters++) {
        uint8_t encoding;

        switch (*letters) {
        case 'R':
            common->encoding = (uint8_t)take(reader, 1);
            break;
        case 'L':
            take(reader, 1);
            break;
        case 'P':
            encoding = (uint8_t)take(reader, 1);
            if (!cfi_read_pointer(&reader->at, end, encoding & 0x0f,
                                  cfi->address + (uint64_t)(reader->at - cfi->data), 0, &ignored))
                return false;
            break;
        case 'S':
            common->signal_frame = true;
            break;
        case 'B': /* arm64: pointers are signed with another key */
            break;
        default: /* what comes behind is not known; the size tells where it ends */
            goto done;
        }
    }
done:
    reader->at = end;
    return !reader->failed;
}

static bool take_common(const struct cfi *cfi, size_t offset, struct common *out_common)
{
    struct reader body;
    const char *letters;
    const uint8_t *zero;
    size_t next;
    uint64_t version;

    memset(out_common, 0, sizeof *out_common);
    if (!take_entry(cfi, offset, &body, &next) || take(&body, 4) != 0)
        return false;
    version = take(&body, 1);
    if (version != 1 && version != 3)
        return false;
    zero = memchr(body.at, 0, (size_t)(body.end - body.at));
    if (!zero)
        return false;
    letters = (const char *)body.at;
    body.at = zero + 1;
    out_common->code_align = take_uleb(&body);
    out_common->data_align = take_sleb(&body);
    out_common->return_register = version == 1 ? take(&body, 1) : take_uleb(&body);
    if (*letters == 'z' && !take_augmentation(cfi, &body, letters + 1, out_common))
        return false;
    if (*letters && *letters != 'z')
        return false;
    out_common->program = body;
    return !body.failed;
}

/* One function; false stops the walk. */
static bool take_function(const struct cfi *cfi, const struct common *common, struct reader body,
                          cfi_take_function *take_it, cfi_take_row *take_row, void *user)
{
    struct machine machine = {
        .cfi = cfi,
        .registers = cfi->machine == ELF_X86_64 ? &registers_x86_64 : &registers_aarch64,
        .common = common,
        .user = user,
    };
    struct cfi_function function;
    uint64_t address = cfi->address + (uint64_t)(body.at - cfi->data);
    uint64_t size;

    if (!cfi_read_pointer(&body.at, body.end, common->encoding, address, 0, &function.start) ||
        !cfi_read_pointer(&body.at, body.end, common->encoding & 0x0f, 0, 0, &function.size) ||
        !function.size || function.start > UINT64_MAX - function.size ||
        common->return_register != machine.registers->ra)
        return true;
    if (common->has_augmentation) {
        size = take_uleb(&body);
        if (body.failed || size > (size_t)(body.end - body.at))
            return true;
        body.at += size;
    }
    machine.now.rule = UNWIND_UNKNOWN;
    machine.end = function.start + function.size;
    if (!run_program(&machine, common->program))
        return true;
    if (!take_it(&function, user))
        return false;
    machine.initial = machine.now;
    machine.kept_count = 0;
    machine.address = function.start;
    machine.take_row = take_row;
    if (!run_program(&machine, body)) {
        machine.now = (struct state){ .rule = UNWIND_UNKNOWN };
        machine.common = common;
    }
    emit(&machine);
    return !machine.stopped;
}

void cfi_walk(const struct cfi *cfi, cfi_take_function *take_it, cfi_take_row *take_row, void *user)
{
    struct common common = { 0 };
    size_t common_at = SIZE_MAX;
    bool common_good = false;
    struct reader body;
    size_t next;

    for (size_t at = 0; take_entry(cfi, at, &body, &next); at = next) {
        size_t id_at = (size_t)(body.at - cfi->data);
        uint64_t back = take(&body, 4);

        if (body.failed || !back || back > id_at)
            continue;
        if (id_at - back != common_at) {
            common_at = id_at - (size_t)back;
            common_good = take_common(cfi, common_at, &common);
        }
        if (common_good && !take_function(cfi, &common, body, take_it, take_row, user))
            return;
    }
}

size_t cfi_entry(const struct cfi *cfi, uint64_t offset, cfi_take_function *take_it,
                 cfi_take_row *take_row, void *user)
{
    struct common common;
    struct reader body;
    size_t next, id_at, common_at;
    uint64_t back;

    if (offset >= cfi->size || !take_entry(cfi, (size_t)offset, &body, &next))
        return 0;
    id_at = (size_t)(body.at - cfi->data);
    back = take(&body, 4);
    if (body.failed || !back || back > id_at)
        return 0;
    common_at = id_at - (size_t)back;
    if (!take_common(cfi, common_at, &common))
        return 0;
    take_function(cfi, &common, body, take_it, take_row, user);
    return next - (size_t)offset + (size_t)(common.program.end - (cfi->data + common_at));
}
