// SPDX-License-Identifier: Apache-2.0
/* Data files byte by byte: arrays, archives, directories, and all that can be wrong with them. */
#include "bench/inputs/inputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tap.h"

#define PATHS_MAX 32

static struct ifg_error err;
static struct input_sets sets;
static char folder[64];
static char made[PATHS_MAX][128];
static size_t made_count;

/* ---- writing files ---- */

static void clean_up(void)
{
    while (made_count)
        unlink(made[--made_count]);
    if (folder[0])
        rmdir(folder);
    inputs_fini(&sets);
}

static const char *write_file(const char *name, const void *data, size_t size)
{
    char *path = made[made_count++];
    int fd;

    REQUIRE(made_count < PATHS_MAX);
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/tmp/inferogram-npy-XXXXXX");
        REQUIRE(mkdtemp(folder) != NULL);
        atexit(clean_up);
    }
    snprintf(path, sizeof made[0], "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_INT(write(fd, data, size), (int64_t)size);
    close(fd);
    return path;
}

struct blob {
    uint8_t data[4096];
    size_t size;
};

static void put(struct blob *blob, const void *data, size_t size)
{
    REQUIRE(blob->size + size <= sizeof blob->data);
    memcpy(blob->data + blob->size, data, size);
    blob->size += size;
}

static void put_number(struct blob *blob, uint32_t value, size_t bytes)
{
    for (; bytes; bytes--, value >>= 8)
        put(blob, &(uint8_t){ (uint8_t)value }, 1);
}

static struct blob array(unsigned version, const char *dictionary, const void *data, size_t size)
{
    struct blob blob = { .size = 0 };
    size_t length = strlen(dictionary);

    put(&blob, "\x93NUMPY", 6);
    put_number(&blob, version, 1);
    put_number(&blob, 0, 1);
    put_number(&blob, (uint32_t)length + 1, version == 1 ? 2 : 4);
    put(&blob, dictionary, length);
    put(&blob, "\n", 1);
    put(&blob, data, size);
    return blob;
}

static uint32_t crc_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffffu;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

struct zip_member {
    const char *name;
    struct blob data;
    uint32_t claims; /* more bytes than there are */
    uint32_t method;
    bool wrong_sum;
};

static void put_entry(struct blob *out, const struct zip_member *member, bool central,
                      uint32_t offset)
{
    uint32_t size = (uint32_t)member->data.size;

    put(out, central ? "PK\1\2" : "PK\3\4", 4);
    if (central)
        put_number(out, 20, 2);
    put_number(out, 20, 2);
    put_number(out, 0, 2);
    put_number(out, member->method, 2);
    put_number(out, 0x00210000, 4); /* 1980-01-01, as numpy writes */
    put_number(out, crc_of(member->data.data, size) ^ (member->wrong_sum ? 1 : 0), 4);
    put_number(out, size, 4);
    put_number(out, size + member->claims, 4);
    put_number(out, (uint32_t)strlen(member->name), 2);
    put_number(out, 0, 2);
    if (central) {
        put_number(out, 0, 2);
        put_number(out, 0, 2);
        put_number(out, 0, 2);
        put_number(out, 0, 4);
        put_number(out, offset, 4);
    }
    put(out, member->name, strlen(member->name));
}

static const char *write_archive(const char *name, const struct zip_member *members, size_t count)
{
    static struct blob zip;
    uint32_t offsets[4], begin;

    zip.size = 0;
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (uint32_t)zip.size;
        put_entry(&zip, &members[i], false, 0);
        put(&zip, members[i].data.data, members[i].data.size);
    }
    begin = (uint32_t)zip.size;
    for (size_t i = 0; i < count; i++)
        put_entry(&zip, &members[i], true, offsets[i]);
    offsets[0] = (uint32_t)zip.size - begin;
    put(&zip, "PK\5\6", 4);
    put_number(&zip, 0, 4);
    put_number(&zip, (uint32_t)count, 2);
    put_number(&zip, (uint32_t)count, 2);
    put_number(&zip, offsets[0], 4);
    put_number(&zip, begin, 4);
    put_number(&zip, 0, 2);
    return write_file(name, zip.data, zip.size);
}

/* ---- reading them ---- */

