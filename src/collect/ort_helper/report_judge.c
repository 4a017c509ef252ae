// SPDX-License-Identifier: Apache-2.0
/* What can be concluded from chains and calls: see report.h. */
#include "collect/ort_helper/report.h"

#include <string.h>

#include "collect/ort_helper/made_model.h"

#define PYTHON        "python-"
#define POINTER_LEAST 0x10000
#define NAMES_LEAST   10 /* six of a main graph and some of a nested one */

static bool is_python(const char *label)
{
    return strncmp(label, PYTHON, strlen(PYTHON)) == 0;
}

/* run, bind, path, ...: what a label is about, whoever did it. */
static const char *way_of(const char *label)
{
    if (is_python(label))
        label += strlen(PYTHON);
    return strncmp(label, "check-", 6) == 0 ? label + 6 : label;
}

static bool has_function(const struct report_chain *chain, uint64_t function)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->functions[i] == function)
            return true;
    return false;
}

/* Whether all chains of an event led through it; of one way only, if that is given. */
static bool is_common(const struct report *report, enum report_event event, const char *way,
                      uint64_t function)
{
    for (size_t i = 0; i < report->chain_count; i++) {
        const struct report_chain *chain = &report->chains[i];

        if (chain->event == event && (!way || strcmp(way_of(chain->label), way) == 0) &&
            !has_function(chain, function))
            return false;
    }
    return true;
}

static const struct report_chain *first_chain(const struct report *report, enum report_event event,
                                              const char *way)
{
    for (size_t i = 0; i < report->chain_count; i++)
        if (report->chains[i].event == event &&
            (!way || strcmp(way_of(report->chains[i].label), way) == 0))
            return &report->chains[i];
    return NULL;
}

const struct report_chain *report_run_chain(const struct report *report)
{
    return first_chain(report, REPORT_COMPUTE, "run");
}

/* ---- sessions ---- */

/* How often a value was an argument of a function that all chains of an event have in common. */
static unsigned times_argument(const struct report *report, const char *label,
                               enum report_event event, uint64_t value)
{
    unsigned times = 0;

    for (size_t i = 0; i < report->enter_count; i++) {
        const struct report_enter *enter = &report->enters[i];

        if (strcmp(enter->label, label) != 0 || !is_common(report, event, NULL, enter->function))
            continue;
        for (size_t k = 0; k < REPORT_ARGUMENTS; k++)
            times += enter->arguments[k] == value;
    }
    return times;
}

/* How well a value fits as the session that `created` made and `ran` used; 0 = it cannot be. */
static unsigned fit(const struct report *report, const char *created, const char *ran,
                    const char *other, uint64_t value)
{
    unsigned loading = times_argument(report, created, REPORT_INFER, value);
    unsigned starting = times_argument(report, created, REPORT_KERNEL, value);
    unsigned running = times_argument(report, ran, REPORT_COMPUTE, value);
    bool can_load = first_chain(report, REPORT_INFER, NULL) != NULL;

    if (value < POINTER_LEAST || !starting || !running || (can_load && !loading))
        return 0;
    if (times_argument(report, other, REPORT_INFER, value) ||
        times_argument(report, other, REPORT_KERNEL, value))
        return 0;
    return loading + starting + running;
}

/* Where nobody could tell the pointer: what was an argument when the session was made and when it
 * ran, and not when another one was made. */
static uint64_t infer_session(const struct report *report, const char *created, const char *ran,
                              const char *other)
{
    unsigned best = 0;
    uint64_t found = 0;
    bool unique = false;

    for (size_t i = 0; i < report->enter_count; i++) {
        const struct report_enter *enter = &report->enters[i];

        if (strcmp(enter->label, created) != 0 ||
            !is_common(report, REPORT_KERNEL, NULL, enter->function))
            continue;
        for (size_t k = 0; k < REPORT_ARGUMENTS; k++) {
            uint64_t value = enter->arguments[k];
            unsigned good = fit(report, created, ran, other, value);

            if (good > best || (good == best && good && value != found)) {
                unique = good > best;
                best = good;
                found = value;
            }
        }
    }
    return unique ? found : 0;
}

struct known_sessions {
    size_t count;
    struct report_session items[REPORT_SESSIONS_MAX + 8];
};

static uint64_t session_of(const struct known_sessions *sessions, const char *label)
{
    for (size_t i = 0; i < sessions->count; i++)
        if (strcmp(sessions->items[i].label, label) == 0)
            return sessions->items[i].pointer;
    return 0;
}

static void add_session(struct known_sessions *sessions, const char *label, uint64_t pointer)
{
    struct report_session *session = &sessions->items[sessions->count];

    if (!pointer || session_of(sessions, label))
        return;
    memset(session, 0, sizeof *session);
    memcpy(session->label, label, strlen(label));
    session->pointer = pointer;
    sessions->count++;
}

static void know_sessions(const struct report *report, struct known_sessions *out)
{
    uint64_t first;
    uint64_t second;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < report->session_count; i++)
        add_session(out, report->sessions[i].label, report->sessions[i].pointer);
    first = infer_session(report, "python-check-array", "python-check-run", "python-check-path");
    second = infer_session(report, "python-check-path", "python-check-other", "python-check-array");
    if (!first || !second || first == second)
        return;
    add_session(out, "python-check-array", first);
    add_session(out, "python-check-run", first);
    add_session(out, "python-check-bind", first);
    add_session(out, "python-check-path", second);
    add_session(out, "python-check-other", second);
}

