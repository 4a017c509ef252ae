#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page that follows a recording. As page.sh.
export UI_TESTS=live
# shellcheck source=/dev/null
. "$SOURCE_DIR/tests/ui/page.sh"