static struct port port(const char *name, int32_t type, uint32_t rank, int64_t first,
                        int64_t second)
{
    struct port made_port = {
        .name = (char *)(uintptr_t)name, .type = type, .rank = rank, .dims = { first, second }
    };

    return made_port;
}

static enum ifg_status load(const struct port *ports, size_t count, const char *path)
{
    struct port_list list = { (struct port *)(uintptr_t)ports, count };
    struct inputs_options options = { .data_path = path, .seed = 1 };

    inputs_fini(&sets);
    memset(&err, 0, sizeof err);
    return inputs_make(&list, &options, &sets, &err);
}

static enum ifg_status load_array(struct blob blob, int32_t type, uint32_t rank, int64_t first,
                                  int64_t second)
{
    struct port one = port("x", type, rank, first, second);
    enum ifg_status status;

    status = load(&one, 1, write_file("x.npy", blob.data, blob.size));
    made_count--; /* the next one overwrites it */
    if (made_count == 0 && folder[0])
        made_count = 1;
    return status;
}

static const char float_six[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
static const float six[] = { 0, 1, 2, 3, 4, 5 };

static void all_versions_are_read(void)
{
    for (unsigned version = 1; version <= 3; version++) {
        tap_note("version %u", version);
        REQUIRE_INT(
            load_array(array(version, float_six, six, sizeof six), IFG_BENCH_FLOAT, 2, -1, 3),
            IFG_OK);
        REQUIRE_UINT(sets.count, 1);
        CHECK_UINT(sets.sets[0].items[0].bytes, sizeof six);
        CHECK_BYTES(sets.sets[0].items[0].data, six, sizeof six);
        CHECK_INT(sets.sets[0].items[0].dims[0], 2);
        CHECK_STR(sets.summary, "x float32 2x3, from x.npy");
    }
    CHECK_INT(load_array(array(4, float_six, six, sizeof six), IFG_BENCH_FLOAT, 2, -1, 3),
              IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "version 4.0");
}

static void every_type_in_both_byte_orders(void)
{
    static const struct {
        const char *descr;
        int32_t type;
        const char *bytes; /* of 1, 2 in big endian */
        size_t size;
    } cases[] = {
        { "i1", IFG_BENCH_INT8, "\1\2", 1 },
        { "u1", IFG_BENCH_UINT8, "\1\2", 1 },
        { "b1", IFG_BENCH_BOOL, "\1\2", 1 },
        { "i2", IFG_BENCH_INT16, "\0\1\0\2", 2 },
        { "u2", IFG_BENCH_UINT16, "\0\1\0\2", 2 },
        { "i4", IFG_BENCH_INT32, "\0\0\0\1\0\0\0\2", 4 },
        { "u4", IFG_BENCH_UINT32, "\0\0\0\1\0\0\0\2", 4 },
        { "i8", IFG_BENCH_INT64, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 8 },
        { "u8", IFG_BENCH_UINT64, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 8 },
        { "f2", IFG_BENCH_FLOAT16, "\x3c\0\x40\0", 2 },
        { "f4", IFG_BENCH_FLOAT, "\x3f\x80\0\0\x40\0\0\0", 4 },
        { "f8", IFG_BENCH_DOUBLE, "\x3f\xf0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 8 },
        { "V2", IFG_BENCH_BFLOAT16, "\x3f\x80\x40\0", 2 },
    };

    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        size_t which = i / 2, size = cases[which].size;
        char order = size == 1 ? '|' : i % 2 ? '>' : '<';
        char dictionary[80], items[16];

        for (size_t j = 0; j < 2 * size; j++)
            items[j] = cases[which].bytes[i % 2 ? j : j / size * size + size - 1 - j % size];
        snprintf(dictionary, sizeof dictionary,
                 "{'shape': (2,), 'fortran_order': False, 'descr': '%c%s'}", order,
                 cases[which].descr);
        tap_note("%s", dictionary);
        REQUIRE_INT(load_array(array(1, dictionary, items, 2 * size), cases[which].type, 1, -1, 0),
                    IFG_OK);
        CHECK(tensor_value(&sets.sets[0].items[0], 0) == 1);
        CHECK(tensor_value(&sets.sets[0].items[0], 1) ==
              (cases[which].type == IFG_BENCH_BOOL ? 1 : 2));
    }
}

static void fortran_order_is_transposed(void)
{
    static const int16_t columns[] = { 0, 3, 1, 4, 2, 5 };
    static const uint8_t cube[] = { 0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
                                    2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23 };
    struct port three = port("x", IFG_BENCH_UINT8, 3, -1, -1);
    struct blob blob;

    REQUIRE_INT(load_array(array(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                 columns, sizeof columns),
                           IFG_BENCH_INT16, 2, -1, -1),
                IFG_OK);
    for (uint64_t i = 0; i < 6; i++)
        CHECK(tensor_value(&sets.sets[0].items[0], i) == (double)i);
    three.dims[2] = -1;
    blob = array(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", cube,
                 sizeof cube);
    REQUIRE_INT(load(&three, 1, write_file("x.npy", blob.data, blob.size)), IFG_OK);
    for (uint64_t i = 0; i < 24; i++)
        CHECK(tensor_value(&sets.sets[0].items[0], i) == (double)i);
}

static void texts_become_utf8(void)
{
    static const uint32_t letters[] = { 'a', 0x20ac, 0, 0x1f600, 0, 0, 0, 0, 0 };
    static const uint32_t surrogate[] = { 0xd800 }, gap[] = { 'a', 0, 'b' };
    static const char expected[] = "a\xe2\x82\xac\0\xf0\x9f\x98\x80\0";
    static const char bytes[] = { 'a', 'b', 'c', 0 };

    REQUIRE_INT(load_array(array(1, "{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }",
                                 letters, sizeof letters),
                           IFG_BENCH_STRING, 1, 3, 0),
                IFG_OK);
    REQUIRE_UINT(sets.sets[0].items[0].bytes, sizeof expected);
    CHECK_BYTES(sets.sets[0].items[0].data, expected, sizeof expected);
    REQUIRE_INT(load_array(array(1, "{'descr': '|S2', 'fortran_order': False, 'shape': (2,), }",
                                 bytes, sizeof bytes),
                           IFG_BENCH_STRING, 1, 2, 0),
                IFG_OK);
    CHECK_UINT(sets.sets[0].items[0].bytes, 5);
    CHECK_BYTES(sets.sets[0].items[0].data, "ab\0c", 5);
    CHECK_INT(load_array(array(1, "{'descr': '<U1', 'fortran_order': False, 'shape': (), }",
                               surrogate, sizeof surrogate),
                         IFG_BENCH_STRING, 0, 0, 0),
              IFG_CORRUPT);
    CHECK_INT(load_array(array(1, "{'descr': '<U3', 'fortran_order': False, 'shape': (), }", gap,
                               sizeof gap),
                         IFG_BENCH_STRING, 0, 0, 0),
              IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "NUL");
    CHECK_INT(load_array(array(1,
                               "{'descr': '<U0', 'fortran_order': False, 'shape': "
                               "(999999999999,), }",
                               "", 0),
                         IFG_BENCH_STRING, 1, -1, 0),
              IFG_CORRUPT);
}

static void other_types_and_shapes_are_refused(void)
{
    struct blob blob = array(1, float_six, six, sizeof six);

    CHECK_INT(load_array(blob, IFG_BENCH_INT64, 2, -1, -1), IFG_INVALID);
    CHECK_STR(err.message, "x.npy is float32; input x takes int64: save x.astype(np.int64)");
    CHECK_UINT(sets.count, 0);
    CHECK_INT(load_array(blob, IFG_BENCH_STRING, 2, -1, -1), IFG_INVALID);
    CHECK_STR(err.message, "x.npy is float32; input x takes strings: save x.astype(str)");
    CHECK_INT(load_array(blob, IFG_BENCH_BFLOAT16, 2, -1, -1), IFG_INVALID);
    CHECK_CONTAINS(err.message, "ml_dtypes.bfloat16");
    CHECK_INT(load_array(blob, IFG_BENCH_BOOL, 2, -1, -1), IFG_INVALID);
    CHECK_CONTAINS(err.message, "x.astype(np.bool_)");
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 2, -1, 4), IFG_INVALID);
    CHECK_STR(err.message, "x.npy has shape 2x3; input x takes ?x4");
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 1, -1, 0), IFG_INVALID);
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 0, 0, 0), IFG_OK); /* no shape is declared */
    CHECK_INT(
        load_array(array(1, "{'descr': '<U1', 'fortran_order': False, 'shape': (), }", "a\0\0", 4),
                   IFG_BENCH_FLOAT, 0, 0, 0),
        IFG_INVALID);
    CHECK_CONTAINS(err.message, "holds texts");
    CHECK_INT(load_array(array(1, "{'descr': '|O', 'fortran_order': False, 'shape': (), }", "x", 1),
                         IFG_BENCH_FLOAT, 0, 0, 0),
              IFG_INVALID);
    CHECK_CONTAINS(err.message, "Python objects");
    CHECK_INT(load_array(array(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
                               "x", 1),
                         IFG_BENCH_FLOAT, 0, 0, 0),
              IFG_INVALID);
    CHECK_CONTAINS(err.message, "records with fields");
    CHECK_INT(load_array(array(1, "{'descr': '<c8', 'fortran_order': False, 'shape': (), }",
                               "12345678", 8),
                         IFG_BENCH_FLOAT, 0, 0, 0),
              IFG_INVALID);
    CHECK_CONTAINS(err.message, "is complex64");
}

