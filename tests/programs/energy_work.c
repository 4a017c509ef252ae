// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a model that uses a known amount of energy, as fake_nvml.c in its mode "meter" counts it: so
 * many joules for each inference, whatever the time it takes. A child process runs a model at the
 * same time that has nothing to do with the device.
 *
 * usage: energy_work FILE BEFORE_MS INFERENCES JOULES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

static void infer(const char *name, unsigned long count, volatile double *work, double joules)
{
    ifg_model *model = ifg_model_create(
        &(ifg_model_options){ .struct_size = sizeof(ifg_model_options), .name = name });

    for (unsigned long i = 0; i < count; i++) {
        IFG_EVENT_BEGIN(run, model, "main", IFG_INFERENCE);
        if (work)
            work[0] += joules;
        usleep(5000);
        IFG_EVENT_END(run);
    }
    ifg_model_destroy(model);
}

int main(int argc, char **argv)
{
    unsigned long before_ms, count;
    double *work;
    pid_t child;
    int fd;

    if (argc != 5)
        return 2;
    before_ms = strtoul(argv[2], NULL, 10);
    count = strtoul(argv[3], NULL, 10);
    fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, 2 * sizeof *work) != 0)
        return 1;
    work = mmap(NULL, 2 * sizeof *work, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (work == MAP_FAILED)
        return 1;
    usleep((useconds_t)before_ms * 1000);
    child = fork();
    if (child == 0) {
        infer("elsewhere", count, NULL, 0);
        _exit(0);
    }
    work[1] = getpid();
    infer("on_gpu", count, work, strtod(argv[4], NULL));
    printf("%.3f\n", work[0]);
    return child < 0 || waitpid(child, NULL, 0) != child;
}
