#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every format of `inferogram export`, read back by readers that share no code with the writers.
. "$TAP_SH"
command -v python3 >/dev/null || skip_all "tools: python3 is not installed"
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$SOURCE_DIR/tests/export
export PYTHONPATH PYTHONDONTWRITEBYTECODE
checks=$SOURCE_DIR/tests/export
check() {
    name=$1
    truth=$T/$2.truth
    shift 2
    python3 "$checks/check_$name.py" "$truth" "$@"
}

for trace in everything empty async large; do
    "$EXPORT_TRACES" "$trace" "$T/$trace.ifg" >"$T/$trace.truth" || fail "writes trace $trace"
    for format in chrome perfetto csv tracy-csv speedscope folded pprof; do
        ok "$trace becomes $format" "$INFEROGRAM" export "$T/$trace.ifg" --format $format
    done
    ok "$trace: Chrome JSON is what was recorded, and nests" check chrome $trace "$T/$trace.json"
    ok "$trace: Perfetto's protobuf is what was recorded" check perfetto $trace "$T/$trace.pftrace"
    "$INFEROGRAM" export "$T/$trace.ifg" --format tracy-csv --unwrap -o "$T/$trace.u" 2>/dev/null
    "$INFEROGRAM" export "$T/$trace.ifg" --format tracy-csv --unwrap --self -o "$T/$trace.s" \
        2>/dev/null
    ok "$trace: the CSV formats are what was recorded" \
        check tables $trace "$T/$trace.csv" "$T/$trace.tracy.csv" "$T/$trace.u" "$T/$trace.s"
    ok "$trace: speedscope, folded and pprof agree" \
        check flame $trace "$T/$trace.speedscope.json" "$T/$trace.folded" "$T/$trace.pb.gz"
done

# The same numbers as other commands.
stats() {
    "$INFEROGRAM" stats "$T/everything.ifg" --json >"$T/stats.json" &&
        python3 - "$T/stats.json" "$T/everything.csv" <<'PYTHON'
import csv, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
with open(sys.argv[2], newline="") as file:
    ended = [int(r["dur_ns"]) for r in csv.DictReader(file) if r["unfinished"] == "0"]
got = sum(r["count"] for r in rows), sum(r["total_ns"] for r in rows)
sys.exit(0 if got == (len(ended), sum(ended)) else f"{got} {len(ended)} {sum(ended)}")
PYTHON
}
ok "counts and times are those of stats" stats

# Perfetto: another decoder, compression, a file that is cut anywhere.
if command -v protoc >/dev/null; then
    decode() { protoc --decode_raw <"$T/everything.pftrace"; }
    ok "protoc decodes Perfetto's file" decode
    cp "$T/stdout" "$T/raw"
    slices=$(grep -c '"slice"' "$T/everything.truth")
    ml=$(grep '"slice"' "$T/everything.truth" | grep -c '"kind":"ml"')
    is "protoc sees a begin for each slice, span and event in the tree" \
        "$(grep -c '^    9: 1$' "$T/raw")" "$((slices + ml + 4))"
    is "and as many ends" "$(grep -c '^    9: 2$' "$T/raw")" "$((slices + ml + 4))"
else
    skip "protoc decodes Perfetto's file" "tools: protoc is not installed"
fi
for trace in everything large; do
    ok "$trace: compressed packets" "$INFEROGRAM" export "$T/$trace.ifg" --format perfetto \
        --compress -o "$T/$trace.zst"
    if command -v zstd >/dev/null; then
        ok "$trace: compressed packets have the same inside" check perfetto $trace "$T/$trace.zst"
    else
        skip "$trace: compressed packets have the same inside" "tools: zstd is not installed"
    fi
done
size=$(wc -c <"$T/large.pftrace")
for part in 10 50 99; do
    head -c $((size * part / 100 + 1)) "$T/large.pftrace" >"$T/cut"
    ok "a file cut at $part % opens" check perfetto large "$T/cut" --cut
done

# AIC100's latency file: one for each model.
mkdir "$T/programs"
ok "latency files go to a directory" "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency \
    -o "$T/programs"
contains "why columns are N/A" "$(cat "$T/stderr")" "nothing in this trace was measured on the device"
latency() { python3 "$checks/check_latency.py" "$1"; }
is "one for each model and process" "$(find "$T/programs" -type f | wc -l)" 4
ok "AIC100's rules read it" latency "$T/programs/aic-profiling-program-1-latency.txt"
is "setup before, stages around" "$(cat "$T/stdout")" "0.250 0.000 0.000 0.000 0.250 1
0.390 0.000 0.100 0.000 0.500 1
0.200 0.050 0.100 0.030 0.530 1"
ok "spans are inferences too" latency "$T/programs/aic-profiling-program-2-latency.txt"
# Older files are never deleted; a directory that is missing is made.
ok "latency files again" "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency -o "$T/made/"
ok "and again" "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency -o "$T/made/"
ok "two runs leave two files" cmp "$T/made/aic-profiling-program-1-latency.txt" "$T/made/aic-profiling-program-1-latency-2.txt"
ok "-f replaces" "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency -f -o "$T/made/"
ok "and adds none" test ! -e "$T/made/aic-profiling-program-1-latency-3.txt"
ok "the middle of the samples" "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency -f --keep-middle 33 -o "$T/made/"
matches "as many as the header says" "$(sed -n 4p "$T/made/aic-profiling-program-1-latency.txt")" "^NumSamples collected: 1 Num Requested: "
is "the one in the middle" "$(sed -n '6,$p' "$T/made/aic-profiling-program-1-latency.txt" | awk -F, '{print $1 + 0}')" 1
exits "for nothing else" 2 "$INFEROGRAM" export "$T/everything.ifg" --format csv --keep-middle 50
exits "no share" 2 "$INFEROGRAM" export "$T/everything.ifg" --format aic-latency --keep-middle 0
exits "no inferences, no file" 2 "$INFEROGRAM" export "$T/empty.ifg" --format aic-latency -o "$T/none"
ok "and nothing is left" test ! -e "$T/none"

done_testing
