#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ITT annotations of unmodified programs and libraries: oneDNN, OpenMP, TBB, Python's ittapi package.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/annotations_lib.sh"
compiler=${CC:-cc}
cd "$T" || exit 1

annotate -- "$annotated" itt 500
is "the program ends as ever" "$status $(cat "$T/out")$(cat "$T/err")" "0 itt 500"
is "every task is a zone" "$(zones)" "inner task 500;outer task 500"
is "a counter adds up" "$(rows "SELECT count(*), max(value) FROM counter WHERE name = 'done'")" "500,500"
is "markers are messages" "$(rows "SELECT text, count(*) FROM message GROUP BY text")" "tasks: marker,500"
annotate --annotations=-tasks -- "$annotated" itt 5
is "a domain that is left out" "$(zones)$(rows 'SELECT count(*) FROM message')" "0"

# ---- oneDNN ----------------------------------------------------------------------------------------
cat >matmul.c <<'END'
#include <stdio.h>
#include <oneapi/dnnl/dnnl.h>
int main(void)
{
    dnnl_dims_t dims = { 64, 64 };
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t shape;
    dnnl_matmul_desc_t what;
    dnnl_primitive_desc_t how;
    dnnl_primitive_t matmul;
    dnnl_memory_t memory[3];
    int failed = dnnl_engine_create(&engine, dnnl_cpu, 0) || dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) ||
                 dnnl_memory_desc_init_by_tag(&shape, 2, dims, dnnl_f32, dnnl_ab) ||
                 dnnl_matmul_desc_init(&what, &shape, &shape, NULL, &shape) ||
                 dnnl_primitive_desc_create(&how, &what, NULL, engine, NULL) || dnnl_primitive_create(&matmul, how);
    for (int i = 0; i < 3 && !failed; i++)
        failed = dnnl_memory_create(&memory[i], &shape, engine, DNNL_MEMORY_ALLOCATE);
    dnnl_exec_arg_t arguments[] = { { DNNL_ARG_SRC, memory[0] }, { DNNL_ARG_WEIGHTS, memory[1] }, { DNNL_ARG_DST, memory[2] } };
    for (int i = 0; i < 7 && !failed; i++)
        failed = dnnl_primitive_execute(matmul, stream, 3, arguments) || dnnl_stream_wait(stream);
    puts(failed ? "failed" : "done");
    return failed;
}
END
if $compiler -o matmul matmul.c -ldnnl 2>cc.err; then
    # One task for each thread that takes part in a primitive: with one thread, as many as calls.
    OMP_NUM_THREADS=1 annotate -- ./matmul
    is "oneDNN: the program ends as ever" "$status $(cat out)$(cat err)" "0 done"
    matches "oneDNN: a zone for every primitive, on every thread" "$(zones)" '^matmul (7|14)$'
    is "oneDNN: its domain" "$(rows "SELECT DISTINCT function FROM location WHERE name = 'matmul'")" dnnl::primitive::execute
    ONEDNN_ITT_TASK_LEVEL=0 OMP_NUM_THREADS=1 annotate -- ./matmul
    is "oneDNN: its own switch still works" "$(zones)" ""
elif grep -q 'dnnl_matmul_desc' cc.err; then
    skip "oneDNN" "this test is written for oneDNN 2"
else
    skip "oneDNN" "tools: $(head -n 1 cc.err) (package libdnnl-dev)"
fi

# ---- OpenMP ----------------------------------------------------------------------------------------
cat >loops.c <<'END'
#include <stdio.h>
int main(void)
{
    double sum = 0;
    for (int round = 0; round < 5; round++) {
#pragma omp parallel for reduction(+ : sum) num_threads(2)
        for (int i = 0; i < 1000; i++)
            sum += i;
    }
    printf("%.0f\n", sum);
    return 0;
}
END
if clang -g -fopenmp -o loops loops.c 2>cc.err; then
    annotate -- ./loops
    is "OpenMP: the program ends as ever" "$status $(cat out)$(cat err)" "0 2497500"
    is "OpenMP: a span for every parallel region" \
        "$(rows "SELECT count(*) FROM async_span WHERE name LIKE 'main\$omp\$parallel:2@%loops.c:%'")" 5
    is "OpenMP: within the recording" "$(rows "SELECT count(*) FROM async_span WHERE dur_ns < 0 OR start_ns < 0")" 0
    # shellcheck disable=SC2016 # part of the name
    annotate --annotations '-main$omp$barrier*' -- ./loops
    is "OpenMP: without barriers" "$(rows "SELECT count(*) FROM async_span WHERE name LIKE '%barrier%'")" 0
