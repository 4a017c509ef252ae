// SPDX-License-Identifier: Apache-2.0
/* inferogram._native: what Python cannot do by itself, or not fast enough. */
#include "native.h"

#include <errno.h>
#include <sys/prctl.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

PyObject *native_ready;
PyObject *native_decorate;

const char *native_text(PyObject *object, const char *what, size_t *out_length)
{
    Py_ssize_t length = 0;
    const char *text = NULL;

    *out_length = 0;
    if (PyUnicode_Check(object))
        text = PyUnicode_AsUTF8AndSize(object, &length);
    else
        PyErr_Format(PyExc_TypeError, "%s must be a str", what);
    if (text)
        *out_length = (size_t)length;
    return text;
}

ifg_location *native_location(PyObject *name, uint32_t kind)
{
    ifg_location_texts texts = { .struct_size = sizeof texts, .kind = kind };

    texts.name = native_text(name, "a name", &texts.name_length);
    return texts.name ? ifg_location_named(&texts) : NULL;
}

static PyObject *is_recording(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(ifg_is_recording());
}

/* Lets the recorder, our child, trace us where the kernel lets only parents trace. Kernels without
 * Yama refuse the call, and need no permission. */
static PyObject *allow_tracer(PyObject *self, PyObject *pid)
{
    long number = PyLong_AsLong(pid);

    (void)self;
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(prctl(PR_SET_PTRACER, (unsigned long)number, 0, 0, 0) == 0);
}

static PyObject *set_helpers(PyObject *self, PyObject *args)
{
    PyObject *ready;
    PyObject *decorate;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO:set_helpers", &ready, &decorate))
        return NULL;
    Py_INCREF(ready);
    Py_XDECREF(native_ready);
    native_ready = ready;
    Py_INCREF(decorate);
    Py_XDECREF(native_decorate);
    native_decorate = decorate;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    { "is_recording", is_recording, METH_NOARGS,
      "is_recording()\n--\n\nWhether this process is being recorded. Costs about 20 ns." },
    { "allow_tracer", allow_tracer, METH_O,
      "allow_tracer(pid)\n--\n\nLet that process trace this one (0: nobody in particular)." },
    { "set_helpers", set_helpers, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "inferogram._native",
    .m_doc = "Zones, model events and Arrow tables: what Python cannot do by itself.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && (native_add_models(module) < 0 || native_add_zones(module) < 0 ||
                   native_add_marks(module) < 0 || native_add_table(module) < 0)) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
