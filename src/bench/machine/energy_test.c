// SPDX-License-Identifier: Apache-2.0
/* Energy of processors from a tree of files; tests/e2e/energy.sh has the devices. */
#include "bench/machine/trust.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

static char root[64];
static struct trust_roots roots = { root, root };
static const char *reason;

static void clean_up(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        tap_diag("could not remove %s", root);
}

static void put(const char *name, const char *text)
{
    char path[256];
    int fd;

    snprintf(path, sizeof path, "%s/class/powercap/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_INT(write(fd, text, strlen(text)), (int64_t)strlen(text));
    close(fd);
}

static void plant(void)
{
    snprintf(root, sizeof root, "/tmp/inferogram-energy-XXXXXX");
    REQUIRE(mkdtemp(root) != NULL);
    atexit(clean_up);
}

static void plant_packages(void)
{
    plant();
    put("intel-rapl:0/name", "package-0\n");
    put("intel-rapl:0/energy_uj", "1000000\n");
    put("intel-rapl:0/max_energy_range_uj", "262143328850\n");
    put("intel-rapl:1/name", "psys\n");
    put("intel-rapl:1/energy_uj", "77\n");
    put("intel-rapl:2/name", "package-1\n");
    put("intel-rapl:2/energy_uj", "5000000\n");
    put("intel-rapl:2/max_energy_range_uj", "6000000\n");
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
    double cpu, gpu;

    plant_packages();
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    put("intel-rapl:0/energy_uj", "2000000\n"); /* before the first look: not of this measurement */
    energy_read(energy, &cpu, &gpu);
    CHECK(cpu == 0);
    put("intel-rapl:0/energy_uj", "3500000\n");
    put("intel-rapl:1/energy_uj", "99999999\n"); /* contains the packages */
    energy_read(energy, &cpu, &gpu);
    CHECK(is_near(cpu, 1.5));
    put("intel-rapl:2/energy_uj", "250000\n"); /* from 5 J over 6 J to 0.25 J */
    energy_read(energy, &cpu, &gpu);
    CHECK(is_near(cpu, 1.25));
    energy_read(energy, &cpu, &gpu);
    CHECK(cpu == 0);
    energy_close(energy);
}

static void a_counter_that_goes_away_is_not_zero(void)
{
    struct energy *energy;
    double cpu, gpu;

    plant_packages();
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    energy_read(energy, &cpu, &gpu);
    put("intel-rapl:0/energy_uj", "garbage\n");
    energy_read(energy, &cpu, &gpu);
    CHECK(isnan(cpu));
    energy_close(energy);
}

static void a_counter_that_goes_back_untold_is_not_known(void)
{
    struct energy *energy;
    double cpu, gpu;

    plant();
    put("intel-rapl:0/name", "package-0\n");
    put("intel-rapl:0/energy_uj", "1000000\n");
    energy = energy_open(&roots, &reason);
    REQUIRE(energy != NULL);
    energy_read(energy, &cpu, &gpu);
    put("intel-rapl:0/energy_uj", "500000\n");
    energy_read(energy, &cpu, &gpu);
    CHECK(isnan(cpu));
    put("intel-rapl:0/energy_uj", "700000\n");
    energy_read(energy, &cpu, &gpu);
    CHECK(is_near(cpu, 0.2));
    energy_close(energy);
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

    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:0/energy_uj", root);
    REQUIRE_INT(chmod(path, 0), 0);
    snprintf(path, sizeof path, "%s/class/powercap/intel-rapl:2/energy_uj", root);
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
        SKIP("only root can be root");
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
    double cpu, gpu;

    energy_read(NULL, &cpu, &gpu);
    CHECK(isnan(cpu) && isnan(gpu));
    energy_close(NULL);
}

TAP_MAIN(TAP_CASE(packages_are_summed_and_wrap_around),
         TAP_CASE(a_counter_that_goes_away_is_not_zero),
         TAP_CASE(a_counter_that_goes_back_untold_is_not_known),
         TAP_CASE(what_is_missing_has_a_reason), TAP_CASE(denied_counters_say_what_to_do),
         TAP_CASE(root_is_not_told_to_use_sudo), TAP_CASE(nothing_to_read_is_fine))
