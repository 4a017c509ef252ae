#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `inferogram gate` without arguments: the models, budgets and baselines of inferogram.toml. Mistakes in it are told with
# their line before anything is measured.
. "$TAP_SH"

cd "$T" || exit 99
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITHUB_OUTPUT
gate() { "$INFEROGRAM" gate "$@"; }
result() { python3 "$SOURCE_DIR/tests/e2e/gate_results.py" "$@"; }
value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

mkdir project project/results
cd project || exit 99
result results/good.json
result results/slow.json median=12 seed=2
result results/few.json processes=1 blocks=10 per_block=10

exits "no settings, no arguments" 2 gate
contains "both ways are named" "$(cat "$T/stderr")" "Give a MODEL, --result FILE, --trace FILE or --run -- CMD --- BASE_CMD, or write models into inferogram.toml;"
exits "settings that are not there" 2 gate --config absent.toml
contains "are named" "$(cat "$T/stderr")" "cannot open absent.toml"

cat >inferogram.toml <<'TOML'
# What must hold before a release.
[gate]
junit = "gate.xml"
on-unsure = "fail"
max = ["p50=1s"]

[models.ocr]
result = "results/good.json"
max = [
    "p99=50ms",       # the promise
    'peak_rss=500MB',
]
min = ["fps=30"]

[models."voice.small"]
result = "results/few.json"
max = ["p99=50ms"]
on-unsure = "pass"
TOML
exits "one line is enough" 0 gate
is "a verdict for each" "$(grep -E '^(PASS|FAIL|UNSURE)[: ]|^[a-z]' "$T/stdout" | cut -c 1-18)" "ocr  results/good.
PASS   p99       <
PASS   peak_rss  1
PASS   fps       1
PASS: 3 passed · 
voice.small  resul
UNSURE p99   10.1 
PASS: 1 unsure · 
PASS: 2 of 2 model"
junit() { python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
suites = tree.parse('gate.xml').getroot()
assert int(suites.get('tests')) == sum(len(suite) for suite in suites)
for suite in suites:
    print(suite.get('name'), *[next((part.tag for part in case if part.tag != 'system-out'), 'ok') for case in suite])
PYTHON
}
is "one JUnit file for all" "$(junit)" "ocr ok ok ok
voice.small skipped"

exits "from elsewhere, paths are those of the file" 0 sh -c "cd '$T' && '$INFEROGRAM' gate --config project/inferogram.toml"
ok "of outputs, too" test ! -e "$T/gate.xml"
exits "the command line overrides" 1 gate --on-unsure fail
exits "and adds" 1 gate --only ocr --max p50=1ms
lacks "--only is only that one" "$(cat "$T/stdout")" voice
exits "the settings of all count where a model has none" 1 sh -c "sed '/^on-unsure = .pass/d' inferogram.toml >other.toml; '$INFEROGRAM' gate --config other.toml"
exits "--only another" 2 gate --only tts
contains "there is none" "$(cat "$T/stderr")" "inferogram.toml has no model 'tts', but ocr and voice.small;"
exits "a model besides" 2 gate --config inferogram.toml --result results/good.json
exits "--only without settings" 2 gate --result results/good.json --max p50=1s --only x
mv inferogram.toml kept.toml

# ---- several that differ, in every form of output ----
cat >inferogram.toml <<'TOML'
[models.slow]
result = "results/slow.json"
baseline = "results/good.json"
[models.absent]
result = "results/absent.json"
max = ["p99=50ms"]
[models.good]
result = "results/good.json"
max = ["p99=50ms"]
TOML
exits "a regression is more than a file that is not there" 1 gate --json --junit gate.xml --markdown gate.md
is "JSON" "$(value '[d["schema"], d["verdict"], d["status"], d["config"]] + [(m["name"], m["verdict"], m["status"]) for m in d["models"]]' <"$T/stdout")" \
    "[1, 'FAIL', 1, 'inferogram.toml', ('slow', 'FAIL', 1), ('absent', 'ERROR', 2), ('good', 'PASS', 0)]"
