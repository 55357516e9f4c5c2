# SPDX-License-Identifier: Apache-2.0
"""All simulated runs of the payload study, full or quick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sysid_core.batch import Engine
from sysid_core.errors import EstimationError
from sysid_studies.payload.objects import modular_objects
from sysid_studies.payload.runs import (
    BASELINE,
    BEST,
    PAPER_METHODS,
    PAYLOAD_METHODS,
    RIVALS,
    SPEEDS,
    Case,
    Result,
    goal3_cases,
    noise_cases,
    run_cases,
    table_cases,
)

FIGURE_METHODS = (*PAPER_METHODS, BASELINE, BEST)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes:
        seeds: Number of seeds of every case.
        chosen: Names of the objects of the tables.
        names: Names of the objects of the figures.
        seconds: Data of figure 6 [s].
        speeds: Speeds of the figures [rad/s].
        steps: Instants of figure 7 [s].
    """

    seeds: int
    chosen: Sequence[str]
    names: Sequence[str]
    seconds: float
    speeds: Sequence[float]
    steps: Sequence[float]

    @classmethod
    def of(cls, full: bool, objects: Sequence[str] | None) -> Extent:
        """Full or quick, with all objects or some.

        Raises:
            EstimationError: An object isn't one of the eight.
        """
        every = list(modular_objects())
        unknown = [name for name in objects or () if name not in every]
        if unknown:
            raise EstimationError(
                f"The study has no objects {unknown}.", remedy=f"Choose from: {', '.join(every)}."
            )
        chosen = every if objects is None else list(objects)
        if full:
            return cls(4, chosen, chosen, 10.0, SPEEDS, (0.5, 1.0, 1.5, 2.5, 5.0, 10.0))
        names = ["Hammer", "Uniform", "Rod"] if objects is None else chosen
        return cls(1, chosen, names, 3.0, (1.0, 2.0, 4.0), (0.5, 1.5, 3.0))


@dataclass
class Runs:
    """Results of all simulated runs, by what they are for.

    Attributes:
        clean, base, faulty, noisy: Results of the tables' runs.
        figure6, figure7: Results of the figures' runs.
        count: Simulated runs.
    """

    clean: list[Result] = field(default_factory=list)
    base: list[Result] = field(default_factory=list)
    faulty: list[Result] = field(default_factory=list)
    noisy: list[Result] = field(default_factory=list)
    figure6: list[Result] = field(default_factory=list)
    figure7: list[Result] = field(default_factory=list)
    count: int = 0


def run_all(extent: Extent, workers: int, progress: Progress) -> Runs:
    """Simulate everything that tables and figures need, in one set of processes."""
    with Engine(workers) as engine:
        return _run_all(extent, engine, progress)


def _run_all(extent: Extent, engine: Engine, progress: Progress) -> Runs:
    seeds, chosen = extent.seeds, extent.chosen
    runs = Runs()

    def run(what: str, cases: Sequence[Case], methods: Sequence[str]) -> list[Result]:
        results: list[Result] = []
        for done, batch in enumerate(run_cases(cases, engine, methods), start=1):
            results += batch
            progress(what, done, len(cases))
        runs.count += len(cases)
        return results

    runs.clean = run("table III", table_cases(seeds, chosen), PAYLOAD_METHODS)
    in_base, rivals = table_cases(seeds, chosen, paper=True), (BASELINE, *RIVALS)
    runs.base = run("table III, base convention", in_base, rivals)
    runs.faulty = run("faulty sensor", table_cases(seeds, chosen, faults=True), PAYLOAD_METHODS)
    runs.noisy = run("noisy accelerations", goal3_cases(seeds, chosen), PAYLOAD_METHODS)
    noisy = noise_cases(extent.seconds, extent.speeds, extent.names)
    runs.figure6 = run("figure 6", noisy, FIGURE_METHODS)
    over_time = [
        Case(name, speed, "moderate", "accelerations", s, 0)
        for name in extent.names
        for speed in extent.speeds
        for s in extent.steps
    ]
    runs.figure7 = run("figure 7", over_time, FIGURE_METHODS)
    return runs
