// SPDX-License-Identifier: Apache-2.0
/* Where a control group is. What its files say is tested where it is shown: collect/proc, bench. */
#include "system/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/tap.h"

static struct cgroup group;

static bool find(const char *text)
{
    char copy[1024];

    snprintf(copy, sizeof copy, "%s", text);
    return cgroup_parse(copy, "/s", &group);
}

static void groups_are_found(void)
{
    CHECK(find("0::/a/b\n"));
    CHECK(group.unified);
    CHECK_STR(group.folder, "/s/fs/cgroup/a/b");
    CHECK_STR(group.memory_folder, "/s/fs/cgroup/a/b");
    CHECK(find("0::/\n"));
    CHECK_STR(group.folder, "/s/fs/cgroup");
    CHECK(find("4:cpu,cpuacct:/box\n3:memory:/box\n0::/unified\n"));
    CHECK(!group.unified);
    CHECK_STR(group.folder, "/s/fs/cgroup/cpu,cpuacct/box");
    CHECK_STR(group.memory_folder, "/s/fs/cgroup/memory/box");
}

static void what_cannot_be_seen_is_none(void)
{
    char text[600];

    CHECK(!find(""));
    CHECK(!find("0::relative\n"));
    CHECK(!find("0::/../other\n"));
    CHECK(!find("4:cpuset:/x\n"));
    snprintf(text, sizeof text, "0::/%0500d\n", 0);
    CHECK(!find(text)); /* a part of the name would be another group */
}

TAP_MAIN(TAP_CASE(groups_are_found), TAP_CASE(what_cannot_be_seen_is_none))