contains "why there is no verdict" "$(value 'd["models"][1]["error"]' <"$T/stdout")" "results/absent.json"
contains "on stderr with its name" "$(cat "$T/stderr")" "inferogram: absent: "
is "JUnit has an error, not a gap" "$(junit)" "slow failure
absent error
good ok"
is "Markdown" "$(grep '^###' gate.md)" "### Inferogram gate: slow: FAIL
### Inferogram gate: absent: ERROR
### Inferogram gate: good: PASS"
exits "for GitHub" 1 env GITHUB_ACTIONS=true GITHUB_OUTPUT="$T/outputs" GITHUB_STEP_SUMMARY="$T/summary" "$INFEROGRAM" gate
matches "annotations with the model" "$(cat "$T/stdout")" '^::error title=inferogram gate FAIL%3A slow p50::'
matches "one for the error" "$(cat "$T/stdout")" '^::error title=inferogram gate ERROR%3A absent::.*absent.json'
is "one verdict for the job" "$(cat "$T/outputs")" "verdict=FAIL
status=1"
is "and a table each" "$(grep -c '^###' "$T/summary")" 3
exits "without the regression" 2 sh -c "sed 's/^baseline.*/max = [\"p99=50ms\"]/' inferogram.toml >other.toml; '$INFEROGRAM' gate --config other.toml"

# ---- Ctrl-C: what was not judged is no pass ----
if [ -e "${BENCH_FAKE:-}" ]; then
    printf 'fake\nrun_us=2000\n' >fake
    cat >slow.toml <<TOML
[gate]
runtime = "$BENCH_FAKE"
max = ["p99=5s"]
allow-noisy = true
[models.first]
model = "fake"
duration = "100s"
[models.second]
model = "fake"
TOML
    "$INFEROGRAM" gate --config slow.toml --json --max-time 200s >interrupted.json 2>interrupted.txt &
    judge=$!
    # The signal is caught by the time that it says what it is going to do.
    until grep -q "first: plan" interrupted.txt || ! kill -0 "$judge" 2>/dev/null; do sleep 0.1; done
    kill -INT "$judge"
    wait "$judge"
    is "interrupted" "$?" 3
    is "what was not judged" "$(value '[(m["name"], m["status"], m["error"]) for m in d["models"]][1]' <interrupted.json)" \
        "('second', 3, 'interrupted before it was judged')"
else
    skip "interrupted" "tests/programs/bench_fake.so is not built"
fi

# ---- mistakes ----
# refused WHAT MESSAGE: of the settings on standard input
refused() {
    cat >wrong.toml
    exits "$1" 2 gate --config wrong.toml
    contains "$1: the message" "$(cat "$T/stderr")" "inferogram: wrong.toml:$2"
    is "$1: nothing is judged" "$(cat "$T/stdout")" ""
}
model='[models.a]
result = "results/good.json"'
refused "no TOML" "1: there is no = behind 'hello'" <<TOML
hello
TOML
refused "a unit without quotes" "3: '50ms' is no value; texts and numbers with a unit need quotes" <<TOML
$model
slo = 50ms
TOML
refused "a key that is slightly wrong" "3: unknown key 'on_unsure' (did you mean 'on-unsure'?)" <<TOML
$model
on_unsure = "pass"
TOML
refused "a wrong value" "4: --threads: '0' is not a number of threads (1 and up)" <<TOML
$model
max = ["p50=1s"]
threads = 0
TOML
refused "a wrong budget" "5: --max p99=50: '50' is not a time with its unit" <<TOML
$model
max = ["p50=1s"]
[models.b]
max = ["p99=50"]
result = "results/good.json"
TOML
refused "no criterion" "1: nothing to judge it by: give --max, --min" <<TOML
$model
TOML
refused "no subject" "1: what is to be judged?" <<TOML
[models.a]
max = ["p50=1s"]
TOML
refused "a subject for all" "2: 'model' is for one model: move it to [models.NAME]" <<TOML
[gate]
model = "a.onnx"
TOML
refused "an output of one" "3: 'junit' is for all models together: move it to [gate]" <<TOML
$model
junit = "a.xml"
TOML
refused "a flag with quotes" "3: 'force' is true or false, without quotes" <<TOML
$model
force = "yes"
TOML
refused "a list for what has one value" "3: 'threshold' has one value, without [ ]" <<TOML
$model
threshold = ["5%", "6%"]
TOML
refused "an option of the command line" "3: 'config' is for the command line only" <<TOML
$model
config = "other.toml"
TOML
refused "another table" "1: [ci] is not known here; there are [gate] and [models.NAME]" <<TOML
[ci]
TOML
refused "a key in no table" "1: 'max' is in no table" <<TOML
max = ["p50=1s"]
TOML
printf '# nothing\n' >wrong.toml
exits "no model" 2 gate --config wrong.toml
contains "what to write" "$(cat "$T/stderr")" 'wrong.toml names no model; write [models.NAME] with model = "FILE.onnx"'
mkfifo pipe.toml
exits "a pipe is not waited for" 2 gate --config pipe.toml
head -c 1048577 /dev/zero | tr '\0' '#' >large.toml
exits "a file that is too large" 2 gate --config large.toml

done_testing
