#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheel and the tarball of a build for another machine, in the Python of that machine, run by qemu.
. "$TAP_SH"

root=${IFG_EMULATED_ROOT:-}
[ -n "$root" ] || skip_all "only under tools/emulate-arm64"
python=$root/usr/bin/python3.11
[ -x "$python" ] || skip_all "no Python in $root"
command -v patchelf >/dev/null || skip_all "tools: patchelf is not installed"
version=$(cat "$SOURCE_DIR/VERSION")
golden=$SOURCE_DIR/tests/golden/v1.4.ifg
tools=$SOURCE_DIR/tools
cd "$T" || exit 1
unset LD_LIBRARY_PATH LD_PRELOAD PYTHONPATH IFG_HOOKS_DIR

ok "a tree is made" "$tools/package-tree" --as-built --root "$root" "$BUILD_DIR" tree
[ -d tree ] || done_testing
env LD_TRACE_LOADED_OBJECTS=1 tree/bin/inferogram | awk '$2 == "=>" { print $3 }' >loaded
matches "it loads what lies beside it" "$(cat loaded)" '/inferogram/bundled/libzstd\.so\.1$'
is "and nothing else but libc and its kin" \
    "$(grep -vE "/inferogram/bundled/|/(lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so[.0-9]*|ld-linux[^/]*)$" loaded)" ""
ok "the tree runs" tree/bin/inferogram --version
contains "as what it is" "$(cat stdout)" aarch64
is "the terms of each library" "$(find tree/share/doc/inferogram/bundled -name '*.copyright' -size +0 | wc -l)" \
    "$(find tree/share/doc/inferogram/bundled -type f | wc -l)"
ok "a tarball is made" "$tools/package-tarball" tree dist
ok "named after its machine" test -s "dist/inferogram-$version-linux-aarch64.tar.gz"

ok "a wheel is made" "$tools/package-wheel" tree dist "$BUILD_DIR/bindings/python/inferogram/_native.abi3.so"
wheel=$(echo dist/*.whl)
glibc=$("$tools/package-floor" tree | sed -n 's/^everything: glibc //p')
is "named after its machine and its glibc" "$wheel" "dist/inferogram-$version-py3-none-manylinux_$(echo "$glibc" | tr . _)_aarch64.whl"
platform=${wheel##*-none-}
# pip's own judgement of names; it is this machine's and only unpacks.
if python3 -m pip --version >/dev/null 2>&1; then
    ok "pip takes it for that platform" python3 -m pip install -q --no-deps --no-index --no-compile --only-binary=:all: \
        --platform "${platform%.whl}" --target site "$wheel"
    exits "and not for this one" 1 python3 -m pip install -q --no-deps --no-index --target other "$wheel"
else
    skip "pip" "no pip for python3"
    ok "the wheel unpacks" "$python" -m zipfile -e "$wheel" site
fi
chmod -R u+rwX,a+x site/inferogram/_tree/bin
export PYTHONPATH="$T/site"
ok "the command of the wheel" "$python" -m inferogram --version
is "has this version" "$(head -n 1 stdout)" "inferogram $version"
contains "and is for arm64" "$(cat stdout)" aarch64
ok "it reports a trace of x86-64" "$python" -m inferogram report "$golden"
"$INFEROGRAM" report "$golden" >expected
is "as the build does" "$(cat stdout)" "$(cat expected)"

cat >use.py <<'END'
import os, sys
import inferogram
assert os.uname().machine == 'aarch64'
trace = inferogram.open(sys.argv[1])
print(trace.query('SELECT pid FROM process').rows())
with inferogram.zone('x'):
    pass
END
exits "the package reads it too, through its extension" 0 "$python" use.py "$golden"
is "the one process" "$(cat stdout)" "[(4242,)]"
done_testing
