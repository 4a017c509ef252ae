#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package in the tools around it: profiling handles, IPython, pytest.
# shellcheck disable=SC2154 # from python_lib.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/python_lib.sh"

for python in $(pythons); do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    is "$version: handles" "$("$python" "$SOURCE_DIR/tests/python/handles.py" 2>&1)" "done"
done

data=$(data_python) || {
    skip "IPython and pytest" "runtimes: $(cat "$T/data.why")"
    done_testing
}
mkdir "$T/cells"
is "IPython: %%inferogram" "$(HOME=$T IPYTHONDIR=$T/ipython "$data" "$SOURCE_DIR/tests/python/notebook.py" "$T/cells" 2>&1 | tail -n 1)" "done"

# run_pytest RECORDED OPTIONS...: the outcome of each test, by its name.
run_pytest() {
    printf 'import inferogram\ninferogram.RECORDED = %s\n' "$1" >"$T/tests/conftest.py"
    shift
    (cd "$T/tests" && "$data" -m pytest -p inferogram.pytest_plugin -q -rA -p no:cacheprovider "$@" gated.py >"$T/pytest.out" 2>&1)
    sed -n 's/^\([A-Z]*\) gated.py::\([^ ]*\( d\]\)*\).*/\2 \1/p' "$T/pytest.out" | sort | tr '\n' ' ' | sed 's/ $//'
}
mkdir "$T/tests" && cp "$SOURCE_DIR/tests/python/gated/gated.py" "$T/tests/"
expected='test_beyond FAILED test_own_failure FAILED test_plain[a/b] PASSED test_plain[c d] PASSED test_unsure PASSED test_unsure_fails FAILED test_within PASSED test_wrong_budget FAILED'
is "pytest: budgets, other tests are not recorded" "$(run_pytest False)" "$expected"
output=$(cat "$T/pytest.out")
matches "pytest: what was exceeded" "$output" 'FAIL.*inference.max|inference.max.*FAIL'
contains "pytest: an unsure gate warns" "$output" InferogramWarning
contains "pytest: a test's own failure stays" "$output" "KeyError: 'its own'"
contains "pytest: a wrong budget is explained" "$output" nonsense
is "pytest --inferogram: all tests are recorded" "$(run_pytest True --inferogram="$T/traces")" "$expected"
is "pytest --inferogram: a trace for each" "$(find "$T/traces" -name '*.ifg' | wc -l)" 8
is "pytest --inferogram: with what the test did" "$(rows "$T/traces/gated.py_test_within.ifg" "SELECT count(*) FROM slice WHERE category = 'inference'")" 20
done_testing
