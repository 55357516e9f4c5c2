# SPDX-License-Identifier: Apache-2.0
"""Processing of many recordings with Dask, and storage of the results in a Parquet dataset."""

from sysid_fleet.batch.engine import Engine
from sysid_fleet.batch.rows import Rows
from sysid_fleet.batch.run import Job, run_jobs

__all__ = [
    "Engine",
    "Job",
    "Rows",
    "run_jobs",
]
