#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Work of devices in stats, report, diff, exports and the server: the numbers, and that all say the same.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
. "$SOURCE_DIR/tests/server/serve_lib.sh"

trace=$T/device.ifg
ok "a trace with the work of a GPU" "$REPORT_TRACES" device "$trace"
ok "the same with a slower kernel" "$REPORT_TRACES" device-slow "$T/slow.ifg"
"$REPORT_TRACES" gpu "$T/host.ifg"
value() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$T/result" "$1"; }

# ---- kernels

exits "kernels" 0 "$INFEROGRAM" stats "$trace" --by kernel
matches "have counts, times and shares" "$(cat "$T/stdout")" '^gemm +50 +3\.00 ms .* 32\.9 %'
contains "of what the device was busy" "$(cat "$T/stdout")" "share: of the 9.13 ms that devices were busy"
exits "as JSON" 0 "$INFEROGRAM" stats "$trace" --by kernel --json
cp "$T/stdout" "$T/result"
is "all names, longest first" "$(value '[(r["name"][:12], r["kind"], r["count"]) for r in d["rows"]]')" \
    "[('void cudnn::', 'kernel', 50), ('gemm', 'kernel', 50), ('memcpy HtoD', 'memcpy', 50), ('memcpy DtoH', 'memcpy', 50), ('relu_kernel', 'kernel', 50)]"
is "overlap counts once in what was busy" "$(value 'd["busy_ns"] + 50 * 22000 == sum(r["total_ns"] for r in d["rows"])')" True
is "as SQL has them" "$(value '{r["name"]: [r["count"], r["total_ns"]] for r in d["rows"]}')" \
    "$("$INFEROGRAM" query "$trace" --json "select name, count(*), sum(dur_ns) from gpu_slice group by name order by 3 desc" | python3 -c '
import json, sys
d = json.load(sys.stdin)
rows = d["rows"] if isinstance(d, dict) else d
rows = [list(r.values()) if isinstance(r, dict) else r for r in rows]
print({r[0]: [r[1], r[2]] for r in rows})')"
exits "of an operator, as CSV" 0 "$INFEROGRAM" stats "$trace" --by kernel --op MatMul --csv
is "one line" "$(tail -n +2 "$T/stdout" | cut -d, -f1-4)" "gemm,kernel,50,3000000"
exits "of a stream" 0 "$INFEROGRAM" stats "$trace" --by kernel --thread 'GPU 0 stream 13' --csv
is "only its work" "$(tail -n +2 "$T/stdout" | cut -d, -f1)" "memcpy HtoD"
exits "of another model" 0 "$INFEROGRAM" stats "$trace" --by kernel --model other
contains "nothing matches" "$(cat "$T/stderr")" "no work of devices matches"
exits "of a trace without" 0 "$INFEROGRAM" stats "$T/host.ifg" --by kernel
contains "says that there is none" "$(cat "$T/stderr")" "no work of devices was recorded"
exits "by self" 2 "$INFEROGRAM" stats "$trace" --by kernel --sort self
exits "samples in a zone are no kernels" 2 "$INFEROGRAM" stats "$trace" --by kernel --zone x

# ---- operators: device time instead of the mark

exits "operators" 0 "$INFEROGRAM" stats "$trace" --by op
matches "have the time of the device" "$(cat "$T/stdout")" '^fc +50 .* 3\.00 ms$'
lacks "and no mark" "$(cat "$T/stdout")" "the device is not recorded"
contains "which stays where it is not recorded" "$("$INFEROGRAM" stats "$T/host.ifg" --by op)" "* host time; the device is not recorded"
"$INFEROGRAM" stats "$trace" --by op --json >"$T/result"
is "as JSON" "$(value 'sorted((r["name"], r["host_time"], r["device_ns"]) for r in d["rows"])')" \
    "[('conv1', False, 5325887), ('fc', False, 3000000), ('to_host', False, 400000), ('unique_7', False, 0)]"
"$INFEROGRAM" stats "$T/host.ifg" --by op --json >"$T/result"
is "null where it is not known" "$(value 'sorted((r["host_time"], r["device_ns"]) for r in d["rows"])')" "[(True, None), (True, None)]"

# ---- the report: text, JSON and page

