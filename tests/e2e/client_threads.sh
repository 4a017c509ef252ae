#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Threads: many at once, many one after the other, more than there are rings, and how they end.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"
threads=$PROGRAMS/client_threads

record "$threads" live 1000
if [ "$status" -eq 77 ]; then
    skip "1,000 threads" "$output"
else
    is "1,000 threads at once: exit status" "$status" 0
    sound "1,000 threads"
    counts "1,000 threads: all zones" zones 10000 threads 1000 dropped 0
    record "$threads" live 1200
    is "more threads than rings: exit status" "$status" 0
    sound "more threads than rings"
    counts "more threads than rings: all are recorded or counted" zones 11100 threads 1110 \
        dropped 900 emitted 12000
    is "more threads than rings: and the reason told" "$(lost 'found no ring')" 900
fi

record "$threads" sequence 3000
is "3,000 threads in a row: exit status" "$status" 0
sound "3,000 threads in a row"
counts "3,000 threads in a row: all zones" emitted 9000
if [ "$(total dropped)" -eq 0 ]; then
    counts "3,000 threads in a row: a track each" threads 3000
    dump
    is "3,000 threads in a row: names" "$(lines '^thread .*name=brief ')" 3000
else
    note "the recorder was held up and $(total dropped) events found no ring"
fi

record "$threads" destructors 50
is "destructors of thread keys: exit status" "$status" 0
sound "destructors"
counts "destructors of thread keys emit" zones 550 dropped 0
dump
is "destructors: nesting" "$(lines '^zone .*name=work in=destructor$')" 150

record "$threads" vanish 20
is "threads that end by the bare system call: exit status" "$status" 0
sound "vanish"
counts "threads that end by the bare system call" zones 200 threads 20 dropped 0

for try in 1 2 3 4 5; do
    record "$threads" race 8
    counts "eight threads race for the first use ($try)" zones 800 unnamed 0
done
dump
is "race: all use the same place" "$(lines '^zone .*name=shared in=-$')" 800
done_testing
