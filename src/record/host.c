// SPDX-License-Identifier: Apache-2.0
/* What machine a recording was made on: see host.h. */
#include "record/host.h"
#include "trace/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value behind `key` in a "key : value" file such as /proc/cpuinfo. */
static bool find_value(const char *path, const char *key, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[8192]; /* the flags of a CPU take thousands of bytes */
    bool found = false;

    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');

        if (strncmp(line, key, strlen(key)) != 0 || !value)
            continue;
        value++;
        value += strspn(value, " \t");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value);
        found = true;
    }
    fclose(file);
    return found;
}

static bool read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    bool found = false;

    if (!file)
        return false;
    if (fgets(out, (int)size, file)) {
        out[strcspn(out, "\n")] = '\0';
        found = true;
    }
    fclose(file);
    return found;
}

void host_write_facts(struct trace_writer *writer)
{
    struct utsname name;
    struct sysinfo memory;
    char text[8192];

    if (uname(&name) == 0) {
        trace_writer_fact(writer, TRACE_FACT_HOST_NAME, name.nodename);
        trace_writer_fact(writer, TRACE_FACT_HOST_MACHINE, name.machine);
        snprintf(text, sizeof text, "%s %s", name.sysname, name.release);
        trace_writer_fact(writer, TRACE_FACT_HOST_KERNEL, text);
    }
    if (find_value("/proc/cpuinfo", "model name", text, sizeof text))
        trace_writer_fact(writer, TRACE_FACT_HOST_CPU, text);
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    trace_writer_fact(writer, TRACE_FACT_HOST_CPUS, text);
    if (sysinfo(&memory) == 0) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)memory.totalram * memory.mem_unit);
        trace_writer_fact(writer, TRACE_FACT_HOST_MEMORY_BYTES, text);
    }
    if (read_line("/proc/loadavg", text, sizeof text))
        trace_writer_fact(writer, TRACE_FACT_HOST_LOAD, text);
    if (read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
                  sizeof text))
        trace_writer_fact(writer, TRACE_FACT_HOST_CLOCKSOURCE, text);
    if (find_value("/proc/cpuinfo", "flags", text, sizeof text))
        trace_writer_fact(writer, TRACE_FACT_HOST_VIRTUAL,
                          strstr(text, " hypervisor") ? "yes" : "no");
}
