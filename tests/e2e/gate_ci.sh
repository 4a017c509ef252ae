#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples for CI, step by step as they are written, with a wheel of this build: the action for GitHub and the job for
# GitLab, in a project with the example's inferogram.toml, once with the model of the base and once with a slower one.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
need ort-node-1.30.0
for tool in patchelf strip objdump meson git bash; do
    command -v "$tool" >/dev/null || skip_all "tools: $tool is not installed"
done
python3 -c 'import venv, ensurepip' 2>/dev/null || skip_all "tools: python3-venv is not installed"
[ -s "$SOURCE_DIR/ui/dist/index.html" ] || skip_all "the page is not built (make ui)"
cd "$T" || exit 99
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH IFG_HOOKS_DIR GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITHUB_OUTPUT
# What pip needs is here; it must not ask for more.
PIP_NO_INDEX=1
PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_NO_INDEX PIP_DISABLE_PIP_VERSION_CHECK

examples=$SOURCE_DIR/examples/ci
mkdir -p project/models project/wheels temporary
ok "a tree of this build" "$SOURCE_DIR/tools/package-tree" --as-built "$BUILD_DIR" tree
ok "and its wheel" "$SOURCE_DIR/tools/package-wheel" tree project/wheels
rm -rf tree
cp "$examples/inferogram.toml" project/
python3 - "$SOURCE_DIR/tests/runtimes" project/models <<'PYTHON'
import sys
sys.path.insert(0, sys.argv[1])
import make_models
for name, nodes in ('model', 5), ('slow', 300):
    with open(f'{sys.argv[2]}/{name}.onnx', 'wb') as file:
        file.write(make_models.series('graph', 'n', nodes, ['Tanh']))
PYTHON
git_quiet() { git -C project -c user.name=test -c user.email=test@example.org "$@" >/dev/null 2>&1; }
git_quiet init -q && git_quiet add inferogram.toml models && git_quiet commit -q -m base
base=$(git -C project rev-parse HEAD)

ci() { # KIND FILE OPTIONS...
    kind=$1
    file=$2
    shift 2
    python3 "$SOURCE_DIR/tests/e2e/gate_ci.py" "$kind" "$examples/$file" --directory project --temporary "$T/temporary" \
        --env "IFG_ORT=$(ort 1.30.0)" "$@"
}
# How certain the machine can be today is no matter here; the slower model is far beyond every noise.
measure="--threshold 100% --pairs 6 --max-time 150 --retries 0 --processes 2 --threads 1 -n 160 -w 5"

exits "the action with the same model" 0 ci action action.yml --set "base=$base" --set "options=$measure --allow-noisy"
is "its steps" "$(grep -E '^(passed|skipped|failed)' stdout | tr '\n' ';')" "passed: Install Inferogram;passed: Check out the base;passed: Gate;"
matches "its output" "$(cat stdout)" '^output verdict: (PASS|UNSURE)$'
matches "it compared with the base" "$(cat stdout)" 'p50 .* against base/models/model\.onnx'
matches "budgets, too" "$(cat stdout)" '^PASS +size '
ok "by the wheel's program" test -x temporary/inferogram/bin/inferogram
is "JUnit as the settings say" "$(python3 -c 'import xml.etree.ElementTree as t
print([suite.get("name") for suite in t.parse("project/gate.xml").getroot()])')" "['main']"
contains "a table in the summary" "$(cat temporary/GITHUB_STEP_SUMMARY)" "### Inferogram gate: main: "

rm -rf project/base project/gate.xml
git_quiet worktree prune
cp project/models/slow.onnx project/models/model.onnx
exits "the job with a slower model" 1 ci gitlab inferogram-gate.gitlab-ci.yml --set "INFEROGRAM_OPTIONS=$measure --no-accuracy --allow-noisy" \
    --env "CI_COMMIT_BEFORE_SHA=$base"
matches "fails by the change" "$(cat stdout)" '^FAIL +p50 .* against base/models/model\.onnx'
is "and leaves its artifact" "$(grep -c '^artifact: gate.xml' stdout)" 2
lacks "which nobody overlooks" "$(cat stdout)" "allowed to fail"

done_testing
