#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram.record(): a Python process that records itself, with a real ONNX Runtime in it too.
# shellcheck disable=SC2154 # from the libraries
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/python_lib.sh"

for python in $(pythons); do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    mkdir "$T/$version"
    is "$version: records itself" "$("$python" "$SOURCE_DIR/tests/python/recording.py" "$T/$version" 2>&1)" "done"
done

is "threads that end with the recording" "$(python3 "$SOURCE_DIR/tests/python/ending_threads.py" "$T" 2>&1)" "done"

contains "under another recorder it is refused with the reason" "$("$INFEROGRAM" record -q --no-sample -f -o "$T/outer.ifg" -- \
    python3 -c "import inferogram; inferogram.record('$T/inner.ifg').start()" 2>&1)" "inferogram.Error: "

# As somebody who is not root, with nothing but the rights of that user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ -x /usr/bin/python3 ]; then
    mkdir "$T/user" && cp -r "$package" "$T/user/package" && cp "$SOURCE_DIR/tests/python/recording.py" "$T/user/" && mkdir "$T/user/out"
    cp "$INFEROGRAM" "$T/user/inferogram"
    chmod -R a+rX "$T/user" && chmod a+x "$T" && chown 65534:65534 "$T/user/out"
    if setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$(dirname "$LIBINFEROGRAM")"; then
        is "another user records itself" "$(cd "$T/user" && LD_LIBRARY_PATH=$(dirname "$LIBINFEROGRAM") INFEROGRAM=$T/user/inferogram \
            PYTHONPATH=$T/user/package setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 recording.py "$T/user/out" 2>&1)" "done"
    else
        skip "another user records itself" "the build tree cannot be read by others"
    fi
else
    skip "another user records itself" "this needs root, setpriv and the system's Python"
fi

ort=$("$SOURCE_DIR/tools/fetch-runtimes" python-1.31.1 2>"$T/ort.why") || {
    skip "models" "runtimes: $(cat "$T/ort.why")"
    done_testing
}
python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$T/models" >/dev/null
for when in before meanwhile; do
    expected=20
    [ $when = meanwhile ] || expected=23
    is "models, onnxruntime imported $when" "$("$ort/bin/python" "$SOURCE_DIR/tests/python/models.py" "$T/models/relu.onnx" "$T/ort.ifg" $when 2>&1)" \
        "[('inference', 'relu', $expected), ('load', 'relu', 1)] relu"
done
done_testing
