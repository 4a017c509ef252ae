#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The crate of bindings/rust: built without any other crate, recorded, counted; and compiled away.
. "$TAP_SH"
command -v cargo >/dev/null || skip_all "tools: cargo is not installed"
cd "$T" || exit 99
crate=$SOURCE_DIR/bindings/rust
CARGO_TARGET_DIR=$T/target
INFEROGRAM_LIB_DIR=$BUILD_DIR/src/client
LD_LIBRARY_PATH=$BUILD_DIR/src/client
RUSTFLAGS="-D warnings"
export CARGO_TARGET_DIR INFEROGRAM_LIB_DIR LD_LIBRARY_PATH RUSTFLAGS
cp -r "$crate" crate && rm -rf crate/target crate/Cargo.lock

build() { (cd crate && cargo build --offline --quiet "$@"); }
is "it has our version" "$(sed -n 's/^version = "\(.*\)"/\1/p' crate/Cargo.toml)" "$(cat "$SOURCE_DIR/VERSION")"
ok "it is built" build --example program
exits "a program without a recording" 0 target/debug/examples/program
is "knows" "$(cat stdout)" false
exits "recorded" 0 "$INFEROGRAM" record --no-sample -o run.ifg -- target/debug/examples/program
is "knows, too" "$(cat stdout)" true
rows() { "$INFEROGRAM" query run.ifg --csv "$1" | tr -d '\r' | sed 1d | tr '\n' ' ' | sed 's/ $//'; }
is "zones" "$(rows "SELECT name || '=' || count(*) FROM slice WHERE kind = 'zone' GROUP BY name ORDER BY name")" \
    "consume=1 panics=3 produce=1 recursive=5 work 0=5 work 1=5"
is "by macro with file and line" "$(rows "SELECT DISTINCT file || ' ' || function FROM slice WHERE name = 'recursive'")" "examples/program.rs program"
is "details" "$(rows "SELECT count(*) FROM attribute JOIN slice ON slice.id = attribute.slice WHERE slice.name LIKE 'work %' AND key IN ('text', 'round', 'fill', 'who')")" 40
is "events" "$(rows "SELECT category || '=' || count(*) FROM ml_event GROUP BY category ORDER BY category")" "inference=4 load=1"
is "marks, spans, flows" "$(rows "SELECT (SELECT count(*) FROM counter WHERE name = 'depth'), (SELECT count(*) FROM message), (SELECT count(*) FROM frame), (SELECT count(*) FROM async_span), (SELECT count(*) FROM flow)")" "6,1,6,1,1"
unset INFEROGRAM_LIB_DIR LD_LIBRARY_PATH
ok "compiled away, without the library" build --features disable --example program
is "nothing of it is called" "$(nm -u target/debug/examples/program | grep -c ifg_)" 0
exits "and it runs" 0 target/debug/examples/program
done_testing
