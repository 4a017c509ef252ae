#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# inferogram import: every kind of event, text that is almost JSON, files that were cut, and round trips.
. "$TAP_SH"

samples=$SOURCE_DIR/tests/import/samples
roundtrip=$SOURCE_DIR/tests/import/roundtrip.py
cd "$T" || exit 99

# The value of a key of the JSON document on standard input, as Python sees it.
value() { python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

imported() { # NAME FILE [OPTION...]: imports into t.ifg, result in t.json, trace in info.json
    imported_name=$1
    imported_file=$2
    shift 2
    "$INFEROGRAM" import "$imported_file" -o t.ifg -f --json "$@" >t.json 2>err
    is "$imported_name: exit status" $? 0
    "$INFEROGRAM" info t.ifg --json >info.json
}

names() { "$INFEROGRAM" stats t.ifg --limit 0 --json | value '"|".join(sorted(r["name"] for r in d["rows"]))'; }
losses() { value '" ".join("%s:%d" % (r["reason"], r["count"]) for r in d["lost"])' <t.json; }
changes() { value '" ".join("%s:%d" % (r["reason"], r["count"]) for r in d["changed"])' <t.json; }

# Every phase.
imported "all phases" "$samples/phases.json"
is "counts" "$(value '[d[k] for k in ("events","zones","async","counters","messages","threads")]' <t.json)" "[26, 5, 5, 3, 4, 3]"
is "what was lost, by reason" "$(losses)" \
    "end_without_begin:1 counter_not_number:1 async_without_id:1 async_details:1 stacks:2 display_hints:1 other_phases:1 unknown_phase:1"
is "what was kept but odd" "$(changes)" "unfinished:1 overlapping:1"
is "the trace tells of the losses too" "$(value 'sum(l["count"] for l in d["losses"])' <info.json)" 9
is "zones" "$(names)" "inner|late in the file|never ends|outer|overlap"
is "the trace agrees" "$(value '[d["events"][k] for k in ("zones","async","counters","messages")]' <info.json)" "[4, 3, 3, 4]"
is "an unfinished zone" "$(value 'd["unfinished"][0]["name"]' <info.json)" "never ends"
"$INFEROGRAM" query t.ifg "SELECT name, dur_ns FROM slice WHERE name IN ('inner','outer') ORDER BY name" --csv >q.csv 2>err
is "begin and end" "$(tail -n +2 q.csv | tr -d '\r' | tr '\n' ' ')" "inner,7750 outer,20000 "

# Flows: matched by name, id, category and scope; bound to the zone around or the next one.
arrows() { "$INFEROGRAM" query t.ifg "SELECT f.name, a.name, b.name, f.kind FROM flow f LEFT JOIN slice a ON a.id = from_slice
    LEFT JOIN slice b ON b.id = to_slice ORDER BY from_ns" --csv 2>err | tail -n +2 | tr -d '\r' | tr '\n' ' '; }
imported "flows" "$samples/flows.json"
is "points, and zones" "$(value '(d["flows"], d["zones"])' <t.json)" "(18, 9)"
is "what was lost" "$(losses)" "async_details:1 flow_without_id:1"
is "the trace agrees" "$(value 'd["events"]["flows"]' <info.json)" 9
arrows >q
is "arrows" "$(cat q)" "image,read,resize,step image,read,resize,end mine,read,infer,end ours,read,serve,end \
image,resize,infer,step image,infer,serve,end image,,serve,end flow,sends,passes,step flow,passes,gets,end "
is "points without a begin" "$("$INFEROGRAM" query t.ifg "SELECT flow_points_without_begin FROM trace_info" --csv 2>err | tail -n 1 | tr -d '\r')" 2
cp t.json first.json
ok "flows go out" "$INFEROGRAM" export t.ifg --format chrome -o flows.json -f
imported "and come back" flows.json
is "as many of them" "$(value '(d["flows"], d["zones"])' <t.json)" "(18, 9)"
arrows >again
ok "from and to the same zones" cmp q again
ok "flows for Perfetto" "$INFEROGRAM" export t.ifg --format perfetto -o flows.pftrace -f
contains "says what it has no place for" "$(cat stderr)" "points of flows outside of any slice, or one of too many in it: 2"

# ONNX Runtime, as it is.
imported "names with quotes and backslashes" "$samples/ort_quotes.json"
is "it is recognised" "$(value '(d["format"], d["ml"], d["ops"], d["zones"])' <t.json)" "('ort', 3, 3, 1)"
is "nothing is lost" "$(losses)" ""
is "repairs are counted" "$(changes)" "repaired:3"
"$INFEROGRAM" stats t.ifg --by op --json | value '"|".join(sorted(r["name"] for r in d["rows"]))' >ops
is "operators by their own names" "$(cat ops)" 'C:\net\zoo\relu"|a "quoted" \path\|mat"mul'
is "categories" "$("$INFEROGRAM" stats t.ifg --by category --json | value 'sorted(r["name"] for r in d["rows"])')" \
    "['inference', 'load', 'specialization']"
is "the model is named after the file" "$(value 'd["models"][0]["name"]' <info.json)" ort_quotes
imported "as a plain Chrome trace" "$samples/ort_quotes.json" --format chrome
is "then all are zones" "$(value '(d["format"], d["ml"], d["ops"], d["zones"])' <t.json)" "('chrome', 0, 0, 7)"
imported "no closing bracket" "$samples/ort_no_bracket.json"
is "that is said" "$(losses)/$(changes)" "/no_closing_bracket:1"
imported "cut in the middle of an event" "$samples/ort_cut.json" --format ort
is "the event is counted" "$(losses)/$(changes)" "cut_event:1/no_closing_bracket:1"

# PyTorch.
imported "a PyTorch profile" "$samples/pytorch.json"
is "its losses" "$(losses)" "display_hints:1"
arrows >q
is "its flow leads to the kernel" "$(cat q)" 'ac2g,aten::addmm,"void gemm<float, 128>(""x"")",end '
is "names" "$(names)" 'PyTorch Profiler (0)|aten::addmm|aten::linear|void gemm<float, 128>("x")'
is "processes that are texts get numbers" "$(value 'len(set(p["pid"] for p in d["processes"]))' <info.json)" 4
contains "file facts" "$(value 'd["facts"]' <info.json)" "'import.file.traceName': 'out.json'"
"$INFEROGRAM" query t.ifg "SELECT dur_ns FROM slice WHERE name = 'aten::addmm'" --csv >q.csv 2>err
is "fractions of microseconds" "$(tail -n 1 q.csv | tr -d '\r')" 30250

# Text that nobody should write.
imported "hostile values" "$samples/hostile.json"
is "each for its reason" "$(losses)" \
    "not_an_event:5 no_phase:1 no_time:1 bad_time:3 negative_duration:1 unknown_phase:2"
is "and what was repaired" "$(changes)" "repaired:4 not_a_number:2 no_name:1 no_duration:1 times_shifted:1"
contains "surrogates" "$(names)" "smile 😀 half"
imported "deep nesting" "$samples/deep.json"
is "too deep is counted" "$(losses)" "too_deep:1"
python3 - <<'EOF'
import json
big = 'y' * (1 << 20)
with open('long.json', 'w') as f:
    json.dump([{'ph': 'X', 'name': 'n' * (1 << 20), 'pid': 1, 'tid': 1, 'ts': 1, 'dur': 1, 'args': {'text': big, 'k' * 70000: 1}}], f)
with open('too_large.json', 'w') as f:
    f.write('[{"ph":"X","name":"big","ts":1,"dur":1,"args":{"x":"' + 'z' * (20 << 20) + '"}},\n{"ph":"X","name":"small","ts":1,"dur":1}]')
with open('many_names.json', 'w') as f:
    f.write('[' + ',\n'.join('{"ph":"X","name":"n%d","pid":1,"tid":1,"ts":%d,"dur":1}' % (i, i) for i in range(140000)) + ']')
EOF
imported "texts of 1 MB" long.json
is "they are cut, and counted" "$(changes)" "text_cut:3"
imported "an event of 20 MB" too_large.json
is "it is counted, the next is read" "$(losses) $(value 'd["zones"]' <t.json)" "too_large:1 1"
imported "more names than places" many_names.json
is "all zones are there" "$(value 'd["events"]["zones"]' <info.json)" 140000
"$INFEROGRAM" query t.ifg "SELECT count(DISTINCT name) FROM slice" --csv >q.csv 2>err
note "distinct names: $(tail -n 1 q.csv)"

# Compressed, cut, from a pipe.
imported "gzip" "$samples/gzip.json.gz"
is "unpacked" "$(value '(d["gzip"], d["zones"])' <t.json)" "(True, 200)"
head -c 500 "$samples/gzip.json.gz" >cut.json.gz
imported "cut gzip" cut.json.gz
contains "the damage is counted" "$(losses)" "damaged_gzip:1"
cat "$samples/gzip.json.gz" "$samples/gzip.json.gz" >two.json.gz
"$INFEROGRAM" import - -o t.ifg -f --json <"$samples/gzip.json.gz" >t.json 2>err
is "standard input" "$(value 'd["zones"]' <t.json)" 200

# Names of files, and refusals.
cp "$samples/gzip.json.gz" run.json.gz
ok "the default name" "$INFEROGRAM" import run.json.gz
ok "run.json.gz becomes run.ifg" test -f run.ifg
exits "an existing file is kept" 2 "$INFEROGRAM" import run.json.gz
contains "and -f is offered" "$(cat stderr)" "-f"
ok "-f replaces it" "$INFEROGRAM" import -f run.json.gz
printf '' >empty.json
exits "an empty file" 2 "$INFEROGRAM" import empty.json
contains "says why ONNX Runtime leaves one" "$(cat stderr)" "EndProfiling"
printf '[]\n' >none.json
exits "no events" 2 "$INFEROGRAM" import none.json
contains "said" "$(cat stderr)" "no event"
exits "one of our own traces" 2 "$INFEROGRAM" import run.ifg -o x.ifg
contains "said" "$(cat stderr)" "already"
printf 'hello\n' >text.json
exits "not JSON" 2 "$INFEROGRAM" import text.json
exits "a file that is not there" 2 "$INFEROGRAM" import absent.json
exits "a directory" 2 "$INFEROGRAM" import .
exits "too many events" 1 "$INFEROGRAM" import run.json.gz -f -o x.ifg --max-events 10
contains "the limit is named" "$(cat stderr)" "--max-events"
is "a refusal leaves nothing behind" "$(find . -name 'x.ifg' -o -name '.inferogram*')" ""
limited() { (ulimit -f 1 && exec "$INFEROGRAM" import many_names.json -o x.ifg); }
exits "no room for the trace" 1 limited
contains "that is said" "$(cat stderr)" "File too large"
is "and nothing is left behind" "$(find . -name 'x.ifg' -o -name '.inferogram*')" ""
exits "an unknown format" 2 "$INFEROGRAM" import run.json.gz --format xml
exits "a directory that is not there" 2 "$INFEROGRAM" import run.json.gz -o absent/x.ifg

# There and back.
for seed in 1 2 3; do
    python3 "$roundtrip" make "in$seed.json" "$seed"
    ok "import, seed $seed" "$INFEROGRAM" import "in$seed.json" -f
    ok "export, seed $seed" "$INFEROGRAM" export "in$seed.ifg" --format chrome -o "out$seed.json" -f
    ok "counts, names and times are the same" python3 "$roundtrip" compare "in$seed.json" "out$seed.json"
    note "$(head -n 1 stdout)"
    ok "import again" "$INFEROGRAM" import "out$seed.json" -f
    ok "export again" "$INFEROGRAM" export "out$seed.ifg" --format chrome -o "again$seed.json" -f
    ok "still the same" python3 "$roundtrip" compare "in$seed.json" "again$seed.json"
done

done_testing
