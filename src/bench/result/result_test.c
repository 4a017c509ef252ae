// SPDX-License-Identifier: Apache-2.0
/* Results: what is computed, what is written, and what is read back from friends and foes. */
#include "bench/result/result.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yajl/yajl_tree.h>

#include "base/alloc.h"
#include "bench/result/result_fields.h"
#include "tap.h"

#define PROCESSES 3u
#define BLOCKS    8u
#define EACH      5u
#define SAMPLES   (PROCESSES * BLOCKS * EACH)

static struct ifg_error err;

static char *text(const char *value)
{
    char *copy = ifg_strdup(value);

    REQUIRE(copy != NULL);
    return copy;
}

static void *room(size_t count, size_t size)
{
    void *made = ifg_alloc(count, size);

    REQUIRE(made != NULL);
    return made;
}

static void fill_processes(struct bench_row *row)
{
    row->processes = room(PROCESSES, sizeof *row->processes);
    row->process_count = PROCESSES;
    for (size_t i = 0; i < PROCESSES; i++)
        row->processes[i] = (struct bench_process){
            .start_ms = 30 + (double)i,
            .load_ms = 12.5 - (double)i,
            .specialization_ms = NAN,
            .first_ms = 9.75 + (double)i,
            .warmup = 40 + i,
            .warmup_mean_ms = 3.25,
            .steady = true,
            .steady_after = 10 * i,
            .before_bytes = 10000000,
            .after_load_bytes = 20000000 + 1000 * i,
            .after_runs_bytes = 21000000 + 1001 * i,
            .peak_bytes = 25000000 + i,
        };
}

static void fill_samples(struct bench_row *row)
{
    uint64_t random = 5;

    row->samples_ms = room(SAMPLES, sizeof *row->samples_ms);
    row->sample_count = SAMPLES;
    row->blocks = room(PROCESSES * BLOCKS, sizeof *row->blocks);
    row->block_count = PROCESSES * BLOCKS;
    for (size_t i = 0; i < row->block_count; i++) {
        struct bench_block *block = &row->blocks[i];

        block->where = (struct statistics_block){ (uint32_t)(i / BLOCKS), i * EACH, EACH };
        block->reference_ms = i ? 1 + 0.001 * (double)i : NAN;
        block->disturbed = i == 3;
        for (size_t j = 0; j < EACH; j++) {
            double value = 3 + 0.3 * (double)(i / BLOCKS) +
                           (double)statistics_random_below(&random, 1000000) / 7e6;

            row->samples_ms[i * EACH + j] = i == 3 && j == 2 ? 55.5 : value;
            block->wall_ms += row->samples_ms[i * EACH + j] + 0.01;
        }
    }
}

static void fill_row(struct bench_row *row, bool open)
{
    row->name = text("cpu");
    row->settings = text("ep=cpu, threads=2");
    row->reason = text("");
    row->available = true;
    row->slo_ms = 3.4;
    fill_processes(row);
    fill_samples(row);
    row->placements[0] = (struct bench_placement){ "CPUExecutionProvider", 12 };
    row->placement_count = 1;
    row->placement_reason = text("");
    row->ops = room(1, sizeof *row->ops);
    row->op_count = 1;
    row->ops[0] =
        (struct bench_op){ text("conv_\"1\""), text("Conv"), text("CPU"), 50, 1.5, 75, 0.5 };
    row->ops_reason = text("");
    row->trust.level = TRUST_WARN;
    row->trust.reference_drift = 0.02;
    row->trust.lines[0] = (struct trust_line){ "steal", TRUST_WARN, 1.2, "%", "1.2 %" };
    row->trust.lines[1] =
        (struct trust_line){ "frequency", TRUST_NOT_AVAILABLE, NAN, "", "no cpufreq" };
    row->trust.count = 2;
    row->energy_cpu_j = 0.25;
    row->energy_gpu_j = NAN;
    row->energy_cpu_low_j = 0.125;
    row->energy_cpu_high_j = 0.5;
    row->energy_gpu_low_j = row->energy_gpu_high_j = NAN;
    row->energy_idle_cpu_w = 8.5;
    row->energy_idle_gpu_w = NAN;
    row->energy_idle_s = 2;
    row->energy_reason = text("");
    row->open.found_hz = NAN;
    if (open) {
        row->open.used = true;
        row->open.asked_hz = 100;
        row->open.achieved_hz = 99.5;
        row->open.service_ms = room(SAMPLES, sizeof *row->open.service_ms);
        for (size_t i = 0; i < SAMPLES; i++) {
            row->open.service_ms[i] = row->samples_ms[i] * (i % 4 ? 1 : 0.5);
            row->open.late += i % 4 == 0;
        }
        row->open.lateness_p99_ms = NAN;
    }
}

