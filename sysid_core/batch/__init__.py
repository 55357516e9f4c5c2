# SPDX-License-Identifier: Apache-2.0
"""Work over many recordings: Dask runs it, a Parquet dataset keeps its rows."""

from sysid_core.batch.engine import Engine
from sysid_core.batch.rows import Rows
from sysid_core.batch.run import Job, Progress, run_jobs
from sysid_core.batch.sources import Source, find_sources, hash_of, local_copy
from sysid_core.batch.watched import run_watched

__all__ = [
    "Engine",
    "Job",
    "Progress",
    "Rows",
    "Source",
    "find_sources",
    "hash_of",
    "local_copy",
    "run_jobs",
    "run_watched",
]
