#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example workflow is run, step by step, in a project with a model: a pull request that changes nothing, one
# that makes the model slower, and a push to main.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"

need ort-node-1.30.0
command -v git >/dev/null || skip_all "tools: git is not installed"
command -v bash >/dev/null || skip_all "tools: bash is not installed"

workflow=$SOURCE_DIR/examples/ci/inferogram-gate.yml
project=$T/project
mkdir -p "$T/bin" "$project/models"
ln -s "$INFEROGRAM" "$T/bin/inferogram"
PATH=$T/bin:$PATH
GITHUB_STEP_SUMMARY=$T/summary.md
GITHUB_OUTPUT=$T/outputs
GITHUB_SHA=0123456789abcdef0123456789abcdef01234567
export PATH GITHUB_STEP_SUMMARY GITHUB_OUTPUT GITHUB_SHA

git_quiet() { git -C "$project" -c user.name=test -c user.email=test@example.org "$@" >/dev/null 2>&1; }

python3 - "$SOURCE_DIR/tests/runtimes" "$T" <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import make_models
open(sys.argv[2] + '/fast.onnx', 'wb').write(make_models.series('graph', 'n', 5, ['Tanh']))
open(sys.argv[2] + '/slow.onnx', 'wb').write(make_models.series('graph', 'n', 300, ['Tanh']))
PYTHON
cp "$T/fast.onnx" "$project/models/model.onnx"
git_quiet init -q && git_quiet add . && git_quiet commit -q -m base && git_quiet update-ref refs/remotes/origin/main HEAD
ok "a project with a base revision" git_quiet rev-parse origin/main

run_workflow() { # EVENT
    : >"$T/summary.md"
    : >"$T/outputs"
    python3 "$SOURCE_DIR/tests/e2e/gate_workflow.py" "$workflow" --event "$1" --directory "$project" \
        --env "IFG_ORT=$(ort 1.30.0)" --env "BENCH_OPTIONS=--processes 2 -n 150 -w 5" \
        --env "BASE_OPTIONS=--threshold 100% --pairs 6 --max-time 100 --retries 1"
}

# The same model again: whatever the noise, it is not twice as slow.
exits "a pull request that changes nothing passes" 0 run_workflow pull_request
is "its steps" "$(grep -E '^(passed|skipped|failed)' "$T/stdout" | tr '\n' ';')" \
    "passed: Install Inferogram;passed: Fetch the base model;passed: Not slower than the base;passed: Within its budgets;skipped: Remember it;"
is "two tables in the summary" "$(grep -c '^### Inferogram gate: PASS' "$T/summary.md")" 2
is "JUnit files" "$(cd "$project" && python3 -c 'import xml.etree.ElementTree as t
for f in ("gate-base.xml", "gate-budgets.xml"): print(f, len(list(t.parse(f).iter("testcase"))), end=" ")')" \
    "gate-base.xml 2 gate-budgets.xml 5 "
contains "the outputs of the steps" "$(cat "$T/outputs")" "verdict=PASS"

cp "$T/slow.onnx" "$project/models/model.onnx"
git_quiet commit -q -a -m slower
exits "a pull request that makes it slower fails" 1 run_workflow pull_request
is "in this step" "$(grep -E '^failed' "$T/stdout")" "failed with 1: Not slower than the base"
matches "with an annotation" "$(cat "$T/stdout")" '^::error title=inferogram gate FAIL%3A p50::\+[0-9.]+ %25 .* against base/model.onnx'
contains "and in the summary" "$(cat "$T/summary.md")" "### Inferogram gate: FAIL"
contains "the rest does not run" "$(cat "$T/stdout")" "skipped: Within its budgets"

exits "a push to main" 0 run_workflow push
is "its steps" "$(grep -E '^(passed|skipped|failed)' "$T/stdout" | tr '\n' ';')" \
    "passed: Install Inferogram;skipped: Fetch the base model;skipped: Not slower than the base;passed: Within its budgets;passed: Remember it;"

# Independent eyes on the file itself.
if python3 -c 'import yaml' 2>/dev/null; then
    is "another reader of YAML sees the same steps" "$(python3 - "$workflow" <<'PYTHON'
import sys, yaml
steps = yaml.safe_load(open(sys.argv[1]))['jobs']['gate']['steps']
print(sum('run' in step for step in steps), sum('uses' in step for step in steps))
PYTHON
)" "5 2"
else
    skip "another reader of YAML sees the same steps" "PyYAML is not installed"
fi

done_testing
