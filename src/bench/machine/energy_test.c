// SPDX-License-Identifier: Apache-2.0
/* Energy of processors from a tree of files; tests/e2e/energy.sh has the devices. */
#include "bench/machine/trust.h"

#include <linux/capability.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_tree.h"
#include "tap.h"

static const char *reason;

static void plant_packages(void)
{
    plant();
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
    put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    put("sys/class/powercap/intel-rapl:1/name", "psys\n");
    put("sys/class/powercap/intel-rapl:1/energy_uj", "77\n");
    put("sys/class/powercap/intel-rapl:2/name", "package-1\n");
    put("sys/class/powercap/intel-rapl:2/energy_uj", "5000000\n");
    put("sys/class/powercap/intel-rapl:2/max_energy_range_uj", "6000000\n");
}

static bool is_near(double got, double expected)
{
    if (fabs(got - expected) <= 1e-9)
        return true;
    tap_diag("got %.17g, expected %.17g", got, expected);
    return false;
}

static void packages_are_summed_and_wrap_around(void)
{
    struct energy *energy;
    struct energy_use use;

    plant_packages();
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    /* Before the first look: not of this measurement. */
    put("sys/class/powercap/intel-rapl:0/energy_uj", "2000000\n");
    energy_read(energy, &use);
    CHECK(use.cpu_j == 0);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "3500000\n");
    put("sys/class/powercap/intel-rapl:1/energy_uj", "99999999\n"); /* contains the packages */
    energy_read(energy, &use);
    CHECK(is_near(use.cpu_j, 1.5));
    put("sys/class/powercap/intel-rapl:2/energy_uj", "250000\n"); /* from 5 J over 6 J to 0.25 J */
    energy_read(energy, &use);
    CHECK(is_near(use.cpu_j, 1.25));
    energy_read(energy, &use);
    CHECK(use.cpu_j == 0);
    energy_close(energy);
}

static void a_counter_that_goes_away_is_not_zero(void)
{
    struct energy *energy;
    struct energy_use use;

    plant_packages();
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    energy_read(energy, &use);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "garbage\n");
    energy_read(energy, &use);
    CHECK(isnan(use.cpu_j));
    energy_close(energy);
}

static void a_counter_that_goes_back_untold_is_not_known(void)
{
    struct energy *energy;
    struct energy_use use;

    plant();
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    energy_read(energy, &use);
    put("sys/class/powercap/intel-rapl:0/energy_uj", "500000\n");
    energy_read(energy, &use);
    CHECK(isnan(use.cpu_j));
    put("sys/class/powercap/intel-rapl:0/energy_uj", "700000\n");
    energy_read(energy, &use);
    CHECK(is_near(use.cpu_j, 0.2));
    energy_close(energy);
}

/* What the idle machine takes is nobody's; what is not above it is not known. */
static void idle_power_is_left_out(void)
{
    CHECK(is_near(energy_above_idle(100, 2, 30), 40));
    CHECK(isnan(energy_above_idle(60, 2, 30)));
    CHECK(isnan(energy_above_idle(50, 2, 30)));
    CHECK(isnan(energy_above_idle((double)NAN, 2, 30)));
    CHECK(isnan(energy_above_idle(100, 2, (double)NAN)));
}

static void what_is_missing_has_a_reason(void)
{
    struct energy *energy;

    plant();
    energy = energy_open(&roots, &reason);
    if (energy) {
        energy_close(energy);
        SKIP("this machine has an NVIDIA device");
    }
    CHECK_CONTAINS(reason, "no RAPL energy counters on this machine; ");
    CHECK_CONTAINS(reason, "NV");
}

static void deny_packages(void)
{
    char path[256];

    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:0/energy_uj", tree_sys);
    REQUIRE_INT(chmod(path, 0), 0);
    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:2/energy_uj", tree_sys);
    REQUIRE_INT(chmod(path, 0), 0);
}

static void denied_counters_say_what_to_do(void)
{
    struct energy *energy;

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        SKIP("root may read everything, and we cannot become somebody else");
    plant_packages();
    deny_packages();
    energy = energy_open(&roots, &reason);
    if (energy) {
        energy_close(energy);
        SKIP("this machine has an NVIDIA device");
    }
    CHECK_CONTAINS(reason, "readable by root only (CVE-2020-8694): sudo chmod a+r "
                           "/sys/class/powercap/*/energy_uj");
}

/* As in a container: root that may not read everything has no use for sudo. */
static void root_is_not_told_to_use_sudo(void)
{
    struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[2] = { 0 };
    struct energy *energy;

    if (geteuid() != 0)
        SKIP("root: only root can be root");
    plant_packages();
    deny_packages();
    REQUIRE_INT(syscall(SYS_capset, &header, none), 0);
    energy = energy_open(&roots, &reason);
    if (energy) {
        energy_close(energy);
        SKIP("this machine has an NVIDIA device");
    }
    CHECK_CONTAINS(reason, "(CVE-2020-8694): chmod a+r /sys/class/powercap/*/energy_uj");
}

static void nothing_to_read_is_fine(void)
{
    struct energy_use use;

    energy_read(NULL, &use);
    CHECK(isnan(use.cpu_j) && isnan(use.gpu_j));
    energy_close(NULL);
}

TAP_MAIN(TAP_CASE(packages_are_summed_and_wrap_around),
         TAP_CASE(a_counter_that_goes_away_is_not_zero),
         TAP_CASE(a_counter_that_goes_back_untold_is_not_known), TAP_CASE(idle_power_is_left_out),
         TAP_CASE(what_is_missing_has_a_reason), TAP_CASE(denied_counters_say_what_to_do),
         TAP_CASE(root_is_not_told_to_use_sudo), TAP_CASE(nothing_to_read_is_fine))
