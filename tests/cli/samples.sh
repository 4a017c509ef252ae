#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What users see of samples: stats --by function, annotate, info, report, query, export. The trace is that of
# tests/lib/profile_trace.h, in which every number is known.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"

trace=$T/t.ifg
ok "a trace with samples" "$REPORT_TRACES" profile "$trace"
"$REPORT_TRACES" plain "$T/plain.ifg"

checks() { # NAME PYTHON: of the JSON in stdout, as d
    cp "$T/stdout" "$T/result"
    ok "$1" python3 -c "import json, sys
d = json.load(open(sys.argv[1]))
$2" "$T/result"
}

exits "functions" 0 "$INFEROGRAM" stats "$trace" --by function
matches "by self samples" "$(sed -n 2p "$T/stdout")" '^spin +40 +40.0 % +40 +40.0 %  librun.so$'
matches "with module and line" "$(cat "$T/stdout")" '^run\(int\) +30 +30.0 % +40 +40.0 %  librun.so +run.c:10$'
matches "guessed names are marked" "$(cat "$T/stdout")" '^\? pool::Worker::\(virtual 2\) +0 '
contains "and explained" "$(cat "$T/stdout")" "? the name was recovered"
contains "so are workers" "$(cat "$T/stdout")" "40 of threads without events of their own"
contains "lost ones are told" "$(cat "$T/stderr")" "3 samples were lost"
exits "functions as JSON" 0 "$INFEROGRAM" stats "$trace" --by function --model ocr --json
checks "of one model" "assert d['samples'] == 80 and d['lent'] == 40 and d['hz'] == 100, d
rows = {r['name']: r for r in d['rows']}
assert rows['run(int)']['self'] == 20 and rows['run(int)']['lines'][1]['file'] == '/src/run.c', rows
assert rows['run(int)']['addresses'][0] == {'address': '0x1010', 'self': 10}, rows
assert rows['pool::Worker::(virtual 2)']['guessed'] and d['modules'][0]['name'] == 'librun.so', d"
exits "functions as CSV" 0 "$INFEROGRAM" stats "$trace" --by function --op Conv --thread 5000 --csv
is "of an operator on a thread" "$(sed -n 2p "$T/stdout" | cut -d, -f1-4)" "run(int),0,20,30"
exits "sorted by total" 0 "$INFEROGRAM" stats "$trace" --by function --thread worker --sort total --limit 1 --csv
is "main is around most" "$(sed -n 2p "$T/stdout" | cut -d, -f1,4)" "main,50"
exits "no such model" 0 "$INFEROGRAM" stats "$trace" --by function --model nobody
contains "is said" "$(cat "$T/stderr")" "no sample matches"
exits "sorted by what samples do not have" 2 "$INFEROGRAM" stats "$trace" --by function --sort p99
exits "by lines" 2 "$INFEROGRAM" stats "$trace" --by line
contains "points to annotate" "$(cat "$T/stderr")" "inferogram annotate"
exits "by nonsense" 2 "$INFEROGRAM" stats "$trace" --by nonsense
contains "lists what there is" "$(cat "$T/stderr")" "--by is zone, model, category, op, function, thread,"
exits "--op without functions" 2 "$INFEROGRAM" stats "$trace" --op Conv
exits "the functions of models are still there" 0 "$INFEROGRAM" stats "$trace" --by model-function --csv
contains "with their durations" "$(cat "$T/stdout")" "ocr · main,10,100000000"
exits "without samples functions are those of models" 0 "$INFEROGRAM" stats "$T/plain.ifg" --by function
exits "and --zone has nothing to choose from" 2 "$INFEROGRAM" stats "$T/plain.ifg" --by function --zone x

exits "annotate" 0 "$INFEROGRAM" annotate "$trace" run
contains "the title" "$(cat "$T/stdout")" "30 of 100 samples are in it (30.0 %), 40 including callees (40.0 %)"
contains "skid is shown" "$(cat "$T/stdout")" "~ samples were taken by a timer"
matches "source lines" "$(cat "$T/stdout")" '^  66.7 %   75.0 %     10    sum = 0;$'
matches "a source that is not there" "$(cat "$T/stdout")" '^  33.3 %   25.0 %      3  \(not in the trace\)$'
matches "instructions, jump targets, inlined functions" "$(cat "$T/stdout")" \
    '^~ 33.3 %   25.0 % >1020 +nop +mul mul.h:3 < run.c:11$'
