// SPDX-License-Identifier: Apache-2.0
/*
 * Energy of processors (RAPL), and the sensors of hwmon: how warm the processors are, and what
 * power meters of the board tell. GPUs have sensors of their own (gpu_drm.c): theirs are left out.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collect/proc/proc_internal.h"

#define SENSORS_NS  SECOND_NS /* some of them wait for a slow bus */
#define METERS_LOOK 8u        /* numbers that a driver's meters may have */
#define WORD        24u

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

static struct proc_sensor *take_sensor(struct proc_power *power, const char *path, double scale)
{
    struct proc_sensor *sensor = &power->sensors[power->sensor_count];

    if (power->sensor_count == PROC_SENSORS_MAX || strlen(path) >= sizeof sensor->path ||
        ifg_read_number(path) == MISSING)
        return NULL;
    memcpy(sensor->path, path, strlen(path) + 1);
    sensor->scale = scale;
    power->sensor_count++;
    return sensor;
}

/* "power_meter power W", or by the label of the rail: "VDD_CPU power W". */
static void find_meters(struct proc_power *power, const char *folder, const char *driver)
{
    static const char *const kinds[] = { "average", "input" };

    for (unsigned i = 1; i <= METERS_LOOK; i++) {
        struct proc_sensor *sensor = NULL;
        char path[200], label[64], word[WORD];

        for (size_t k = 0; k < 2 && !sensor; k++) {
            snprintf(path, sizeof path, "%s/power%u_%s", folder, i, kinds[k]);
            sensor = take_sensor(power, path, 1e-6);
        }
        if (!sensor)
            continue;
        snprintf(path, sizeof path, "%s/power%u_label", folder, i);
        if (ifg_read_small(path, label, sizeof label) && label[strcspn(label, "\n")] == '\n')
            proc_copy_word(word, sizeof word, label, strcspn(label, "\n"));
        else
            proc_copy_word(word, sizeof word, driver, strlen(driver));
        snprintf(sensor->name, sizeof sensor->name, "%s power W", word);
    }
}

static void find_sensors(struct proc_power *power, const struct host_roots *roots)
{
    static const char *const gpus[] = { "amdgpu", "radeon", "i915", "xe", "nouveau", NULL };
    static const char *const cpus[] = { "coretemp",    "k10temp",     "k8temp", "zenpower",
                                        "cpu_thermal", "soc_thermal", NULL };
    char folder[128], path[180], name[WORD];
    struct dirent *entry;
    DIR *entries;

    snprintf(folder, sizeof folder, "%.100s/class/hwmon", roots->sys);
    entries = opendir(folder);
    while (entries && (entry = readdir(entries)) != NULL) {
        struct proc_sensor *sensor;

        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%.20s/name", folder, entry->d_name);
        if (!ifg_read_small(path, name, sizeof name))
            continue;
        name[strcspn(name, "\n")] = '\0';
        if (is_one_of(name, gpus))
            continue;
        snprintf(path, sizeof path, "%s/%.20s/temp1_input", folder, entry->d_name);
        if (is_one_of(name, cpus) && (sensor = take_sensor(power, path, 1e-3)) != NULL)
            snprintf(sensor->name, sizeof sensor->name, "cpu temperature C");
        snprintf(path, sizeof path, "%s/%.20s", folder, entry->d_name);
        find_meters(power, path, name);
    }
    if (entries)
        closedir(entries);
}

void proc_power_open(struct proc_power *power, const struct host_roots *roots)
{
    const char *reason = rapl_open(roots, &power->rapl);

    if (reason)
        snprintf(power->words, sizeof power->words, "%s", reason);
    find_sensors(power, roots);
}

/* Several sensors of one name are one value: the highest. */
static void look_at_sensors(const struct proc_power *power, const struct proc_sink *sink)
{
    for (size_t i = 0; i < power->sensor_count; i++) {
        const char *name = power->sensors[i].name;
        double most = (double)NAN;
        bool told = false;

        for (size_t j = 0; j < i; j++)
            told |= strcmp(power->sensors[j].name, name) == 0;
        for (size_t j = i; !told && j < power->sensor_count; j++) {
            uint64_t number;

            if (strcmp(power->sensors[j].name, name) != 0)
                continue;
            number = ifg_read_number(power->sensors[j].path);
            if (number != MISSING && !(most >= (double)number * power->sensors[j].scale))
                most = (double)number * power->sensors[j].scale;
        }
        if (!isnan(most))
            proc_put(sink, 0, name, most);
    }
}

void proc_power_look(struct proc_power *power, uint64_t now_ns, bool last,
                     const struct proc_sink *sink)
{
    proc_begin(sink);
    if (power->rapl.count) {
        power->joules += rapl_read(&power->rapl);
        if (!isnan(power->joules))
            proc_put(sink, 0, "cpu energy J", power->joules);
    }
    if (power->sensor_count && proc_is_due(&power->next_sensors_ns, now_ns, SENSORS_NS, last))
        look_at_sensors(power, sink);
}
