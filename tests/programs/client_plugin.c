// SPDX-License-Identifier: Apache-2.0
/* A plugin with zones; client_host loads and unloads it. */
#include <inferogram/inferogram.h>

void plugin_work(int count);

__attribute__((visibility("default"))) void plugin_work(int count)
{
    for (int i = 0; i < count; i++) {
        IFG_ZONE("plugin");
    }
}