contains "what is left out" "$(cat "$T/stdout")" "--all shows all 255 instructions"
exits "annotate all" 0 "$INFEROGRAM" annotate "$trace" 0x10f0 --all
is "instructions" "$(grep -c ' nop' "$T/stdout")" 253
exits "annotate as JSON" 0 "$INFEROGRAM" annotate "$trace" 'run(int)' --op Conv --json
checks "of one operator" "assert d['self'] == 20 and d['total'] == 30 and d['build_id'] == 'abcd' and d['skid'], d
at = {i['address']: i for i in d['instructions']}
assert at['0x1030']['jumps_to'] == '0x1020' and at['0x1020']['jump_target'], at['0x1030']
assert [p['function'] for p in at['0x1020']['locations']] == ['mul', 'run(int)'], at['0x1020']
assert [(l['line'], l['self'], l['in_trace']) for l in d['lines']] == [(3, 10, False), (10, 10, True), (11, 0, True)]"
exits "several functions" 1 "$INFEROGRAM" annotate "$trace" r
contains "are listed" "$(cat "$T/stderr")" "recurse"
exits "no function" 1 "$INFEROGRAM" annotate "$trace" nothing
contains "where they are all" "$(cat "$T/stderr")" "inferogram stats $trace --by function --limit 0"
exits "a name written wrong" 1 "$INFEROGRAM" annotate "$trace" recrse
matches "the one that was meant" "$(tail -n 1 "$T/stderr")" '^ +[0-9.]+ %  0x[0-9a-f]+ +librun.so  recurse'
is "and nothing on stdout" "$(cat "$T/stdout")" ""
exits "a name with the mark of a table" 0 "$INFEROGRAM" annotate "$trace" '? pool::Worker::(virtual 2)'
exits "no sample is left" 1 "$INFEROGRAM" annotate "$trace" run --model nobody
contains "is said" "$(cat "$T/stderr")" "no sample matches"
exits "no code" 0 "$INFEROGRAM" annotate "$trace" do_page
contains "says why" "$(cat "$T/stdout")" "its code is not in the trace"
exits "no samples" 1 "$INFEROGRAM" annotate "$T/plain.ifg" main
contains "what to do" "$(cat "$T/stderr")" "record with --sample"
exits "no function given" 2 "$INFEROGRAM" annotate "$trace"

exits "info" 0 "$INFEROGRAM" info "$trace"
contains "the sampling line" "$(cat "$T/stdout")" \
    "Sampling     100 samples at 100 Hz · 3 lost · 90.0 % rooted, 10.0 % with uncertain frames · 2.5 µs per stack"
exits "info as JSON" 0 "$INFEROGRAM" info "$trace" --json
checks "has sampling" "assert d['sampling'] == {'hz': 100, 'samples': 100, 'lost': 3, 'rooted_share': 0.9,
    'inferred_share': 0.1, 'unwind_us': 2.5, 'on_share': None, 'measured_overhead_pct': None,
    'overhead_error_pct': None, 'estimated_overhead_pct': None}, d['sampling']
assert d['events']['samples'] == 100"
exits "info without samples" 0 "$INFEROGRAM" info "$T/plain.ifg" --json
checks "has none" "assert 'sampling' not in d"

exits "report" 0 "$INFEROGRAM" report "$trace"
contains "run-queue wait" "$(cat "$T/stdout")" "Waiting  run queue 2.00 ms of 10.0 ms per inference (20 %)"
contains "hot functions" "$(cat "$T/stdout")" "Hot functions (80 samples)"
matches "with their share" "$(cat "$T/stdout")" '^ +37.5 %  spin +librun.so$'
contains "where time goes" "$(cat "$T/stdout")" "CPU time goes to (100 samples)  librun.so 90.0 % · [kernel] 10.0 %"
contains "the finding" "$(cat "$T/stdout")" "run-queue-wait"
exits "report as JSON" 0 "$INFEROGRAM" report "$trace" --json
checks "has all of it" "m = d['models'][0]
assert m['waiting']['run_queue_share'] == 0.2 and m['waiting']['inferences'] == 10, m['waiting']
assert m['sampled']['functions'][0]['name'] == 'spin' and m['sampled']['lent'] == 40, m['sampled']
assert d['sampled']['threads'][0]['runnable_ms'] == 21 and d['sampled']['modules'][0]['self'] == 90"

