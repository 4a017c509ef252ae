// SPDX-License-Identifier: Apache-2.0
/* The store of results, drift in it, and files that are written whole or not at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/gate/gate.h"
#include "tap.h"

/* ---- history ---- */

static void document(struct ifg_bytes *out, const char *cpu, const char *when, double p50)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"schema\":1,\"kind\":\"bench\",\"when\":\"%s\",\"model\":{\"name\":\"det.onnx\"},"
        "\"runtime\":{\"name\":\"ONNX Runtime\",\"version\":\"1\"},\"host\":{\"cpu\":\"%s\"},"
        "\"settings\":\"\",\"p50_ms\":%.9g,\"load_ms\":100,\"memory\":{\"peak_bytes\":1000},"
        "\"rows\":[{\"p50_ms\":1,\"model\":{\"name\":\"x\"}}],\"raw_samples_ms\":[1,2]}",
        when, cpu, p50);

    ifg_bytes_init(out, 1 << 20);
    ifg_bytes_put(out, text, (size_t)length);
}

static void append(const char *directory, const char *cpu, unsigned day, double p50,
                   const char *commit, char *out_file)
{
    struct ifg_error err = { 0 };
    struct ifg_bytes bytes;
    char when[64];

    snprintf(when, sizeof when, "2026-10-%02uT12:00:00Z", day);
    document(&bytes, cpu, when, p50);
    REQUIRE_INT(gate_history_append(directory, &bytes, when, commit, out_file, GATE_TEXT, &err),
                IFG_OK);
    ifg_bytes_fini(&bytes);
}

