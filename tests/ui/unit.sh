#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The logic of the page in node, without a browser: ui/tests/*.test.ts.
set -eu
ui=$SOURCE_DIR/ui
if ! command -v node >/dev/null || [ ! -d "$ui/node_modules/esbuild" ]; then
    echo "1..0 # SKIP node or the packages of the page are missing; tools/install-deps brings them"
    exit 0
fi
IFG_UI_TESTS=$(mktemp -d)
export IFG_UI_TESTS
trap 'rm -rf "$IFG_UI_TESTS"' EXIT
node "$ui/build.mjs" --tests
node --test --test-reporter=tap "$IFG_UI_TESTS"/*.test.mjs