exits "samples in SQL" 0 "$INFEROGRAM" query "$trace" --csv "SELECT attribution, operator, count(*), sum(in_kernel),
    sum(exact), min(model) FROM sample WHERE slice IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
is "by how they are attributed" "$(tail -n +2 "$T/stdout" | tr -d '\r' | tr '\n' ' ')" \
    "lent,,20,0,10,ocr lent,Conv,20,0,20,ocr own,,10,0,10,ocr own,Conv,30,10,30,ocr "
exits "stacks in SQL" 0 "$INFEROGRAM" query "$trace" --csv "SELECT depth, function, inlined, line, inferred
    FROM stack_frame WHERE stack = 3"
is "innermost first" "$(tail -n +2 "$T/stdout" | tr -d '\r' | tr '\n' ' ')" "0,run(int),mul,3,0 1,main,,20,0 "
exits "states in SQL" 0 "$INFEROGRAM" query "$trace" --csv "SELECT thread, state, count(*), sum(dur_ns), max(waker)
    FROM thread_state GROUP BY 1, 2 ORDER BY 1, 2"
contains "with times and wakers" "$(tr -d '\r' <"$T/stdout")" "5000,runnable,11,21000000,9001"
exits "no samples in SQL" 0 "$INFEROGRAM" query "$T/plain.ifg" --csv \
    "SELECT count(*) FROM sample, stack_frame, thread_state"

for format in folded speedscope pprof chrome perfetto; do
    exits "export $format" 0 "$INFEROGRAM" export "$trace" --format $format -o "$T/t.$format"
done
exits "export by thread" 0 "$INFEROGRAM" export "$trace" --format folded --by-thread -o "$T/t.threads.folded"
exits "all say the same" 0 python3 "$SOURCE_DIR/tests/export/check_samples.py" "$T"
"$INFEROGRAM" query "$trace" "SELECT thread, state, start_ns, dur_ns FROM thread_state" --json >"$T/states.json"
exits "timelines have the states of threads" 0 python3 "$SOURCE_DIR/tests/export/check_states.py" "$T/states.json" "$T/t.chrome" "$T/t.perfetto"
exits "zones if they are wanted" 0 "$INFEROGRAM" export "$trace" --format folded --stacks zones -o -
contains "as before" "$(cat "$T/stdout")" "Conv 50000000"
exits "one thread without slices" 0 "$INFEROGRAM" export "$trace" --format folded --thread 9001 --model ocr -o -
is "its samples" "$(awk '{ print $NF }' "$T/stdout" | sort | tr '\n' ' ')" "10 30 "
# A program of many zones in which hardly any sample was taken.
"$INFEROGRAM" record -q --sample=50 -o "$T/few.ifg" -- "$REC_TICKER" -b -s 0.5 >/dev/null 2>&1
if [ "$("$INFEROGRAM" info "$T/few.ifg" --json | python3 -c 'import json,sys; print(0 < json.load(sys.stdin)["events"]["samples"] < 100)')" = True ]; then
    exits "a flame graph of few samples" 0 "$INFEROGRAM" export "$T/few.ifg" --format folded -o "$T/few.folded"
    matches "is one of zones" "$(cat "$T/few.folded")" '(^|;)tick '
    matches "and says so" "$(cat "$T/stderr")" 'made of [0-9]+ zones, because there are only [0-9]+ samples \(--stacks samples\)'
else
    skip "a flame graph of few samples" "no samples on this machine, or too many"
fi
exits "samples that are not there" 2 "$INFEROGRAM" export "$T/plain.ifg" --format pprof --stacks samples -o "$T/x"
contains "are missed" "$(cat "$T/stderr")" "no samples"
exits "--stacks for tables" 2 "$INFEROGRAM" export "$trace" --format csv --stacks zones -o -
done_testing