static void damaged_headers_are_refused(void)
{
    static const char *const bad[] = {
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 99999999999999999999), }",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<q4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4\\'', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 16), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387906,), }",
    };
    struct blob blob = array(1, float_six, six, sizeof six);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tap_note("%s", bad[i]);
        CHECK_INT(load_array(array(1, bad[i], six, sizeof six), IFG_BENCH_FLOAT, 2, -1, -1),
                  IFG_CORRUPT);
        CHECK_CONTAINS(err.message, "x.npy");
    }
    CHECK_INT(load_array(array(1,
                               "{'descr': '<f4', 'fortran_order': False, 'shape': "
                               "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,6)}",
                               six, sizeof six),
                         IFG_BENCH_FLOAT, 2, -1, -1),
              IFG_INVALID);
    CHECK_CONTAINS(err.message, "more than 16 dimensions");
    for (size_t size = 0; size < array(1, float_six, six, sizeof six).size; size++) {
        blob.size = size; /* cut anywhere */
        CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 2, -1, -1), IFG_CORRUPT);
    }
    blob = array(1, float_six, six, sizeof six);
    put(&blob, "more", 4);
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 2, -1, -1), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "24 bytes, but 28 are there");
    blob.data[0] = 'X';
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 2, -1, -1), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "not an array of numpy");
    blob = array(2, float_six, six, sizeof six);
    blob.data[11] = 0x7f; /* a header of 2 GB */
    CHECK_INT(load_array(blob, IFG_BENCH_FLOAT, 2, -1, -1), IFG_CORRUPT);
}