static struct bench_result *make_result(size_t rows, bool open)
{
    struct bench_result *result = bench_result_create();

    REQUIRE(result != NULL);
    result->model_path = text("models/a \xc3\xa4.onnx");
    result->model_name = text("a \xc3\xa4.onnx");
    result->model_hash = text("12ab");
    result->model_bytes = 123456;
    result->parameters = 30000;
    result->precision = text("float32");
    result->opsets = text("ai.onnx 11");
    result->runtime = text("ONNX Runtime");
    result->runtime_version = text("1.30.0");
    result->library = text("libonnxruntime.so");
    result->library_from = text("--ort");
    result->inputs = text("x float32 1x3, random (seed 1)");
    result->inputs_shape = text("x:float32:1x3,a:b:int64:7");
    result->options = text("inferogram bench a.onnx");
    result->tool_version = text("0.1");
    result->when = text("2026-11-15T08:36:58Z");
    result->scenario = text(open ? "server" : "single");
    result->batch = 2;
    result->threads = 2;
    result->seed = UINT64_MAX - 3;
    result->iterations = 40;
    result->processes = PROCESSES;
    result->trace = text("");
    snprintf(result->host.name, sizeof result->host.name, "box");
    snprintf(result->host.cpu, sizeof result->host.cpu, "Some CPU");
    result->host.cpus = 2;
    result->host.aslr = true;
    result->rows = room(rows, sizeof *result->rows);
    result->row_count = rows;
    fill_row(&result->rows[rows - 1], open);
    for (size_t i = 0; i + 1 < rows; i++) {
        result->rows[i].name = text("cuda");
        result->rows[i].settings = text("ep=cuda");
        result->rows[i].reason = text("this build has CPU only");
        result->rows[i].trust.level = TRUST_NOT_AVAILABLE;
    }
    REQUIRE_INT(bench_row_finish(&result->rows[rows - 1], false, result->seed, &err), IFG_OK);
    return result;
}

static struct ifg_bytes write_json(const struct bench_result *result)
{
    struct ifg_bytes out;

    ifg_bytes_init(&out, 1u << 24);
    REQUIRE_INT(bench_result_write_json(result, &out, &err), IFG_OK);
    return out;
}

static bool near(double got, double expected)
{
    bool good = fabs(got - expected) <= 1e-9 * fabs(expected);

    if (!good)
        tap_diag("got %.17g, expected %.17g", got, expected);
    return good;
}

