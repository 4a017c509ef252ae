// SPDX-License-Identifier: Apache-2.0
/* Zeros where a page of a region cannot be had: see fault.h. */
#include "record/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fault_guard *guards;
static uintptr_t page_bytes;

/* The signal comes from our own access, so nothing here is in the middle of a change. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    char *address = info->si_addr;
    int saved_errno = errno;

    (void)context;
    for (struct fault_guard *guard = guards; guard; guard = guard->next) {
        char *page = address - (uintptr_t)address % page_bytes;

        if (address < guard->start || address >= guard->start + guard->bytes)
            continue;
        if (mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) == MAP_FAILED)
            break;
        guard->patched = true;
        errno = saved_errno;
        return;
    }
    signal(number, SIG_DFL); /* not ours to explain: happens again, and ends us */
}

void fault_begin(void)
{
    struct sigaction action;

    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void fault_guard_add(struct fault_guard *guard, void *start, size_t bytes, int fd)
{
    guard->start = start;
    guard->bytes = bytes;
    guard->fd = fd;
    guard->patched = false;
    guard->next = guards;
    guards = guard;
}

void fault_guard_remove(struct fault_guard *guard)
{
    struct fault_guard **at = &guards;

    while (*at && *at != guard)
        at = &(*at)->next;
    if (*at)
        *at = guard->next;
}

bool fault_guard_mend(struct fault_guard *guard)
{
    if (!guard->patched)
        return false;
    guard->patched = false;
    /* If this fails, the zeros stay: that is no worse. */
    if (mmap(guard->start, guard->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, guard->fd,
             0) == MAP_FAILED)
        return true;
    return true;
}