else
    skip "OpenMP" "tools: $(head -n 1 cc.err) (package libomp-dev)"
fi

# ---- TBB -------------------------------------------------------------------------------------------
cat >parallel.cpp <<'END'
#include <cstdio>
#include <tbb/parallel_for.h>
int main()
{
    double sums[64] = {};
    tbb::parallel_for(0, 64, [&](int i) { sums[i] = i; });
    std::printf("%g\n", sums[63]);
}
END
if [ -n "${CXX:-}" ] && $CXX -o parallel parallel.cpp -ltbb 2>cc.err; then
    annotate -- ./parallel
    is "TBB: the program ends as ever" "$status $(cat out)$(cat err)" "0 63"
    matches "TBB: parallel_for is a zone" "$(zones)" '^tbb_parallel_for [1-9]'
else
    skip "TBB" "tools: $(head -n 1 cc.err) (package libtbb-dev)"
fi

# ---- OpenVINO --------------------------------------------------------------------------------------
openvino="openvino-2026.4.1"
if "$SOURCE_DIR/tools/fetch-runtimes" "$openvino" >/dev/null 2>fetch; then
    python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$T/models" || exit 99
    printf 'load %s\nrun 20\nend\n' "$T/models/chain.onnx" >commands
    # shellcheck disable=SC2016 # of the inner shell
    LD_LIBRARY_PATH=$cache/$openvino:${LD_LIBRARY_PATH:-} annotate -- sh -c 'exec python3 "$@" <commands' sh \
        "$SOURCE_DIR/tests/runtimes/openvino_program.py" "$cache/$openvino"
    contains "OpenVINO: the program ends as ever" "$status $(one_line <out)" "0 ready;load $T/models/chain.onnx ok;run 20 ok;end"
    is "OpenVINO: a zone for every inference" \
        "$(rows "SELECT count(*) FROM slice WHERE function = 'ov::phases::cpu::inference' AND name LIKE 'SyncInferenceCPU::infer::%'")" 20
    is "OpenVINO: and for every node of it" "$(rows "SELECT count(*) FROM slice WHERE function = 'ov::op::cpu::exec'")" \
        "$(rows "SELECT count(*) FROM slice WHERE function = 'ov::op::cpu::details'")"
    is "OpenVINO: zones nest" "$(crossing)" 0
else
    skip "OpenVINO" "runtimes: $(tail -n 1 fetch)"
fi

# ---- Python ----------------------------------------------------------------------------------------
need annotations
cat >program.py <<'END'
import ittapi
domain = ittapi.domain('mine')
for i in range(50):
    with ittapi.task('nested', domain=domain):
        pass
    first = ittapi.task('overlapped', domain=domain, overlapped=True)
    second = ittapi.task('overlapped', domain=domain, overlapped=True)
    first.begin()
    second.begin()
    first.end()
    second.end()
ittapi.thread_set_name('the worker')
ittapi.pause()
with ittapi.task('unseen', domain=domain):
    pass
ittapi.resume()
event = ittapi.event('an event')
event.begin()
event.end()
print('done')
END
annotate -- "$cache/annotations/bin/python" program.py
is "ittapi: status" "$status $(cat out)$(cat err)" "0 done"
is "ittapi: tasks and events are zones" "$(zones)" "an event 1;nested 50"
is "ittapi: overlapped tasks are spans" "$(spans)" "overlapped 100"
is "ittapi: the thread's name" "$(rows "SELECT count(*) FROM thread WHERE name = 'the worker'")" 1
is "ittapi: pause and resume are told" "$(rows "SELECT count(*) FROM message WHERE text LIKE 'ITT: %'")" 2
done_testing
