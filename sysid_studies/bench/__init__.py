# SPDX-License-Identifier: Apache-2.0
"""Benchmark on public recordings of real robots: the default settings of this package, compared
with other packages on the same data.
"""

from sysid_studies.bench.measure import bench_rows
from sysid_studies.bench.page import COLUMNS, bench_report, outcome_of, standing, summary_rows
from sysid_studies.bench.recipe import Recipe, load_recipes, missing_files, recipe_key

__all__ = [
    "COLUMNS",
    "Recipe",
    "bench_report",
    "bench_rows",
    "load_recipes",
    "missing_files",
    "outcome_of",
    "recipe_key",
    "standing",
    "summary_rows",
]
