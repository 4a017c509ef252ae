#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram gate: budgets on results and traces, every exit status, and the forms of output, read by other
# readers. What needs a runtime is at the end.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

cd "$T" || exit 99
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITHUB_OUTPUT

gate() { "$INFEROGRAM" gate "$@"; }
result() { python3 "$SOURCE_DIR/tests/e2e/gate_results.py" "$@"; }
value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

result good.json
result slow.json median=12 seed=2
result bad.json trust=BAD
result wild.json steady=0
result few.json processes=1 blocks=10 per_block=10
result other.json cpu=Another

# ---- just below and just above what is known ------------------------------------------------------------------
for metric in p50 p99 mean load; do
    gate --result good.json --max "$metric=1s" --json >d.json
    ends=$(value '"%.9f %.9f %.9f" % (d["checks"][0]["high"] + 1e-6, d["checks"][0]["high"] - 1e-6, d["checks"][0]["low"] - 1e-6)' <d.json)
    above=${ends%% *}
    below=${ends##* }
    between=${ends#* }
    between=${between% *}
    exits "$metric: the limit just above its upper end" 0 gate --result good.json --max "$metric=${above}ms"
    exits "$metric: just below its upper end" 3 gate --result good.json --max "$metric=${between}ms"
    exits "$metric: just below its lower end" 1 gate --result good.json --max "$metric=${below}ms"
    exits "$metric: from below, the other way round" 0 gate --result good.json --min "$metric=1us"
done
exits "fps at least" 0 gate --result good.json --min fps=95
exits "fps at least, more than there are" 1 gate --result good.json --min fps=105
exits "memory" 0 gate --result good.json --max peak_rss=104MB
exits "memory, some processes above" 3 gate --result good.json --max peak_rss=103MB
exits "memory, most processes above" 1 gate --result good.json --max peak_rss=101MB
exits "MiB is more than MB" 0 gate --result good.json --max peak_rss=100MiB
exits "size" 0 gate --result good.json --max size=4.5MB --max parameters=1.1M
exits "size, one byte less" 1 gate --result good.json --max size=4499999
exits "goodput" 0 gate --result good.json --slo 11ms --min goodput=99%
exits "goodput that was not reached" 1 gate --result good.json --slo 10ms --min goodput=99%

# ---- the words of the design ------------------------------------------------------------------------------------
exits "one fails, one passes" 1 gate --result slow.json --baseline good.json --max p99=50ms
matches "a failed change" "$(cat stdout)" '^FAIL +p50 +\+[0-9.]+ % \[\+[0-9.]+, \+[0-9.]+\] against good\.json \(not interleaved\), allowed 10 %$'
matches "a passed bound" "$(cat stdout)" '^PASS +p99 +<= [0-9.]+ ms with 95 % confidence, allowed 50 ms$'
matches "the sum, and alpha" "$(cat stdout)" '^FAIL: 1 passed, 1 failed .* alpha 0\.05$'
is "nothing on stderr" "$(cat stderr)" ""
exits "too few samples" 3 gate --result few.json --max p99=50ms
matches "how many it needs" "$(cat stdout)" 'UNSURE p99 .*needs 299 samples, there are 100'
exits "too few to pass, enough to fail" 1 gate --result few.json --max p99=1ms
exits "--explain" 0 gate --result good.json --max p99=50ms --min fps=1 --explain
matches "the formula" "$(cat stdout)" 'P\[B >= u\] <= alpha'
matches "its numbers" "$(cat stdout)" 'q 0\.99, n 300, 0 beyond the limit'

# ---- statuses 3 and 4, and what to make of them ------------------------------------------------------------------
exits "unsure passes" 0 gate --result few.json --max p99=50ms --on-unsure pass
exits "unsure fails" 1 gate --result few.json --max p99=50ms --on-unsure fail
exits "unsure warns" 0 gate --result few.json --max p99=50ms --on-unsure warn
matches "and is still called unsure" "$(cat stdout)" '^UNSURE: 1 unsure'
exits "unsure by name" 3 gate --result few.json --max p99=50ms --on-unsure unsure
exits "no steady state" 3 gate --result wild.json --max p99=10.08ms
matches "that is said" "$(cat stdout)" 'UNSURE p99 .*no steady state'
exits "no steady state is nothing to memory" 0 gate --result wild.json --max peak_rss=1GB
exits "no steady state, judged anyway" 0 gate --result wild.json --max p99=10.1ms --allow-noisy
exits "an unfit machine does not fail" 4 gate --result bad.json --max p99=6ms
matches "that is said" "$(cat stdout)" 'UNFIT +p99 .*not fit'
contains "and what was wrong with it" "$(cat stdout)" "machine: BAD: steal 9 %"
exits "what passes on an unfit machine, passes" 0 gate --result bad.json --max p99=50ms
exits "an unfit machine, judged anyway" 1 gate --result bad.json --max p99=6ms --allow-noisy
# What is so clear that no machine can be blamed has an answer, whatever the machine and however unsteady.
result worse.json trust=BAD steady=0
for metric in p50 p99 mean; do
    exits "$metric far beyond the limit fails on an unfit machine" 1 gate --result bad.json --max "$metric=4ms"
    exits "$metric far beyond the limit fails if nothing was steady" 1 gate --result worse.json --max "$metric=4ms"
    exits "$metric far within the limit passes if nothing was steady" 0 gate --result worse.json --max "$metric=10s"
done
exits "the reason is told" 1 gate --result bad.json --max p99=4ms
matches "which is the best of all" "$(cat stdout)" 'FAIL +p99 .*whatever the machine did: even the best of all is beyond twice the limit'
exits "no process was that fast" 1 gate --result bad.json --max load=45ms
exits "twice as many per second as the best block" 1 gate --result bad.json --min fps=210
exits "not twice as many" 4 gate --result bad.json --min fps=150
exits "twice as many as needed in an unsteady run" 0 gate --result wild.json --min fps=49
exits "all within the limit in an unsteady run" 0 gate --result wild.json --max p99=10.2ms
exits "not all within it" 3 gate --result wild.json --max p50=10.05ms
result gone.json median=25 trust=BAD steady=0
exits "slower than twice the slowest of the baseline" 1 gate --result gone.json --baseline good.json
result fast.json median=5 steady=0
exits "twice as fast as the fastest of an unfit baseline" 0 gate --result fast.json --baseline bad.json
exits "an unfit baseline excuses nothing" 4 gate --result good.json --baseline bad.json
exits "what cannot be measured" 4 gate --result good.json --max energy=1J
exits "nor this" 4 gate --result good.json --max specialization=1s
matches "the reason" "$(cat stdout)" 'LACKS +specialization +not known: the runtime does not tell it'
exits "a failure is more than all that" 1 gate --result good.json --max energy=1J --max p50=1ms --max p999=1s

# ---- wrong command lines and files ------------------------------------------------------------------------------
exits "nothing" 2 gate
exits "no budget" 2 gate --result good.json
contains "what to give" "$(cat stderr)" "give --max, --min"
for budget in p99 p99= =5ms p99=5 p99=5MB p99=-5ms p99=x latency=5ms peak_rss=5ms fps=5ms size=5X goodput=101%; do
    exits "bad budget $budget" 2 gate --result good.json --max "$budget"
done
exits "no such metric" 2 gate --result good.json --max latency=5ms
contains "the metrics there are" "$(cat stderr)" "there are: p50, p90, p95, p99, p999, mean"
# shellcheck disable=SC2016 # the inner shell's
exits "a result from a pipe" 0 sh -c '"$0" gate --result - --max p99=5s <good.json' "$INFEROGRAM"
exits "a file that is not there" 2 gate --result absent.json --max p99=5ms
printf '{"schema":1,"kind":"bench"' >cut.json
exits "a file that is cut off" 2 gate --result cut.json --max p99=5ms
printf '<html>' >html.json
exits "a file that is none" 2 gate --result html.json --max p99=5ms
exits "both a result and a trace" 2 gate --result good.json --trace x.ifg --max p99=5ms
exits "an option for measuring with a file" 2 gate --result good.json --max p99=5ms --processes 3
exits "--against with a file" 2 gate --result good.json --against b.onnx
exits "a wrong --on-unsure" 2 gate --result good.json --max p99=5ms --on-unsure maybe
exits "too many retries" 2 gate m.onnx --max p99=5ms --retries 99
exits "a wrong threshold" 2 gate --result good.json --baseline good.json --threshold x
exits "no such row" 2 gate --result good.json --row cuda --max p99=5ms
contains "the rows there are" "$(cat stderr)" "there are: CPU"
exits "two documents on stdout" 2 gate --result good.json --max p99=5ms --json --junit -
exits "a file that cannot be written" 2 gate --result good.json --max p99=5s --junit absent/out.xml
contains "which one" "$(cat stderr)" "absent/out.xml"
exits "a full disk" 2 gate --result good.json --max p99=5s --markdown /dev/full
exits "a model that is not there" 2 gate absent.onnx --max p99=5s
exits "commands without a base" 2 gate --run -- true
exits "an empty command" 2 gate --run -- true ---
exits "budgets for commands" 2 gate --max p99=5ms --run -- true --- true

# ---- baselines --------------------------------------------------------------------------------------------------
exits "no baseline yet" 2 gate --result good.json --baseline base.json
contains "how to make it" "$(cat stderr)" "inferogram bench MODEL --json > base.json"
exits "no baseline yet, so it is written" 0 gate --result good.json --baseline base.json --update-baseline
contains "which is said after it was done" "$(cat stdout)" "NOTE   this result is the baseline base.json now; there was none"
exits "it is as good as itself" 0 gate --result good.json --baseline base.json
exits "a noisy result becomes no baseline" 4 gate --result bad.json --baseline noisy.json --update-baseline
contains "that and why is said" "$(cat stdout)" "NOTE   noisy.json was not written: the machine was not fit for measuring (--allow-noisy writes it all the same)"
matches "what it comes to" "$(cat stdout)" '^UNFIT: nothing was to be judged'
ok "nothing was written" test ! -e noisy.json
exits "the same in JSON" 4 gate --result bad.json --baseline noisy.json --update-baseline --json
is "written or not" "$(value 'd["verdict"], d["status"], d["update_baseline"]' <stdout)" "('UNFIT', 4, {'file': 'noisy.json', 'written': False})"
exits "unless it is wanted" 0 gate --result bad.json --baseline noisy.json --update-baseline --allow-noisy
is "and its mark is kept" "$(value 'd["trust"]["level"]' <noisy.json)" BAD
exits "so that it is no yardstick" 4 gate --result good.json --baseline noisy.json
cp good.json kept.json
exits "a noisy result does not replace a baseline" 0 gate --result bad.json --baseline kept.json --update-baseline
contains "that and why is said" "$(cat stdout)" "NOTE   kept.json was not written: the machine was not fit"
ok "it is the old one" cmp good.json kept.json
exits "it is not written after a failure" 1 gate --result slow.json --baseline base.json --update-baseline
contains "that is said" "$(cat stdout)" "NOTE   base.json was not written: nothing passed that could replace it"
exits "so it still fails" 1 gate --result slow.json --baseline base.json
exits "a slower one is allowed" 0 gate --result slow.json --baseline base.json --threshold 30% --update-baseline
exits "then it is the new one" 0 gate --result slow.json --baseline base.json
exits "another machine" 2 gate --result other.json --baseline good.json
contains "what differs" "$(cat stderr)" "Another"
exits "another machine all the same" 0 gate --result other.json --baseline good.json --force
contains "what differs is still said" "$(cat stdout)" "Another"

# What a result says of the machine is foreign text.
sed 's/"9 %"/"\\u001b[31mred"/g' bad.json >escape.json
gate --result escape.json --max p99=1ms >stdout
lacks "no control characters reach a terminal" "$(cat stdout)" "$(printf '\033')"
contains "the text does" "$(cat stdout)" "[31mred"

# ---- documents --------------------------------------------------------------------------------------------------
exits "--json" 1 gate --result slow.json --baseline good.json --max p99=50ms --max p999=1s --json
is "schema, verdict, status" "$(value 'd["schema"], d["verdict"], d["status"]' <stdout)" "(1, 'FAIL', 1)"
is "the first key" "$(cut -c 1-10 stdout)" '{"schema":'
is "checks" "$(value '[(c["kind"], c["metric"], c["verdict"], c["green"]) for c in d["checks"]]' <stdout)" \
    "[('relative', 'p50', 'FAIL', False), ('budget', 'p99', 'PASS', True), ('budget', 'p999', 'UNSURE', False)]"

junit() { python3 - "$1" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
assert suites.tag == 'testsuites'
for suite in suites:
    cases = list(suite)
    assert int(suite.get('tests')) == len(cases)
    names = [case.get('name') for case in cases]
    assert len(set(names)) == len(names), names
    for kind, key in (('failure', 'failures'), ('error', 'errors'), ('skipped', 'skipped')):
        assert int(suite.get(key)) == sum(1 for case in cases if case.find(kind) is not None), kind
    print(suite.get('name'), ' '.join([c.tag for c in case if c.tag != 'system-out'][0] if
                                      [c for c in case if c.tag != 'system-out'] else 'ok' for case in cases))
PYTHON
}
gate --result slow.json --baseline good.json --max p99=50ms --max p99=11ms --max p999=1s --junit out.xml >stdout
is "JUnit" "$(junit out.xml)" "slow.json failure ok failure error"
gate --result few.json --max p99=50ms --on-unsure pass --junit out.xml >stdout
is "JUnit: unsure is skipped if it passes" "$(junit out.xml)" "few.json skipped"
gate --result few.json --max p99=50ms --on-unsure fail --junit - >out.xml
is "JUnit: unsure is a failure if it fails" "$(junit out.xml)" "few.json failure"
# shellcheck disable=SC2016 # a name, not a command
nasty='a<b>&"c|`d`'
result "$nasty.json"
gate --result "$nasty.json" --max p99=1ms --junit out.xml --markdown out.md >stdout
is "JUnit: names are escaped" "$(junit out.xml)" "$nasty.json failure"
# shellcheck disable=SC2016 # backquotes of markdown
contains "markdown: names are escaped" "$(cat out.md)" 'a\<b\>&"c\|\`d\`.json'
contains "markdown: a table" "$(cat out.md)" "| **FAIL** | p99 |"

exits "no annotations unless asked" 1 gate --result slow.json --max p99=1ms
lacks "none" "$(cat stdout)" "::error"
exits "--github" 1 gate --result slow.json --baseline good.json --max p99=1ms --max p999=1s --on-unsure pass --github
contains "an error" "$(cat stdout)" "::error title=inferogram gate FAIL%3A p99::"
contains "percent signs are escaped" "$(cat stdout)" "with 97.5 %25 confidence"
contains "unsure, but passed" "$(cat stdout)" "::warning title=inferogram gate UNSURE%3A p999::"
is "nothing else begins a command" "$(grep -c '^::' stdout)" 3
bad_name=$(printf 'x\n::error::forged')
result plain.json name="$bad_name"
GITHUB_ACTIONS=true gate --result slow.json --baseline "$bad_name" --update-baseline --max p99=1ms >stdout 2>stderr
is "a name cannot forge a command" "$(grep -c '^::error::forged' stdout)" 0
contains "its line break is escaped" "$(cat stdout)" "x%0A::error"
: >summary.md
: >outputs
GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=summary.md GITHUB_OUTPUT=outputs gate --result slow.json --max p99=1ms --json >d.json 2>stderr
is "the document stays whole" "$(value 'd["verdict"]' <d.json)" FAIL
contains "the annotations go to stderr then" "$(cat stderr)" "::error"
contains "the summary" "$(cat summary.md)" "### Inferogram gate: FAIL"
is "the outputs" "$(tr '\n' ' ' <outputs)" "verdict=FAIL status=1 "

# ---- traces -----------------------------------------------------------------------------------------------------
"$REPORT_TRACES" many many.ifg
"$REPORT_TRACES" plain plain.ifg
"$INFEROGRAM" stats plain.ifg --json >stats.json
total=$(value '[r["total_ns"] for r in d["rows"] if r["name"] == "decode"][0]' <stats.json)
exits "a trace: exactly the total" 0 gate --trace plain.ifg --max "zone:decode.total=${total}ns"
exits "a trace: one less" 1 gate --trace plain.ifg --max "zone:decode.total=$((total - 1))ns"
exits "a trace: percentile" 0 gate --trace plain.ifg --max zone:decode.p95=1ms
exits "a trace: too few for this one" 3 gate --trace plain.ifg --max zone:decode.p99=50ms
matches "how many it needs" "$(cat stdout)" 'needs 299 events, there are 120'
exits "a trace: a median" 0 gate --trace plain.ifg --max zone:decode.p50=1ms --min zone:decode.count=120
exits "a trace: what must not happen" 0 gate --trace plain.ifg --max zone:error.count=0
exits "a trace: no such zone" 2 gate --trace plain.ifg --max zone:error.max=1ms
contains "what there is" "$(cat stderr)" "zone:decode"
exits "a trace: by category" 0 gate --trace many.ifg --max inference.max=30ms --max load.max=5ms
exits "a trace: by model" 1 gate --trace many.ifg --max model-7/inference.max=6ms
matches "the model's own" "$(cat stdout)" 'FAIL +model-7/inference.max +7 ms, allowed 6 ms'
exits "a trace: a metric of a result" 2 gate --trace many.ifg --max p99=5ms
exits "a result: a location of a trace" 2 gate --result good.json --max inference.p99=5ms
exits "a trace that is none" 2 gate --trace good.json --max inference.p99=5ms

# ---- commands, really -------------------------------------------------------------------------------------------
# Ten times as long is more than any noise.
exits "a slower command" 1 gate --pairs 6 --run -- sleep 0.1 --- sleep 0.01
matches "the failure was confirmed" "$(cat stdout)" '^FAIL +wall +\+[0-9.]+ % .* against sleep 0.01, allowed 2 %'
matches "alpha is split" "$(cat stdout)" 'alpha 0\.05, 0\.0167 at each of up to 3 looks'
exits "a faster command, --against" 0 gate --pairs 6 --retries 0 --against 'sleep 0.1' -- sleep 0.01
exits "a command that is not there" 2 gate --run -- ./absent --- true

# ---- the time that is allowed -------------------------------------------------------------------------------------
# 100 inferences say nothing of a p99; a look again costs no certainty, and the next one is as large as it has to be.
printf 'fake\nrun_us=200\nhow=sleep\n' >fake
few="--runtime $BENCH_FAKE --processes 2 -n 50 -w 5"
# shellcheck disable=SC2086 # options
exits "unsure at first, certain in the time allowed" 0 gate fake $few --max p99=10s --json
is "two looks" "$(value 'd["checks"][0]["looks"], d["measurements"]' <stdout)" "(['UNSURE', 'PASS'], 2)"
is "the second as large as needed" "$(value 'd["checks"][0]["count"] >= 408' <stdout)" True
# shellcheck disable=SC2086 # options
exits "unsure, and no time left" 3 gate fake $few --max p99=10s --max-time 10ms
matches "what would make it certain" "$(cat stdout)" 'UNSURE p99 .*needs 408 samples, there are 100: give it --max-time 1m'
# shellcheck disable=SC2086 # options
exits "unsure, and not to be looked at again" 3 gate fake $few --max p99=10s --retries 0
# shellcheck disable=SC2086 # options
exits "a failure is confirmed whatever the time" 1 gate fake $few --max p50=1us --max-time 10ms --json
is "it was" "$(value 'd["checks"][0]["looks"]' <stdout)" "['FAIL', 'FAIL']"

# ---- a model, really ----------------------------------------------------------------------------------------------
if have ort-node-1.30.0; then
    IFG_ORT=$(ort 1.30.0)
    export IFG_ORT
    few="--processes 2 -n 60 -w 5"
    # shellcheck disable=SC2086 # options
    ok "bench" "$INFEROGRAM" bench "$models/relus.onnx" $few --json
    cp stdout real.json
    for metric in p50 p90 load; do
        gate --result real.json --allow-noisy --max "$metric=1000s" --json >d.json
        ends=$(value '"%.9f %.9f" % (d["checks"][0]["high"] * 1.001 + 1e-6, d["checks"][0]["low"] * 0.999 - 1e-6)' <d.json)
        exits "a real $metric: above it" 0 gate --result real.json --allow-noisy --max "$metric=${ends% *}ms"
        exits "a real $metric: below it" 1 gate --result real.json --allow-noisy --max "$metric=${ends#* }ms"
    done
    # shellcheck disable=SC2086 # options
    exits "a model within its budgets" 0 gate "$models/relus.onnx" $few --allow-noisy --max p90=100s --min fps=0.001
    # shellcheck disable=SC2086 # options
    exits "a model beyond them, measured again" 1 gate "$models/relus.onnx" $few --allow-noisy --max p50=1ns --json
    is "the failure was confirmed" "$(value 'd["checks"][0]["looks"], d["measurements"]' <stdout)" "(['FAIL', 'FAIL'], 2)"
    matches "with the data of both" "$(value 'd["measured"]' <stdout)" '^240 inferences in 4 processes$'
    # shellcheck disable=SC2086 # options
    exits "as good as itself within 1000 %" 0 gate "$models/relus.onnx" --against "$models/relus.onnx" --threshold 1000% \
        --retries 0 --pairs 6 --max-time 100
    matches "interleaved" "$(cat stdout)" '^PASS +p50 .* against .*relus.onnx, allowed 1000 %'
    exits "a model that cannot be run" 1 gate "$models/unknown.onnx" --max p99=5s
    exits "nor compared, though the base can" 1 gate "$models/unknown.onnx" --against "$models/relu.onnx"
    exits "a base that cannot be run is no failure" 2 gate "$models/relu.onnx" --against "$models/unknown.onnx"
    exits "a provider that is not here" 4 gate "$models/relu.onnx" --ep cuda --max p99=5s
else
    skip "a model, really" "runtimes: $(tail -n 1 "$T/fetch")"
fi

done_testing
