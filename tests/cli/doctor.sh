#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What doctor says must be what happens: each line is compared with the thing itself, as root, as nobody, and where
# a filter refuses the system calls.
. "$TAP_SH"
cd "$T" || exit 99

# state ID [FIELD]: from the last document
state() {
    python3 -c 'import json, sys
document = json.load(open(sys.argv[1]))
print(next(check for check in document["checks"] if check["id"] == sys.argv[2])[sys.argv[3]])' \
        "$T/doctor.json" "$1" "${2:-state}"
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# Runs a command under a filter that refuses bpf, perf_event_open and ptrace, as containers do.
cat >"$T/refuse.py" <<'EOP'
import ctypes, os, struct, sys
numbers = {'x86_64': (321, 298, 101), 'aarch64': (280, 241, 117)}[os.uname().machine]
code = [struct.pack('<HBBI', 0x20, 0, 0, 0)]
for left, number in zip((3, 2, 1), numbers):
    code.append(struct.pack('<HBBI', 0x15, left, 0, number))
code += [struct.pack('<HBBI', 6, 0, 0, 0x7fff0000), struct.pack('<HBBI', 6, 0, 0, 0x00050001)]
program = ctypes.create_string_buffer(b''.join(code))
header = struct.pack('HL', len(code), ctypes.addressof(program))
libc = ctypes.CDLL(None)
zero = ctypes.c_ulong(0)
if libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(22, ctypes.c_ulong(2), header):
    sys.exit(99)
os.execvp(sys.argv[1], sys.argv[1:])
EOP

exits "doctor" 0 "$INFEROGRAM" doctor
cp "$T/stdout" "$T/text"
is "nothing on stderr" "$(cat "$T/stderr")" ""
matches "launch works" "$(cat "$T/text")" "^launch and hooks +works"
is "fits 100 columns" "$(grep -v 'sudo' "$T/text" | grep -E '.{101}')" ""
exits "doctor --json" 0 "$INFEROGRAM" doctor --json
cp "$T/stdout" "$T/doctor.json"
is "the schema" "$(python3 -c 'import json; d = json.load(open("doctor.json")); print(d["schema"], d["ready"])')" "1 True"
is "as many checks as lines" "$(python3 -c 'import json; print(len(json.load(open("doctor.json"))["checks"]))')" \
    "$(grep -c '^[a-zA-Z]' "$T/text")"
is "a fix only for what does not work" "$(python3 -c 'import json
print([c["id"] for c in json.load(open("doctor.json"))["checks"] if c["fix"] and c["state"] != "no" and c["id"] != "attach"])')" "[]"
is "it leaves no file" "$(find . -name '.*-doctor-*')" ""
exits "an argument" 2 "$INFEROGRAM" doctor now
contains "is named" "$(cat "$T/stderr")" "unexpected argument 'now'"

exits "hooks that are not there" 4 env IFG_HOOKS_DIR="$T/nowhere" "$INFEROGRAM" doctor
matches "the reason" "$(cat "$T/stdout")" "^launch and hooks +no: there is no directory .*nowhere"
contains "said at the end" "$(cat "$T/stderr")" "recordings need what does not work here: launch and hooks"
mkdir "$T/empty"
exits "an empty directory of hooks" 4 env IFG_HOOKS_DIR="$T/empty" "$INFEROGRAM" doctor
contains "what is missing" "$(cat "$T/stdout")" "libinferogram-preload.so is missing"
if [ "$(uname -m)" = x86_64 ]; then
    mkdir -p "$T/bad/lib/x86_64-linux-gnu"
    for name in preload ort; do echo "no library" >"$T/bad/libinferogram-$name.so"; done
    exits "hooks that cannot be loaded" 4 env IFG_HOOKS_DIR="$T/bad" "$INFEROGRAM" doctor
    contains "was tried" "$(cat "$T/stdout")" "our library was not in it"
fi

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    skip "as other users" "this needs root and setpriv"
    done_testing
    exit
fi

is "root: probes" "$(state attach)" works
is "root: others" "$(state other_processes)" works
is "root: injection" "$(state injection)" works
is "root: sampling" "$(state sampling)" works

if ! as_nobody test -x "$INFEROGRAM"; then
    skip "as nobody" "nobody may not run $INFEROGRAM"
else
    mkdir -m 777 "$T/open"
    chmod 755 "$T"
    cd "$T/open" || exit 99
    exits "nobody: recordings work" 0 as_nobody "$INFEROGRAM" doctor
    cp "$T/stdout" "$T/text"
    matches "nobody: the capabilities by name" "$(tr '\n' ' ' <"$T/text" | tr -s ' ')" \
        "attach by uprobes no: .*CAP_BPF and CAP_PERFMON"
    matches "nobody: and the command" "$(cat "$T/text")" "^ +sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace\+ep /.*inferogram$"
    as_nobody "$INFEROGRAM" doctor --json >"$T/doctor.json"
    is "nobody: no probes" "$(state attach)" no
    is "nobody: not into processes of others" "$(state other_processes)" no
    contains "nobody: the right for that" "$(state other_processes detail)" "CAP_SYS_PTRACE"
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
        is "nobody: no kernel frames" "$(state kernel_frames)" no
        is "nobody: the setting" "$(state kernel_frames fix)" "sudo sysctl kernel.perf_event_paranoid=1"
    fi
    cd / || exit 99
    as_nobody "$INFEROGRAM" doctor --json >"$T/doctor.json"
    is "nobody: no file in /" "$(state output)" no
    cd "$T" || exit 99
fi

if ! python3 "$T/refuse.py" true 2>/dev/null; then
    skip "a filter" "no seccomp here"
else
    # Without ptrace, a sanitizer cannot look for leaks.
    exits "a filter that refuses: recordings work" 0 env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
        python3 "$T/refuse.py" "$INFEROGRAM" doctor --json
    cp "$T/stdout" "$T/doctor.json"
    for check in attach injection sampling kernel_frames context_switches; do
        is "a filter refuses: $check" "$(state $check)" no
    done
    contains "probes: it is the filter" "$(state attach detail)" "seccomp"
    contains "injection: the reason" "$(state injection detail)" "a filter"
    lacks "no command that would not help" "$(state attach fix)$(state sampling fix)$(state kernel_frames fix)" "sudo"
fi
done_testing
