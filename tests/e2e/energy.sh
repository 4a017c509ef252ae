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
is "which keeps the idle power and how long it was measured" "$(value '2 <= d["energy"]["idle_s"] and abs(d["energy"]["idle_gpu_w"] - 4 * 0.3 / d["energy"]["idle_s"]) < 1e-9')" True
exits "a row that runs on the GPU" 0 measured "$T/on_gpu"
matches "is charged" "$(cat "$T/stdout")" '^energy +.*GPU [0-9.]+ mJ \([0-9.]+ to [0-9.]+\) per inference above idle \(idle '
is "with what is above idle" "$(value '0 < d["energy"]["gpu_j"] * len(d["raw_samples_ms"]) < 0.3 * len(d["blocks"])')" True
is "and its bounds" "$(value '0 <= d["energy"]["gpu_low_j"] <= d["energy"]["gpu_j"] <= d["energy"]["gpu_high_j"]')" True

done_testing
