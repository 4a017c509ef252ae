// SPDX-License-Identifier: Apache-2.0
/*
 * zone() and event(): a context manager, an asynchronous context manager and a decorator in one.
 *
 * `with` gives a zone, which belongs to its thread and nests. `async with` gives an async span:
 * while a task awaits, others run on the same thread, and zones of theirs would not nest.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* One `with` that has begun. The same object may be in several: recursion, threads. */
struct entry {
    const void *thread;
    ifg_zone zone;
    uint64_t order; /* 0: the slot is free */
    struct entry *next;
};

struct zone {
    PyObject_HEAD PyObject *name; /* of a zone; NULL: an event */
    PyObject *model;              /* of an event */
    PyObject *function;           /* of an event, or NULL */
    PyObject *details;            /* a dictionary, or NULL */
    int category;                 /* enum ifg_category */
    int load_state;               /* enum ifg_load_state, or -1 */
    struct entry first;           /* the only one, mostly */
    struct entry *others;
    uint64_t order;
    uint64_t span; /* of `async with`; 0: none */
};

static PyTypeObject *zone_type;

/* Zones come and go one at a time, mostly. The interpreter's lock guards it. */
#define SPARE_MAX 8
static struct zone *spare[SPARE_MAX];
static size_t spare_count;

/* Its address tells threads apart. */
static __thread char this_thread;

/* ---- details ------------------------------------------------------------------------------ */

static int put_text(ifg_zone zone, const char *key, size_t length, PyObject *value)
{
    PyObject *text = PyObject_Str(value);
    const char *bytes;
    size_t size;

    if (!text)
        return -1;
    bytes = native_text(text, "text", &size);
    if (bytes && length == 4 && memcmp(key, "text", 4) == 0)
        ifg_zone_text(zone, bytes, size);
    else if (bytes && length == 4 && memcmp(key, "name", 4) == 0)
        ifg_zone_name(zone, bytes, size);
    else if (bytes)
        ifg_zone_detail_string(zone, key, bytes);
    Py_DECREF(text);
    return bytes ? 0 : -1;
}

static int put_integer(ifg_zone zone, const char *key, size_t length, PyObject *value)
{
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

    if (number == -1 && PyErr_Occurred())
        return -1;
    if (overflow)
        return put_text(zone, key, length, value);
    if (length == 5 && memcmp(key, "value", 5) == 0 && number >= 0)
        ifg_zone_value(zone, (uint64_t)number);
    else if (length == 5 && memcmp(key, "color", 5) == 0)
        ifg_zone_color(zone, (uint32_t)number & 0xffffff);
    else
        ifg_zone_detail_int(zone, key, number);
    return 0;
}

static int put_detail(ifg_zone zone, PyObject *name, PyObject *value)
{
    size_t length;
    const char *key = native_text(name, "the name of a detail", &length);

    if (!key)
        return -1;
    if (PyLong_Check(value))
        return put_integer(zone, key, length, value);
    if (PyFloat_Check(value)) {
        ifg_zone_detail_float(zone, key, PyFloat_AsDouble(value));
        return 0;
    }
    return put_text(zone, key, length, value);
}

static int put_details(ifg_zone zone, PyObject *details)
{
    PyObject *key;
    PyObject *value;
    Py_ssize_t at = 0;

    while (zone.depth && details && PyDict_Next(details, &at, &key, &value))
        if (put_detail(zone, key, value) < 0)
            return -1;
    return 0;
}

/* ---- begin and end ------------------------------------------------------------------------ */

static int begin_event(const struct zone *self, ifg_zone *out_zone)
{
    const char *function = "main";
    ifg_model *model;
    size_t length;

    if (!ifg_wants_events())
        return 0;
    if (!native_model(self->model, &model))
        return -1;
    if (self->function)
        function = native_text(self->function, "function", &length);
    if (!function)
        return -1;
    *out_zone = ifg_event_begin(model, function, (enum ifg_category)self->category);
    if (out_zone->depth && self->load_state >= 0)
        ifg_event_load_state(*out_zone, (enum ifg_load_state)self->load_state);
    return 0;
}

