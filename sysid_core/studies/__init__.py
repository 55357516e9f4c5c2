"""The papers' experiments, each one command."""

from sysid_core.studies.stanford import (
    PAPER_TABLE_I,
    PAPER_TABLE_II,
    StanfordStudy,
    stanford_study,
)

__all__ = ["PAPER_TABLE_I", "PAPER_TABLE_II", "StanfordStudy", "stanford_study"]
