// SPDX-License-Identifier: Apache-2.0
/* Recognizing a runtime in a file: by its name, or by the function that is the runtime's door. */
#include "collect/runtime_files.h"

#include "symbol/elf_file.h"

bool runtime_files_key_is_in(struct file_key key, const struct file_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i].inode == key.inode && keys[i].device == key.device)
            return true;
    return false;
}

bool runtime_files_have(const struct known_files *known, struct file_key key)
{
    return known && runtime_files_key_is_in(key, known->files, known->count);
}

void runtime_files_add(struct known_files *known, struct file_key key)
{
    if (!known)
        return;
    if (known->count == KNOWN_FILES_MAX) /* begin again: they will be looked into once more */
        known->count = 0;
    known->files[known->count++] = key;
}

bool runtime_file_is_named(const char *path, const struct runtime *runtime)
{
    bool is_module;
    const struct runtime *found = runtime_of_file(path, &is_module);

    return found && (runtime ? found == runtime : found->door != NULL);
}

bool runtime_file_exports(const char *file, const struct runtime *runtime)
{
    struct elf_file *elf;
    struct elf_symbol symbol;
    bool exports = false;

    if (elf_file_open(file, &elf, NULL) != IFG_OK)
        return false;
    for (size_t i = 0; runtimes[i] && !exports; i++) {
        const char *door = runtimes[i]->door;

        if (!door || (runtime && runtime != runtimes[i]))
            continue;
        exports = (elf_file_symbol(elf, door, &symbol, NULL) == IFG_OK && symbol.defined) ||
                  elf_file_debug_symbol(elf, door, &symbol, NULL) == IFG_OK;
    }
    elf_file_close(elf);
    return exports;
}
