# SPDX-License-Identifier: Apache-2.0
"""Benchmark on public recordings of real robots: the default settings of this package, compared
with other packages on the same data.
"""

from sysid_studies.bench.run import run_bench

__all__ = [
    "run_bench",
]
