// SPDX-License-Identifier: Apache-2.0
/* libmade_runtime.so, which a process has mapped: all that there is of the made runtime. */
int made_run(void);

int made_run(void)
{
    return 0;
}
