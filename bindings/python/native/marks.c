// SPDX-License-Identifier: Apache-2.0
/* Counters, messages, flows, frames, names of threads. */
#include "native.h"

static PyObject *counter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    ifg_location *location;
    double value;

    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "counter() takes a name and a number");
        return NULL;
    }
    if (!ifg_is_recording())
        Py_RETURN_NONE;
    value = PyFloat_AsDouble(args[1]);
    if (PyErr_Occurred())
        return NULL;
    location = native_location(args[0], IFG_LOCATION_COUNTER);
    if (!location)
        return NULL;
    ifg_counter(location, value);
    Py_RETURN_NONE;
}

static PyObject *message(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "text", "level", NULL };
    static const char *const levels[] = { "trace", "debug", "info", "warning", "error" };
    const char *level = "info";
    PyObject *object;
    const char *text;
    size_t length;
    int number = -1;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|s:message", names, &object, &level))
        return NULL;
    for (int i = 0; i < 5; i++)
        if (strcmp(levels[i], level) == 0)
            number = i;
    if (number < 0) {
        PyErr_Format(PyExc_ValueError,
                     "level cannot be '%s': it is trace, debug, info, warning or error", level);
        return NULL;
    }
    text = native_text(object, "text", &length);
    if (!text)
        return NULL;
    if (ifg_is_recording())
        ifg_message((enum ifg_level)number, text, length);
    Py_RETURN_NONE;
}

/* One point of a flow: how is 0 for the begin, 1 for a step, 2 for the end. */
static PyObject *flow_point(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static void (*const points[])(ifg_location *, uint64_t) = { ifg_flow_begin, ifg_flow_step,
                                                                ifg_flow_end };
    unsigned long long id;
    ifg_location *location;
    long how;

    (void)module;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "flow_point() takes a name, an id and a kind");
        return NULL;
    }
    if (!ifg_is_recording())
        Py_RETURN_NONE;
    id = PyLong_AsUnsignedLongLong(args[1]);
    how = PyErr_Occurred() ? -1 : PyLong_AsLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (how < 0 || how > 2) {
        PyErr_SetString(PyExc_ValueError, "a point of a flow is 0, 1 or 2");
        return NULL;
    }
    location = native_location(args[0], IFG_LOCATION_FLOW);
    if (!location)
        return NULL;
    points[how](location, id);
    Py_RETURN_NONE;
}

static PyObject *frame(PyObject *module, PyObject *name)
{
    ifg_location *location;

    (void)module;
    if (!ifg_is_recording())
        Py_RETURN_NONE;
    location = native_location(name, IFG_LOCATION_FRAME);
    if (!location)
        return NULL;
    ifg_frame(location);
    Py_RETURN_NONE;
}

static PyObject *thread_name(PyObject *module, PyObject *name)
{
    size_t length;
    const char *text = native_text(name, "name", &length);

    (void)module;
    if (!text)
        return NULL;
    ifg_thread_name(text);
    Py_RETURN_NONE;
}

static PyObject *new_id(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(ifg_request_new());
}

static PyMethodDef functions[] = {
    { "counter", NATIVE_METHOD(counter), METH_FASTCALL,
      "counter(name, value, /)\n--\n\nRecord the new value of a quantity that changes over time." },
    { "message", NATIVE_METHOD(message), METH_VARARGS | METH_KEYWORDS,
      "message(text, level='info')\n--\n\nPut a mark on this thread's timeline." },
    { "flow_point", NATIVE_METHOD(flow_point), METH_FASTCALL, NULL },
    { "frame", frame, METH_O,
      "frame(name, /)\n--\n\nMark the end of one frame, step or iteration of a loop." },
    { "thread_name", thread_name, METH_O,
      "thread_name(name, /)\n--\n\nName the calling thread, in at most 31 bytes." },
    { "new_id", new_id, METH_NOARGS,
      "new_id()\n--\n\nA number that is unique in this process, for flows." },
    { NULL, NULL, 0, NULL },
};

int native_add_marks(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
