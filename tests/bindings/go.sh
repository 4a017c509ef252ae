#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The module of bindings/go: built without any other module, recorded, counted.
. "$TAP_SH"
command -v go >/dev/null || skip_all "tools: go is not installed"
cd "$T" || exit 99
PKG_CONFIG_PATH=$BUILD_DIR/meson-uninstalled
LD_LIBRARY_PATH=$BUILD_DIR/src/client
GOFLAGS=-mod=mod
GOPROXY=off
GOTOOLCHAIN=local
GOWORK=off
# The cache of a user who has none, or none to spare.
GOCACHE=${GOCACHE:-$T/cache}
export PKG_CONFIG_PATH LD_LIBRARY_PATH GOFLAGS GOPROXY GOTOOLCHAIN GOWORK GOCACHE

build() { (cd "$SOURCE_DIR/bindings/go" && go build -o "$T/program" ./example); }
check() { (cd "$SOURCE_DIR/bindings/go" && go vet ./...); }
ok "it is built" build
ok "the compiler's own check" check
is "in its form" "$(gofmt -l "$SOURCE_DIR/bindings/go" 2>&1)" ""
exits "a program without a recording" 0 ./program
is "knows" "$(cat stdout)" false
exits "recorded" 0 "$INFEROGRAM" record --no-sample -o run.ifg -- ./program
is "knows, too" "$(cat stdout)" true
rows() { "$INFEROGRAM" query run.ifg --csv "$1" | tr -d '\r' | sed 1d | tr '\n' ' ' | sed 's/ $//'; }
is "zones" "$(rows "SELECT name || '=' || count(*) FROM slice WHERE kind = 'zone' GROUP BY name ORDER BY name")" \
    "inner=50 outer=50 panics=3 produce=1 recursive=5 work 0=5 work 1=5"
is "of goroutines, nested as they were" "$(rows "SELECT count(*) FROM slice JOIN slice AS outside ON outside.id = slice.parent_id WHERE slice.name = 'inner' AND outside.name = 'outer'")" 50
is "details" "$(rows "SELECT count(*) FROM attribute JOIN slice ON slice.id = attribute.slice WHERE slice.name LIKE 'work %' AND key IN ('text', 'round', 'fill', 'who')")" 40
is "events" "$(rows "SELECT category || '=' || count(*) FROM ml_event GROUP BY category ORDER BY category")" "inference=4 load=1"
is "marks, spans, flows" "$(rows "SELECT (SELECT count(*) FROM counter WHERE name = 'depth'), (SELECT count(*) FROM message), (SELECT count(*) FROM frame), (SELECT count(*) FROM async_span), (SELECT count(*) FROM flow)")" "6,1,6,1,1"
done_testing
