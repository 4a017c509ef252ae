// SPDX-License-Identifier: Apache-2.0
/* _native.Table: the result of a query, for Python and, as an Arrow stream, for everybody else. */
#include "native.h"
#include "table.h"

#define CAPSULE "arrow_array_stream"

struct result {
    PyObject_HEAD struct table *table;
    PyObject **texts; /* for each column: a list of its dictionary, made when needed */
};

static PyTypeObject *result_type;

static PyObject *result_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct result *self;
    const char *reason;
    int fd;

    (void)keywords;
    if (!PyArg_ParseTuple(args, "i:Table", &fd))
        return NULL;
    self = (struct result *)allocate(type, 0);
    if (!self)
        return NULL;
    self->table = table_map(fd, &reason);
    if (self->table)
        self->texts = PyMem_Malloc((self->table->column_count + 1) * sizeof *self->texts);
    if (self->texts)
        memset(self->texts, 0, (self->table->column_count + 1) * sizeof *self->texts);
    if (!self->table)
        PyErr_SetString(PyExc_ValueError, reason);
    else if (!self->texts)
        PyErr_NoMemory();
    if (!self->texts) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void result_dealloc(PyObject *object)
{
    struct result *self = (struct result *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    for (size_t i = 0; self->texts && i < self->table->column_count; i++)
        Py_XDECREF(self->texts[i]);
    PyMem_Free(self->texts);
    table_release(self->table);
    release(object);
    Py_DECREF(type);
}

static Py_ssize_t result_length(PyObject *object)
{
    return (Py_ssize_t)((struct result *)object)->table->rows;
}

/* ---- Arrow -------------------------------------------------------------------------------- */

static void free_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, CAPSULE);

    if (stream)
        table_stream_free(stream);
}

static PyObject *result_stream(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "requested_schema", NULL };
    PyObject *requested = Py_None; /* a wish that may be left alone */
    struct ArrowArrayStream *stream;
    PyObject *capsule;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:__arrow_c_stream__", names, &requested))
        return NULL;
    stream = table_stream_new(((struct result *)object)->table);
    if (!stream)
        return PyErr_NoMemory();
    capsule = PyCapsule_New(stream, CAPSULE, free_capsule);
    if (!capsule)
        table_stream_free(stream);
    return capsule;
}

/* ---- values of Python --------------------------------------------------------------------- */

static PyObject *texts_of(struct result *self, size_t number)
{
    const struct table_column *column = &self->table->columns[number];
    PyObject *list;

    if (self->texts[number])
        return self->texts[number];
    list = PyList_New((Py_ssize_t)column->texts);
    for (int64_t i = 0; list && i < column->texts; i++) {
        PyObject *text = PyUnicode_DecodeUTF8(column->bytes + column->offsets[i],
                                              column->offsets[i + 1] - column->offsets[i], NULL);

        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    self->texts[number] = list;
    return list;
}

static PyObject *value_of(struct result *self, size_t number, const struct table_values *values,
                          int64_t row)
{
    enum table_type type = self->table->columns[number].type;
    PyObject *texts;
    PyObject *text;

    if (type == TABLE_NULL || table_is_null(values, row))
        Py_RETURN_NONE;
    if (type == TABLE_INT64)
        return PyLong_FromLongLong(((const int64_t *)values->values)[row]);
    if (type == TABLE_DOUBLE)
        return PyFloat_FromDouble(((const double *)values->values)[row]);
    texts = texts_of(self, number);
    text = texts ? PyList_GetItem(texts, ((const int32_t *)values->values)[row]) : NULL;
    Py_XINCREF(text);
    return text;
}

static PyObject *row_of(struct result *self, const struct table_batch *batch, int64_t row)
{
    size_t count = self->table->column_count;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; tuple && i < count; i++) {
        PyObject *value = value_of(self, i, &batch->columns[i], row);

        if (!value || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

/* rows(batch): its rows, a list of tuples. */
static PyObject *result_rows(PyObject *object, PyObject *argument)
{
    struct result *self = (struct result *)object;
    long number = PyLong_AsLong(argument);
    const struct table_batch *batch;
    PyObject *list;

    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || (size_t)number >= self->table->batch_count) {
        PyErr_SetString(PyExc_IndexError, "there is no such batch");
        return NULL;
    }
    batch = &self->table->batches[number];
    list = PyList_New((Py_ssize_t)batch->rows);
    for (int64_t row = 0; list && row < batch->rows; row++) {
        PyObject *tuple = row_of(self, batch, row);

        if (!tuple || PyList_SetItem(list, (Py_ssize_t)row, tuple) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *result_columns(PyObject *object, void *unused)
{
    const struct table *table = ((struct result *)object)->table;
    PyObject *tuple = PyTuple_New((Py_ssize_t)table->column_count);

    (void)unused;
    for (size_t i = 0; tuple && i < table->column_count; i++) {
        PyObject *name = PyUnicode_DecodeUTF8(
            table->columns[i].name, (Py_ssize_t)strlen(table->columns[i].name), "replace");

        if (!name || PyTuple_SetItem(tuple, (Py_ssize_t)i, name) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

static PyObject *result_batches(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((struct result *)object)->table->batch_count);
}

static PyObject *result_bytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((struct result *)object)->table->size);
}

static PyMethodDef result_methods[] = {
    { "__arrow_c_stream__", NATIVE_METHOD(result_stream), METH_VARARGS | METH_KEYWORDS,
      "__arrow_c_stream__(requested_schema=None)\n--\n\nThe table as an Arrow stream, without a "
      "copy." },
    { "rows", result_rows, METH_O, "rows(batch, /)\n--\n\nThe rows of one batch, as tuples." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef result_members[] = {
    { "columns", result_columns, NULL, "Names of the columns.", NULL },
    { "batches", result_batches, NULL, "How many batches it has.", NULL },
    { "nbytes", result_bytes, NULL, "Bytes of the table.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot result_slots[] = {
    { Py_tp_new, result_new },
    { Py_tp_dealloc, result_dealloc },
    { Py_tp_methods, result_methods },
    { Py_tp_getset, result_members },
    { Py_sq_length, result_length },
    { Py_tp_doc, "Table(fd)\n--\n\nA table in an Arrow IPC stream, mapped." },
    { 0, NULL },
};

static PyType_Spec result_spec = {
    .name = "inferogram._native.Table",
    .basicsize = sizeof(struct result),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = result_slots,
};

int native_add_table(PyObject *module)
{
    result_type = (PyTypeObject *)PyType_FromSpec(&result_spec);
    if (!result_type)
        return -1;
    Py_INCREF(result_type);
    return PyModule_AddObject(module, "Table", (PyObject *)result_type);
}
