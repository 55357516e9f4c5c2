# SPDX-License-Identifier: Apache-2.0
"""What `sysid doctor` finds of Python, packages, solvers and robot models."""

from __future__ import annotations

import sys
from dataclasses import dataclass

DISTRIBUTION = "robot_sysid"
_EXTRAS = ("", "examples")  # of the package metadata that users need


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        found: What is there.
        ok: Whether it will do.
        required: Whether something doesn't work without it.
        remedy: What to do if it won't do.
    """

    name: str
    found: str
    ok: bool
    required: bool = True
    remedy: str = ""


def check_python() -> Check:
    """The interpreter."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Check(
        "Python",
        f"{version} ({sys.prefix})",
        sys.version_info >= (3, 10),
        remedy="Use Python 3.10 or newer.",
    )


def check_packages() -> list[Check]:
    """Installed versions against the ranges in the package's metadata."""
    from importlib import metadata

    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or ()]
    except metadata.PackageNotFoundError:
        return [
            Check(
                DISTRIBUTION, "not installed", False, remedy="Run `pip install .` or `make setup`."
            )
        ]
    checks = []
    for need in wanted:
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in _EXTRAS):
            continue
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            version = ""
        fits = bool(version) and need.specifier.contains(version, prereleases=True)
        required = need.marker is None or need.marker.evaluate({"extra": ""})
        checks.append(
            Check(
                need.name,
                f"{version or 'not installed'} (needs {need.specifier or 'any'})",
                fits,
                required,
                f"Run `pip install '{need.name}{need.specifier}'`.",
            )
        )
    return checks


def check_solver() -> Check:
    """Whether cvxpy finds the solver of the semidefinite fits."""
    try:
        import cvxpy

        found = cvxpy.installed_solvers()
    except ImportError as err:
        return Check("convex solvers", str(err), False, remedy="Run `pip install cvxpy clarabel`.")
    return Check(
        "convex solvers",
        ", ".join(found),
        "CLARABEL" in found,
        remedy="Run `pip install clarabel`.",
    )


def check_robots() -> Check:
    """The robot models of demos and tests."""
    from sysid_core.robot import example_robots

    count = len(example_robots())
    return Check(
        "robot models",
        f"{count} of example-robot-data" if count else "not found",
        count > 0,
        False,
        "Run `pip install example-robot-data` to have the robots of demos and tests.",
    )
