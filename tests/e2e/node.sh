#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bindings/node in a real node: zones, async functions with a zone for each of their turns and a flow that joins them, events of
# models, marks, a worker; the same without a recording.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
command -v node >/dev/null || skip_all "tools: node is not installed"
cd "$T" || exit 99
binding=$SOURCE_DIR/bindings/node

INFEROGRAM_FLAGS="-I $SOURCE_DIR/include -L $BUILD_DIR/src/client -linferogram -Werror"
INFEROGRAM_NODE=$T/inferogram_node.node
LD_LIBRARY_PATH=$BUILD_DIR/src/client
export INFEROGRAM_FLAGS INFEROGRAM_NODE LD_LIBRARY_PATH
"$binding/build" "$INFEROGRAM_NODE" >built 2>&1
case $? in
4) skip_all "tools: $(cat built)" ;;
0) ;;
*) note "$(cat built)" ;;
esac
ok "it is built" test -s "$INFEROGRAM_NODE"
is "it has our version" "$(sed -n 's/.*"version": "\(.*\)",/\1/p' "$binding/package.json")" "$(cat "$SOURCE_DIR/VERSION")"
is "it exports what it says" "$(node -e 'console.log(Object.keys(require(process.argv[1])).sort().join(" "))' "$binding")" \
    "$(sed -n 's/^export \(function\|class\) \([A-Za-z]*\).*/\2/p' "$binding/index.d.ts" | sort -u | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')"

exits "a program without a recording" 0 node "$SOURCE_DIR/tests/node/program.js" "$binding"
is "does the same" "$(cat stdout)" "51 false"
exits "without the native part" 1 env INFEROGRAM_NODE="$T/absent.node" node -e 'require(process.argv[1])' "$binding"
contains "what to do" "$(cat stderr)" "build it with 'npm rebuild inferogram'"

exits "the program, recorded" 0 "$INFEROGRAM" record -o run.ifg -- node "$SOURCE_DIR/tests/node/program.js" "$binding"
is "its output" "$(cat stdout)" "51 true"
rows() { "$INFEROGRAM" query run.ifg --csv "$1" | tr -d '\r' | sed 1d | tr '\n' ' ' | sed 's/ $//'; }
is "zones" "$(rows "SELECT name || '=' || count(*) FROM slice WHERE kind = 'zone' AND name NOT IN ('request', 'plain') GROUP BY name ORDER BY name")" \
    "consume=1 inside=3 nested=10 produce=1 throws=3 work=10 worker=1"
is "within zones" "$(rows "SELECT count(*) FROM slice JOIN slice AS outside ON outside.id = slice.parent_id WHERE slice.name = 'nested' AND outside.name = 'work'")" 10
is "with details" "$(rows "SELECT count(*) FROM attribute JOIN slice ON slice.id = attribute.slice WHERE slice.name = 'work' AND key IN ('text', 'round', 'fill')")" 30
is "the worker is another thread" "$(rows "SELECT count(DISTINCT thread) FROM slice WHERE kind = 'zone'")" 2

# How many turns a function has is node's business; that each is a zone with a point of the flow is ours.
is "async functions are spans, also one that fails" "$(rows "SELECT name || '=' || count(*) FROM async_span WHERE NOT unfinished GROUP BY name ORDER BY name")" \
    "inference=1 plain=1 request=3"
is "each of their turns is a zone, and a step from the one before" \
    "$(rows "SELECT (SELECT count(*) FROM slice WHERE name IN ('request', 'plain')) - (SELECT count(*) FROM flow WHERE name IN ('request', 'plain') AND kind = 'step' AND to_slice IS NOT NULL)")" 4
ok "there are several" test "$(rows "SELECT count(*) FROM slice WHERE name = 'request'")" -ge 9
is "each flow has its end" "$(rows "SELECT name || '=' || count(*) FROM flow WHERE kind = 'end' GROUP BY name ORDER BY name")" "frame=1 plain=1 request=3"
is "a zone in a later turn is inside it" "$(rows "SELECT count(*) FROM slice JOIN slice AS outside ON outside.id = slice.parent_id WHERE slice.name = 'inside' AND outside.name = 'request'")" 3
is "events of a model" "$(rows "SELECT model || ' ' || category || '=' || count(*) FROM ml_event GROUP BY model, category ORDER BY category")" "ocr inference=4 ocr load=1"
is "marks" "$(rows "SELECT (SELECT count(*) FROM counter WHERE name = 'depth'), (SELECT count(*) FROM message WHERE text = 'late'), (SELECT count(*) FROM frame WHERE name = 'loop')")" "6,1,6"
done_testing
