// SPDX-License-Identifier: Apache-2.0
// Inferogram for node: see docs/languages.md of the source tree.
//
// The event loop runs one callback at a time, a turn. A zone of the thread must end within its turn, so that a function that goes on
// later becomes an async span, and each of its turns a zone of its own; a flow joins them. Which function a turn belongs to
// is AsyncLocalStorage's business; when it begins and ends, that of async_hooks, which is enabled only while such functions
// run in a recording.
'use strict';

const { AsyncLocalStorage, createHook } = require('async_hooks');

let native;
try {
    native = require(process.env.INFEROGRAM_NODE || './inferogram_node.node');
} catch (error) {
    error.message = `inferogram: its native part cannot be loaded; build it with 'npm rebuild inferogram', which needs a C compiler and libinferogram (${error.message})`;
    throw error;
}

const LEVELS = { trace: 0, debug: 1, info: 2, warning: 3, error: 4 };
const CATEGORIES = { 'prepare-ep': 1, specialization: 2, load: 3, setup: 4, inference: 5 };

const context = new AsyncLocalStorage();
const turns = []; // positions of zones, a turn within a turn last
let running = 0; // functions that go on later
let enabled = false;
let lastId = 0;

const hook = createHook({
    before() {
        const task = context.getStore();
        let position = -1;
        if (task && !task.settled) {
            position = native.begin(task.name);
            if (position >= 0)
                native.flowStep(task.name, task.id);
        }
        turns.push(position);
    },
    after() {
        // Enabled in the middle of a turn, which has no begin then.
        if (turns.length)
            native.end(turns.pop());
        if (!running && !turns.length) {
            hook.disable();
            enabled = false;
        }
    },
});

function isThenable(value) {
    return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

function isAsync(callback) {
    return Object.prototype.toString.call(callback) === '[object AsyncFunction]';
}

function put(position, details) {
    for (const key in details)
        native.detail(position, key, details[key]);
}

// Runs a function in a turn of its own, and the turns after it, if it goes on later.
function run(name, details, callback) {
    const task = { name, id: ++lastId, settled: false };
    const spans = isAsync(callback);
    const position = native.begin(name);
    if (position >= 0)
        put(position, details);
    if (spans)
        native.asyncBegin(task.name, task.id);
    let result;
    try {
        result = context.run(task, callback);
    } catch (error) {
        native.end(position);
        throw error;
    }
    if (!isThenable(result)) {
        native.end(position);
        return result;
    }
    // That a plain function goes on later is known only now.
    if (!spans)
        native.asyncBegin(task.name, task.id);
    native.flowBegin(task.name, task.id);
    native.end(position);
    running++;
    if (!enabled) {
        enabled = true;
        hook.enable();
    }
    const settle = () => {
        task.settled = true;
        running--;
        native.flowEnd(task.name, task.id);
        native.asyncEnd(task.name, task.id);
    };
    return result.then(
        value => {
            settle();
            return value;
        },
        error => {
            settle();
            throw error;
        });
}

/** Runs a function in a zone and returns what it returns. */
function zone(name, details, callback) {
    if (typeof details === 'function')
        [details, callback] = [undefined, details];
    name = String(name);
    if (!native.isRecording())
        return callback();
    return run(name, details, callback);
}

/** The same function, in a zone whenever it is called. */
function wrap(name, callback) {
    return function (...values) {
        return zone(name, () => callback.apply(this, values));
    };
}

class Model {
    #native;
    constructor(name, { path = '', runtime = '', devices = '' } = {}) {
        this.name = String(name);
        this.#native = native.createModel(this.name, String(path), String(runtime), String(devices));
    }

    /** Runs a function as an event of the model; an async function is one until it is settled. */
    event(category, details, callback) {
        if (typeof details === 'function')
            [details, callback] = [{}, details];
        const number = CATEGORIES[category];
        if (!number)
            throw new TypeError(`inferogram: a category is ${Object.keys(CATEGORIES).join(', ')}, not '${category}'`);
        const { function: of = 'main', ...others } = details;
        if (isAsync(callback)) {
            const id = ++lastId;
            native.eventAsyncBegin(this.#native, of, number, id);
            return callback().finally(() => native.eventAsyncEnd(this.#native, of, number, id));
        }
        const position = native.eventBegin(this.#native, of, number);
        if (position >= 0)
            put(position, others);
        try {
            return callback();
        } finally {
            native.end(position);
        }
    }
}

/** Work that is handed on, from zone to zone. */
function flow(name, id) {
    name = String(name);
    return {
        begin: () => native.flowBegin(name, id),
        step: () => native.flowStep(name, id),
        end: () => native.flowEnd(name, id),
    };
}

module.exports = {
    zone,
    wrap,
    Model,
    flow,
    counter: (name, value) => native.counter(String(name), value),
    message: (text, level = 'info') => native.message(String(text), LEVELS[level] ?? LEVELS.info),
    frame: name => native.frame(String(name)),
    threadName: name => native.threadName(String(name)),
    isRecording: native.isRecording,
};
