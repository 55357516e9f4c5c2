#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the licence's SPDX line on top of every Python file that lacks it: `python scripts/headers.py`."""

import subprocess
from pathlib import Path

LINE = "# SPDX-License-Identifier: Apache-2.0\n"

for name in subprocess.check_output(["git", "ls-files", "*.py", "scripts/node"], text=True).split(
    "\n"
):
    path = Path(name)
    if not name or not path.is_file():
        continue
    text = path.read_text(encoding="utf-8")
    if LINE in text[:200]:
        continue
    first, newline, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
    path.write_text(f"{first}{newline}{LINE}{rest}", encoding="utf-8")
