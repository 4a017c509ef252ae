#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# The hooks that a launched program gets: its environment, programs that nothing can be preloaded into, and
# what is said of runtimes that were not watched. The hooks here are stand-ins that only tell that they are
# loaded; the real ones have tests of their own.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"

cd "$T" || exit 1
unset LD_PRELOAD PYTHONPATH ASAN_OPTIONS IFG_OPS IFG_HOOKS_DIR
compiler=${CC:-cc}
record() { "$INFEROGRAM" record "$@"; }

# runtime FILE: what `info` says of ONNX Runtime.
runtime() {
    json "$1" "' '.join(i['state'] + ' ' + i['reason'] for i in d['instruments'] if i['name'] == 'ONNX Runtime')"
}

# ---- stand-ins -------------------------------------------------------------------------------------
hooks=$T/hooks
mkdir -p "$hooks/python"
for folder in lib lib64 x86_64-linux-gnu aarch64-linux-gnu; do ln -s . "$hooks/$folder"; done
cat >preload.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void tell(void)
{
    const char *log = getenv("HOOK_LOG");
    char name[512];
    ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
    int fd = log && length > 0 ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;

    if (fd < 0)
        return;
    name[length++] = '\n';
    if (write(fd, name, (size_t)length) < 0)
        _exit(99);
    close(fd);
}
END
# shellcheck disable=SC2086
if ! $compiler -shared -fPIC -o "$hooks/libinferogram-preload.so" preload.c; then
    skip_all "tools: no compiler ($compiler) for the stand-ins"
fi
# Without libinferogram-annotations.so: annotations have tests of their own.
: >"$hooks/libinferogram-ort.so"
cat >"$hooks/python/sitecustomize.py" <<'END'
import os
if 'HOOK_LOG' in os.environ:
    with open(os.environ['HOOK_LOG'], 'a') as log:
        log.write('python\n')
END
export IFG_HOOKS_DIR="$hooks"
preload="$hooks/\$LIB/libinferogram-preload.so"

# ---- the environment -------------------------------------------------------------------------------
others() { grep -v -e '^_=' -e '^IFG_SESSION=' "$1" | sort; }
env >plain.env
others plain.env >before.env
exits "with hooks" 0 record -o env.ifg -- env
others stdout >after.env
is "three variables more, and no other" "$(diff before.env after.env | grep '^[<>]')" \
    "> ASAN_OPTIONS=verify_asan_link_order=0
> LD_PRELOAD=$preload
> PYTHONPATH=$hooks/python"
HOOK_LOG=$T/log record -q -o used.ifg -- sh -c 'env true; true'
is "the library is in the program and in its children" "$(wc -l <log)" 3
rm -f log
exits "with --hook none" 0 record --hook none -o none.ifg -- env
others stdout >after.env
ok "nothing is different" diff before.env after.env
is "info says why" "$(runtime none.ifg)" "unavailable --hook none was given"
exits "with --hook preload" 0 record --hook preload -o preload.ifg -- env
contains "it is the same as auto" "$(cat stdout)" "LD_PRELOAD=$preload"
LD_PRELOAD=/nonexistent/own.so PYTHONPATH=/own/python ASAN_OPTIONS=detect_leaks=0 \
    "$INFEROGRAM" record -q -o own.ifg -- env >own.env 2>/dev/null
contains "the user's own preloads come first" "$(cat own.env)" "LD_PRELOAD=/nonexistent/own.so:$preload"
contains "the user's own PYTHONPATH stays" "$(cat own.env)" "PYTHONPATH=$hooks/python:/own/python"
contains "the user's own ASAN_OPTIONS stay" "$(cat own.env)" \
    "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0"
record -q -o outer.ifg -- "$INFEROGRAM" record -q -o inner.ifg -- env >nested.env
is "a recorder in a recording names the hooks once" "$(grep ^LD_PRELOAD= nested.env)" "LD_PRELOAD=$preload"
lacks "no --ops, no IFG_OPS" "$(cat nested.env)" IFG_OPS
contains "--ops is 16" "$(record -q --ops -o ops.ifg -- env)" "IFG_OPS=16"
contains "--ops=1" "$(record -q -f --ops=1 -o ops.ifg -- env)" "IFG_OPS=1"
for wrong in 0 -1 x 1x '' 99999999999; do
    exits "--ops=$wrong is a usage error" 2 record --ops="$wrong" -o wrong.ifg -- env
done
exits "--hook inject" 2 record --hook inject -- env
exits "--hook nonsense" 2 record --hook nonsense -- env
exits "--hook preload with --pid" 2 record --hook preload --pid $$
contains "what to do is told" "$(cat stderr)" "inferogram record -- CMD"
exits "--ops with --hook none" 2 record --ops --hook none -- env

