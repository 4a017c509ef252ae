#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/fetch-runtimes without a network: npm and python3 are replaced by programs that do as they are told.
. "$TAP_SH"
fetch=$SOURCE_DIR/tools/fetch-runtimes
XDG_CACHE_HOME=$T/cache
export XDG_CACHE_HOME

ok "--help" "$fetch" --help
ok "--list" "$fetch" --list
matches "all missing" "$(cat "$T/stdout")" '^ort-node-1\.30\.0 missing$'
lacks "none here" "$(cat "$T/stdout")" " here"
exits "a name nobody knows" 2 "$fetch" ort-node-0.0.0
exits "an option nobody knows" 2 "$fetch" --frobnicate

# An npm that makes the package it is asked for, slowly, and counts how often it was called.
mkdir "$T/bin"
cat >"$T/bin/npm" <<'EON'
#!/bin/sh
echo call >>"$NPM_CALLS"
[ -z "$NPM_FAILS" ] || { echo "npm warn something" && echo "npm error network" && exit 1; }
while [ "$1" != --prefix ]; do shift; done
sleep 0.3
package=$2/node_modules/onnxruntime-node/bin/napi-v6
for place in linux/x64 linux/arm64 win32/x64 darwin/arm64; do
    mkdir -p "$package/$place" && echo "$place" >"$package/$place/libonnxruntime.so.1"
done
EON
chmod +x "$T/bin/npm"
PATH=$T/bin:$PATH
NPM_CALLS=$T/calls
export PATH NPM_CALLS

exits "no network" 1 env NPM_FAILS=1 "$fetch" ort-node-1.20.1
contains "the reason" "$(cat "$T/stderr")" "ort-node-1.20.1 cannot be had: npm: npm error network"
is "nothing half done" "$(ls -A "$T/cache/inferogram")" ".lock-ort-node-1.20.1"
rm -f "$T/calls"

spawn "$fetch" ort-node-1.20.1 >"$T/other"
ok "two at once" "$fetch" ort-node-1.20.1
# shellcheck disable=SC2154 # set by spawn
wait "$spawned"
is "one download" "$(wc -l <"$T/calls")" 1
is "the folder" "$(cat "$T/stdout") $(cat "$T/other")" \
    "$T/cache/inferogram/ort-node-1.20.1 $T/cache/inferogram/ort-node-1.20.1"
is "the library" "$(cat "$T/cache/inferogram/ort-node-1.20.1/libonnxruntime.so")" linux/x64
is "other systems are gone" "$(cd "$T/cache/inferogram/ort-node-1.20.1" && find . -name 'libonnx*.1' | wc -l)" 1
ok "again" "$fetch" ort-node-1.20.1
is "from the cache" "$(wc -l <"$T/calls")" 1
ok "the newest" "$fetch" ort-node-1.30.0
is "keeps arm64" "$(cd "$T/cache/inferogram/ort-node-1.30.0" && find . -name 'libonnx*.1' | sort | xargs cat | tr '\n' ' ')" \
    "linux/arm64 linux/x64 "
done_testing
