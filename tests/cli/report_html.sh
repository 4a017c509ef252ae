#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report --html, diff --html and bench --html: where the page goes, how large it gets, what it says it left out. How the
# page behaves in a browser is in tests/ui/mailed.test.mjs.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"

"$REPORT_TRACES" showcase "$T/showcase.ifg"
"$REPORT_TRACES" markup "$T/markup.ifg"
"$REPORT_TRACES" empty "$T/empty.ifg"
"$INFEROGRAM" report "$T/showcase.ifg" --html "$T/first.html" 2>"$T/stderr"
if [ $? -eq 4 ]; then
    contains "without the page it says so" "$(cat "$T/stderr")" "built without its page"
    ok "and leaves no file" test ! -e "$T/first.html"
    done_testing
    exit 0
fi
size() { wc -c <"$1"; }
# section FILE NAME: what is in one, unpacked
section() {
    python3 -c '
import base64, re, sys, zlib
text = open(sys.argv[1], encoding="utf-8").read()
found = re.search("id=\"ifg-" + sys.argv[2] + "\">([A-Za-z0-9+/=]*)</script>", text)
sys.stdout.buffer.write(zlib.decompress(base64.b64decode(found[1]), -15))' "$1" "$2"
}
value() { section "$1" "$2" | python3 -c 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$3"; }

# ---- where it goes

contains "what was written, on stderr" "$(cat "$T/stderr")" "first.html: "
ok "a page" test -s "$T/first.html"
exits "an existing file is kept" 1 "$INFEROGRAM" report "$T/showcase.ifg" --html "$T/first.html"
contains "and the way out is named" "$(cat "$T/stderr")" "first.html exists already; -f replaces it"
exits "-f replaces it" 0 "$INFEROGRAM" report "$T/showcase.ifg" --html "$T/first.html" -f
is "nothing on stdout" "$(cat "$T/stdout")" ""
exits "- is stdout" 0 "$INFEROGRAM" report "$T/showcase.ifg" --html -
is "and nothing is said" "$(cat "$T/stderr")" ""
cp "$T/stdout" "$T/second.html"
ok "which has the same page" cmp "$T/second.html" "$T/first.html"
exits "a folder that is not there" 1 "$INFEROGRAM" report "$T/showcase.ifg" --html "$T/none/a.html"
contains "is named" "$(cat "$T/stderr")" "cannot write $T/none/a.html"
exits "a full disk" 1 "$INFEROGRAM" report "$T/showcase.ifg" --html /dev/full
contains "is said" "$(cat "$T/stderr")" "No space left"
exits "no trace" 2 "$INFEROGRAM" report "$T/stdout" --html "$T/bad.html"
ok "leaves no page" test ! -e "$T/bad.html"
exits "a trace that is not there" 2 "$INFEROGRAM" report "$T/none.ifg" --html "$T/bad.html"
ok "neither" test ! -e "$T/bad.html"
exits "a wrong size" 2 "$INFEROGRAM" report "$T/showcase.ifg" --html "$T/bad.html" --max-size large
contains "is explained" "$(cat "$T/stderr")" "'large' is not a size (500k, 8M, 1G)"
exits "not with --json" 2 "$INFEROGRAM" report "$T/showcase.ifg" --html "$T/bad.html" --json
exits "-f alone" 2 "$INFEROGRAM" report "$T/showcase.ifg" -f
exits "a trace with nothing in it" 0 "$INFEROGRAM" report "$T/empty.ifg" --html "$T/empty.html"

# ---- what is in it

"$INFEROGRAM" report "$T/showcase.ifg" --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
for model in report["models"]:
    for part in [model] + model["operators"]:
        part.pop("roofline", None)
json.dump(report, sys.stdout)' >"$T/report.json"
is "the report is that of --json, without rooflines" \
    "$(value "$T/first.html" documents 'd["report"] == json.load(open("'"$T/report.json"'"))')" "True"
is "every slice is there" "$(value "$T/first.html" index 'd["exact"], d["slices"] == d["slices_kept"]')" "(True, True)"
contains "a policy that allows no request" "$(head -n 5 "$T/first.html")" "default-src 'none'; script-src 'sha256-"
is "nothing is fetched: no address but data:" \
    "$(grep -oE '(src|href)="[^"]*"' "$T/first.html" | grep -v '="data:' | sort -u)" ""
ok "the policy names the script that is there" python3 -c '
import base64, hashlib, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
script = re.search("<script type=\"module\">(.*)</script>\n</html>", text, re.S)[1]
digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
sys.exit(f"sha256-{digest}" not in text)' "$T/first.html"
exits "texts that are code in a page" 0 "$INFEROGRAM" report "$T/markup.ifg" --html "$T/markup.html"
is "are nowhere but packed" "$(grep -c onerror= "$T/markup.html")" "0"
exits "two scripts that run would be one too many" 0 grep -c '<script type="module">' "$T/markup.html"
is "there is one" "$(cat "$T/stdout")" "1"

# ---- how large it gets

"$SYNTHETIC_TRACE" "$T/100k.ifg" 100000 >/dev/null
exits "100 K zones" 0 "$INFEROGRAM" report "$T/100k.ifg" --html "$T/100k.html"
ok "are at most 1 MB: $(size "$T/100k.html")" test "$(size "$T/100k.html")" -le 1000000
exits "less than they need" 0 "$INFEROGRAM" report "$T/100k.ifg" --html "$T/small.html" --max-size 500k
contains "what was left out is said" "$(cat "$T/stderr")" "zones are in the report one by one, the others at the level of detail"
ok "and the cap is kept: $(size "$T/small.html")" test "$(size "$T/small.html")" -le 500000
is "the slowest are whole" "$(value "$T/small.html" index 'd["exact"], len(d["slowest"]) > 0')" "(False, True)"
is "statistics are of all" \
    "$(value "$T/small.html" documents 'sum(r["count"] for r in d["stats?by=zone&mode=instrumentation"]["rows"]) == d["meta"]["zones"]')" "True"
exits "less than any page" 0 "$INFEROGRAM" report "$T/100k.ifg" --html "$T/tiny.html" --max-size 1000
contains "is said too" "$(cat "$T/stderr")" "more than was allowed: it is the smallest report of this trace"

# ---- comparisons

cp "$T/100k.ifg" "$T/b.ifg"
exits "two traces" 0 "$INFEROGRAM" diff "$T/100k.ifg" "$T/b.ifg" --html "$T/diff.html"
"$INFEROGRAM" diff "$T/100k.ifg" "$T/b.ifg" --json >"$T/diff.json"
section "$T/diff.html" compare >"$T/inside.json"
ok "have the document of diff --json inside" cmp "$T/diff.json" "$T/inside.json"
exits "that is kept too" 2 "$INFEROGRAM" diff "$T/100k.ifg" "$T/b.ifg" --html "$T/diff.html"
exits "a benchmark asks before it measures" 2 "$INFEROGRAM" bench "$T/none.onnx" --html "$T/diff.html"
contains "whether it may write" "$(cat "$T/stderr")" "diff.html exists already; -f replaces it"
ok "the page is still there" test -s "$T/diff.html"
done_testing