/* ---- functions ---- */

/* Which argument was the session whenever the function was entered; 0 = none, or it never was. */
static unsigned session_argument(const struct report *report, const struct known_sessions *sessions,
                                 uint64_t function, unsigned *out_checked)
{
    for (unsigned k = 0; k < REPORT_ARGUMENTS; k++) {
        unsigned checked = 0;
        bool always = true;

        for (size_t i = 0; i < report->enter_count && always; i++) {
            const struct report_enter *enter = &report->enters[i];
            uint64_t session;

            if (enter->function != function)
                continue;
            session = session_of(sessions, enter->label);
            always = session && enter->arguments[k] == session;
            checked += always;
        }
        if (always && checked) {
            *out_checked = checked;
            return k + 1;
        }
    }
    return 0;
}

/* The same argument whenever it was entered with a path. */
static unsigned path_argument(const struct report *report, uint64_t function)
{
    unsigned path = 0;

    for (size_t i = 0; i < report->enter_count; i++) {
        const struct report_enter *enter = &report->enters[i];

        if (enter->function != function)
            continue;
        if (!enter->path || (path && path != enter->path))
            return 0;
        path = enter->path;
    }
    return path;
}

/* The outermost function that all chains have in common and that has the session. */
static void find_method(const struct report *report, const struct known_sessions *sessions,
                        enum report_event event, const char *way, unsigned least,
                        struct report_function *out)
{
    const struct report_chain *chain = first_chain(report, event, way);

    memset(out, 0, sizeof *out);
    for (size_t i = chain ? chain->count : 0; i-- > 0;) {
        uint64_t function = chain->functions[i];
        unsigned checked = 0;
        unsigned argument;

        if (!is_common(report, event, way, function))
            continue;
        argument = session_argument(report, sessions, function, &checked);
        if (argument && checked >= least) {
            *out = (struct report_function){ function, argument, path_argument(report, function),
                                             checked };
            return;
        }
    }
}

/* The index of the node that must run next, from the operators that ran before. */
static uint64_t expected_index(const struct report *report, const struct report_enter *enter)
{
    for (size_t i = enter->computes_before; i-- > 0;)
        if (strcmp(report->computes[i].label, enter->label) == 0)
            return report->computes[i].index - 1;
    return MADE_MODEL_NODES - 1;
}

/* How many calls there were, if the argument was the index in each; else 0. */
static unsigned index_calls(const struct report *report, uint64_t function, size_t k)
{
    unsigned calls = 0;

    for (size_t i = 0; i < report->enter_count; i++) {
        const struct report_enter *enter = &report->enters[i];

        if (enter->function != function)
            continue;
        if (enter->arguments[k] != expected_index(report, enter))
            return 0;
        calls++;
    }
    return calls;
}

static void find_execute_kernel(const struct report *report, struct report_function *out)
{
    const struct report_chain *chain = report_run_chain(report);
    unsigned runs = 0;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < report->chain_count; i++)
        runs += report->chains[i].event == REPORT_COMPUTE &&
                strstr(report->chains[i].label, "check-") != NULL;
    for (size_t i = chain ? chain->count : 0; i-- > 0 && !out->address;) {
        if (!is_common(report, REPORT_COMPUTE, NULL, chain->functions[i]))
            continue;
        for (size_t k = 0; k < REPORT_ARGUMENTS; k++) {
            unsigned calls = index_calls(report, chain->functions[i], k);

            if (runs < 3 || calls != runs * MADE_MODEL_SEEN)
                continue;
            *out = (struct report_function){ chain->functions[i], (unsigned)k + 1, 0, calls };
            break;
        }
    }
}

/* The nearest: other ways lead through what happens to lie on the stack beside an argument. */
static void choose_names(const struct report *report, uint64_t function, struct report_names *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < report->names_count && function; i++) {
        const struct report_names *names = &report->names[i];

        if (names->function == function && names->checked >= NAMES_LEAST &&
            (!out->function || names->offsets[0] < out->offsets[0]))
            *out = *names;
    }
}

void report_judge(const struct report *report, struct report_verdict *out)
{
    const struct report_chain *chain = report_run_chain(report);
    struct known_sessions sessions;
    unsigned checked = 0;

    memset(out, 0, sizeof *out);
    know_sessions(report, &sessions);
    find_execute_kernel(report, &out->execute_kernel);
    choose_names(report, out->execute_kernel.address, &out->names);
    find_method(report, &sessions, REPORT_COMPUTE, NULL, 3, &out->run);
    find_method(report, &sessions, REPORT_KERNEL, NULL, 2, &out->initialize);
    find_method(report, &sessions, REPORT_INFER, NULL, 2, &out->load);
    find_method(report, &sessions, REPORT_INFER, "path", 1, &out->load_path);
    find_method(report, &sessions, REPORT_INFER, "array", 1, &out->load_array);
    if (chain && report->api_run && has_function(chain, report->api_run)) {
        out->api_run.address = report->api_run;
        out->api_run.argument = session_argument(report, &sessions, report->api_run, &checked);
        out->api_run.checked = checked;
    }
}