/* ---- archives ---- */

static struct zip_member member(const char *name, struct blob data)
{
    struct zip_member made_member = { .name = name, .data = data };

    return made_member;
}

static void archives_are_read_by_name(void)
{
    static const int64_t rate = 16000;
    struct blob x = array(1, float_six, six, sizeof six);
    struct blob sr = array(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", &rate, 8);
    const struct zip_member members[] = { member("sr.npy", sr), member("label.npy", sr),
                                          member("x.npy", x), member("readme.txt", sr) };
    const struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3),
                                  port("sr", IFG_BENCH_INT64, 0, 0, 0) };

    REQUIRE_INT(load(ports, 2, write_archive("data.npz", members, 4)), IFG_OK);
    REQUIRE_UINT(sets.count, 1);
    REQUIRE_UINT(sets.sets[0].count, 2);
    CHECK_STR(sets.sets[0].items[0].name, "x");
    CHECK_BYTES(sets.sets[0].items[0].data, six, sizeof six);
    CHECK(tensor_value(&sets.sets[0].items[1], 0) == 16000);
    CHECK_STR(sets.summary, "x float32 2x3, sr int64 scalar, from data.npz; not used: label");
}

static void archives_that_do_not_fit_say_both_sides(void)
{
    struct blob x = array(1, float_six, six, sizeof six);
    const struct zip_member members[] = { member("arr_0.npy", x), member("arr_1.npy", x) };
    const struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3),
                                  port("y", IFG_BENCH_FLOAT, 2, -1, 3) };
    char expected[512];
    const char *path = write_archive("data.npz", members, 2);

    CHECK_INT(load(ports, 2, path), IFG_INVALID);
    snprintf(expected, sizeof expected,
             "%s does not fit the model: it has: arr_0, arr_1; the model takes: x, y; x is missing",
             path);
    CHECK_STR(err.message, expected);
    CHECK_UINT(sets.count, 0);
}

