# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/identifiability.md run without an error."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs" / "identifiability.md"


def test_python_blocks_of_the_page_run_in_order():
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)

    assert len(blocks) == 2
    assert names["answer"].n_base == 36
    assert names["excitation"].maximally_exciting
