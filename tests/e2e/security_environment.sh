#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Environment variables that choose what is loaded, run or believed: not where the program has rights that its user
# lacks. Each one leads to a trap that leaves a proof; an ordinary copy of the program walks into it, so the test sees it.
. "$TAP_SH"
[ "$(id -u)" -eq 0 ] || skip_all "root: only root can give rights to a program"
for tool in setcap setpriv; do
    command -v $tool >/dev/null || skip_all "tools: this needs $tool"
done
user=61001
chmod 755 "$T"
cd "$T" || exit 1
mkdir -m 755 bin trap trap/python
mkdir -m 777 proof
as_user() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }

cp "$INFEROGRAM" bin/plain
cp "$INFEROGRAM" bin/capable
cp "$INFEROGRAM" bin/set-uid
setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep bin/capable 2>setcap.err || skip_all "$(cat setcap.err)"
chmod 4755 bin/set-uid
as_user bin/capable --version >/dev/null 2>&1 || skip_all "another user may not run programs in $T"

# ---- the traps ----
cat >trap.c <<END
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void spring(void)
{
    close(open("$T/proof/" NAME, O_CREAT | O_WRONLY, 0666));
}
END
# The part that the loader puts for \$LIB: all lead to the same file.
for lib in lib lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu; do
    mkdir -p "trap/$lib"
    [ -e "trap/$lib/libinferogram-preload.so" ] || ln -s "$T/trap/libinferogram-preload.so" "trap/$lib/"
done
$CC -shared -fPIC -DNAME='"hooks"' -o trap/libinferogram-preload.so trap.c || fail "the trap compiles"
cp trap/libinferogram-preload.so trap/libinferogram-ort.so
$CC -shared -fPIC -DNAME='"runtime"' -o trap/libonnxruntime.so trap.c
$CC -shared -fPIC -DNAME='"preload"' -o trap/preload.so trap.c
printf 'open("%s/proof/python", "w")\n' "$T" >trap/python/sitecustomize.py
printf '#!/bin/sh\n: >"%s/proof/runner"\n' "$T" >trap/runner
printf 'version 1\nruntime trap\nlibrary trap.so\nprobe trap load\n    model text 1\n' >trap/trapped.probe
chmod -R a+rX trap
# The one that belongs to the copies; it is never come to.
mkdir -p bench/runner
printf '#!/bin/sh\nexit 1\n' >bench/runner/inferogram-bench-runner
chmod 755 trap/runner bench/runner/inferogram-bench-runner
python3 "$SOURCE_DIR/tests/runtimes/make_models.py" "$T/models" || exit 99
model=$T/models/relu.onnx
chmod -R a+rX models

# sprung NAME: whether there is a proof; it is removed.
sprung() {
    [ -e "proof/$1" ] && rm -f "proof/$1" && echo yes || echo no
}
# walk COPY VARIABLE VALUE ARGUMENTS...
walk() {
    walk_copy=$1 walk_variable=$2 walk_value=$3
    shift 3
    as_user env "$walk_variable=$walk_value" "bin/$walk_copy" "$@" >stdout 2>stderr </dev/null
    walk_status=$?
}
ignored() { contains "$1 $2: said" "$(cat stderr)" "$2 is ignored, because this program has rights that you lack"; }

