#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python functions on the stacks of samples: every CPython that this machine has, launched and attached. A program whose
# calls are known: a name that is not below its caller, or a line that it has not, would be a wrong one.
# shellcheck disable=SC2154 # set by the files read here
. "$TAP_SH"
. "$SOURCE_DIR/tests/e2e/record_lib.sh"
cd "$T" || exit 1
cat >work.py <<'PY'
import sys, time

def even_leaf(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total

def odd_leaf(n):
    total = 0
    for i in range(n):
        total += i & 5
    return total

def even_middle(n):
    return even_leaf(n)

def odd_middle(n):
    return odd_leaf(n)

class Layer:
    def __call__(self, depth, function, n):
        return self.forward(depth, function, n)

    def forward(self, depth, function, n):
        if depth:
            return self(depth - 1, function, n)
        return sum(map(function, [n, n]))

def main(seconds, depth):
    end = time.monotonic() + seconds
    layer = Layer()
    print("ready", flush=True)
    while time.monotonic() < end:
        layer(depth, even_middle, 400)
        layer(depth, odd_middle, 400)

main(float(sys.argv[1]), int(sys.argv[2]))
PY
cat >check.py <<'PY'
import re, sys

PARENTS = {'even_leaf': {'even_middle'}, 'odd_leaf': {'odd_middle'}, 'even_middle': {'forward'}, 'odd_middle': {'forward'},
           'forward': {'__call__'}, '__call__': {'main', 'forward'}, 'main': {'<module>'}}
LINES = {'even_leaf': 3, 'odd_leaf': 9, 'even_middle': 15, 'odd_middle': 18, 'forward': 25, '__call__': 22, 'main': 30, '<module>': 1}
wrong, named, whole = [], 0, 0
for line in open(sys.argv[1]):
    stack, _, count = line.rpartition(' ')
    own = re.findall(r'([\w.<>]+) \(work\.py:(\d+)\)', stack)
    calls = [(name.split('.')[-1], int(at)) for name, at in own]
    for (name, at), before in zip(calls, [(None, 0)] + calls):
        if LINES.get(name) != at or (before[0] and before[0] not in PARENTS[name]):
            wrong.append(f'{name}:{at} below {before[0]}')
    if calls:
        named += int(count)
        whole += int(count) if calls[0][0] == '<module>' else 0
print(len(wrong), named, whole, *sorted(set(wrong))[:5])
PY
fact() { # FILE KEY
    "$INFEROGRAM" query "$1" "SELECT value FROM fact WHERE key = '$2'" --csv | tail -1 | tr -d '\r'
}
check() { # LABEL FILE
    "$INFEROGRAM" export "$2" --format folded --stacks samples -f -o stacks.folded 2>stderr
    # shellcheck disable=SC2046 # several words
    set -- "$1" "$2" $(python3 check.py stacks.folded)
    all=$(fact "$2" samples.count)
    note "$1: $4 of $all samples have Python functions, $5 the whole chain"
    is "$1: no wrong name" "$3 $6" "0 "
    ok "$1: most samples have Python functions" test "$(($4 * 100))" -ge "$((all * 60))"
    ok "$1: from the module on" test "$(($5 * 100))" -ge "$(($4 * 95))"
    rooted=$(fact "$2" samples.rooted)
    ok "$1: stacks reach the root ($rooted of $all)" test "$((rooted * 100))" -ge "$((all * 90))"
}

# Until a recorder that gets no CPU has come to know the interpreter, its functions have no names: a longer recording has
# more of the rest.
enough() { # FILE
    "$INFEROGRAM" export "$1" --format folded --stacks samples -f -o stacks.folded 2>stderr
    # shellcheck disable=SC2046 # several words
    set -- "$1" $(python3 check.py stacks.folded)
    enough_all=$(fact "$1" samples.count)
    [ "$(($3 * 100))" -ge "$((enough_all * 60))" ] && [ "$(($(fact "$1" samples.rooted) * 100))" -ge "$((enough_all * 90))" ]
}

"$INFEROGRAM" record -q --sample=499 -f -o can.ifg -- python3 work.py 1 3 >/dev/null 2>stderr
if ! "$INFEROGRAM" info can.ifg | tr -s ' \n' ' ' | grep -q 'Python frames on'; then
    skip_all "python frames: $("$INFEROGRAM" info can.ifg | tr -s ' \n' ' ' | grep -o 'Python frames not available.\{0,60\}')"
fi

# python3.N of the path, and what pyenv keeps; one of each version.
for minor in 8 9 10 11 12 13 14; do
    python=
    for each in "${HOME:-/root}"/.pyenv/versions/3."$minor".*/bin/python3 "/usr/bin/python3.$minor"; do
        if [ -x "$each" ]; then python=$each; fi
    done
    if [ -z "$python" ]; then
        note "no Python 3.$minor here"
        continue
    fi
    for seconds in 0.8 5 20; do
        exits "3.$minor: recorded, $seconds s" 0 "$INFEROGRAM" record -q --sample=499 -f -o run.ifg -- "$python" work.py $seconds 40
        ! enough run.ifg || break
    done
    matches "3.$minor: its version is told" "$("$INFEROGRAM" info run.ifg | tr -s ' \n' ' ')" "Python frames on \(CPython 3\.$minor\)"
    check "3.$minor" run.ifg
done

# The lines that run are those of the function.
"$INFEROGRAM" stats run.ifg --by function --json >functions.json
lines=$(python3 -c '
import json
rows = json.load(open("functions.json"))["rows"]
print(sum(r["name"] == "even_leaf (work.py:3)" for r in rows),
      {r["file"].rsplit("/", 1)[-1] for r in rows if r["name"].startswith("even_leaf")}, {r["line"] in range(3, 8) for r in rows if r["name"].startswith("even_leaf")})')
is "a function has its file and a line of its own" "$lines" "1 {'work.py'} {True}"

spawn python3 work.py 60 40 >attached.out
until_true 60 grep -q ready attached.out
for seconds in 1 5 20; do
    exits "attached: recorded, $seconds s" 0 "$INFEROGRAM" record -q --sample=499 --duration $seconds -f -o attached.ifg --pid "$spawned"
    ! enough attached.ifg || break
done
check "attached" attached.ifg
done_testing
