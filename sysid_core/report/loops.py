# SPDX-License-Identifier: Apache-2.0
"""Report with charts of the loops of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_core.identifiability import ConstrainedRanks
from sysid_core.planning.closed_chain import AssemblyMap
from sysid_core.reasons import Outcome
from sysid_core.report.charts import COLOURS, ROLES, SCALES, Figure
from sysid_core.report.html import Report
from sysid_core.robot.loops import ClosedChain, MotionBox

_GRID = 41  # postures along each side of a map
_RANGE, _JOINTS = COLOURS[1], (COLOURS[0], *COLOURS[2:])


@dataclass(frozen=True, eq=False)
class LoopsPage:
    """Check of a closed chain: its sentences and its report.

    Attributes:
        chain: Closed chain.
        limits: Assembly of random postures within the limits of the actuated joints.
        inside: Assembly of random postures within the recommended range of motion.
        box: Recommended range of motion of the actuated joints.
        ranks: Ranks of the regressors of the chain.
    """

    chain: ClosedChain
    limits: AssemblyMap
    inside: AssemblyMap
    box: MotionBox
    ranks: ConstrainedRanks

    def report(self) -> Report:
        """Return a report of the check of a closed chain."""
        report = Report(
            f"Loops of {self.chain.name}",
            f"{self.chain.n} joints, {self.chain.n_actuated} of them driven",
        )
        self._assembly(report)
        report.heading("Region in which the loops close")
        pairs, alone = _panels(self.chain)
        map_text = (
            "Condition number (log10) of J_u, the Jacobian of the loop closure with respect to the passive"
            " joints. In white areas the loops do not close."
        )
        curve_text = "Positions of the passive joints over the driven joint."
        others = " All other driven joints are at their home positions." * (
            self.chain.n_actuated > 1
        )
        shown = [text for text, some in ((map_text, pairs), (curve_text, alone)) if some]
        report.figure(assembly_figure(self.chain, self.box), " ".join(shown) + others)
        report.heading("Recommended range of motion")
        _box(report, self.chain, self.box)
        report.heading("Identifiable parameters")
        _ranks(report, self.chain, self.ranks)
        return report

    def checks(self) -> list[tuple[Outcome, str]]:
        """Return the checks of a closed chain: whether its loops can be closed, whether this is
        possible in only one way, and whether the driven joints determine the passive ones.

        If the loops can be closed in two ways, this is a warning if the home posture selects one of
        them, and otherwise a failure.
        """
        holds = {True: Outcome.PASS, False: Outcome.FAIL}
        closed = bool(self.inside.assembled.all() and self.inside.within_limits.all())
        ways = (
            Outcome.WARN,
            "Some postures of the driven joints close the loops in two ways within the limits. The way that"
            " the given home posture belongs to is used: start every motion from it.",
        )
        if self.inside.unique and self.limits.unique:
            sentence = "Within the limits, every posture of the driven joints closes the loops in one way only."
            ways = (Outcome.PASS, sentence)
        elif not np.any(self.chain.home):
            ways = (
                Outcome.FAIL,
                "Some postures of the driven joints close the loops in two ways within the limits. Give a"
                " known posture in the file of kinematic loops (home), and start every motion from it.",
            )
        worst = float(self.inside.condition.max())
        return [
            (
                holds[closed],
                f"{100 * self.inside.assembled.mean():.0f} % of {len(self.inside.q)} random postures in the"
                f" recommended range close the loops, {100 * self.inside.within_limits.mean():.0f} % within the"
                " passive joints' limits.",
            ),
            ways,
            (
                holds[worst < self.inside.most],
                "The driven joints determine the passive ones: the condition number of the loop Jacobian is"
                f" at most {worst:.3g} ({self.inside.most:g} is the limit, near a dead centre).",
            ),
        ]

    def _assembly(self, report: Report) -> None:
        """Add the section on the closure of the loops and its uniqueness."""
        for outcome, sentence in self.checks():
            report.verdict(outcome, sentence)
        report.table(
            ("quantity", "value"),
            [
                ("closure equations", self.chain.n_equations),
                ("passive joints", len(self.chain.passive)),
                (
                    "loops close within the driven joints' limits [%]",
                    100 * float(self.limits.assembled.mean()),
                ),
                (
                    "… with passive joints within theirs [%]",
                    100 * float(self.limits.within_limits.mean()),
                ),
                ("largest closure error [m]", max(self.limits.residual, self.inside.residual)),
            ],
        )
        report.table(
            ("loop", "kind", "from", "to"),
            [(loop.name, loop.kind.value, loop.a.link, loop.b.link) for loop in self.chain.loops],
        )
        laws = [
            (
                c.name,
                " ".join(f"{k:+.6g} {joint}" for joint, k in c.joints.items()),
                f"{c.offset:.6g}",
            )
            for c in self.chain.couplings
        ]
        if laws:
            report.table(("coupling", "sum", "equals"), laws)


def _box(report: Report, chain: ClosedChain, box: MotionBox) -> None:
    """Add a table of the coordinates of the box and their ranges."""
    report.table(
        ("coordinate", "joints", "half range [rad]"),
        [
            (
                name,
                " ".join(
                    f"{share:+g}·{joint}"
                    for joint, share in zip(chain.actuated, column, strict=True)
                    if share
                ),
                float(half),
            )
            for name, column, half in zip(box.names, box.directions.T, box.half, strict=True)
        ],
    )


def _ranks(report: Report, chain: ClosedChain, ranks: ConstrainedRanks) -> None:
    """Add a table of the numbers of parameters and the ranks of their regressors."""
    report.table(
        ("parameters", "number", "rank", "gap in the singular values"),
        [
            (
                "inertial, with the loops opened",
                ranks.n_inertial,
                ranks.open_tree.rank,
                ranks.open_tree.gap,
            ),
            ("inertial", ranks.n_inertial, ranks.inertial.rank, ranks.inertial.gap),
            (
                "inertial; friction and rotor inertia of driven joints",
                ranks.n_inertial + 4 * chain.n_actuated,
                ranks.with_drives.rank,
                ranks.with_drives.gap,
            ),
            (
                "inertial; friction and rotor inertia of all joints",
                ranks.n_inertial + 4 * chain.n,
                ranks.with_all_joints.rank,
                ranks.with_all_joints.gap,
            ),
        ],
        "Numerical ranks at random consistent states, relative tolerance"
        f" {ranks.inertial.tolerance:g}.",
    )


def _panels(chain: ClosedChain) -> tuple[list[tuple[str, ...]], list[str]]:
    """Pairs of driven joints that share a loop, each to be shown as a map, and driven joints that
    alone move a loop, each to be shown as curves.
    """
    pairs = [tuple(group) for group in chain.coupled_drives if len(group) == 2]
    paired = {name for group in pairs for name in group}
    return pairs, [n for n in chain.actuated if n not in paired and _moves_loops(chain, n)]


def assembly_figure(chain: ClosedChain, box: MotionBox) -> Figure:
    """Return a chart of loop closure: a map for two driven joints that share a loop, curves for
    one.
    """
    pairs, alone = _panels(chain)
    titles = [*(" and ".join(pair) for pair in pairs), *alone] or ["No driven joint moves a loop."]
    figure = Figure(titles, columns=2, height=380)
    for k, pair in enumerate(pairs):
        _draw_map(figure, k, chain, box, (pair[0], pair[1]))
    for k, name in enumerate(alone, len(pairs)):
        x = _range(chain, name)
        found = chain.try_assemble(_at_home(chain, {name: x}))
        q = np.where(found.assembled[:, None], found.q, np.nan)
        for i, (joint, j) in enumerate(zip(chain.passive, chain.passive_columns, strict=True)):
            if np.nanmax(q[:, j]) - np.nanmin(q[:, j]) > 1e-6:
                figure.line(k, x, q[:, j], joint, _JOINTS[i % len(_JOINTS)])
        figure.axis("x", k, title=f"{name} [rad]")
        figure.axis("y", k, title="passive joints [rad]")
    return figure


def _draw_map(
    figure: Figure, panel: int, chain: ClosedChain, box: MotionBox, pair: tuple[str, str]
) -> None:
    """Draw a map of the condition number over two driven joints, with the limits of the passive
    joints and the box.
    """
    x, y = (_range(chain, name) for name in pair)
    X, Y = np.meshgrid(x, y)
    found = chain.try_assemble(_at_home(chain, {pair[0]: X.ravel(), pair[1]: Y.ravel()}))
    lower, upper = chain.model.position_limits
    within = np.all((found.q >= lower - 1e-9) & (found.q <= upper + 1e-9), axis=1)
    condition = np.log10(chain.passive_condition(found.q))
    condition[~found.assembled] = np.nan
    z, scale = condition.reshape(X.shape), SCALES["viridis"][::-1]
    figure.add(panel, "heat", x, y, z=z, scale=scale, title="condition number of J_u (log10)")
    inside = within.reshape(X.shape).astype(int)
    figure.add(panel, "edge", x, y, "limits of passive joints", z=inside, colour=ROLES["limit"])
    edge = _outline(chain, box, pair)
    figure.line(panel, edge[0], edge[1], "recommended range", _RANGE, width=2)
    figure.axis("x", panel, title=f"{pair[0]} [rad]")
    figure.axis("y", panel, title=f"{pair[1]} [rad]")


def _outline(chain: ClosedChain, box: MotionBox, pair: tuple[str, ...]) -> np.ndarray:
    """Corners of the box in the plane of two driven joints, closed, shape (2, 5)."""
    rows = [chain.actuated.index(name) for name in pair]
    own = np.flatnonzero(np.any(box.directions[rows] != 0.0, axis=0))[:2]
    s = np.zeros((5, chain.n_actuated))
    s[:, own] = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])[:, : len(own)]
    return np.asarray(box.positions(s)[:, rows].T)


def _moves_loops(chain: ClosedChain, joint: str) -> bool:
    J = chain.loop_jacobian(chain.try_assemble(_at_home(chain, {})).q)[0]
    return bool(np.any(np.abs(J[:, chain.model.joint_names.index(joint)]) > 1e-9))


def _range(chain: ClosedChain, joint: str) -> np.ndarray:
    lower, upper = chain.model.position_limits
    i = chain.model.joint_names.index(joint)
    return np.linspace(max(lower[i], -np.pi), min(upper[i], np.pi), _GRID)


def _at_home(chain: ClosedChain, moved: dict[str, np.ndarray]) -> np.ndarray:
    K = max((len(values) for values in moved.values()), default=1)
    q_a = np.tile(chain.actuated_home, (K, 1))
    for name, values in moved.items():
        q_a[:, chain.actuated.index(name)] = values
    return q_a