static void remove_directory(const char *directory)
{
    pid_t child = fork();

    if (child == 0) {
        execlp("rm", "rm", "-rf", directory, (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void history(void)
{
    char directory[] = "/tmp/ifg-history-XXXXXX";
    char nested[64], file[GATE_TEXT], path[512];
    struct gate_history *read = NULL;
    struct gate_drift drift;
    struct ifg_error err = { 0 };
    FILE *bad;

    REQUIRE(mkdtemp(directory) != NULL);
    snprintf(nested, sizeof nested, "%s/runs", directory);
    /* 13 runs at 10 ms, then 10.4: found, with the right run and date. Others are in between. */
    for (unsigned day = 1; day <= 26; day++) {
        append(nested, "other cpu", day, 5, NULL, file);
        append(nested, "this cpu", day, (day < 14 ? 10 : 10.4) + 0.01 * (day % 3),
               day == 14 ? "0123456789abcdef0123456789abcdef01234567" : NULL, file);
    }
    CHECK_STR(file, "20261026T120000Z-2.json");
    snprintf(path, sizeof path, "%s/cut.json", nested);
    bad = fopen(path, "w");
    REQUIRE(bad != NULL);
    fputs("{\"schema\":1,", bad);
    fclose(bad);
    snprintf(path, sizeof path, "%s/directory.json", nested);
    REQUIRE_INT(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/notes.txt", nested);
    fclose(fopen(path, "w"));

    REQUIRE_INT(gate_history_read(nested, file, &read, &err), IFG_OK);
    CHECK_UINT(read->run_count, 26);
    CHECK_UINT(read->others, 26);
    CHECK_UINT(read->skipped_count, 2);
    CHECK_CONTAINS(read->skipped[0], "cut.json");
    REQUIRE_INT(gate_history_drift(read, GATE_SERIES_P50, &drift, &err), IFG_OK);
    CHECK(drift.known && drift.changed);
    CHECK_UINT(drift.number, 14);
    CHECK_UINT(drift.runs, 26);
    CHECK(fabs(drift.change - 0.04) < 0.003);
    CHECK_STR(drift.since.when, "2026-10-14T12:00:00Z");
    CHECK_STR(drift.since.commit, "0123456789ab");
    REQUIRE_INT(gate_history_drift(read, GATE_SERIES_LOAD, &drift, &err), IFG_OK);
    CHECK(drift.known && !drift.changed);
    gate_history_destroy(read);
    CHECK_INT(gate_history_read(nested, "absent.json", &read, &err), IFG_NOT_FOUND);
    CHECK_INT(gate_history_read("/nonexistent", file, &read, &err), IFG_NOT_FOUND);
    remove_directory(directory);
}

/* Drift by one percent at a time is one rise; what went up and down again is none. */
static void drift_in_steps(void)
{
    struct gate_run runs[60];
    struct gate_history history = { .runs = runs };
    struct gate_drift drift;
    struct ifg_error err = { 0 };

    memset(runs, 0, sizeof runs);
    for (unsigned i = 0; i < 60; i++)
        runs[i].value[0] = 10 * pow(1.02, i / 12) + 0.005 * (i % 4);
    history.run_count = 60;
    REQUIRE_INT(gate_history_drift(&history, 0, &drift, &err), IFG_OK);
    CHECK(drift.changed && drift.change > 0.06);
    tap_diag("four steps of 2 %%: %.1f %% since run %zu", 100 * drift.change, drift.number);
    for (unsigned i = 0; i < 60; i++)
        runs[i].value[0] = (i >= 10 && i < 40 ? 11 : 10) + 0.005 * (i % 4);
    REQUIRE_INT(gate_history_drift(&history, 0, &drift, &err), IFG_OK);
    CHECK(drift.changed && drift.change < 0);
    history.run_count = 9;
    REQUIRE_INT(gate_history_drift(&history, 0, &drift, &err), IFG_OK);
    CHECK(!drift.known && !drift.changed);
    for (unsigned i = 0; i < 60; i++)
        runs[i].value[0] = NAN;
    history.run_count = 60;
    REQUIRE_INT(gate_history_drift(&history, 0, &drift, &err), IFG_OK);
    CHECK(!drift.known);
}

/* Several jobs at once: nobody's run is lost, nobody reads half a file. */
static void history_at_once(void)
{
    enum { JOBS = 8, EACH = 10 };
    char directory[] = "/tmp/ifg-history-XXXXXX";
    struct gate_history *read = NULL;
    struct ifg_error err = { 0 };
    char file[GATE_TEXT];

    REQUIRE(mkdtemp(directory) != NULL);
    for (int job = 0; job < JOBS; job++) {
        if (fork() == 0) {
            for (int i = 0; i < EACH; i++)
                append(directory, "cpu", 1, 10, "abcdef0123456", file);
            _exit(0);
        }
    }
    for (int job = 0; job < JOBS; job++)
        wait(NULL);
    append(directory, "cpu", 2, 10, NULL, file);
    REQUIRE_INT(gate_history_read(directory, file, &read, &err), IFG_OK);
    CHECK_UINT(read->run_count, JOBS * EACH + 1);
    CHECK_UINT(read->skipped_count, 0);
    gate_history_destroy(read);
    remove_directory(directory);
}

static void hostile_documents(void)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"schema\":1}",
        "{\"schema\":2,\"kind\":\"bench\"}",
        "<html>",
        "{\"schema\":1,\"kind\":\"bench\",\"when\":\"x\",\"p50_ms\":-1}",
        "{\"schema\":1,\"kind\":\"bench\",\"when\":\"x\",\"p50_ms\":1e999}",
        "{\"schema\":1,\"kind\":\"compare\",\"when\":\"x\",\"p50_ms\":1}",
        "{\"rows\":[{\"schema\":1,\"kind\":\"bench\",\"when\":\"x\",\"p50_ms\":1}]}",
    };
    static const char good[] = "{\"schema\":1,\"kind\":\"bench\",\"when\":\"x\",\"p50_ms\":1}";
    struct ifg_error err = { 0 };
    struct gate_run run;
    char deep[400];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tap_note("%s", texts[i]);
        CHECK_INT(gate_run_parse("a.json", texts[i], strlen(texts[i]), &run, &err), IFG_CORRUPT);
    }
    memset(deep, '[', sizeof deep);
    CHECK_INT(gate_run_parse("a.json", deep, sizeof deep, &run, &err), IFG_CORRUPT);
    CHECK_INT(gate_run_parse("20260101T000000Z-abc.json", good, strlen(good), &run, &err), IFG_OK);
    CHECK_STR(run.commit, "");
}

/* ---- files ---- */

static void files(void)
{
    char directory[] = "/tmp/ifg-gate-XXXXXX";
    char path[64], text[8] = "";
    struct ifg_error err = { 0 };
    FILE *file;

    REQUIRE(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/out", directory);
    CHECK_INT(gate_write_file(path, "old\n", 4, &err), IFG_OK);
    CHECK_INT(gate_write_file(path, "new\n", 4, &err), IFG_OK);
    file = fopen(path, "r");
    REQUIRE(file != NULL);
    CHECK_UINT(fread(text, 1, sizeof text, file), 4);
    fclose(file);
    CHECK_STR(text, "new\n");
    CHECK_INT(gate_write_file("/dev/null", "x", 1, &err), IFG_OK);
    CHECK_INT(gate_write_file("/dev/full", "x", 1, &err), IFG_IO);
    snprintf(path, sizeof path, "%s/absent/out", directory);
    CHECK_INT(gate_write_file(path, "x", 1, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "cannot write");
    remove_directory(directory);
}

TAP_MAIN(TAP_CASE(history), TAP_CASE(drift_in_steps), TAP_CASE(history_at_once),
         TAP_CASE(hostile_documents), TAP_CASE(files))