# ---- output and status -----------------------------------------------------------------------------
echo 'echo out; echo err >&2; cat; exit 7' >talk.sh
echo in | sh talk.sh >plain.out 2>plain.err
echo in | record -q -o talk.ifg -- sh talk.sh >hooked.out 2>hooked.err
is "the status is the program's" $? 7
ok "its output too" cmp plain.out hooked.out
ok "and its errors" cmp plain.err hooked.err

# ---- hooks that are not there ----------------------------------------------------------------------
# missing NAME DIRECTORY REASON
missing() {
    exits "$1: the program runs" 3 env IFG_HOOKS_DIR="$2" "$INFEROGRAM" record -f -o missing.ifg -- \
        sh -c 'env; exit 3'
    is "$1: it is told once" "$(grep -cF "$3" stderr)" 1
    lacks "$1: nothing is preloaded" "$(cat stdout)" LD_PRELOAD
    matches "$1: info says so" "$(runtime missing.ifg)" "^unavailable "
    contains "$1: with the reason" "$(runtime missing.ifg)" "$3"
}
missing "no directory" "$T/nowhere" "there is no directory $T/nowhere"
mkdir empty 'with blank'
missing "no library" "$T/empty" "libinferogram-preload.so is missing in $T/empty"
cp "$hooks/libinferogram-preload.so" empty/
missing "half of them" "$T/empty" "libinferogram-ort.so is missing in $T/empty"
missing "a blank in the name" "$T/with blank" "cannot be told of a directory with a blank"

# ---- programs that nothing can be preloaded into ---------------------------------------------------
cat >hello.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    printf("hello %s\n", getenv("LD_PRELOAD") ? "preloaded" : "untouched");
    return 7;
}
END
# runs COMMAND...: it was built for this machine.
runs() {
    "$@" >/dev/null 2>&1
    [ $? -eq 7 ]
}
# untouched NAME PROGRAM REASON
untouched() {
    exits "$1: its own status" 7 record -f -o untouched.ifg -- "$2"
    is "$1: runs untouched" "$(cat stdout)" "hello untouched"
    contains "$1: it is told" "$(cat stderr)" "ONNX Runtime or IREE is not watched: $3"
    is "$1: info says why" "$(runtime untouched.ifg)" "unavailable $3"
    contains "$1: in words" "$("$INFEROGRAM" info untouched.ifg | tr -s ' \n' ' ')" "ONNX Runtime not available: $3"
}
$compiler -o ordinary hello.c
if $compiler -static -o static hello.c 2>/dev/null && runs ./static; then
    untouched "a static program" ./static "static is statically linked, so nothing can be preloaded"
    printf '#!%s/static\n' "$T" >script
    printf '#!/usr/bin/env -S A=b %s/script\n' "$T" >script2
    chmod +x script script2
    untouched "a script for it" ./script "static is statically linked, so nothing can be preloaded"
    untouched "a script for that" ./script2 "static is statically linked, so nothing can be preloaded"
else
    skip "a static program" "tools: $compiler cannot link one here"
fi
printf 'void _start(void) { __asm__ volatile("movl $7, %%ebx\\n movl $1, %%eax\\n int $0x80"); }\n' >small.c
if $compiler -m32 -ffreestanding -nostdlib -static -o small small.c 2>/dev/null && runs ./small; then
    record -q -o small.ifg -- ./small
    is "a program of 32 bits: its own status" $? 7
    is "a program of 32 bits: info says why" "$(runtime small.ifg)" \
        "unavailable small is a program for another processor, or of 32 bits"
else
    skip "a program of 32 bits" "$compiler cannot make one that runs here"
fi
if command -v musl-gcc >/dev/null 2>&1 && musl-gcc -o musl hello.c && runs ./musl; then
    untouched "a musl program" ./musl "musl uses the musl C library; the hooks need the GNU C library"
    record -q -o child.ifg -- sh -c './musl; exit $?' >hooked.out 2>hooked.err
    is "a musl child of an ordinary program: its own status" $? 7
    is "a musl child: nothing is said" "$(cat hooked.err)" ""
    is "a musl child: it runs" "$(cat hooked.out)" "hello preloaded" # the variable, not the library
else
    skip "a musl program" "tools: no musl-gcc that works (package musl-tools)"
fi
if [ "$(id -u)" -eq 0 ] && ! findmnt -no OPTIONS -T "$T" 2>/dev/null | grep -q nosuid; then
    cp ordinary setuid
    chown 65534 setuid
    chmod 4755 setuid
    chmod 755 "$T"
    untouched "a setuid program" ./setuid \
        "setuid is setuid or setgid: the system ignores preloaded libraries"
    HOOK_LOG=$T/log record -q -f -o child.ifg -- sh -c './setuid; exit $?' >hooked.out 2>hooked.err
    is "a setuid child of an ordinary program: its own status" $? 7
    is "a setuid child: nothing is said" "$(cat hooked.err)" ""
    rm -f log
else
    skip "a setuid program" "needs root and a file system that allows it"