static void derived_numbers(void)
{
    struct bench_result *result = make_result(1, false);
    struct bench_row *row = &result->rows[0];
    struct bench_memory memory;
    double wall = 0;
    size_t met = 0;

    for (size_t i = 0; i < row->block_count; i++)
        wall += row->blocks[i].wall_ms;
    for (size_t i = 0; i < SAMPLES; i++)
        met += row->samples_ms[i] <= 3.4;
    CHECK(near(row->throughput, 1000 * SAMPLES / wall));
    CHECK(row->throughput_interval.known && row->throughput_interval.low < row->throughput &&
          row->throughput < row->throughput_interval.high);
    CHECK(near(row->goodput, (double)met / SAMPLES));
    CHECK(row->median.known && row->median.low <= row->summary.p[STATISTICS_P50] &&
          row->summary.p[STATISTICS_P50] <= row->median.high);
    CHECK_UINT(row->summary.outliers, 1);
    CHECK_UINT(row->outliers_disturbed, 1);
    CHECK(row->steady);
    CHECK(row->block_cv > 0 && row->block_autocorrelation > 0.3);
    CHECK(row->effective > 1 && row->effective < row->block_count);
    CHECK_UINT(row->change_point_count, 2);
    CHECK(row->change_points[0] == BLOCKS && row->change_points[1] == 2 * BLOCKS);
    CHECK(!bench_row_has_host_times(row)); /* its operator is the CPU's */
    ifg_free(row->ops[0].provider);
    row->ops[0].provider = text("CUDAExecutionProvider");
    CHECK(bench_row_has_host_times(row));
    bench_row_memory(row, &memory);
    CHECK_UINT(memory.after_load_bytes, 20001000);
    CHECK_INT(memory.delta_bytes, 15000001);
    CHECK(near(bench_row_process_median(row, offsetof(struct bench_process, first_ms)), 10.75));
    CHECK(isnan(bench_row_process_median(row, offsetof(struct bench_process, specialization_ms))));
    row->per_query = 8;
    REQUIRE_INT(bench_row_finish(row, true, 1, &err), IFG_OK);
    CHECK(near(row->throughput, 8000 * SAMPLES / wall));
    row->blocks[2].where.count++;
    CHECK_INT(bench_row_finish(row, true, 1, &err), IFG_INVALID);
    bench_result_destroy(result);
}

/* Written, read, written again: the same bytes. */
static void round_trips(void)
{
    for (int kind = 0; kind < 4; kind++) {
        struct bench_result *result = make_result(kind % 2 ? 3 : 1, kind >= 2);
        struct bench_result *read = NULL;
        struct ifg_bytes first, second;

        first = write_json(result);
        if (bench_result_parse("it", first.data, first.size, &read, &err))
            tap_diag("%s", err.message);
        REQUIRE(read != NULL);
        if (kind >= 2) { /* computed again when it is read */
            CHECK(read->rows[read->row_count - 1].open.lateness_p99_ms > 1);
            CHECK_UINT(read->rows[read->row_count - 1].open.late, SAMPLES / 4);
            result->rows[result->row_count - 1].open.lateness_p99_ms =
                read->rows[read->row_count - 1].open.lateness_p99_ms;
            ifg_bytes_fini(&first);
            first = write_json(result);
        }
        second = write_json(read);
        CHECK_UINT(second.size, first.size);
        if (second.size == first.size)
            CHECK_BYTES(second.data, first.data, first.size);
        CHECK_UINT(read->row_count, kind % 2 ? 3 : 1);
        REQUIRE(bench_result_main(read) == &read->rows[read->row_count - 1]);
        CHECK_UINT(read->seed, UINT64_MAX - 3);
        CHECK_STR(read->rows[read->row_count - 1].trust.lines[0].name, "steal");
        bench_result_destroy(read);
        bench_result_destroy(result);
        ifg_bytes_fini(&first);
        ifg_bytes_fini(&second);
    }
}

/* A row of the table is all that a new field needs. */
static void table_is_written(void)
{
    struct bench_result *result = make_result(3, true);
    struct ifg_bytes out = write_json(result);

    ifg_bytes_put(&out, "", 1);
    for (enum object object = TOP; object < OBJECTS; object++) {
        const struct field *field = result_objects[object].fields;

        for (; field->key; field++) {
            char key[64];

            snprintf(key, sizeof key, "\"%s\":", field->key);
            CHECK_CONTAINS((const char *)out.data, key);
        }
    }
    ifg_bytes_fini(&out);
    bench_result_destroy(result);
}

