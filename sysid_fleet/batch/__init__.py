# SPDX-License-Identifier: Apache-2.0
"""Processing of many recordings with Dask, and storage of the results in a Parquet dataset."""

from sysid_fleet.batch.engine import Engine
from sysid_fleet.batch.rows import Rows
from sysid_fleet.batch.run import Job, Progress, run_jobs
from sysid_fleet.batch.sources import Source, find_sources, local_copy

__all__ = [
    "Engine",
    "Job",
    "Progress",
    "Rows",
    "Source",
    "find_sources",
    "local_copy",
    "run_jobs",
]
