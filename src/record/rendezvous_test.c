// SPDX-License-Identifier: Apache-2.0
/* Directories of recorders: those of the dead go, those of the living stay, also beside one
 * that begins at the same moment. */
#include "record/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "wire/wire.h"

#define TIMES 300

static bool is_there(const char *directory)
{
    struct stat info;

    return stat(directory, &info) == 0;
}

static void a_directory_is_locked_and_goes(void)
{
    struct rendezvous rendezvous;
    struct ifg_error err;
    char directory[sizeof rendezvous.directory];
    int again;

    REQUIRE_INT(rendezvous_create(&rendezvous, &err), IFG_OK);
    snprintf(directory, sizeof directory, "%s", rendezvous.directory);
    CHECK(is_there(directory));
    again = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(flock(again, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
    close(again);
    rendezvous_destroy(&rendezvous);
    CHECK(!is_there(directory));
    rendezvous_destroy(&rendezvous); /* what is gone may be asked to go */
}

static void that_of_a_dead_recorder_goes(void)
{
    struct rendezvous rendezvous;
    struct ifg_error err;
    char left[160];
    char file[200];
    pid_t dead = fork();
    FILE *made;

    if (dead == 0)
        _exit(0);
    waitpid(dead, NULL, 0);
    snprintf(left, sizeof left, "%s/" IFG_WIRE_NAME "-%u-%d-left00", rendezvous_folder(0),
             (unsigned)getuid(), (int)dead);
    if (mkdir(left, 0700) < 0)
        SKIP("shm: no %s on this machine", rendezvous_folder(0));
    snprintf(file, sizeof file, "%s/1-1", left);
    made = fopen(file, "w");
    REQUIRE(made != NULL);
    fclose(made);
    REQUIRE_INT(rendezvous_create(&rendezvous, &err), IFG_OK);
    CHECK(!is_there(left));
    rendezvous_destroy(&rendezvous);
}

/* Never returns. */
static void be_another_recorder(void)
{
    struct rendezvous rendezvous;
    struct ifg_error err;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        if (rendezvous_create(&rendezvous, &err))
            _exit(1);
        rendezvous_destroy(&rendezvous);
    }
}

/* Until a directory is locked it looks like one that was left behind. */
static void recorders_that_begin_at_once_leave_each_other_alone(void)
{
    struct rendezvous rendezvous;
    struct ifg_error err;
    pid_t other = fork();
    int lost = 0;

    if (other == 0)
        be_another_recorder();
    for (int i = 0; i < TIMES; i++) {
        REQUIRE_INT(rendezvous_create(&rendezvous, &err), IFG_OK);
        lost += !is_there(rendezvous.directory);
        rendezvous_destroy(&rendezvous);
    }
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    CHECK_INT(lost, 0);
}

TAP_MAIN(TAP_CASE(a_directory_is_locked_and_goes), TAP_CASE(that_of_a_dead_recorder_goes),
         TAP_CASE(recorders_that_begin_at_once_leave_each_other_alone))
