#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of an ordinary user that forge what root's recorder reads of them, each way for one short round. `make hostile`
# runs the same for ten minutes each, with sanitizers.
. "$TAP_SH"
[ "$(id -u)" -eq 0 ] || skip_all "root: only root can record the programs of other users"
if ! setpriv --reuid=61009 --regid=61009 --clear-groups test -x "$BUILD_DIR/tests/rec_hostile"; then
    skip_all "another user may not run programs in $BUILD_DIR"
fi
cd "$T" || exit 1
ways="region control elf elf-attached perf-map jitdump names storm heap ort ort-forged"
for way in $ways; do
    result=0
    HOSTILE_SEED=${HOSTILE_SEED:-1} HOSTILE_ROUND=1 HOSTILE_READS="info functions" \
        "$SOURCE_DIR/tools/run-hostile" "$BUILD_DIR" 1 "$way" >out 2>&1 || result=$?
    if grep -q "^$way: skipped" out; then
        skip "$way" "$(sed -n "s/^$way: skipped: //p" out)"
    else
        is "$way: the recorder ends by itself, and what it wrote can be read" "$result" 0
        note "$(cat out)"
    fi
done
done_testing