static int begin(const struct zone *self, ifg_zone *out_zone)
{
    ifg_location *location;

    *out_zone = (ifg_zone){ 0 };
    if (!self->name) {
        if (begin_event(self, out_zone) < 0)
            return -1;
    } else if (ifg_is_recording()) {
        location = native_location(self->name, IFG_LOCATION_ZONE);
        if (!location)
            return -1;
        *out_zone = ifg_zone_begin(location);
    }
    if (self->details && put_details(*out_zone, self->details) < 0) {
        if (out_zone->depth)
            ifg_zone_end(*out_zone);
        return -1;
    }
    return 0;
}

/* A slot for one more `with`; NULL with an exception. */
static struct entry *enter(struct zone *self)
{
    struct entry *entry = &self->first;

    if (entry->order) {
        entry = malloc(sizeof *entry);
        if (!entry) {
            PyErr_NoMemory();
            return NULL;
        }
        entry->next = self->others;
        self->others = entry;
    }
    entry->thread = &this_thread;
    entry->order = ++self->order;
    return entry;
}

/* What this thread began last; false: nothing. */
static bool leave(struct zone *self, ifg_zone *out_zone)
{
    struct entry *latest = NULL;
    struct entry **link;

    if (self->first.order && self->first.thread == &this_thread)
        latest = &self->first;
    for (struct entry *each = self->others; each; each = each->next)
        if (each->thread == &this_thread && (!latest || each->order > latest->order))
            latest = each;
    if (!latest)
        return false;
    *out_zone = latest->zone;
    latest->order = 0;
    if (latest == &self->first)
        return true;
    for (link = &self->others; *link != latest; link = &(*link)->next)
        ;
    *link = latest->next;
    free(latest);
    return true;
}

static PyObject *zone_enter(PyObject *object, PyObject *unused)
{
    struct zone *self = (struct zone *)object;
    ifg_zone zone;
    struct entry *entry;

    (void)unused;
    if (begin(self, &zone) < 0)
        return NULL;
    /* Nothing to end, and no open one that its end could be taken for: nothing to remember. */
    if (!zone.depth && !self->first.order && !self->others) {
        Py_INCREF(object);
        return object;
    }
    entry = enter(self);
    if (!entry) {
        if (zone.depth)
            ifg_zone_end(zone);
        return NULL;
    }
    entry->zone = zone;
    Py_INCREF(object);
    return object;
}

static PyObject *zone_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    ifg_zone zone;

    (void)args, (void)count;
    if (leave((struct zone *)object, &zone) && zone.depth)
        ifg_zone_end(zone);
    Py_RETURN_NONE;
}

static PyObject *zone_set(PyObject *object, PyObject *args, PyObject *keywords)
{
    struct zone *self = (struct zone *)object;
    const struct entry *latest = NULL;

    if (!PyArg_ParseTuple(args, ":set"))
        return NULL;
    if (self->first.order && self->first.thread == &this_thread)
        latest = &self->first;
    for (const struct entry *each = self->others; each; each = each->next)
        if (each->thread == &this_thread && (!latest || each->order > latest->order))
            latest = each;
    if (latest && put_details(latest->zone, keywords) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- async with --------------------------------------------------------------------------- */

static int mark_span(const struct zone *self, bool begins)
{
    const char *function = "main";
    ifg_location *location;
    ifg_model *model;
    size_t length;

    if (self->name) {
        location = native_location(self->name, IFG_LOCATION_ASYNC);
        if (!location)
            return -1;
        (begins ? ifg_async_begin : ifg_async_end)(location, self->span);
        return 0;
    }
    if (!native_model(self->model, &model))
        return -1;
    if (self->function)
        function = native_text(self->function, "function", &length);
    if (!function)
        return -1;
    (begins ? ifg_event_async_begin
            : ifg_event_async_end)(model, function, (enum ifg_category)self->category, self->span);
    return 0;
}

static PyObject *awaitable(PyObject *value)
{
    if (!native_ready) {
        PyErr_SetString(PyExc_RuntimeError, "the package inferogram is not loaded");
        return NULL;
    }
    return PyObject_CallFunctionObjArgs(native_ready, value, NULL);
}

static PyObject *zone_aenter(PyObject *object, PyObject *unused)
{
    struct zone *self = (struct zone *)object;

    (void)unused;
    if (self->span) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this zone is open in another task; create one for each "
                        "'async with'");
        return NULL;
    }
    if (self->name ? ifg_is_recording() : ifg_wants_events()) {
        self->span = ifg_request_new();
        if (mark_span(self, true) < 0) {
            self->span = 0;
            return NULL;
        }
    }
    return awaitable(object);
}