for copy in plain capable set-uid; do
    case $copy in plain) expected=yes ;; *) expected=no ;; esac

    walk $copy IFG_HOOKS_DIR "$T/trap" record -q --no-sample -f -o proof/x.ifg -- /bin/true
    is "$copy: IFG_HOOKS_DIR is heeded: $expected" "$(sprung hooks)" $expected
    is "$copy: the program runs" $walk_status 0
    [ $copy = plain ] || ignored $copy IFG_HOOKS_DIR
    walk $copy IFG_HOOKS_DIR "$T/trap" record -q --no-sample -f -o proof/x.ifg -- python3 -c pass
    is "$copy: for Python too: $expected" "$(sprung python)" $expected
    rm -f proof/hooks

    walk $copy IFG_PROBES_DIR "$T/trap" record -q --no-sample --probe trapped -f -o proof/x.ifg -- /bin/true
    if [ $copy = plain ]; then
        # Setting the probes is another matter, for which an ordinary user has no rights.
        lacks "$copy: IFG_PROBES_DIR is heeded" "$(cat stderr)" "trapped"
    else
        contains "$copy: IFG_PROBES_DIR is not heeded" "$(cat stderr)" "trapped"
        is "$copy: so there is no such description" $walk_status 2
        ignored $copy IFG_PROBES_DIR
    fi

    walk $copy IFG_BENCH_RUNNER "$T/trap/runner" bench --ort "$T/trap/libonnxruntime.so" "$model"
    is "$copy: IFG_BENCH_RUNNER is heeded: $expected" "$(sprung runner)" $expected
    [ $copy = plain ] || ignored $copy IFG_BENCH_RUNNER

    walk $copy IFG_ORT "$T/trap/there-is-none.so" bench "$model"
    if [ $copy = plain ]; then
        contains "$copy: IFG_ORT is heeded" "$(cat stderr)" "there-is-none.so"
    else
        lacks "$copy: IFG_ORT is not heeded" "$(cat stderr)" "there-is-none.so"
        ignored $copy IFG_ORT
    fi

    # The C library's own business, as long as nobody puts it back.
    as_user sh -c "LD_PRELOAD='$T/trap/preload.so' exec 'bin/$copy' --version" >stdout 2>&1
    is "$copy: LD_PRELOAD is heeded: $expected" "$(sprung preload)" $expected

    walk $copy TMPDIR "$T/proof" record -q --no-sample -f -o proof/x.ifg -- /bin/true
    is "$copy: TMPDIR: nothing is left there" "$(find proof -mindepth 1 ! -name x.ifg)" ""
done

# ---- what a program is given ----
# entries NAME: the value that a program gets, of what is recorded as `env`.
given() { sed -n "s/^$1=//p" stdout; }
without_empty() {
    case :$2: in
    *::*) fail "$1: no empty entry, which would be the working directory" "$2" ;;
    *) pass "$1: no empty entry, which would be the working directory" ;;
    esac
}
for own in unset "" "$T/trap/none"; do
    for name in PYTHONPATH LD_PRELOAD; do
        value=$own
        [ $name = PYTHONPATH ] || [ -z "$own" ] || value=$T/trap/preload.so
        if [ "$own" = unset ]; then
            env -u $name "$INFEROGRAM" record -q --no-sample -f -o x.ifg -- env >stdout 2>stderr
        else
            env $name="$value" "$INFEROGRAM" record -q --no-sample --memory -f -o x.ifg -- env >stdout 2>stderr
        fi
        contains "$name='$own': ours is there" "$(given $name)" "hooks"
        without_empty "$name='$own'" "$(given $name)"
        case $own in "$T"*) contains "$name='$own': what was there is kept" "$(given $name)" "$value" ;; esac
    done
done
rm -f proof/preload
cp "$(command -v env)" bin/set-uid-env
chmod 4755 bin/set-uid-env
for program in env "$T/bin/set-uid-env"; do
    as_user env -u LD_PRELOAD -u PYTHONPATH IFG_HOOKS_DIR="$BUILD_DIR/hooks" bin/plain record -q --no-sample --memory -f -o proof/x.ifg -- "$program" >stdout 2>stderr
    if [ "$program" != env ]; then
        is "a set-uid program is given nothing to load" "$(given LD_PRELOAD)$(given PYTHONPATH)$(given IFG_MEMORY)" ""
        contains "a set-uid program runs" "$(cat stdout)" "PATH="
    elif as_user test -r "$BUILD_DIR/hooks"; then
        contains "another one is" "$(given LD_PRELOAD)" "libinferogram-memory.so"
    fi
done

done_testing