static void values_stand_in_for_what_is_missing(void)
{
    struct blob x = array(1, float_six, six, sizeof six);
    const struct zip_member members[] = { member("x.npy", x) };
    struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3),
                            port("sr", IFG_BENCH_INT64, 0, 0, 0) };
    struct port_list list = { ports, 2 };
    struct inputs_value value = { "sr", 8000 };
    struct inputs_options options = { .values = &value, .value_count = 1 };

    options.data_path = write_archive("data.npz", members, 1);
    REQUIRE_INT(inputs_make(&list, &options, &sets, &err), IFG_OK);
    CHECK(tensor_value(&sets.sets[0].items[1], 0) == 8000);
    inputs_fini(&sets);
    options.data_path = write_file("a.npy", x.data, x.size); /* the only one without a value */
    REQUIRE_INT(inputs_make(&list, &options, &sets, &err), IFG_OK);
    CHECK_BYTES(sets.sets[0].items[0].data, six, sizeof six);
    inputs_fini(&sets);
    value.input = "x";
    options.data_path = made[0];
    CHECK_INT(inputs_make(&list, &options, &sets, &err), IFG_INVALID); /* sr is missing */
    list.count = 1;
    CHECK_INT(inputs_make(&list, &options, &sets, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "comes from --value and from data.npz: x.npy");
}

static void damaged_archives_are_refused(void)
{
    struct blob x = array(1, float_six, six, sizeof six);
    struct zip_member members[] = { member("x.npy", x), member("x.npy", x) };
    const struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3) };

    CHECK_INT(load(ports, 1, write_archive("twice.npz", members, 2)), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "two members");
    CHECK_INT(load(ports, 1, write_archive("empty.npz", members, 0)), IFG_INVALID);
    CHECK_CONTAINS(err.message, "it has: nothing");
    members[0].wrong_sum = true;
    CHECK_INT(load(ports, 1, write_archive("sum.npz", members, 1)), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "CRC");
    members[0] = member("x.npy", x);
    members[0].claims = 1000;
    CHECK_INT(load(ports, 1, write_archive("claims.npz", members, 1)), IFG_CORRUPT);
    members[0].method = 8; /* a bomb: 1 GB from a hundred bytes */
    members[0].claims = 1u << 30;
    CHECK_INT(load(ports, 1, write_archive("bomb.npz", members, 1)), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "which cannot be");
    members[0].claims = 0;
    members[0].method = 12;
    CHECK_INT(load(ports, 1, write_archive("bzip2.npz", members, 1)), IFG_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "method 12");
    CHECK_INT(load(ports, 1, write_file("cut.npz", "PK\3\4", 4)), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "cut.npz cannot be read as .npz");
    CHECK_INT(load(ports, 1, write_file("text.npz", "hello", 5)), IFG_CORRUPT);
}

/* ---- directories ---- */

static void a_directory_of_archives_gives_a_set_each(void)
{
    static const char order[] = "gcahfbed"; /* whatever order the directory has, it is not sorted */
    const struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3) };
    char summary[128];

    for (size_t i = 0; order[i]; i++) {
        float data[6] = { (float)(order[i] - 'a') };
        struct zip_member one = member("x.npy", array(1, float_six, data, sizeof data));
        char name[] = "?.npz";

        name[0] = order[i];
        write_archive(name, &one, 1);
    }
    write_file("ignored.npy", "", 0);
    REQUIRE_INT(load(ports, 1, folder), IFG_OK);
    REQUIRE_UINT(sets.count, 8);
    for (size_t i = 0; i < 8; i++)
        CHECK(tensor_value(&sets.sets[i].items[0], 0) == (double)i);
    snprintf(summary, sizeof summary, "x float32 2x3, 8 sets from %s", strrchr(folder, '/') + 1);
    CHECK_STR(sets.summary, summary);
    write_file("c.npz", "PK", 2);
    CHECK_INT(load(ports, 1, folder), IFG_CORRUPT);
    CHECK_UINT(sets.count, 0);
}

