// SPDX-License-Identifier: Apache-2.0
/* A program that does nothing; built with and without the library to see what the library costs. It
 * waits for a line on standard input if it gets an argument, so that it can be looked at while it
 * lives. */
#include <unistd.h>

#ifdef WITH_LIBRARY
#include <inferogram/inferogram.h>
#endif

int main(int argc, char **argv)
{
    char byte;

    (void)argv;
#ifdef WITH_LIBRARY
    IFG_ZONE("main");
#endif
    if (argc > 1 && (write(1, "r", 1) != 1 || read(0, &byte, 1) < 0))
        return 1;
    return 0;
}
