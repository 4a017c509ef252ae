#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What adding a source, an exporter and a runtime takes: a file each, and one row in each table. The command that is
# built so (meson.build) knows all three, wherever a user meets them; the one without them knows none.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 99

extended=$BUILD_DIR/tests/extension/inferogram-extended
library=$BUILD_DIR/tests/extension/libmade_runtime.so
export IFG_HOOKS_DIR="${IFG_HOOKS_DIR:-$BUILD_DIR/hooks}"

# ---- the rows ----
for table in record/sources export runtimes; do
    case $table in
    record/sources) what=source ;;
    export) what=format ;;
    *) what=runtime ;;
    esac
    is "$table: one line more" "$(diff "$SOURCE_DIR/src/$table/table.c" "$BUILD_DIR/tests/extension/${what}_table.c" |
        grep '^>' | grep -vc '\\$')" 1
done

# ---- a source ----
exits "record" 0 "$extended" record -q -f -o made.ifg -- sleep 0.3
matches "source: info has its instrument" "$("$INFEROGRAM" info made.ifg)" 'made events.* on'
ok "source: its events are in the trace" sh -c "'$INFEROGRAM' stats made.ifg --by zone | grep -q '^made '"
exits "record without it" 0 "$INFEROGRAM" record -q -f -o plain.ifg -- sleep 0.3
lacks "source: nowhere else" "$("$INFEROGRAM" info plain.ifg)" "made events"

# ---- an exporter ----
is "format: written" "$("$extended" export made.ifg --format made -o - 2>/dev/null)" "made of slices"
exits "format: beside the trace" 0 "$extended" export made.ifg --format made
is "format: with its extension" "$(cat made.made)" "made of slices"
matches "format: in the help" "$("$extended" export --help | tr -s ' \n' ' ')" 'npz, made'
for shell in bash zsh fish; do
    contains "format: completed by $shell" "$("$extended" completions $shell)" "npz made"
done
exits "format: options that it does not take" 2 "$extended" export made.ifg --format made --compress
exits "format: unknown without the row" 2 "$INFEROGRAM" export made.ifg --format made

# ---- a runtime ----
spawn env LD_PRELOAD="$library" sleep 600
listed() { "$1" ls 2>/dev/null | grep -E "^ *$spawned "; }
ok "runtime: ls shows who has it" until_true 60 sh -c "'$extended' ls 2>/dev/null | grep -Eq '^ *$spawned .*start it anew +Made Runtime '"
is "runtime: nobody without the row" "$(listed "$INFEROGRAM")" ""
contains "runtime: doctor" "$("$extended" doctor launch)" "Made Runtime"
lacks "runtime: doctor without the row" "$("$INFEROGRAM" doctor launch)" "Made Runtime"
help=$("$extended" record --help | tr -s ' \n' ' ')
contains "runtime: record --help" "$help" "(ONNX Runtime or IREE or Made Runtime)"
contains "runtime: no word of it where it cannot be watched" "$help" "a session of ONNX Runtime "
# The program is looked into ten times a second, on a busy machine less often.
silent() {
    "$extended" record -f -o silent.ifg -- env LD_PRELOAD="$library" sleep "$1" 2>stderr &&
        "$INFEROGRAM" info silent.ifg | tr -s ' \n' ' ' | grep -q 'Made Runtime .*loaded libmade_runtime.so, but no call to it passed'
}
silent 0.5 || silent 10
is "runtime: record says that it was not watched, and why" $? 0
contains "runtime: the user is told" "$(cat stderr)" "Made Runtime not available: sleep loaded libmade_runtime.so"

done_testing