static void a_directory_of_arrays_is_one_set(void)
{
    struct blob x = array(1, float_six, six, sizeof six);
    struct port ports[] = { port("input:0", IFG_BENCH_FLOAT, 2, -1, 3),
                            port("y", IFG_BENCH_FLOAT, 2, 2, 3) };

    write_file("input_0.npy", x.data, x.size);
    CHECK_INT(load(ports, 2, folder), IFG_INVALID);
    CHECK_CONTAINS(err.message, "it has: input_0.npy; the model takes: input:0, y; y is missing");
    write_file("y.npy", x.data, x.size);
    REQUIRE_INT(load(ports, 2, folder), IFG_OK);
    CHECK_UINT(sets.count, 1);
    CHECK_UINT(sets.sets[0].count, 2);
    ports[0].name = (char *)(uintptr_t) "z"; /* one input, no file of its name: a set of each */
    REQUIRE_INT(load(ports, 1, folder), IFG_OK);
    CHECK_UINT(sets.count, 2);
}

static void what_is_not_there_is_said(void)
{
    struct blob x = array(1, float_six, six, sizeof six);
    const struct port ports[] = { port("x", IFG_BENCH_FLOAT, 2, -1, 3),
                                  port("y", IFG_BENCH_FLOAT, 2, -1, 3) };
    const char *path = write_file("x.npy", x.data, x.size);
    char other[160];

    CHECK_INT(load(ports, 2, path), IFG_INVALID);
    CHECK_CONTAINS(err.message, "is one array, but the model takes 2 inputs: x, y; give an .npz");
    unlink(path);
    CHECK_INT(load(ports, 1, path), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, path);
    CHECK_INT(load(ports, 1, folder), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "has no .npz and no .npy files");
    REQUIRE_INT(mkfifo(path, 0600), 0);
    CHECK_INT(load(ports, 1, path), IFG_INVALID);
    CHECK_CONTAINS(err.message, "neither a file nor a directory");
    snprintf(other, sizeof other, "%s/x.npy/y", folder);
    CHECK_INT(load(ports, 1, other), IFG_NOT_FOUND);
}

static void every_failing_allocation_is_said(void)
{
    struct zip_member members[] = { member("x.npy", array(1, float_six, six, sizeof six)) };
    struct port one = port("x", IFG_BENCH_FLOAT, 2, -1, 3);
    struct port_list list = { &one, 1 };
    struct inputs_options options = { .seed = 1 };

    write_archive("a.npz", members, 1);
    options.data_path = folder;
    for (long i = 0; i < 40; i++) {
        enum ifg_status status;

        ifg_alloc_fail_after(i);
        status = inputs_make(&list, &options, &sets, &err);
        ifg_alloc_fail_after(-1);
        if (status == IFG_OK) {
            CHECK(i > 8);
            return;
        }
        CHECK_INT(status, IFG_NO_MEMORY);
        CHECK_UINT(sets.count, 0);
    }
    CHECK(false);
}

TAP_MAIN(TAP_CASE(all_versions_are_read), TAP_CASE(every_type_in_both_byte_orders),
         TAP_CASE(fortran_order_is_transposed), TAP_CASE(texts_become_utf8),
         TAP_CASE(other_types_and_shapes_are_refused), TAP_CASE(damaged_headers_are_refused),
         TAP_CASE(archives_are_read_by_name), TAP_CASE(archives_that_do_not_fit_say_both_sides),
         TAP_CASE(values_stand_in_for_what_is_missing), TAP_CASE(damaged_archives_are_refused),
         TAP_CASE(a_directory_of_archives_gives_a_set_each),
         TAP_CASE(a_directory_of_arrays_is_one_set), TAP_CASE(what_is_not_there_is_said),
         TAP_CASE(every_failing_allocation_is_said))
