// SPDX-License-Identifier: Apache-2.0
#include "native.h"
int native_add_table(PyObject *module)
{
    (void)module;
    return 0;
}