fi
if [ "$(id -u)" -eq 0 ] && command -v setcap >/dev/null && command -v setpriv >/dev/null &&
    cp ordinary capable && setcap cap_net_raw+ep capable 2>/dev/null; then
    mkdir -m 777 open
    chmod 755 "$T"
    setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$INFEROGRAM" record -q -o open/capable.ifg -- ./capable >stdout
    is "a program with capabilities runs untouched" "$(cat stdout)" "hello untouched"
    contains "and info says why" "$(runtime open/capable.ifg)" "unavailable capable has file capabilities"
else
    skip "a program with capabilities" "root: needs root, setcap and setpriv"
fi
exits "an ordinary program" 7 record -f -o ordinary.ifg -- ./ordinary
is "is preloaded" "$(cat stdout)" "hello preloaded"
is "nothing was found in it" "$(runtime ordinary.ifg)" "off no process used it"
contains "which is told" "$(cat stderr)" "neither ordinary nor its children used ONNX Runtime"
matches "and the next step" "$(cat stderr)" "next: inferogram (info|stats) ordinary.ifg"
exits "the loader by its own name" 7 record -f -o loader.ifg -- \
    "$(ldd ./ordinary | grep -o '/[^ ]*ld-linux[^ ]*')" ./ordinary
is "preloads as ever" "$(cat stdout)" "hello preloaded"
if $compiler -fsanitize=address -o sanitized hello.c 2>/dev/null && runs ./sanitized; then
    exits "a program with AddressSanitizer" 7 record -f -o sanitized.ifg -- ./sanitized
    is "starts with a preload" "$(cat stdout)" "hello preloaded"
else
    skip "a program with AddressSanitizer" "$compiler cannot make one that runs here"
fi

# A child that starts programs after the recorder is gone finds the preload where it was.
record -q -o outlive.ifg -- sh -c 'sh -c "sleep 1; ls /proc/self/exe; touch late.done" >late.out 2>&1 &'
until_true 60 test -e late.done
is "children that outlive the recorder are not told of missing preloads" "$(cat late.out)" /proc/self/exe

# ---- Python ----------------------------------------------------------------------------------------
HOOK_LOG=$T/log record -q -o python.ifg -- python3 -c 'print(1)' >stdout
is "Python finds the import hook" "$(grep -c '^python$' log)" 1
rm -f log

# ---- runtimes that were used and not watched -------------------------------------------------------
echo 'int nothing;' >nothing.c
$compiler -shared -fPIC -o libonnxruntime.so.1.99.0 nothing.c
cat >loads.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int found = argc > 1 && dlopen(argv[1], RTLD_NOW) != NULL;

    sleep(3); /* the recorder looks from time to time */
    return found ? 0 : 1;
}
END
$compiler -o loads loads.c -ldl
exits "a program that loads ONNX Runtime past the hooks" 0 \
    record -f -o loads.ifg -- ./loads "$T/libonnxruntime.so.1.99.0"
is "is noticed" "$(runtime loads.ifg)" \
    "unavailable loads loaded libonnxruntime.so.1.99.0, but no call to it passed through the hooks"
contains "and told" "$(cat stderr)" "ONNX Runtime not available: loads loaded libonnxruntime.so.1.99.0"
exits "so is a child of a shell" 0 \
    record -f -o loads.ifg -- sh -c './loads "$1"; exit $?' sh "$T/libonnxruntime.so.1.99.0"
matches "by its name" "$(runtime loads.ifg)" "^unavailable loads loaded"
cat >inside.c <<'END'
char padding[5 << 20] = { 1 };
const char *volatile mark = "N11onnxruntime16InferenceSessionE";
int main(void)
{
    return mark[0] == 'N' && padding[0] == 1 ? 0 : 1;
}
END
$compiler -o inside inside.c
exits "a program that has ONNX Runtime inside" 0 record -f -o inside.ifg -- ./inside
is "is noticed" "$(runtime inside.ifg)" "unavailable it is statically linked into the program (inside), which has no symbols"
cp libonnxruntime.so.1.99.0 onnxruntime_pybind11_state.cpython-311.so
cat >imports.py <<'END'
import ctypes
import sys
import time
ctypes.CDLL('./onnxruntime_pybind11_state.cpython-311.so')
time.sleep(float(sys.argv[1]))
END
# imports NAME OPTIONS...: the recorder looks from time to time, on a busy machine less often.
imports() {
    imports_name=$1
    shift
    for seconds in 1 10; do
        exits "$imports_name" 0 record -f -o python.ifg -- python3 "$@" imports.py $seconds
        case $(runtime python.ifg) in "unavailable "*) break ;; esac
    done
}
for option in -I -E -sE; do
    imports "python3 $option" $option
    is "python3 $option: the reason" "$(runtime python.ifg)" \
        "unavailable Python was started with -I or -E, which ignores PYTHONPATH"
done
imports "python3 without such an option" -u -X utf8
matches "has another reason" "$(runtime python.ifg)" \
    "^unavailable python3.* imported onnxruntime without our import hook"

done_testing
