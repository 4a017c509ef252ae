#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md begins with what `make demo` prints: the same lines, numbers aside.
. "$TAP_SH"

demo=$SOURCE_DIR/tools/demo
compare=$SOURCE_DIR/tools/readme-demo

cat >"$T/readme.md" <<'EOT'
```console
$ inferogram report build/demo.ifg
program on 2 x CPU of mine (virtual machine), 5.78 s, ONNX Runtime 1.30.0
...
    load                    1    1.01 s         –  17.4 %
...
  ! cold-start        a load takes 1.01 s of
                      12 s
```
EOT
same() { "$compare" --readme "$T/readme.md" <"$T/output" 2>"$T/why"; }
output() {
    printf '%s\n' '$ inferogram report build/demo.ifg' \
        'program on 16 x Another, 412 ms, ONNX Runtime 1.31.0' '' "$1" \
        '  ~ cold-start   a load takes 41 ms of 1 234 ms'
}
output '  laod  12  980 us 1 us  0.1 %' >"$T/output"
exits "another word is found" 1 same
contains "the line is shown" "$(cat "$T/why")" "1.01 s"
output '  load  12  980 us 1 us  0.1 %' >"$T/output"
ok "other numbers, another machine, wrapped elsewhere" same
"$compare" --readme "$T/readme.md" --update <"$T/output"
contains "--update takes the new numbers" "$(cat "$T/readme.md")" "a load takes 41 ms of 1 234 ms"

if [ "$SANITIZE" != none ]; then
    skip "the block of README.md" "a sanitized library cannot be preloaded into other programs"
    done_testing
    exit
fi
for needed in ort-node-1.30.0 silero; do
    if ! "$SOURCE_DIR/tools/fetch-runtimes" "$needed" >/dev/null 2>"$T/fetch"; then
        skip "the block of README.md" "runtimes: $(tail -n 1 "$T/fetch")"
        done_testing
        exit
    fi
done
DEMO_TRACE=$T/demo.ifg BUILD=$BUILD_DIR "$demo" >"$T/printed" 2>&1
is "the demo succeeds" $? 0
# shellcheck disable=SC2016 # backticks of Markdown
sed "s#$T/#build/demo/#g" "$T/printed" | "$compare" 2>"$T/why"
if ! is "README.md has the demo's lines" $? 0; then
    note "$(cat "$T/why")"
    note "$(cat "$T/printed")"
fi

done_testing
