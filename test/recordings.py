# SPDX-License-Identifier: Apache-2.0
"""Recordings of real robots that the tests need, and their sources."""

from __future__ import annotations

from pathlib import Path

from sysid_studies.bench.recipe import load_recipes

NEEDED = ("ur10e", "tx40", "kuka_kr300", "rokae_ar5", "ft_ati_axia80")


def where_they_are(path: Path) -> str:
    """One line: what isn't at the path, and where to get it."""
    sources = ", ".join(
        f"{recipe.folder} ({recipe.source.repository} at {recipe.source.commit[:12]})"
        for recipe in load_recipes(NEEDED)
    )
    return (
        f"needs recordings of real robots, which aren't at {path} (or SYSID_TEST_DATA): {sources},"
        " and digit (Digit v3's description, github.com/roahmlab/RAPTOR); every recording's name and"
        " sha256: sysid_studies/bench/recipes/*.yaml, checked by `sysid bench --data FOLDER --out RESULTS`"
    )
