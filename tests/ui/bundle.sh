#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The bundle of the page: types, size, nothing in it that asks others; and tools/build-ui, tools/check-ui-layers.
# shellcheck disable=SC2154 # T comes from tap.sh
. "$TAP_SH"
ui=$SOURCE_DIR/ui
build=$SOURCE_DIR/tools/build-ui

# ---- tools/check-ui-layers

# caught NAME FILE LINE PATTERN: the file with this line is refused with this message
caught() {
    rm -rf "$T/tree"
    mkdir -p "$T/tree/$(dirname "$2")"
    printf '// SPDX-License-Identifier: Apache-2.0\n%s\n' "$3" >"$T/tree/$2"
    exits "$1" 1 "$SOURCE_DIR/tools/check-ui-layers" --root "$T/tree"
    matches "$1: says where and why" "$(cat "$T/stdout")" "^$2:2: .*$4"
}
allowed() {
    rm -rf "$T/tree"
    mkdir -p "$T/tree/$(dirname "$2")"
    printf '// SPDX-License-Identifier: Apache-2.0\n%s\n' "$3" >"$T/tree/$2"
    exits "$1" 0 "$SOURCE_DIR/tools/check-ui-layers" --root "$T/tree"
}
caught "base imports a room" ui/src/base/x.ts "import { a } from '../api/types.ts';" 'base may not import api'
caught "a widget imports a view" ui/src/widgets/x.tsx "import { a } from '../views/flame/flame.tsx';" 'widgets may not import views'
caught "only the type" ui/src/data/x.ts "import type { A } from '../draw/a.ts';" 'data may not import draw'
caught "re-exported" ui/src/api/x.ts "export { a } from '../data/a.ts';" 'api may not import data'
caught "later" ui/src/draw/x.ts "const a = await import('../app/a.ts');" 'draw may not import app'
caught "one view from another" ui/src/views/flame/x.tsx "import { a } from '../source/source.tsx';" 'is a widget'
caught "a package" ui/src/app/x.ts "import a from 'lodash';" 'no package but preact'
caught "preact in base" ui/src/base/x.ts "import { h } from 'preact';" 'without the page'
caught "outside" ui/src/app/x.ts "import a from '../../../tests/a.ts';" 'outside'
caught "an unknown room" ui/src/utils/x.ts "import a from './a.ts';" 'no room of the page'
allowed "to the left" ui/src/views/flame/x.tsx "import { a } from '../../base/a.ts'; import { b } from './b.ts'; import { h } from 'preact';"
allowed "in a comment" ui/src/base/x.ts "// import { a } from '../app/a.ts';"

# ---- tools/build-ui without what it needs

exits "an unknown option" 2 "$build" --frobnicate
ok "--help" "$build" --help
mkdir -p "$T/empty/ui" "$T/bin"
exits "no page here: a line, no failure" 0 env BUILD_UI_ROOT="$T/empty" "$build"
contains "that is said" "$(cat "$T/stdout")" "building without the page"
echo '{}' >"$T/empty/ui/package-lock.json"
for program in sh env find dirname mktemp grep tail timeout cat wc touch flock rm; do
    ln -sf "$(command -v "$program")" "$T/bin/$program"
done
exits "no node: a line, no failure" 0 env PATH="$T/bin" BUILD_UI_ROOT="$T/empty" "$build"
contains "it says what is missing" "$(cat "$T/stdout")" "node is missing"
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\necho "npm error code ENOTFOUND"\necho "npm error network: nobody answers"\nexit 1\n' >"$T/bin/npm"
printf '#!/bin/sh\nexit 0\n' >"$T/bin/node"
chmod +x "$T/bin/npm" "$T/bin/node"
exits "no network: a line, no failure" 0 env PATH="$T/bin" BUILD_UI_ROOT="$T/empty" "$build"
contains "it says npm's reason" "$(cat "$T/stdout")" "nobody answers"

# ---- the packages

lock=$ui/package-lock.json
lacks "the lock file has no addresses to download from" "$(cat "$lock")" '"resolved"'
is "the page has one dependency" "$(python3 -c "
import json, sys
print(*json.load(open(sys.argv[1]))['dependencies'])" "$ui/package.json")" preact
is "all run on node 18, which Debian 12 has" "$(grep -E '"node": ">=(19|[2-9][0-9])' "$lock")" ""

# ---- the bundle

if ! command -v node >/dev/null || [ ! -d "$ui/node_modules/esbuild" ]; then
    skip "types, sizes" "tools: node or the packages of the page are missing; tools/install-deps brings them"
    done_testing
fi
ok "types" sh -c "cd '$ui' && node_modules/.bin/tsc --noEmit"
ok "it is built" env IFG_UI_DIST="$T/dist" node "$ui/build.mjs"
raw=$(cat "$T"/dist/* | wc -c)
packed=$(for file in "$T"/dist/*; do gzip -9c "$file"; done | wc -c)
note "$raw bytes, $packed bytes packed"
ok "at most 130,000 bytes packed ($packed)" test "$packed" -le 130000
# Names of XML's languages look like addresses and are none.
is "no address of anybody else" \
    "$(grep -ohE "(https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\"'\` )]*" "$T"/dist/* | grep -v '^http://www\.w3\.org/' | sort -u)" ""
lacks "nothing is evaluated, the page's policy forbids it" "$(cat "$T/dist/app.js")" "new Function"
is "the same sources, the same bytes" "$(IFG_UI_DIST="$T/again" node "$ui/build.mjs" && cat "$T"/again/* | cksum)" \
    "$(cat "$T"/dist/* | cksum)"

done_testing
