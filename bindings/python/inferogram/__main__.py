# SPDX-License-Identifier: Apache-2.0
"""`python3 -m inferogram`, the same as the command."""
import sys

from inferogram._command import main

sys.exit(main())
