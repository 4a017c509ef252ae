#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Input data that numpy itself wrote, in every type, order and packing, is what a model gets.
. "$TAP_SH"

cd "$T" || exit 99
python=
"$SOURCE_DIR/tools/fetch-runtimes" python-1.31.1 >fetched 2>&1 # has numpy
for candidate in python3 "${XDG_CACHE_HOME:-$HOME/.cache}"/inferogram/python-*/bin/python; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; fi
done
if [ -z "$python" ]; then skip_all "runtimes: no Python with numpy: $(tail -n 1 fetched)"; fi

# Writes files and, beside each, what inputs_dump should print of it.
cat >write.py <<'END'
import numpy as np

TYPES = {'float32': 1, 'uint8': 2, 'int8': 3, 'uint16': 4, 'int16': 5, 'int32': 6, 'int64': 7,
         'bool': 9, 'float16': 10, 'float64': 11, 'uint32': 12, 'uint64': 13}

def line(number, name, array):
    if array.dtype.kind in 'US':
        kind = 'string'
        raw = b''.join((t if isinstance(t, bytes) else t.encode()) + b'\0' for t in array.ravel().tolist())
    else:
        kind = array.dtype.name
        raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder('=')).tobytes()
    shape = 'x'.join(map(str, array.shape)) or 'scalar'
    return f'{number} {name} {kind} {shape} {raw.hex()}\n'

cube = np.arange(2 * 3 * 4).reshape(2, 3, 4)
cases = []
for name, number in TYPES.items():
    plain = (cube % 5 > 1) if name == 'bool' else cube.astype(name)
    for form, array in (('plain', plain), ('turned', np.asfortranarray(plain)),
                        ('swapped', plain.astype(plain.dtype.newbyteorder('>')))):
        np.save(f'{name}_{form}.npy', array)
        cases.append((f'{name}_{form}.npy', f'x:{number}:?x3x?', line(0, 'x', plain)))
for name, array in (('unicode', np.array([['a', 'gr\u00fc\u00dfe'], ['', '\U0001f600']])),
                    ('bytes', np.array([b'ab', b'c']))):
    np.save(f'{name}.npy', array)
    cases.append((f'{name}.npy', 'x:8:' + 'x'.join('?' * array.ndim), line(0, 'x', array)))
np.save('scalar.npy', np.float32(2.5))
cases.append(('scalar.npy', 'x:1:scalar', line(0, 'x', np.array(2.5, np.float32))))
with open('cases', 'w') as out, open('expected', 'w') as expected:
    for file, port, text in cases:
        out.write(f'{file} {port}\n')
        expected.write(f'{file} {text}')

x, rate = cube.astype(np.float32), np.array(16000)
np.savez('stored.npz', x=x, sr=rate)
np.savez_compressed('deflated.npz', x=np.zeros((2, 3, 4000), np.float32), sr=rate)
np.savez('unnamed.npz', x, rate)
with open('npz.expected', 'w') as out:
    out.write(line(0, 'x', x) + line(0, 'sr', rate))
import os
os.mkdir('several')
for i in range(3):
    np.savez(f'several/{i}.npz', x=x + i, sr=rate + i)
with open('several.expected', 'w') as out:
    for i in range(3):
        out.write(line(i, 'x', x + i) + line(i, 'sr', rate + i))
END
ok "numpy writes the files" "$python" write.py

while read -r file port; do
    printf '%s ' "$file"
    "$INPUTS_DUMP" "$file" "$port" 2>&1 | head -1
done <cases >got
is "arrays of all types, orders and byte orders" "$(cat got)" "$(cat expected)"
is "that were" "$(wc -l <got)" 39

"$INPUTS_DUMP" stored.npz x:1:?x3x? sr:7:scalar >got
is "an archive" "$(head -2 got)" "$(cat npz.expected)"
is "its summary" "$(tail -1 got)" "x float32 2x3x4, sr int64 scalar, from stored.npz"
"$INPUTS_DUMP" deflated.npz x:1:?x3x? sr:7:scalar >got
is "a compressed archive" "$(tail -1 got)" "x float32 2x3x4000, sr int64 scalar, from deflated.npz"
"$INPUTS_DUMP" several x:1:?x3x? sr:7:scalar >got
is "a directory of archives" "$(head -6 got)" "$(cat several.expected)"
is "is several sets" "$(tail -1 got)" "x float32 2x3x4, sr int64 scalar, 3 sets from several"

exits "arrays without names" 1 "$INPUTS_DUMP" unnamed.npz x:1:?x3x? sr:7:scalar
is "both sides are told" "$(cat "$T/stderr")" \
    "unnamed.npz does not fit the model: it has: arr_0, arr_1; the model takes: x, sr; x is missing"
exits "another type" 1 "$INPUTS_DUMP" float64_plain.npy x:1:?x3x?
is "the line that mends it" "$(cat "$T/stderr")" \
    "float64_plain.npy is float64; input x takes float32: save x.astype(np.float32)"
exits "another shape" 1 "$INPUTS_DUMP" float32_plain.npy x:1:?x3x5
is "what it takes" "$(cat "$T/stderr")" "float32_plain.npy has shape 2x3x4; input x takes ?x3x5"

done_testing
