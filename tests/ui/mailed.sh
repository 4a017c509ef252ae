#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages that are files: reports that were mailed, comparisons, results of benchmarks. As page.sh.
export UI_TESTS=mailed
# shellcheck source=/dev/null
. "$SOURCE_DIR/tests/ui/page.sh"