static enum ifg_status parse(const char *json, struct bench_result **out_result)
{
    return bench_result_parse("x.json", json, strlen(json), out_result, &err);
}

static void foreign_documents(void)
{
    struct bench_result *result = NULL;
    const struct bench_row *row;

    REQUIRE_INT(
        parse("{\"tool\":{\"a\":[1,{\"b\":[]}]},\"raw_samples_ms\":[1,2,3,4,5,6,7,8,9,10,11,"
              "12.5],\"memory\":{\"peak_bytes\":\"?\"},\"p50_ms\":\"?\"}",
              &result),
        IFG_OK);
    row = bench_result_main(result);
    REQUIRE(row != NULL);
    CHECK_UINT(row->sample_count, 12);
    CHECK_UINT(row->block_count, 2);
    CHECK_UINT(row->blocks[1].where.count, 2);
    CHECK(near(row->summary.p[STATISTICS_P50], 6.5));
    CHECK(near(row->throughput, 1000 * 12 / 78.5 * 1.0));
    CHECK_STR(result->model_hash, "");
    CHECK_STR(row->name, "");
    CHECK(!row->median.known && !row->steady);
    CHECK_INT(row->trust.level, TRUST_NOT_AVAILABLE);
    bench_result_destroy(result);
}

static const struct {
    const char *json;
    const char *message;
} hostile[] = {
    { "", "x.json is no JSON at byte 0" },
    { "[1]", "it is not a JSON object" },
    { "7", "it is not a JSON object" },
    { "{}", "has no raw_samples_ms; was it made by `inferogram bench --json`?" },
    { "{\"raw_samples_ms\":[NaN]}", "no JSON at byte" },
    { "{\"raw_samples_ms\":[1e999]}", "raw_samples_ms[0] is not a finite number: 1e999" },
    { "{\"raw_samples_ms\":[1,-1]}", "raw_samples_ms[1] is no time in ms: -1" },
    { "{\"raw_samples_ms\":[1,null]}", "raw_samples_ms[1] must be a number" },
    { "{\"raw_samples_ms\":[1,[2]]}", "raw_samples_ms[1] must be a number" },
    { "{\"raw_samples_ms\":[\"1\"]}", "raw_samples_ms[0] must be a number" },
    { "{\"raw_samples_ms\":[{}]}", "raw_samples_ms[0] must be a number" },
    { "{\"raw_samples_ms\":[true]}", "raw_samples_ms[0] must be a list of numbers" },
    { "{\"raw_samples_ms\":7}", "raw_samples_ms must be a list of numbers" },
    { "{\"raw_samples_ms\":[1],\"raw_samples_ms\":[2]}", "raw_samples_ms is there twice" },
    { "{\"raw_samples_ms\":[1]", "no JSON at byte 21" },
    { "{\"raw_samples_ms\":[1]}}", "no JSON at byte" },
    { "{\"kind\":\"compare\",\"raw_samples_ms\":[1]}", "kind is compare, not bench" },
    { "{\"schema\":2,\"raw_samples_ms\":[1]}", "has schema 2" },
    { "{\"schema\":\"1\",\"raw_samples_ms\":[1]}", "schema must be a number" },
    { "{\"raw_samples_ms\":[1],\"name\":[]}", "name must be a text" },
    { "{\"raw_samples_ms\":[1],\"name\":1}", "name must be a text" },
    { "{\"raw_samples_ms\":[1],\"model\":\"m\"}", "model must be an object" },
    { "{\"raw_samples_ms\":[1],\"model\":{\"bytes\":-1}}", "model.bytes must be a whole number" },
    { "{\"raw_samples_ms\":[1],\"model\":{\"bytes\":1.5}}", "model.bytes must be a whole" },
    { "{\"raw_samples_ms\":[1],\"model\":{\"bytes\":99999999999999999999}}",
      "model.bytes is too large" },
    { "{\"raw_samples_ms\":[1],\"options\":{\"processes\":4294967296}}",
      "options.processes is too large" },
    { "{\"raw_samples_ms\":[1],\"options\":{\"batch\":1e300}}", "options.batch must be a whole" },
    { "{\"raw_samples_ms\":[1],\"available\":1}", "available must be true or false" },
    { "{\"raw_samples_ms\":[1],\"percentile_rule\":\"odd\"}", "must be linear or nearest" },
    { "{\"raw_samples_ms\":[1],\"trust\":{\"level\":\"fine\"}}", "trust.level is no level" },
    { "{\"raw_samples_ms\":[1,2],\"blocks\":[{\"first\":0,\"count\":1}]}",
      "blocks cover 1 of 2 raw_samples_ms" },
    { "{\"raw_samples_ms\":[1,2],\"blocks\":[{\"first\":0,\"count\":3}]}", "blocks[0] (first 0" },
    { "{\"raw_samples_ms\":[1,2],\"blocks\":[{\"first\":0,\"count\":1},{\"first\":0,\"count\":"
      "1}"
      "]}",
      "blocks[1] (first 0, count 1)" },
    { "{\"raw_samples_ms\":[1],\"blocks\":[{\"first\":0,\"count\":1},{\"first\":1,\"count\":0}]"
      "}",
      "blocks[1] (first 1, count 0)" },
    { "{\"raw_samples_ms\":[1],\"blocks\":[{\"first\":0,\"count\":9e18}]}",
      "blocks[0].count is too large" },
    { "{\"raw_samples_ms\":[1,2],\"blocks\":[{\"process\":1,\"first\":0,\"count\":1},{"
      "\"process\":"
      "0,\"first\":1,\"count\":1}]}",
      "blocks[1].process is 0" },
    { "{\"raw_samples_ms\":[1],\"processes\":[{}],\"blocks\":[{\"process\":1,\"first\":0,"
      "\"count\":"
      "1}]}",
      "blocks[0].process is 1" },
    { "{\"raw_samples_ms\":[1],\"blocks\":[7]}", "blocks[0] must be a list of objects" },
    { "{\"raw_samples_ms\":[1],\"processes\":[{\"load_ms\":-3}]}", "processes[0].load_ms must" },
    { "{\"raw_samples_ms\":[1],\"open_loop\":{}}", "has 0 service_ms for 1 raw_samples_ms" },
    { "{\"rows\":[{\"raw_samples_ms\":[]},{\"name\":\"b\"}]}", "rows[1] has no raw_samples_ms" },
    { "{\"rows\":[{\"raw_samples_ms\":[1],\"blocks\":[{\"wall_ms\":true}]}]}",
      "rows[0].blocks[0].wall_ms must be a number" },
};