static PyObject *zone_aexit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    struct zone *self = (struct zone *)object;
    int failed = 0;

    (void)args, (void)count;
    if (self->span)
        failed = mark_span(self, false);
    self->span = 0;
    return failed ? NULL : awaitable(Py_None);
}

/* ---- the type ----------------------------------------------------------------------------- */

static PyObject *zone_call(PyObject *object, PyObject *args, PyObject *keywords)
{
    PyObject *function;

    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "a zone decorates one function");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O:zone", &function))
        return NULL;
    if (!native_decorate) {
        PyErr_SetString(PyExc_RuntimeError, "the package inferogram is not loaded");
        return NULL;
    }
    return PyObject_CallFunctionObjArgs(native_decorate, object, function, NULL);
}

/* zone() and event() make them. */
static PyObject *zone_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type, (void)args, (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use zone() or event()");
    return NULL;
}

static void zone_dealloc(PyObject *object)
{
    struct zone *self = (struct zone *)object;
    PyTypeObject *type = Py_TYPE(object);

    while (self->others) {
        struct entry *next = self->others->next;

        free(self->others);
        self->others = next;
    }
    Py_XDECREF(self->name);
    Py_XDECREF(self->model);
    Py_XDECREF(self->function);
    Py_XDECREF(self->details);
    if (spare_count < SPARE_MAX)
        spare[spare_count++] = self;
    else
        PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *zone_repr(PyObject *object)
{
    const struct zone *self = (const struct zone *)object;

    return self->name ? PyUnicode_FromFormat("inferogram.zone(%R)", self->name)
                      : PyUnicode_FromFormat("<inferogram event of %R>", self->model);
}

static struct zone *make(void)
{
    struct zone *self;

    if (spare_count)
        self = (struct zone *)PyObject_Init((PyObject *)spare[--spare_count], zone_type);
    else
        self = PyObject_New(struct zone, zone_type);
    if (self)
        memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    return self;
}

/* A copy for each `async with` of a decorated function. */
static PyObject *zone_again(PyObject *object, PyObject *unused)
{
    const struct zone *self = (const struct zone *)object;
    struct zone *copy = make();

    (void)unused;
    if (!copy)
        return NULL;
    Py_XINCREF(self->name);
    Py_XINCREF(self->model);
    Py_XINCREF(self->function);
    Py_XINCREF(self->details);
    copy->name = self->name;
    copy->model = self->model;
    copy->function = self->function;
    copy->details = self->details;
    copy->category = self->category;
    copy->load_state = self->load_state;
    return (PyObject *)copy;
}

static PyMethodDef zone_methods[] = {
    { "__enter__", zone_enter, METH_NOARGS, NULL },
    { "__exit__", NATIVE_METHOD(zone_exit), METH_FASTCALL, NULL },
    { "__aenter__", zone_aenter, METH_NOARGS, NULL },
    { "__aexit__", NATIVE_METHOD(zone_aexit), METH_FASTCALL, NULL },
    { "set", NATIVE_METHOD(zone_set), METH_VARARGS | METH_KEYWORDS,
      "set(**details)\n--\n\nAdd facts to the open zone: text, value, name, color, or any other "
      "name. Does nothing while nothing records." },
    { "_again", zone_again, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot zone_slots[] = {
    { Py_tp_new, zone_new },
    { Py_tp_dealloc, zone_dealloc },
    { Py_tp_repr, zone_repr },
    { Py_tp_call, zone_call },
    { Py_tp_methods, zone_methods },
    { Py_tp_doc, "What zone() and event() return: use it in 'with' or 'async with', or decorate a "
                 "function." },
    { 0, NULL },
};

static PyType_Spec zone_spec = {
    .name = "inferogram.Zone",
    .basicsize = sizeof(struct zone),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = zone_slots,
};

/* ---- zone(), event() ---------------------------------------------------------------------- */

/* The keyword arguments as a dictionary, without those that `taken` knows. */
static int take_keywords(PyObject *const *values, PyObject *keywords, PyObject **out_details,
                         bool (*taken)(struct zone *, const char *, PyObject *), struct zone *self)
{
    Py_ssize_t count = keywords ? PyTuple_Size(keywords) : 0;

    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *key = PyTuple_GetItem(keywords, i);
        size_t length;
        const char *text = native_text(key, "a keyword", &length);

        if (!text)
            return -1;
        if (taken && taken(self, text, values[i])) {
            if (PyErr_Occurred())
                return -1;
            continue;
        }
        if (!*out_details)
            *out_details = PyDict_New();
        if (!*out_details || PyDict_SetItem(*out_details, key, values[i]) < 0)
            return -1;
    }
    return 0;
}

static PyObject *zone_function(PyObject *module, PyObject *const *args, Py_ssize_t count,
                               PyObject *keywords)
{
    struct zone *self;

    (void)module;
    if (count != 1 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "zone() takes a name, a str, and details by keyword");
        return NULL;
    }
    self = make();
    if (!self)
        return NULL;
    Py_INCREF(args[0]);
    self->name = args[0];
    if (keywords && take_keywords(args + count, keywords, &self->details, NULL, self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int number_of(PyObject *object, const char *const *names, int first, const char *what)
{
    size_t length;
    const char *text = native_text(object, what, &length);

    if (!text)
        return -1;
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return first + i;
    PyErr_Format(PyExc_ValueError, "%s cannot be '%s'", what, text);
    return -1;
}

static bool event_keyword(struct zone *self, const char *key, PyObject *value)
{
    static const char *const states[] = { "unknown", "cold", "cached", "precompiled", NULL };

    if (strcmp(key, "function") == 0) {
        if (!PyUnicode_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "function must be a str");
        } else {
            Py_INCREF(value);
            Py_XDECREF(self->function);
            self->function = value;
        }
        return true;
    }
    if (strcmp(key, "state") == 0) {
        self->load_state = number_of(value, states, IFG_LOAD_UNKNOWN, "state");
        return true;
    }
    return false;
}

static PyObject *event_function(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *keywords)
{
    static const char *const categories[] = { "prepare-ep", "specialization", "load",
                                              "setup",      "inference",      NULL };
    ifg_model *model;
    struct zone *self;

    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError,
                        "event() takes a model and a category, and details by keyword");
        return NULL;
    }
    if (!native_model(args[0], &model))
        return NULL;
    self = make();
    if (!self)
        return NULL;
    Py_INCREF(args[0]);
    self->model = args[0];
    self->load_state = -1;
    self->category = number_of(args[1], categories, IFG_PREPARE_EP, "category");
    if (self->category < 0 ||
        take_keywords(args + count, keywords, &self->details, event_keyword, self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef functions[] = {
    { "zone", NATIVE_METHOD(zone_function), METH_FASTCALL | METH_KEYWORDS,
      "zone(name, **details)\n--\n\n"
      "Mark how long something takes: 'with zone(\"decode\"):', '@zone(\"decode\")' or\n"
      "'async with zone(\"decode\"):'. Details are facts about this one zone: text, value,\n"
      "name, color, or any other name. While nothing records, it costs about 0.1 us." },
    { "event", NATIVE_METHOD(event_function), METH_FASTCALL | METH_KEYWORDS,
      "event(model, category, *, function='main', state=None, **details)\n--\n\n"
      "Mark what a model does. model is a Model or a name; category is 'prepare-ep',\n"
      "'specialization', 'load', 'setup' or 'inference'; state, for a load, is 'cold',\n"
      "'cached', 'precompiled' or 'unknown'. Used like zone()." },
    { NULL, NULL, 0, NULL },
};

int native_add_zones(PyObject *module)
{
    zone_type = (PyTypeObject *)PyType_FromSpec(&zone_spec);
    if (!zone_type || PyModule_AddFunctions(module, functions) < 0)
        return -1;
    Py_INCREF(zone_type);
    return PyModule_AddObject(module, "Zone", (PyObject *)zone_type);
}
