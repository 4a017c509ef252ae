#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Energy of NVIDIA devices, by a library that stands in for theirs and is found as theirs would be.
. "$TAP_SH"

mkdir "$T/sys"
watch() { # MODE: what the devices tell
    LD_LIBRARY_PATH=$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML=$1 \
        "$ENERGY_WATCH" 0.05 "$T/sys" | tail -1
}

contains "counters of two devices: ten looks of 100 and 200 mJ" "$(watch energy)" \
    "total: cpu not available, gpu 3.000000 J"
matches "power times time where nothing is counted" "$(watch power)" \
    '^total: cpu not available, gpu [0-9]+\.[0-9]+ J \('
lacks "that is something" "$(watch power)" "gpu 0.000000"
matches "one counts, the other tells its power" "$(watch mixed)" 'gpu ([1-9][0-9]*)\.[0-9]+ J \('
is "neither" "$(watch silent)" \
    "none: no RAPL energy counters on this machine; the NVIDIA device tells neither energy nor power"
is "no device" "$(watch none)" "none: no RAPL energy counters on this machine; no NVIDIA device"
contains "no driver" "$(watch broken)" "NVML does not start"

mkdir -p "$T/sys/class/powercap/intel-rapl:0"
echo package-0 >"$T/sys/class/powercap/intel-rapl:0/name"
echo 5000 >"$T/sys/class/powercap/intel-rapl:0/energy_uj"
contains "both sources apart" "$(watch energy)" "total: cpu 0.000000 J"
ok "this machine's own" "$ENERGY_WATCH" 0.05

# ---- bench: above idle power, and only what a row uses

. "$SOURCE_DIR/tests/e2e/bench_lib.sh"
fake on_gpu run_us=200 provider=CUDAExecutionProvider
measured() { # MODEL: with devices that count 300 mJ at every look
    LD_LIBRARY_PATH=$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML=energy \
        bench "$1" -n 50 -f -o "$T/result.json"
}
exits "a row that does not run on the GPU" 0 measured "$quick"
matches "is not charged with it; idle power is told" "$(cat "$T/stdout")" \
    '^energy +.*GPU: not used \(idle .*GPU 0\.[0-6][0-9]* W, measured for [0-9]+\.[0-9] s before\)'
lacks "no energy of the GPU" "$(cat "$T/stdout")" "GPU [0-9]* mJ"
is "nor in JSON" "$(value 'd["energy"]["gpu_j"], "GPU: not used" in d["energy"]["reason"]')" "(None, True)"
is "which keeps the idle power and how long it was measured" "$(value 'd["energy"]["idle_s"] >= 0.5 and abs(d["energy"]["idle_gpu_w"] * d["energy"]["idle_s"] / 0.3 % 1 - 0.5) > 0.499')" True
exits "a row that runs on the GPU" 0 measured "$T/on_gpu"
matches "is charged" "$(cat "$T/stdout")" '^energy +.*GPU [0-9.]+ mJ \([0-9.]+ to [0-9.]+\) per inference above idle \(idle '
is "with what is above idle" "$(value '0 < d["energy"]["gpu_j"] * len(d["raw_samples_ms"]) < 0.3 * len(d["blocks"])')" True
is "and its bounds" "$(value '0 <= d["energy"]["gpu_low_j"] <= d["energy"]["gpu_j"] <= d["energy"]["gpu_high_j"]')" True


# ---- a device that comes down from earlier work

fake slow_on_gpu run_us=20000 provider=CUDAExecutionProvider
cooling() { # MODE
    LD_LIBRARY_PATH=$BUILD_DIR/tests/programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FAKE_NVML=$1 \
        bench "$T/slow_on_gpu" -n 50 -f -o "$T/result.json"
}
exits "power that fell before" 0 cooling cooled
is "only what came then is idle power" "$(value '99 < d["energy"]["idle_gpu_w"] < 101')" True
lacks "no reason to doubt it" "$(cat "$T/stdout")" "still fell"
is "which the result has" "$(value '[line["level"] for line in d["trust"]["lines"] if line["name"] == "idle power"]')" "['OK']"
exits "power that still falls" 0 cooling cooling
is "is a reason to doubt" "$(value '[(line["level"], line["value"] > 50) for line in d["trust"]["lines"] if line["name"] == "idle power"]')" "[('WARN', True)]"
contains "on the screen, too" "$(tr -s '\n ' '  ' <"$T/stdout")" "idle power of the GPU still fell"
is "no joules that are too low" "$(value 'd["energy"]["gpu_j"], "measured too early" in d["energy"]["reason"]')" "(None, True)"
done_testing