static void hostile_documents(void)
{
    char deep[5000];

    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct bench_result *result = (struct bench_result *)1;
        enum ifg_status status = parse(hostile[i].json, &result);

        tap_note("%s", hostile[i].json);
        CHECK(status == IFG_CORRUPT || status == IFG_UNSUPPORTED);
        CHECK(result == NULL);
        CHECK_CONTAINS(err.message, "x.json");
        CHECK_CONTAINS(err.message, hostile[i].message);
    }
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"a\":", 5);
    deep[sizeof deep - 1] = '\0';
    {
        struct bench_result *result;

        CHECK_INT(parse(deep, &result), IFG_CORRUPT);
        CHECK_CONTAINS(err.message, "nested too deep");
    }
}

static void too_many_elements(void)
{
    struct ifg_bytes out;
    struct bench_result *result;

    ifg_bytes_init(&out, 1u << 20);
    ifg_bytes_put(&out, "{\"raw_samples_ms\":[1],\"placement\":[", 35);
    for (int i = 0; i < 17; i++)
        ifg_bytes_put(&out, i ? ",{}" : "{}", i ? 3 : 2);
    ifg_bytes_put(&out, "]}", 2);
    CHECK_INT(bench_result_parse("x.json", out.data, out.size, &result, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, "placement[16] has more than 16 elements");
    ifg_bytes_fini(&out);
}

static void files(void)
{
    struct bench_result *result = make_result(1, false);
    struct bench_result *read = NULL;
    struct ifg_bytes out = write_json(result);
    char path[] = "/tmp/inferogram-result-XXXXXX";
    int fd = mkstemp(path);

    REQUIRE(fd >= 0);
    REQUIRE_INT(write(fd, out.data, out.size), (int64_t)out.size);
    close(fd);
    REQUIRE_INT(bench_result_read(path, &read, &err), IFG_OK);
    CHECK_UINT(read->rows[0].sample_count, SAMPLES);
    bench_result_destroy(read);
    REQUIRE_INT(truncate(path, (off_t)out.size / 2), 0);
    CHECK_INT(bench_result_read(path, &read, &err), IFG_CORRUPT);
    CHECK_CONTAINS(err.message, path);
    unlink(path);
    CHECK_INT(bench_result_read(path, &read, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, path);
    CHECK_INT(bench_result_read("/tmp", &read, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "directory");
    ifg_bytes_fini(&out);
    bench_result_destroy(result);
}

static void memory_runs_out(void)
{
    struct bench_result *result = make_result(3, true);
    struct ifg_bytes document = write_json(result);
    struct ifg_bytes out;
    long successes = 0;
    char **lines;
    size_t count;

    for (;; successes++) {
        struct bench_result *read = NULL;
        enum ifg_status status;

        ifg_alloc_fail_after(successes);
        status = bench_result_parse("it", document.data, document.size, &read, &err);
        ifg_alloc_fail_after(-1);
        bench_result_destroy(read);
        if (!status)
            break;
        REQUIRE_INT(status, IFG_NO_MEMORY);
        REQUIRE(read == NULL);
    }
    tap_diag("%ld allocations failed one after the other", successes);
    CHECK(successes > 50);
    ifg_bytes_init(&out, 100);
    CHECK_INT(bench_result_write_json(result, &out, &err), IFG_NO_MEMORY);
    CHECK_INT(bench_result_write_csv(result, &out, &err), IFG_NO_MEMORY);
    CHECK_INT(bench_result_write_winml(result, &out, &err), IFG_NO_MEMORY);
    ifg_bytes_fini(&out);
    ifg_alloc_fail_after(0);
    CHECK_INT(bench_result_differences(result, result, false, &lines, &count, &err), IFG_NO_MEMORY);
    ifg_alloc_fail_after(0);
    CHECK_INT(bench_row_finish(&result->rows[2], false, 1, &err), IFG_NO_MEMORY);
    ifg_bytes_fini(&document);
    bench_result_destroy(result);
}

static bool has_line(char **lines, size_t count, const char *line)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(lines[i], line) == 0)
            return true;
    tap_diag("no line \"%s\"", line);
    return false;
}

static void differences(void)
{
    struct bench_result *a = make_result(1, false);
    struct bench_result *b = make_result(1, false);
    struct bench_result *foreign = NULL;
    char **lines;
    size_t count;

    REQUIRE_INT(bench_result_differences(a, b, false, &lines, &count, &err), IFG_OK);
    CHECK_UINT(count, 0);
    ifg_free(lines);
    b->model_hash[0] = '7';
    b->model_bytes++;
    b->threads = 0;
    b->batch = 1;
    b->rows[0].settings[0] = '\0';
    snprintf(b->host.cpu, sizeof b->host.cpu, "Other CPU");
    snprintf(b->rows[0].placements[0].provider, 64, "XnnpackExecutionProvider");
    b->runtime_version[2] = '4';
    REQUIRE_INT(bench_result_differences(a, b, false, &lines, &count, &err), IFG_OK);
    CHECK_UINT(count, 8);
    CHECK(has_line(lines, count, "model hash: 12ab | 72ab"));
    CHECK(has_line(lines, count, "model bytes: 123456 | 123457"));
    CHECK(has_line(lines, count, "threads: 2 | the runtime's choice"));
    CHECK(has_line(lines, count, "batch: 2 | 1"));
    CHECK(has_line(lines, count, "settings: ep=cpu, threads=2 | none"));
    CHECK(has_line(lines, count, "providers: CPUExecutionProvider | XnnpackExecutionProvider"));
    CHECK(has_line(lines, count, "CPU: Some CPU | Other CPU"));
    CHECK(has_line(lines, count, "runtime version: 1.30.0 | 1.40.0"));
    for (size_t i = 0; i < count; i++)
        ifg_free(lines[i]);
    ifg_free(lines);
    REQUIRE_INT(bench_result_differences(a, b, true, &lines, &count, &err), IFG_OK);
    CHECK_UINT(count, 6);
    for (size_t i = 0; i < count; i++)
        ifg_free(lines[i]);
    ifg_free(lines);
    /* What a document does not tell is no difference; a batch of one if none is told. */
    REQUIRE_INT(parse("{\"raw_samples_ms\":[1,2,3]}", &foreign), IFG_OK);
    a->batch = 1;
    REQUIRE_INT(bench_result_differences(a, foreign, false, &lines, &count, &err), IFG_OK);
    CHECK_UINT(count, 0);
    ifg_free(lines);
    bench_result_destroy(foreign);
    bench_result_destroy(a);
    bench_result_destroy(b);
}

/* Fields of a line of CSV without quotes that hold commas; the last ends at the line's end. */
static size_t split(char *line, char **fields, size_t max)
{
    size_t count = 0;
    bool quoted = false;

    fields[count++] = line;
    for (; *line && *line != '\r'; line++) {
        quoted ^= *line == '"';
        if (*line == ',' && !quoted && count < max) {
            *line = '\0';
            fields[count++] = line + 1;
        }
    }
    *line = '\0';
    return count;
}

static void csv(void)
{
    struct bench_result *result = make_result(2, false);
    char *fields[3][80], *lines[3];
    struct ifg_bytes out;
    size_t counts[3];

    ifg_bytes_init(&out, 1u << 20);
    REQUIRE_INT(bench_result_write_csv(result, &out, &err), IFG_OK);
    ifg_bytes_put(&out, "", 1);
    lines[0] = (char *)out.data;
    for (int i = 1; i < 3; i++) {
        lines[i] = strstr(lines[i - 1], "\r\n");
        REQUIRE(lines[i] != NULL);
        lines[i] += 2;
    }
    for (int i = 0; i < 3; i++)
        counts[i] = split(lines[i], fields[i], 80);
    CHECK_UINT(counts[0], 53);
    CHECK_UINT(counts[1], counts[0]);
    CHECK_UINT(counts[2], counts[0]);
    CHECK_STR(fields[1][0], "cuda");
    CHECK_STR(fields[1][2], "false");
    CHECK_STR(fields[1][7], "");
    CHECK_STR(fields[2][1], "\"ep=cpu, threads=2\"");
    CHECK_STR(fields[0][11], "p50_ms");
    CHECK(strtod(fields[2][11], NULL) == result->rows[1].summary.p[STATISTICS_P50]);
    CHECK_STR(fields[0][28], "throughput_fps");
    CHECK(strtod(fields[2][28], NULL) == result->rows[1].throughput);
    CHECK_STR(fields[0][52], "when");
    CHECK_STR(fields[2][52], "2026-11-15T08:36:58Z");
    ifg_bytes_fini(&out);
    bench_result_destroy(result);
}

static void winml(void)
{
    static const char *const numbers[][3] = {
        { "latency_ms", "mean" },
        { "latency_ms", "p50" },
        { "latency_ms", "p90" },
        { "latency_ms", "p95" },
        { "latency_ms", "p99" },
        { "latency_ms", "min" },
        { "latency_ms", "max" },
        { "latency_ms", "std" },
        { "latency_ms", "warmup_mean" },
        { "throughput", "samples_per_sec" },
        { "throughput", "batches_per_sec" },
        { "memory", "rss_baseline_mb" },
        { "memory", "rss_peak_during_inference_mb" },
    };
    struct bench_result *result = make_result(1, false);
    struct ifg_bytes out;
    yajl_val tree, names;

    ifg_bytes_init(&out, 1u << 20);
    REQUIRE_INT(bench_result_write_winml(result, &out, &err), IFG_OK);
    ifg_bytes_put(&out, "", 1);
    tree = yajl_tree_parse((const char *)out.data, NULL, 0);
    REQUIRE(tree != NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const char *path[] = { numbers[i][0], numbers[i][1], NULL };

        tap_note("%s.%s", path[0], path[1]);
        CHECK(yajl_tree_get(tree, path, yajl_t_number) != NULL);
    }
    CHECK(yajl_tree_get(tree, (const char *[]){ "raw_samples_ms", NULL }, yajl_t_array) != NULL);
    names =
        yajl_tree_get(tree, (const char *[]){ "model_info", "input_names", NULL }, yajl_t_array);
    REQUIRE(names != NULL && names->u.array.len == 2);
    CHECK_STR(YAJL_GET_STRING(names->u.array.values[1]), "a:b");
    names =
        yajl_tree_get(tree, (const char *[]){ "model_info", "input_shapes", NULL }, yajl_t_array);
    REQUIRE(names != NULL && names->u.array.len == 2);
    CHECK_UINT(names->u.array.values[0]->u.array.len, 2);
    names =
        yajl_tree_get(tree, (const char *[]){ "model_info", "input_types", NULL }, yajl_t_array);
    CHECK_STR(YAJL_GET_STRING(names->u.array.values[1]), "int64");
    yajl_tree_free(tree);
    ifg_bytes_fini(&out);
    bench_result_destroy(result);
}

/* Nothing measured, nothing known: still a document. */
static void empty_results(void)
{
    struct bench_result *result = bench_result_create();
    struct bench_result *read = NULL;
    struct ifg_bytes out;

    REQUIRE(result != NULL);
    out = write_json(result);
    ifg_bytes_put(&out, "", 1);
    CHECK_CONTAINS((const char *)out.data, "\"schema\":1,\"kind\":\"bench\"");
    CHECK_INT(bench_result_parse("it", out.data, out.size - 1, &read, &err), IFG_CORRUPT);
    ifg_bytes_clear(&out);
    CHECK_INT(bench_result_write_csv(result, &out, &err), IFG_OK);
    CHECK_INT(bench_result_write_winml(result, &out, &err), IFG_OK);
    ifg_bytes_fini(&out);
    result->rows = room(1, sizeof *result->rows);
    result->row_count = 1;
    out = write_json(result);
    REQUIRE_INT(bench_result_parse("it", out.data, out.size, &read, &err), IFG_OK);
    CHECK(bench_result_main(read) == NULL);
    CHECK(!read->rows[0].available);
    bench_result_destroy(read);
    ifg_bytes_fini(&out);
    bench_result_destroy(result);
    bench_result_destroy(NULL);
}

TAP_MAIN(TAP_CASE(derived_numbers), TAP_CASE(round_trips), TAP_CASE(table_is_written),
         TAP_CASE(foreign_documents), TAP_CASE(hostile_documents), TAP_CASE(too_many_elements),
         TAP_CASE(files), TAP_CASE(memory_runs_out), TAP_CASE(differences), TAP_CASE(csv),
         TAP_CASE(winml), TAP_CASE(empty_results))
