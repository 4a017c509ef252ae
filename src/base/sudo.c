// SPDX-License-Identifier: Apache-2.0
/* Advice without sudo: see sudo.h. */
#include "base/sudo.h"

#include <string.h>
#include <unistd.h>

static void cut(char *at, size_t bytes)
{
    memmove(at, at + bytes, strlen(at + bytes) + 1);
}

char *ifg_without_sudo(char *text)
{
    static const struct {
        const char *useless, *instead;
    } cases[] = {
        { "; use sudo, or once ", "; once " },
        { "; use sudo, or ", "; " },
        { "; use sudo", "" },
        { "; try sudo", "" },
        { "; record with sudo", "" },
        { "; record it with sudo, or ", "; " },
        { ", use sudo, or ", ", or " },
        { ", or with sudo", "" },
        { " (sudo)", "" },
        { ": sudo)", ")" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (char *at = strstr(text, cases[i].useless); at; at = strstr(at, cases[i].useless)) {
            size_t kept = strlen(cases[i].instead);

            memcpy(at, cases[i].instead, kept);
            cut(at + kept, strlen(cases[i].useless) - kept);
            at += kept;
        }
    for (char *at = strstr(text, "sudo "); at; at = strstr(at + 1, "sudo "))
        if (at == text || strchr("`' \"(", at[-1]))
            cut(at, 5);
    return text;
}

char *ifg_fit_sudo(char *text)
{
    return geteuid() == 0 ? ifg_without_sudo(text) : text;
}
