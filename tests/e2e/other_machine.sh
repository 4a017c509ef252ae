#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces of one architecture read on another. $INFEROGRAM and the programs of this build are for another machine and run by qemu;
# NATIVE_BUILD is a build of the same sources for this one.
. "$TAP_SH"

native=${NATIVE_BUILD:-$SOURCE_DIR/build}
[ -x "$native/src/cli/inferogram" ] || skip_all "no build for this machine in $native (make, or NATIVE_BUILD=FOLDER)"
here=$native/src/cli/inferogram
cd "$T" || exit 1

# Of which machine a program is: bytes 18 and 19 of ELF.
machine_of() { od -An -tx1 -j18 -N2 "$1" | tr -d ' \n'; }
is "one program is for arm64" "$(machine_of "$INFEROGRAM")" b700
is "the other is for x86-64" "$(machine_of "$here")" 3e00
is "they have one version" "$("$INFEROGRAM" --version | head -n 1)" "$("$here" --version | head -n 1)"

# What both tell of a file, byte for byte: what is in it, every record, the report, and rows of tables.
tell() {
    tell_program=$1 tell_file=$2
    "$tell_program" info --json "$tell_file" &&
        "$tell_program" cat "$tell_file" &&
        "$tell_program" report --color never "$tell_file" || return
    for table in slice attribute counter clock; do # all other rows are in what cat prints, too
        echo "$table"
        "$tell_program" query "$tell_file" "SELECT * FROM $table" --csv --max-rows 0 || return
    done
}
same() {
    if ! tell "$here" "$2" >native.txt 2>native.err; then
        fail "$1: read on x86-64" "$(cat native.err)"
    elif ! tell "$INFEROGRAM" "$2" >emulated.txt 2>emulated.err; then
        fail "$1: read on arm64" "$(cat emulated.err)"
    elif cmp -s native.txt emulated.txt && [ -s native.txt ]; then
        pass "$1: $(wc -l <native.txt) lines are the same"
    else
        fail "$1: the same" "$(diff native.txt emulated.txt | head -n 20)"
    fi
}
# ---- written long ago on x86-64 --------------------------------------------------------------------
for file in "$SOURCE_DIR"/tests/golden/*.ifg; do same "golden ${file##*/}" "$file"; done

# ---- written by programs of each ------------------------------------------------------------------
for what in everything async empty; do
    ok "a trace is written on arm64: $what" "$EXPORT_TRACES" "$what" "$what.ifg"
    same "$what" "$what.ifg"
done
for what in showcase odd profile gpu; do
    ok "a trace is written on arm64: $what" "$REPORT_TRACES" "$what" "$what.ifg"
    same "$what" "$what.ifg"
    "$here" export "$what.ifg" --format perfetto -o native.out >/dev/null 2>&1
    "$INFEROGRAM" export "$what.ifg" --format perfetto -o emulated.out >/dev/null 2>&1
    ok "$what: exported alike" cmp native.out emulated.out
done

# ---- recorded --------------------------------------------------------------------------------------
ok "recorded on arm64" "$INFEROGRAM" record -q --no-sample -o recorded.ifg -- "$REC_TICKER" -c 3000 -t 2
is "all events are there" "$("$here" query recorded.ifg "SELECT count(*) FROM slice WHERE name = 'tick'" --csv | tail -n 1 | tr -d '\r')" 6000
is "none was lost" "$("$here" info --json recorded.ifg | python3 -c 'import json, sys; print(json.load(sys.stdin)["dropped"])')" 0
same "recorded" recorded.ifg
done_testing
