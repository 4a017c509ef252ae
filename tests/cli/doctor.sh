#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What doctor says must be what happens: each line is compared with the thing itself, as root, as nobody, and where
# a filter refuses the system calls. And a trace says the same of what it lacks. doctor_settings.sh has the commands.
. "$TAP_SH"
cd "$T" || exit 99

# keep: the document in $T/stdout becomes the one that `state` reads
keep() {
    cp "$T/stdout" "$T/doctor.json"
    python3 -c 'import json, sys
for check in json.load(sys.stdin)["checks"]:
    print(check["id"], check["state"], check["detail"], check["fix"], sep="\t")' <"$T/stdout" >"$T/checks"
}

# state ID [FIELD]: from the last document
state() {
    case ${2:-state} in
    state) state_column=2 ;;
    detail) state_column=3 ;;
    fix) state_column=4 ;;
    esac
    awk -F '\t' -v id="$1" -v column="$state_column" '$1 == id { print $column }' "$T/checks"
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# Runs a command under a filter that refuses bpf, perf_event_open and ptrace, as containers do: with EPERM, or the
# error in $REFUSE.
cat >"$T/refuse.py" <<'EOP'
import ctypes, os, struct, sys
numbers = {'x86_64': (321, 298, 101), 'aarch64': (280, 241, 117)}[os.uname().machine]
code = [struct.pack('<HBBI', 0x20, 0, 0, 0)]
for left, number in zip((3, 2, 1), numbers):
    code.append(struct.pack('<HBBI', 0x15, left, 0, number))
code += [struct.pack('<HBBI', 6, 0, 0, 0x7fff0000), struct.pack('<HBBI', 6, 0, 0, 0x00050000 | int(os.environ.get('REFUSE', '1')))]
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
matches "launch works" "$(cat "$T/text")" "^  launch and hooks +works"
is "topics" "$(grep '^[A-Z]' "$T/text" | paste -sd,)" "Recording,Sampling,Names and code,The machine,Accelerators,Devices, and what recordings have of them"
is "fits 100 columns" "$(grep -E '.{101}' "$T/text")" ""
is "no blanks at the end of a line" "$(grep ' $' "$T/text")" ""
is "no control characters where there is no terminal" "$(tr -d '\n\040-\377' <"$T/text")" ""
exits "doctor --json" 0 "$INFEROGRAM" doctor --json
keep
is "the schema" "$(python3 -c 'import json
d = json.load(open("doctor.json"))
print(d["schema"], d["ready"], d["strict_ok"] == all(c["state"] != "no" for c in d["checks"]))
print({tuple(sorted(c)) for c in d["checks"]} == {("detail", "fix", "group", "id", "name", "needed", "state")})
print({c["state"] for c in d["checks"]} <= {"works", "no", "absent"})
print([c["id"] for c in d["checks"] if c["needed"]])')" "1 True True
True
True
['launch', 'session_directory']"
is "as many checks as lines" "$(python3 -c 'import json; print(len(json.load(open("doctor.json"))["checks"]))')" \
    "$(grep -cE '^  [a-zA-Z].{22}(works|no|absent)( |$)' "$T/text")"
is "a fix only for what does not work" "$(python3 -c 'import json
print([c["id"] for c in json.load(open("doctor.json"))["checks"] if c["fix"] and c["state"] != "no" and c["id"] != "attach"])')" "[]"
is "every check is in the manual" "$(python3 -c 'import json
page = open("'"$SOURCE_DIR"'/man/inferogram-doctor.1.scd").read()
print([c["id"] for c in json.load(open("doctor.json"))["checks"] if "_%s_" % c["id"].replace("_", "\\_") not in page])')" "[]"
is "it leaves no file" "$(find . -name '.*-doctor-*')" ""

exits "some checks" 0 "$INFEROGRAM" doctor --strict clock disassembler
is "only these" "$(grep -c '^  ' "$T/stdout")" 2
exits "a check that is none" 2 "$INFEROGRAM" doctor clock now
contains "is named" "$(cat "$T/stderr")" "there is no check 'now'; there are: launch, session_directory, "
is "and nothing is tried" "$(cat "$T/stdout")" ""
exits "an option that is none" 2 "$INFEROGRAM" doctor --all
exits "strict: what could work does not" 4 prlimit --nofile=100:100 "$INFEROGRAM" doctor --strict clock descriptors
contains "strict: it is said what" "$(cat "$T/stderr")" "this could work here and does not: open files"
exits "without strict that is no failure" 0 prlimit --nofile=100:100 "$INFEROGRAM" doctor clock descriptors
ok "nor with JSON" prlimit --nofile=100:100 "$INFEROGRAM" doctor --json descriptors
contains "the JSON has the verdict" "$(cat "$T/stdout")" '"strict_ok":false'

