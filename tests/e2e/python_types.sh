#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The type hints of the Python package, by mypy.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/python_lib.sh"
data=$(data_python) || skip_all "runtimes: $(cat "$T/data.why")"

# The command of a wheel is a few lines that no program imports.
mkdir "$T/typed" && cp -r "$SOURCE_DIR/bindings/python/inferogram" "$T/typed/" && rm -f "$T/typed/inferogram/__main__.py" "$T/typed/inferogram/_command.py"
cat >"$T/typed/use.py" <<'PYTHON'
import inferogram

with inferogram.zone('x', value=3) as zone:
    zone.set(more='y')
names: list[str] = [str(row[0]) for row in inferogram.open('run.ifg').query('SELECT name FROM slice')]
PYTHON
matches "strict" "$(cd "$T/typed" && "$data" -m mypy --strict --no-incremental --cache-dir=/dev/null --python-version 3.10 inferogram use.py 2>&1)" \
    '^Success: no issues found in [0-9]+ source files$'
echo "inferogram.counter('queue', 'much')" >>"$T/typed/use.py"
matches "a wrong type is found" "$(cd "$T/typed" && "$data" -m mypy --no-incremental --cache-dir=/dev/null --python-version 3.10 use.py 2>&1)" \
    'error: Argument 2 to "counter"'
done_testing
