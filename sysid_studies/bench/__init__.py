# SPDX-License-Identifier: Apache-2.0
"""The benchmark: public recordings of real robots, one set of defaults, peers on the same split."""

from sysid_studies.bench.measure import METHODS, bench_rows, pooled_error
from sysid_studies.bench.page import COLUMNS, bench_report, outcome_of, standing, summary_rows
from sysid_studies.bench.read import Split, read_split
from sysid_studies.bench.recipe import Recipe, load_recipe, load_recipes, missing_files, wrong_files

__all__ = [
    "COLUMNS",
    "METHODS",
    "Recipe",
    "Split",
    "bench_report",
    "bench_rows",
    "load_recipe",
    "load_recipes",
    "missing_files",
    "outcome_of",
    "pooled_error",
    "read_split",
    "standing",
    "summary_rows",
    "wrong_files",
]
