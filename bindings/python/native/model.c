// SPDX-License-Identifier: Apache-2.0
/* inferogram.Model: a model whose events a program marks itself. */
#include "native.h"

struct model {
    PyObject_HEAD PyObject *name;
    ifg_model *model;
};

static PyTypeObject *model_type;
static PyObject *models_by_name; /* for events that give a name only */

static int text_or_none(PyObject *object, const char *what, const char **out_text)
{
    size_t length;

    *out_text = NULL;
    if (!object || object == Py_None)
        return 0;
    *out_text = native_text(object, what, &length);
    return *out_text ? 0 : -1;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "name", "path", "runtime", "devices", "content_id", NULL };
    PyObject *texts[5] = { 0 };
    ifg_model_options options = { .struct_size = sizeof options };
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct model *self;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOOO:Model", names, &texts[0], &texts[1],
                                     &texts[2], &texts[3], &texts[4]) ||
        text_or_none(texts[0], "name", &options.name) < 0 ||
        text_or_none(texts[1], "path", &options.path) < 0 ||
        text_or_none(texts[2], "runtime", &options.runtime) < 0 ||
        text_or_none(texts[3], "devices", &options.requested_devices) < 0 ||
        text_or_none(texts[4], "content_id", &options.content_id) < 0)
        return NULL;
    if (!options.name) {
        PyErr_SetString(PyExc_TypeError, "name must be a str");
        return NULL;
    }
    self = (struct model *)allocate(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(texts[0]);
    self->name = texts[0];
    self->model = ifg_model_create(&options);
    return (PyObject *)self;
}

static void model_dealloc(PyObject *object)
{
    struct model *self = (struct model *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    ifg_model_destroy(self->model);
    Py_XDECREF(self->name);
    release(object);
    Py_DECREF(type);
}

static PyObject *model_repr(PyObject *object)
{
    return PyUnicode_FromFormat("inferogram.Model(%R)", ((struct model *)object)->name);
}

static PyObject *model_property(PyObject *object, PyObject *args)
{
    PyObject *texts[2];
    const char *key;
    const char *value;
    size_t length;

    if (!PyArg_ParseTuple(args, "OO:set_property", &texts[0], &texts[1]))
        return NULL;
    key = native_text(texts[0], "key", &length);
    value = key ? native_text(texts[1], "value", &length) : NULL;
    if (!value)
        return NULL;
    ifg_model_property(((struct model *)object)->model, key, value);
    Py_RETURN_NONE;
}

static PyObject *model_name(PyObject *object, void *unused)
{
    PyObject *name = ((struct model *)object)->name;

    (void)unused;
    Py_INCREF(name);
    return name;
}

static PyObject *model_address(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((struct model *)object)->model);
}

bool native_model(PyObject *object, ifg_model **out_model)
{
    PyObject *found;

    *out_model = NULL;
    if (PyObject_TypeCheck(object, model_type)) {
        *out_model = ((struct model *)object)->model;
        return true;
    }
    if (!PyUnicode_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "model must be an inferogram.Model or its name");
        return false;
    }
    found = PyDict_GetItemWithError(models_by_name, object);
    if (!found) {
        if (PyErr_Occurred())
            return false;
        found = PyObject_CallFunctionObjArgs((PyObject *)model_type, object, NULL);
        if (!found)
            return false;
        if (PyDict_SetItem(models_by_name, object, found) < 0) {
            Py_DECREF(found);
            return false;
        }
        Py_DECREF(found); /* the dictionary has it */
    }
    *out_model = ((struct model *)found)->model;
    return true;
}

static PyMethodDef model_methods[] = {
    { "set_property", model_property, METH_VARARGS,
      "set_property(key, value)\n--\n\nAdd a fact that became known later, such as "
      "'actual_devices'." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef model_members[] = {
    { "name", model_name, NULL, "The name it was created with.", NULL },
    { "_address", model_address, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot model_slots[] = {
    { Py_tp_new, model_new },
    { Py_tp_dealloc, model_dealloc },
    { Py_tp_repr, model_repr },
    { Py_tp_methods, model_methods },
    { Py_tp_getset, model_members },
    { Py_tp_doc,
      "Model(name, *, path=None, runtime=None, devices=None, content_id=None)\n--\n\n"
      "A model whose events you mark with event(). The same texts give the same model." },
    { 0, NULL },
};

static PyType_Spec model_spec = {
    .name = "inferogram.Model",
    .basicsize = sizeof(struct model),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = model_slots,
};

int native_add_models(PyObject *module)
{
    models_by_name = PyDict_New();
    model_type = (PyTypeObject *)PyType_FromSpec(&model_spec);
    if (!models_by_name || !model_type)
        return -1;
    Py_INCREF(model_type);
    return PyModule_AddObject(module, "Model", (PyObject *)model_type);
}
