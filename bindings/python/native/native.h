// SPDX-License-Identifier: Apache-2.0
/* What the files of the Python extension share; one abi3 file for CPython 3.9 and later. */
#ifndef IFG_BINDINGS_PYTHON_NATIVE_H
#define IFG_BINDINGS_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <inferogram/inferogram.h>

/*
 * Two things that CPython 3.9 has and its limited API lacks: they joined the stable ABI with 3.10,
 * with these values. Asking for the API of 3.10 instead would bring in functions that 3.9 does not
 * have.
 */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#if Py_LIMITED_API + 0 < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *out_size);
#endif

/* PyMethodDef has one type for all conventions; through void (*)(void) no compiler objects. */
#define NATIVE_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* UTF-8 of a str; NULL with a TypeError for anything else. */
const char *native_text(PyObject *object, const char *what, size_t *out_length);

/* The location of a name; NULL with a TypeError. */
ifg_location *native_location(PyObject *name, uint32_t kind);

/* Set by the package: a coroutine function that returns its argument, and what decorates. */
extern PyObject *native_ready;
extern PyObject *native_decorate;

/* Each adds its types and functions to the module; -1 with an exception. */
int native_add_zones(PyObject *module);
int native_add_models(PyObject *module);
int native_add_marks(PyObject *module);
int native_add_table(PyObject *module);

/* The model behind a Model, or the one with the name that a str has; false with an exception. */
bool native_model(PyObject *object, ifg_model **out_model);

#endif