with_nvml() { env LD_LIBRARY_PATH="$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
if [ -e /dev/nvidiactl ]; then
    skip "another driver" "this machine has one of its own"
else
    ok "a driver" with_nvml "$INFEROGRAM" doctor nvidia energy
    matches "its device and values" "$(cat "$T/stdout")" "NVIDIA GPU +works +.+: [1-9][0-9]* values"
    ok "the list of devices" with_nvml "$INFEROGRAM" doctor devices
    matches "what one gives" "$(tr -s ' \n' '  ' <"$T/stdout")" \
        "gpu 1 Fake GPU B: utilisation, memory, power, energy, clocks, temperature, throttling"
    ok "as JSON" with_nvml "$INFEROGRAM" doctor --json devices
    is "with the same" "$(python3 -c 'import json, sys
d = {x["name"]: x for x in json.load(open(sys.argv[1]))["devices"]}
print(sorted(d), d["gpu 0"]["model"], d["gpu 0"]["driver"], "energy" in d["gpu 0"]["gives"], all(m["why"] for x in d.values() for m in x["missing"]))' "$T/stdout")" \
        "['cpu', 'gpu 0', 'gpu 1'] Fake GPU A nvidia True True"
    ok "a device that is divided" with_nvml FAKE_NVML=mig "$INFEROGRAM" doctor devices
    contains "is said" "$(tr -s ' \n' '  ' <"$T/stdout")" "no utilisation: MIG is on"
    exits "a driver that does not start" 4 with_nvml FAKE_NVML=broken "$INFEROGRAM" doctor --strict nvidia
    matches "why" "$(cat "$T/stdout")" "NVIDIA GPU +no +NVML does not start"
    mkdir "$T/slow"
    cat >"$T/slow.c" <<'EOC'
#include <unistd.h>
int nvmlInit_v2(void) { usleep(1300000); return 9; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(void) { return 9; }
int nvmlDeviceGetHandleByIndex_v2(void) { return 9; }
EOC
    $CC -shared -fPIC -o "$T/slow/libnvidia-ml.so.1" "$T/slow.c"
    ok "a driver that takes its time" env LD_LIBRARY_PATH="$T/slow" python3 "$SOURCE_DIR/tests/e2e/record_pty.py" \
        0 never "$INFEROGRAM" doctor clock nvidia
    contains "on a terminal it is told what is waited for" "$(cat "$T/stdout")" "trying NVIDIA GPU ..."
    matches "and the line goes when it is done" "$(cat -v "$T/stdout")" '^\^M\^\[\[Ktrying NVIDIA GPU \.\.\.\^M\^\[\[K'
    exits "without a terminal" 4 env LD_LIBRARY_PATH="$T/slow" "$INFEROGRAM" doctor --strict nvidia
    lacks "nothing is told" "$(cat "$T/stderr")" "trying"
fi

exits "hooks that are not there" 4 env IFG_HOOKS_DIR="$T/nowhere" "$INFEROGRAM" doctor launch
matches "the reason" "$(cat "$T/stdout")" "^  launch and hooks +no +there is no directory .*nowhere"
contains "said at the end" "$(cat "$T/stderr")" "recordings need what does not work here: launch and hooks"
mkdir "$T/empty"
exits "an empty directory of hooks" 4 env IFG_HOOKS_DIR="$T/empty" "$INFEROGRAM" doctor launch
contains "what is missing" "$(tr -s ' \n' '  ' <"$T/stdout")" "libinferogram-preload.so is missing"
if [ "$(uname -m)" = x86_64 ]; then
    mkdir -p "$T/bad/lib/x86_64-linux-gnu"
    for name in preload ort; do echo "no library" >"$T/bad/libinferogram-$name.so"; done
    exits "hooks that cannot be loaded" 4 env IFG_HOOKS_DIR="$T/bad" "$INFEROGRAM" doctor launch
    contains "was tried" "$(tr -s ' \n' '  ' <"$T/stdout")" "our library was not in it"
fi

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    skip "as other users" "root: this needs root and setpriv"
    done_testing
    exit
fi

is "root: probes" "$(state attach)" works
is "root: others" "$(state other_processes)" works
is "root: injection" "$(state injection)" works
is "root: sampling" "$(state sampling)" works
matches "root: what a sample costs" "$(state sampling detail)" "(cycles|cpu-clock), [0-9.]+ µs per sample here, so 1 % allows [0-9]+ Hz"
is "root: wakers, whether or not tracefs is mounted" "$(state wakers)" works
is "root: deleted libraries" "$(state deleted_libraries)" works

if ! as_nobody test -x "$INFEROGRAM"; then
    skip "as nobody" "nobody may not run $INFEROGRAM"
else
    mkdir -m 777 "$T/open"
    chmod 755 "$T"
    cd "$T/open" || exit 99
    exits "nobody: recordings work" 0 as_nobody "$INFEROGRAM" doctor
    cp "$T/stdout" "$T/text"
    matches "nobody: the capabilities by name" "$(tr '\n' ' ' <"$T/text" | tr -s ' ')" \
        "attach by uprobes no .*CAP_BPF and CAP_PERFMON"
    matches "nobody: and the command" "$(sed 's/ \\$//' "$T/text" | tr '\n' ' ' | tr -s ' ')" \
        "sudo groupadd -f inferogram && sudo chown root:inferogram /[^ ]*inferogram-privileged && sudo chmod 0750 .* sudo setcap cap_bpf,cap_perfmon\+ep /[^ ]*inferogram-privileged"
    lacks "nobody: the program itself gets none" "$(cat "$T/text")" "bin/inferogram$"
    is "nobody: fits 100 columns" "$(grep -E '.{101}' "$T/text")" ""
    exits "nobody: strict" 4 as_nobody "$INFEROGRAM" doctor --strict other_processes
    as_nobody "$INFEROGRAM" doctor --json >"$T/stdout"
    keep
    is "nobody: no probes" "$(state attach)" no
    is "nobody: not into processes of others" "$(state other_processes)" no
    contains "nobody: the right for that" "$(state other_processes detail)" "use sudo"
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ]; then
        is "nobody: no kernel frames" "$(state kernel_frames)" no
        is "nobody: the setting" "$(state kernel_frames fix)" "sudo sysctl kernel.perf_event_paranoid=1"
        is "nobody: no wakers" "$(state wakers)" no
        is "nobody: nothing less than root" "$(state wakers fix)" ""
        contains "nobody: what they need" "$(state wakers detail)" "record with sudo"
        said=$(state kernel_frames detail)
        fix=$(state kernel_frames fix)
        waker_said=$(state wakers detail)
        as_nobody "$INFEROGRAM" record -q --sample -f -o own.ifg -- true
        "$INFEROGRAM" info own.ifg >"$T/info"
        matches "nobody: a trace has samples" "$(cat "$T/info")" " samples on \("
        contains "nobody: a trace says the same of the kernel's frames" "$(cat "$T/info")" "kernel frames not available: $said"
        matches "nobody: with the command on a line of its own" "$(cat "$T/info")" "^ +$fix$"
        contains "nobody: and of wakers" "$(cat "$T/info")" "wakers not available: $waker_said"
        "$INFEROGRAM" info --json own.ifg >"$T/info.json"
        is "nobody: with the commands in JSON" "$(python3 -c 'import json, sys
print({i["name"]: i["fix"] for i in json.load(open(sys.argv[1]))["instruments"] if i["fix"]} ==
      {"kernel frames": sys.argv[2]})' "$T/info.json" "$fix")" True
    fi
    cd / || exit 99
    as_nobody "$INFEROGRAM" doctor --json output >"$T/stdout"
    keep
    is "nobody: no file in /" "$(state output)" no
    cd "$T" || exit 99
fi

if ! python3 "$T/refuse.py" true 2>/dev/null; then
    skip "a filter" "no seccomp here"
else
    # Without ptrace, a sanitizer cannot look for leaks.
    exits "a filter that refuses: recordings work" 0 env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
        python3 "$T/refuse.py" "$INFEROGRAM" doctor --json
    keep
    for check in attach injection sampling kernel_frames context_switches; do
        is "a filter refuses: $check" "$(state $check)" no
    done
    contains "probes: it is the filter" "$(state attach detail)" "seccomp"
    contains "injection: the reason" "$(state injection detail)" "a filter"
    contains "sampling: it is the filter" "$(state sampling detail)" "a seccomp filter on this process forbids perf events"
    contains "sampling: what a container needs" "$(state sampling detail)" "--cap-add=PERFMON"
    lacks "no command that would not help" "$(python3 -c 'import json
print([c["fix"] for c in json.load(open("doctor.json"))["checks"]])')" "sudo"
    exits "a filter that hides" 4 env REFUSE=38 ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
        python3 "$T/refuse.py" "$INFEROGRAM" doctor --strict --json sampling context_switches ring_memory
    keep
    for check in sampling context_switches ring_memory; do
        contains "a filter hides: $check" "$(state $check detail)" "a seccomp filter on this process hides perf events"
    done
fi
done_testing
