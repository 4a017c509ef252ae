#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tarball and the wheel, made of this build: they run from anywhere, have what packages have, and nothing of their libraries
# reaches a program that is recorded. `make release-check` installs them on bare systems.
. "$TAP_SH"
# shellcheck source=tests/e2e/hooks_lib.sh
. "$SOURCE_DIR/tests/e2e/hooks_lib.sh"
need_plain_build
for tool in patchelf strip objdump meson; do
    command -v "$tool" >/dev/null || skip_all "tools: $tool is not installed"
done
[ -s "$SOURCE_DIR/ui/dist/index.html" ] || skip_all "the page is not built (make ui)"
version=$(cat "$SOURCE_DIR/VERSION")
machine=$(uname -m)
tools=$SOURCE_DIR/tools
cd "$T" || exit 1
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH IFG_HOOKS_DIR

ok "a tree is made" "$tools/package-tree" --as-built "$BUILD_DIR" tree
[ -d tree ] || done_testing
ok "and packed" "$tools/package-tarball" tree dist
ok "the tarball unpacks" tar -xzf "dist/inferogram-$version-linux-$machine.tar.gz"
mv "inferogram-$version-linux-$machine" moved
ok "nothing got lost" diff -r --no-dereference tree moved
mkdir bin
ln -s ../moved/bin/inferogram bin/profiler
ok "it runs where it was moved to, by a link" "$T/bin/profiler" --version
is "its version" "$(head -n 1 stdout)" "inferogram $version"

# ---- its libraries ----

ldd moved/bin/inferogram | awk '$2 == "=>" { print $3 }' |
    grep -vE "^$T/moved/.*/inferogram/bundled/|/(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so[.0-9]*|ld-linux[^/]*)$" >outside
is "no other library of this system is used" "$(cat outside)" ""
mkdir bad
for name in moved/lib*/*/inferogram/bundled/*.so* moved/lib*/inferogram/bundled/*.so*; do
    if [ -e "$name" ]; then echo "not a library" >"bad/${name##*/}"; fi
done
ok "there are some" test -e bad/libzstd.so.1
exits "libraries that a user names for programs are not for ours" 0 env LD_LIBRARY_PATH="$T/bad" "$T/moved/bin/inferogram" --version

# What `cat` sees of itself, two programs below the recorder.
exits "a program is recorded" 0 "$T/bin/profiler" record -o run.ifg -- sh -c 'env; cat /proc/self/maps'
cp stdout seen
matches "with the hooks of the tree" "$(cat seen)" "$T/moved/lib.*libinferogram-preload\.so"
lacks "nothing of our libraries in it" "$(cat seen)" bundled
lacks "nor a variable that leads there" "$(cat seen)" LD_LIBRARY_PATH
exits "the recording is read" 0 "$T/bin/profiler" info run.ifg
for file in moved/lib*/*/inferogram/hooks/*.so moved/lib*/inferogram/hooks/*.so; do
    if [ -e "$file" ]; then lacks "${file##*/} does not look there" "$(readelf -d "$file")" bundled; fi
done

# ---- what packages have ----

for file in man/man1/inferogram-record.1 bash-completion/completions/inferogram bash-completion/completions/ifg \
    zsh/site-functions/_inferogram fish/vendor_completions.d/inferogram.fish inferogram/probes/llama.probe \
    doc/inferogram/LICENSE; do
    ok "share/$file" test -s "moved/share/$file"
done
is "the terms of our libraries" "$(find moved/share/doc/inferogram/bundled -name '*.copyright' -size +0 | wc -l)" \
    "$(find moved/share/doc/inferogram/bundled -type f | wc -l)"
matches "zstd's among them" "$(ls moved/share/doc/inferogram/bundled)" '^libzstd1\.copyright$'

# ---- glibc ----

ok "what glibc it needs is told" "$tools/package-floor" tree
glibc=$(sed -n 's/^everything: glibc //p' stdout)
cp stdout floor
exits "a promise that holds" 0 "$tools/package-floor" --at-most "$glibc" tree
exits "a promise that does not" 1 "$tools/package-floor" --at-most 2.10 tree

# ---- the wheel ----

