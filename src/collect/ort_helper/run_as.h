// SPDX-License-Identifier: Apache-2.0
/*
 * As whom code of a watched program is run to look into its runtime. The recorder may be root, the
 * program anybody's: whatever is loaded or started on its behalf gets no more rights than the
 * program itself has, and never those of whoever owns a file.
 *
 *     a program of an ordinary user   as that user: it can do nothing that he cannot do himself
 *     a program of root               as nobody, if nobody can read what is needed; else as root
 *                                     without capabilities, if none but root can write any of it
 *
 * Nothing is run for a program that guards itself against its user (set-user-id, not dumpable):
 * that is for the caller to find out, by credentials_are_guarded.
 */
#ifndef IFG_COLLECT_ORT_HELPER_RUN_AS_H
#define IFG_COLLECT_ORT_HELPER_RUN_AS_H

#include "base/status.h"
#include "system/credentials.h"

struct run_as_files {
    const char *library; /* its path; what is used is the descriptor */
    int library_fd;
    const char *python; /* interpreter; NULL: the library is loaded by us */
    int python_fd;
    const char *const *folders; /* of its modules; NULL at the end; or NULL */
    const char *model;          /* or NULL */
};

/* IFG_PERMISSION, with the reason: as nobody. */
enum ifg_status run_as_choose(const struct credentials *target, const struct run_as_files *files,
                              struct credentials *out_who, struct ifg_error *err) IFG_MUST_CHECK;

/*
 * Whether this process acts for somebody else than the user who started it, so that his environment
 * must not choose programs and libraries: under sudo for another user's program, or with raised
 * rights.
 */
bool run_as_is_for_another(const struct credentials *who);

#endif
