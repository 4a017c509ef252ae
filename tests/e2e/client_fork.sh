#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fork, exec, vfork, posix_spawn, system: every process is recorded as its own, from its first zone.
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/client_lib.sh"
fork=$PROGRAMS/client_fork

record "$fork" fork
is "fork: exit status" "$status" 0
sound "fork"
counts "fork: child and grandchild are processes of their own" zones 72 processes 3 threads 3 dropped 0
is "fork: nothing counted as unbalanced" "$(lost 'came twice')" 0
dump
is "fork: the zone around it ends in the parent only" "$(lines '^zone .*name=around the fork ')" 1
is "fork: names are known in every process" "$(lines '^location .*kind=zone .*name=work ')" 3
is "fork: what only the grandchild knows" "$(lines '^location .*name=only in the grandchild')" 1
is "fork: children know their parents" \
    "$(awk '/^process / { split($3, a, "="); split($4, b, "="); parent[a[2]] = b[2] }
        END { for (pid in parent) if (parent[pid] in parent) n++; print n + 0 }' "$T/dump")" 2

record "$fork" threads
is "fork in one thread while others emit: exit status" "$status" 0
sound "fork among threads"
counts "fork among threads: every zone is there" zones "$output" processes 21 dropped 0

record "$fork" bomb 200 10
is "200 children at once: exit status" "$status" 0
sound "200 children"
counts "200 children: every zone of every child" zones 2000 processes 201 dropped 0

for try in 1 2 3; do
    record "$fork" exec 10
    is "exec, at once, ten times ($try): exit status" "$status" 0
    sound "exec ($try)"
    counts "exec ($try): each image is recorded" zones 110 processes 11 dropped 0
done
dump
is "exec: one pid" "$(awk '/^process / { print $3 }' "$T/dump" | sort -u | wc -l | tr -d ' ')" 1
is "exec: the ends tell" "$(lines '^process .*end=exec')" 10
is "exec: the last one exits" "$(lines '^process .*end=exited code=0')" 1

for way in vfork spawn system; do
    if sanitized && [ "$way" = vfork ]; then
        skip "vfork" "a sanitizer makes it a fork"
        continue
    fi
    record "$fork" "$way"
    is "$way: exit status" "$status" 0
    sound "$way"
    counts "$way: parent and child" zones 30 processes 2 dropped 0
done

record "$fork" descriptors
is "descriptors of the program are not closed by us, nor at fork" "$status" 0
sound "descriptors"
counts "descriptors: recorded all the same" zones 30 processes 2 dropped 0

if sanitized; then
    skip "no descriptor left" "the sanitizer needs descriptors itself"
else
    record "$fork" no-descriptors
    is "no descriptor left: parent and child run" "$status" 0
    sound "no descriptor left"
    counts "no descriptor left: the parent is recorded" zones 21 processes 1 dropped 0
fi
done_testing
