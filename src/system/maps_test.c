// SPDX-License-Identifier: Apache-2.0
/* Lines of /proc/PID/maps: ordinary ones, and such as no kernel writes. */
#include "system/maps.h"

#include <string.h>
#include <unistd.h>

#include "tap.h"

static void lines_are_read(void)
{
    struct map_line map;

    REQUIRE(map_parse("7f00-7f80 r-xp 00001000 fd:02 12345    /lib/libonnxruntime.so.1\n", &map));
    CHECK_UINT(map.start, 0x7f00);
    CHECK_UINT(map.end, 0x7f80);
    CHECK_UINT(map.offset, 0x1000);
    CHECK_UINT(map.device, (uint64_t)0xfd << 32 | 2);
    CHECK_UINT(map.inode, 12345);
    CHECK(map.executable && !map.deleted);
    CHECK_STR(map.path, "/lib/libonnxruntime.so.1");
    REQUIRE(map_parse("7f00-7f80 rw-p 0 0:1 9 /a name (deleted) (deleted)\n", &map));
    CHECK(map.deleted && !map.executable);
    CHECK_STR(map.path, "/a name (deleted)");
    REQUIRE(map_parse("7f00-7f80 rw-p 00000000 00:00 0 \n", &map));
    CHECK_UINT(map.inode, 0);
    CHECK_STR(map.path, "");
    REQUIRE(map_parse("7f00-7f80 rw-p 00000000 00:00 0 [heap]", &map));
    CHECK_STR(map.path, "[heap]");
}

static void nonsense_is_refused(void)
{
    static const char *const lines[] = {
        "",
        "\n",
        "7f00",
        "7f00-",
        "7f00-7e00 r-xp 0 0:0 1 /x",
        "7f00-7f00 r-xp 0 0:0 1 /x",
        "-7f00-7f80 r-xp 0 0:0 1 /x",
        "7f00- 7f80 r-xp 0 0:0 1 /x",
        "7f00-7f80 r",
        "7f00-7f80 r-xp",
        "7f00-7f80 r-xp ",
        "7f00-7f80 r-xp 0",
        "7f00-7f80 r-xp 0 0",
        "7f00-7f80 r-xp 0 0:",
        "7f00-7f80 r-xp 0 0:0",
        "7f00-7f80 r-xp 0 0:0 x",
        "7f00-7f80 r-xp 0 123456789012:0 1 /x",
        "ffffffffffffffffff-7f80 r-xp 0 0:0 1 /x",
    };
    static char longest[PATH_MAX + 64];
    struct map_line map;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        CHECK(!map_parse(lines[i], &map));
    snprintf(longest, sizeof longest, "7f00-7f80 r-xp 0 0:0 1 /");
    memset(longest + strlen(longest), 'x', PATH_MAX);
    CHECK(!map_parse(longest, &map));
}

static void our_own_are_read(void)
{
    struct map_line map, first = { 0 };
    struct maps maps;
    uint64_t inode;
    uid_t owner;
    bool code = false;

    REQUIRE(maps_open(getpid(), &maps));
    while (maps_next_file(&maps, &map))
        if (!code && map.executable && map.path[0] == '/' && map.inode) {
            code = true;
            first = map;
        }
    maps_close(&maps);
    CHECK(code);
    CHECK(!maps_open(0x3fffffff, &maps));
    CHECK(maps_file_at(getpid(), first.start, &inode) && inode == first.inode);
    CHECK(!maps_file_at(getpid(), first.start + 1, &inode) && inode == 0);
    CHECK(!maps_file_at(getpid(), 16, &inode));
    CHECK(!maps_file_at(0x3fffffff, first.start, &inode));
    REQUIRE(maps_owner(getpid(), &owner));
    CHECK_UINT(owner, getuid());
    CHECK(!maps_owner(0x3fffffff, &owner));
}

TAP_MAIN(TAP_CASE(lines_are_read), TAP_CASE(nonsense_is_refused), TAP_CASE(our_own_are_read))