exits "the report" 0 "$INFEROGRAM" report "$trace"
tr -s ' \n' ' ' <"$T/stdout" >"$T/text"
lacks "has no mark either" "$(cat "$T/text")" "the device is not recorded"
contains "operators on the device" "$(cat "$T/text")" "On the device (8.73 ms) Conv 61 % · MatMul 34 % · MemcpyToHost 4.6 %"
contains "top kernels" "$(cat "$T/text")" "55.1 % cudnn::conv_kernel 50 x 101 µs"
contains "devices" "$(cat "$T/text")" "Devices Test GPU · 2 streams · 250 pieces of work"
"$INFEROGRAM" report "$trace" --json >"$T/result"
is "the text is that of the document" "$(value '" ".join(d["models"][0]["device"][k] for k in ("text", "idle_text"))')" \
    "host 242 µs · busy 183 µs (76 %) · 3 kernels · queued 38.6 µs · host waits 166 µs · copies 38.0 µs (602 kB HtoD, 40.0 kB DtoH) 59.0 µs: launching 9.00 µs · operators on the CPU 50.0 µs"
contains "and the other way round" "$(cat "$T/text")" "$(value 'd["models"][0]["device"]["text"]')"
contains "idle time, too" "$(cat "$T/text")" "Device idle $(value 'd["models"][0]["device"]["idle_text"]')"
is "busy + foreign + idle is the span" \
    "$(value '(lambda m: abs(m["busy_ms"] + m["foreign_ms"] + m["idle_ms"] - m["span_ms"]) < 1e-9)(d["models"][0]["device"]["mean"])')" True
is "operators agree with stats" "$(value '[(o["type"], o["device_ms"]) for o in d["models"][0]["operators"]]')" \
    "[('MemcpyToHost', 0.4), ('Unique', 0), ('Conv', 5.325887), ('MatMul', 3)]"
is "kernels agree with stats" "$(value 'json.dumps(d["models"][0]["device"]["kernels"]["rows"])')" \
    "$("$INFEROGRAM" stats "$trace" --by kernel --json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["rows"]))')"
is "findings" "$(value 'sorted(f["id"] for f in d["findings"])')" "['copy-bound', 'sync-in-inference']"
contains "the operator that falls back is named" "$(cat "$T/text")" "'unique_7' (Unique) runs on the CPU in between, 50.0 µs each time"
for id in host-bound device-bound copy-bound sync-in-inference small-kernels first-run-autotune; do
    exits "explain $id" 0 "$INFEROGRAM" explain "$id"
    contains "explain $id: has a text" "$(cat "$T/stdout")" "Means:"
done

# ---- the server: what the page shows is the same

serve -q "$trace"
exits "the page's answers are those of the report and of stats" 0 python3 "$SOURCE_DIR/tests/server/device.py" "$url" "$T/result"
stop_serving

# ---- differences

exits "a slower kernel is a regression" 1 "$INFEROGRAM" diff "$trace" "$T/slow.ifg"
matches "in a section of devices" "$(sed -n '/^Devices/,$p' "$T/stdout")" 'REGRESSED +void cudnn::conv_kernel.* \+39\.8 %'
exits "a trace with itself" 0 "$INFEROGRAM" diff "$trace" "$trace" --json
cp "$T/stdout" "$T/result"
is "has all its work and calls" "$(value 'sorted(r["name"] for r in d["rows"] if r["kind"] in ("device", "driver") and r["verdict"] == "SAME")')" \
    "['cuLaunchKernel', 'cuMemcpyAsync', 'cuStreamSynchronize', 'gemm', 'memcpy DtoH', 'memcpy HtoD', 'relu_kernel', 'void cudnn::conv_kernel<float, 4>(Params)']"

# ---- exports

exits "to Chrome" 0 "$INFEROGRAM" export "$trace" --format chrome -o "$T/chrome.json"
ok "streams are threads of their own, with arrows from the launch" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
events = d["traceEvents"] if isinstance(d, dict) else d
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
work = [e for e in events if e.get("cat") == "device"]
assert len(work) == 250, len(work)
assert {names[e["pid"], e["tid"]] for e in work} == {"GPU 0 stream 7", "GPU 0 stream 13"}, names
ends = [e for e in events if e["ph"] == "f"]
assert len(ends) == 250 and all(names[e["pid"], e["tid"]].startswith("GPU 0 stream") for e in ends)
begins = {e["id"]: e for e in events if e["ph"] == "s"}
assert all(names[begins[e["id"]]["pid"], begins[e["id"]]["tid"]] == "worker" for e in ends)' "$T/chrome.json"
exits "to Perfetto" 0 "$INFEROGRAM" export "$trace" --format perfetto -o "$T/device.pftrace"
ok "has the streams" grep -aq "GPU 0 stream 13" "$T/device.pftrace"

# ---- the page that can be mailed

exits "a page to mail" 0 "$INFEROGRAM" report "$trace" --html "$T/device.html"

done_testing
