#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For the tests of the Python package: the package of the build tree, and Pythons to run it with.

package=$BUILD_DIR/bindings/python
if [ ! -e "$package/inferogram/_native.abi3.so" ]; then
    skip_all "tools: the Python package was not built (package python3-dev)"
fi
case ${SANITIZE:-none} in
none) ;;
*) skip_all "the library of a build with sanitizers does not load into a plain Python" ;;
esac
PYTHONPATH=$package
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE INFEROGRAM

# pythons: one of each version from 3.9 on, of what pyenv keeps and of the system.
pythons() {
    for minor in 9 10 11 12 13 14; do
        found=
        for each in "${HOME:-/root}"/.pyenv/versions/3."$minor".*/bin/python3 "/usr/bin/python3.$minor"; do
            if [ -x "$each" ]; then found=$each; fi
        done
        if [ -n "$found" ]; then echo "$found"; else note "no Python 3.$minor here" >&2; fi
    done
}

# rows FILE SQL: without the heading, lines joined by blanks.
rows() { "$INFEROGRAM" query "$1" "$2" --csv | tail -n +2 | tr -d '\r"' | tr '\n' ' ' | sed 's/ $//'; }

# data_python: a Python with pyarrow, pandas, polars, pytest, IPython and mypy; else the reason is in data.why.
data_python() {
    data_folder=$("$SOURCE_DIR/tools/fetch-runtimes" python-data 2>"$T/data.why") && echo "$data_folder/bin/python"
}
