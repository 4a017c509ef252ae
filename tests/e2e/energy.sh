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

done_testing
