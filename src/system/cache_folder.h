// SPDX-License-Identifier: Apache-2.0
/*
 * Folders for what this program keeps: ${XDG_CACHE_HOME:-~/.cache}/inferogram/NAME, and
 * ${XDG_CONFIG_HOME:-~/.config}/inferogram/NAME for what cannot be made again. What is read from
 * there is believed, so it must be ours alone: under sudo, HOME may still be that of the person who
 * typed it, who could put anything there. Root then uses his own home directory.
 */
#ifndef IFG_SYSTEM_CACHE_FOLDER_H
#define IFG_SYSTEM_CACHE_FOLDER_H

#include <stdbool.h>

/* A descriptor of the folder, which belongs to this user and which nobody else can enter; -1 if
 * there is none. `make`: it is made if it is missing. */
int cache_folder_open(const char *name, bool make);
int cache_folder_open_config(const char *name, bool make);

#endif
