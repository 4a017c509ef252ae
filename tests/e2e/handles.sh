#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiling handles in unmodified programs: IFG_PROFILE, real runtimes, files that AIC100's own scripts read.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
relu=$models/relu.onnx
reports=$T/reports

# rows_of FOLDER: samples in all latency files, as a script of AIC100's users reads them; says what is inconsistent
rows_of() {
    python3 - "$1" <<'END'
import csv, glob, os, sys
total = 0
for path in sorted(glob.glob(os.path.join(sys.argv[1], '*latency*.txt'))):
    with open(path) as f:
        head = [next(f) for _ in range(4)]
        table = list(csv.reader(f))
    names = [name.strip() for name in table[0]]
    columns = [name for name in names if name.endswith('Us')]
    collected = int(head[3].split()[2])
    if collected != len(table) - 1:
        print('head says', collected, 'rows', len(table) - 1)
    for row in table[1:]:
        values = dict(zip(names, (value.strip() for value in row)))
        known = {name: float(values[name]) for name in columns if values[name] != 'N/A'}
        parts = sum(known.get(name, 0) for name in ('enqTimeUs', 'preProcTimeUs', 'hostRoundTripUs', 'postProcUs'))
        if parts > known['totalRoundtripTimeUs'] + 0.005:
            print(path, values['Sample'], 'parts', parts, 'of', known['totalRoundtripTimeUs'])
    total += len(table) - 1
print(total)
END
}

# profiled WHAT COMMAND...: with handles, and nobody recording
profiled() {
    rm -rf "$reports"
    IFG_PROFILE=$1
    shift
    env IFG_PROFILE="$IFG_PROFILE,dir=$reports" LD_PRELOAD="$BUILD_DIR/hooks/libinferogram-preload.so" \
        PYTHONPATH="$BUILD_DIR/hooks/python" "$@" >"$T/out" 2>"$T/err"
}

for version in 1.20.1 1.30.0; do
    have "ort-node-$version" || { skip "C $version" "$(tail -n 1 "$T/fetch")"; continue; }
    library=$(ort $version)
    "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40 >"$T/plain"
    profiled stream:rate=100 "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40
    is "C $version: the program's output is the same" "$(cat "$T/out")" "$(cat "$T/plain")"
    is "C $version: nothing is said" "$(cat "$T/err")" ""
    is "C $version: every inference is in a report, and rows add up" "$(rows_of "$reports")" 40
    profiled stream:rate=100,sampling=fourth,regex=^rel "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40
    is "C $version: every fourth" "$(rows_of "$reports")" 10
    profiled stream:regex=^other "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40
    is "C $version: another model's name" "$(rows_of "$reports")" 0
    profiled profile:samples=7 "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40
    is "C $version: the first seven" "$(rows_of "$reports")" 7
    profiled profile:samples=3,type=trace "$PROGRAMS/ort_app" --ort "$library" --model "$relu" --runs 40
    is "C $version: a trace of three" "$(python3 -c 'import glob,json,sys
events = json.load(open(glob.glob(sys.argv[1] + "/*trace*.json")[0]))["traceEvents"]
print(sum(e.get("cat") == "inference" for e in events))' "$reports")" 3
done

for version in 1.20.1 1.31.1; do
    have "python-$version" || { skip "Python $version" "$(tail -n 1 "$T/fetch")"; continue; }
    python=$(cached "python-$version")/bin/python
    cat >"$T/program.py" <<'END'
import sys
import numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])
feed = {i.name: numpy.ones([d if isinstance(d, int) else 1 for d in i.shape], numpy.float32) for i in session.get_inputs()}
for _ in range(25):
    session.run(None, feed)
print('done')
END
    profiled stream:rate=100 "$python" "$T/program.py" "$relu"
    is "Python $version: the program ends well" "$(cat "$T/out")" "done"
    is "Python $version: every inference is in a report" "$(rows_of "$reports")" 25
done

# A recording of the same process at the same time.
if have ort-node-1.30.0; then
    rm -rf "$reports"
    IFG_PROFILE="stream:rate=100,dir=$reports" "$INFEROGRAM" record -q -f -o "$trace" -- \
        "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$relu" --runs 40 >/dev/null 2>&1
    is "beside a recording: every inference is in a report" "$(rows_of "$reports")" 40
    is "beside a recording: and in the trace" "$(rows "SELECT count(*) FROM ml_event WHERE category = 'inference'")" 40
    profiled "stream:rate=fast" "$PROGRAMS/ort_app" --ort "$(ort 1.30.0)" --model "$relu" --runs 4
    contains "what cannot be read is said" "$(cat "$T/err")" "rate=fast"
    matches "and the program runs" "$(cat "$T/out")" .
fi

done_testing
