#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles that ONNX Runtime really writes: 1.20 does not escape names, 1.31 does. The packages are kept in
# the user's cache; without them, and without a network, this is skipped.
. "$TAP_SH"

value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

for version in 1.20.1 1.31.1; do
    if ! venv=$("$SOURCE_DIR/tools/fetch-runtimes" "python-$version" 2>"$T/fetch"); then
        skip "ONNX Runtime $version" "runtimes: $(tail -n 1 "$T/fetch" | cut -c 1-120)"
        continue
    fi
    # shellcheck disable=SC2046 # two words
    set -- $(cd "$T" && "$venv/bin/python" "$SOURCE_DIR/tests/import/ort_profile.py" "$T/tiny$version" 50 2>"$T/err")
    if [ $# -ne 2 ]; then
        fail "ONNX Runtime $version runs" "$(cat "$T/err")"
        continue
    fi
    note "ONNX Runtime $1: $2"
    ok "$version: import" "$INFEROGRAM" import "$2" -o "$T/$version.ifg" --json
    cp "$T/stdout" "$T/result"
    is "$version: nothing is lost" "$(value 'd["lost"]' <"$T/result")" "[]"
    is "$version: 50 runs, one load, one specialization; 100 operators" "$(value '(d["ml"], d["ops"])' <"$T/result")" "(52, 100)"
    "$INFEROGRAM" stats "$T/$version.ifg" --by op --json >"$T/ops"
    is "$version: operators by name" "$(value 'sorted((r["name"], r["count"]) for r in d["rows"])' <"$T/ops")" \
        "[('C:\\\\net\\\\relu', 50), ('add \"one\"', 50)]"
    "$INFEROGRAM" info "$T/$version.ifg" --json >"$T/info"
    is "$version: the model" "$(value '[(m["name"], m["runtime"]) for m in d["models"]]' <"$T/info")" \
        "[('tiny$version', 'ONNX Runtime')]"
done
done_testing
