#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reading traces in Python: rows, types and messages in every CPython; pyarrow, pandas and polars where they can be had.
. "$TAP_SH"
# shellcheck disable=SC2154 # from python_lib.sh
. "$SOURCE_DIR/tests/e2e/python_lib.sh"
"$REPORT_TRACES" showcase "$T/show.ifg"
"$REPORT_TRACES" many "$T/many.ifg"
"$REPORT_TRACES" empty "$T/empty.ifg"
"$REPORT_TRACES" odd "$T/odd.ifg"

for python in $(pythons); do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    is "$version: reads" "$("$python" "$SOURCE_DIR/tests/python/reading.py" "$T/show.ifg" "$T/many.ifg" "$T/empty.ifg" 2>&1)" "done"
done
is "odd texts are the same both ways" "$(python3 -c "
import inferogram
trace = inferogram.open('$T/odd.ifg')
print(trace.query('SELECT * FROM slice').rows() == trace.query('SELECT * FROM slice WHERE 1').rows())")" True
contains "without the program there is a message" \
    "$(env INFEROGRAM= PATH="$T" "$(python3 -c 'import sys; print(sys.executable)')" -c "import inferogram; inferogram.open('$T/show.ifg').info()" 2>&1)" \
    "set INFEROGRAM to its path"
is "nothing is loaded before it is used" "$(python3 -c "
import inferogram, sys
print(sorted(name for name in sys.modules if name.startswith('inferogram.')), 'ctypes' in sys.modules, 'zone' in dir(inferogram))
missing = [name for name in inferogram.__all__ if not hasattr(inferogram, name)]
print(missing, hasattr(inferogram, 'nonsense'))")" "[] False True
[] False"
exits "Arrow is not for terminals or people" 2 "$INFEROGRAM" query --tables --arrow
exits "nor together with CSV" 2 "$INFEROGRAM" query "$T/show.ifg" 'SELECT 1' --csv --arrow
# shellcheck disable=SC2016 # the inner shell expands
exits "a full disk is an error" 1 sh -c '"$0" query "$1" "SELECT * FROM slice" --arrow >/dev/full' "$INFEROGRAM" "$T/show.ifg"

data=$(data_python) || {
    skip "pyarrow, pandas, polars" "runtimes: $(cat "$T/data.why")"
    done_testing
}
is "pyarrow, pandas, polars" "$("$data" "$SOURCE_DIR/tests/python/frames.py" "$T/show.ifg" "$T/empty.ifg" 2>&1)" "done"
done_testing