is "the Python package is not in the tree, too" "$(find tree -path '*/python3*')" ""
extension=$BUILD_DIR/bindings/python/inferogram/_native.abi3.so
[ -e "$extension" ] || extension=
ok "a wheel is made" "$tools/package-wheel" tree dist ${extension:+"$extension"}
wheel=dist/inferogram-$version-py3-none-manylinux_$(echo "$glibc" | tr . _)_$machine.whl
ok "named after the glibc that it needs" test -s "$wheel"
cp "$wheel" first.whl
ok "once more" "$tools/package-wheel" tree dist ${extension:+"$extension"}
ok "gives the same bytes" cmp first.whl "$wheel"
cat >unpack.py <<'EOF'
"""As an installer does: RECORD names every file with its digest; what may be run may be run afterwards; no links."""
import base64, csv, hashlib, os, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(name for name in wheel.namelist() if name.endswith('.dist-info/RECORD'))
rows = {row[0]: row[1:] for row in csv.reader(wheel.read(record).decode().splitlines())}
assert sorted(rows) == sorted(wheel.namelist()), set(rows) ^ set(wheel.namelist())
for entry in wheel.infolist():
    data = wheel.read(entry)
    if entry.filename != record:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')
        assert rows[entry.filename] == ['sha256=' + digest, str(len(data))], entry.filename
    assert entry.external_attr >> 28 == 8, entry.filename
    os.chmod(wheel.extract(entry, sys.argv[2]), entry.external_attr >> 16 & 0o777)
print(wheel.read(record.replace('RECORD', 'entry_points.txt')).decode())
EOF
ok "its files are those of its list" python3 unpack.py "$wheel" site
contains "it has the command" "$(cat stdout)" "inferogram = inferogram._command:main"
contains "and its short form" "$(cat stdout)" "ifg = inferogram._command:main"
exits "the command of the wheel" 0 env PYTHONPATH="$T/site" python3 -m inferogram --version
is "is the same" "$(cat stdout)" "$("$T/bin/profiler" --version)"
for file in man/man1/inferogram-record.1 bash-completion/completions/inferogram zsh/site-functions/_inferogram \
    fish/vendor_completions.d/inferogram.fish; do
    ok "share/$file of the wheel" test -s "site/inferogram-$version.data/data/share/$file"
done

# Where no links are, the preloaded library finds the others above itself.
inferogram_of_wheel=$T/site/inferogram/_tree/bin/inferogram
exits "it records" 0 "$inferogram_of_wheel" record -o wheel.ifg -- sh -c 'env; cat /proc/self/maps'
matches "with hooks that the loader finds" "$(cat stdout)" "/site/inferogram/_tree/.*libinferogram-preload\.so$"
lacks "nothing of its libraries in the program" "$(cat stdout)" bundled
if [ -n "$extension" ]; then
    cat >zones.py <<'EOF'
import inferogram
for _ in range(3):
    with inferogram.zone('of Python'):
        pass
with open('/proc/self/maps') as maps:
    print(len({line.split()[-1] for line in maps if '/libinferogram.so' in line}), inferogram.program())
EOF
    exits "a Python program with zones" 0 env PYTHONPATH="$T/site" "$inferogram_of_wheel" record -o zones.ifg -- python3 zones.py
    is "has one client library, and finds the program" "$(cat stdout)" "1 $inferogram_of_wheel"
    is "its zones" "$("$inferogram_of_wheel" query zones.ifg --csv "SELECT count(*) FROM slice WHERE name = 'of Python'" | tail -n 1 | tr -d '\r')" 3
else
    skip "a Python program with zones" "tools: the Python package was not built (package python3-dev)"
fi
if have ort-node-1.30.0 && have silero && command -v node >/dev/null; then
    cat >program.js <<EOF
const ort = require('$(cached ort-node-1.30.0)/node_modules/onnxruntime-node');
ort.InferenceSession.create('$(cached silero)/silero_vad_v5.onnx').then(session => console.log(session.inputNames.join(' ')));
EOF
    exits "a program with a model" 0 "$inferogram_of_wheel" record -o model.ifg -- node program.js
    exits "its report" 0 "$inferogram_of_wheel" report model.ifg
    matches "names the model" "$(cat stdout)" 'silero_vad_v5'
    is "and it was loaded once" "$("$inferogram_of_wheel" query model.ifg --csv \
        "SELECT count(*) FROM ml_event WHERE category = 'load'" | tail -n 1 | tr -d '\r')" 1
else
    skip "a program with a model" "runtimes: $(tail -n 1 "$T/fetch" 2>/dev/null)"
fi
done_testing
