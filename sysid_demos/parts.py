# SPDX-License-Identifier: Apache-2.0
"""Common parts of the demos: recording of a motion, identification, and summary."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from robot_sysid.action import Identify

from sysid_core.estimation.arm import Identification
from sysid_core.files import write_json
from sysid_core.planning import Trajectory
from sysid_core.report import Report, prediction_chart, save_and_list
from sysid_core.robot import Array, RobotModel
from sysid_core.signals.bags import read_bag
from sysid_core.validation import Prediction
from sysid_nodes.bringup import NodeSpec, demo_graph, live
from sysid_nodes.client import LiveClient
from sysid_nodes.simulated_robot import differing_pi

# A busy laptop is no faulty robot: the simulated one may stall for a second.
PATIENCE = {"stale_s": 1.0, "max_step_s": 1.0, "wrench_stale_s": 2.0}
# An executor that streams set points to a controller with nominal parameters, which tracks badly.
SET_POINTS = {
    "command_mode": "setpoint_stream",
    "tracking_error": 1.0,
    "start_tolerance": 0.4,
    **PATIENCE,
}
FRICTION = {"F_c": 0.5, "F_v": 0.5, "I_a": 0.05}  # true, of every joint of the arms
# What the exit status demands of the torques of an arm on another motion than the fitted one.
TRUTH_RATIO, NOMINAL_RATIO = 1.5, 3.0
_BEYOND = 100.0  # what is left is below the noise, and the ratio chance
Check = tuple[str, bool, str]  # what must hold, whether it does, the number


def differing_arm(robot: str, start: Array, link_error: float, seed: int) -> dict[str, Any]:
    """Return the parameters of a simulated arm with friction, whose links differ from the URDF."""
    return {
        "robot": robot,
        "start": start.tolist(),
        "link_error": link_error,
        "coulomb": FRICTION["F_c"],
        "viscous": FRICTION["F_v"],
        "armature": FRICTION["I_a"],
        "seed": seed,
    }


def identification_graph(
    out: Path,
    namespace: str,
    *,
    robot: Mapping[str, Any],
    executor: Mapping[str, Any],
    controller: Mapping[str, Any] | None = None,
) -> Sequence[NodeSpec]:
    """Return a list of the nodes that record and identify a simulated robot.

    Args:
        out: Folder of recordings and results.
        namespace: Namespace of all nodes.
        robot: Parameters of the simulated robot.
        executor: Parameters of the executor.
        controller: Parameters of the torque controller; None: the robot follows position commands.
    """
    return demo_graph(
        namespace=namespace,
        estimator={"recordings": str(out), "directory": str(out)},
        robot={"sensor_frame": "", **robot},
        executor=executor,
        logger={"effort_kind": "actuator_torque"},
        controller=controller,
    )


@contextmanager
def demo(
    specs: Sequence[NodeSpec], out: Path, namespace: str, console: Console
) -> Iterator[LiveClient]:
    """Provide a client of active nodes, which read and write files in `out`.

    The nodes use the time of the simulated robot, so that a slow computer gives the same result in
    a longer time.
    """
    specs = [spec.below(out).in_simulated_time() for spec in specs]
    with live(specs, out, namespace, console) as (_, client):
        yield client


def record(client: LiveClient, console: Console, file: Path, bag: Path) -> None:
    """Execute a trajectory and record it in a bag, with half a second at rest at the end."""
    shutil.rmtree(bag, ignore_errors=True)
    client.start_recording(str(bag))
    timeout_s = 3.0 * Trajectory.load(file).duration + 120.0
    result = client.execute_watched(console, file, timeout_s=timeout_s)
    rested = time.monotonic() + 0.5
    client.wait_until(lambda: time.monotonic() > rested, 10.0, "the robot to rest")
    client.stop_recording()
    console.print(
        f"Done in {result.duration:.0f} s, tracking error at most"
        f" {1e3 * result.max_tracking_error:.1f} mrad; recorded in {bag}.",
        highlight=False,
        soft_wrap=True,
    )


def identify(client: LiveClient, console: Console, folder: Path, **goal: Path | str) -> Any:
    """Request an identification from the estimator's action; `goal`: fields of the action."""
    shutil.rmtree(folder, ignore_errors=True)
    fields = {name: Path(value).name for name, value in goal.items()}  # below the demo's folder
    with console.status("The estimator identifies (action ~/identify)"):
        result = client.identify(
            Identify.Goal(directory=folder.name, **fields), lambda _: None, timeout_s=900.0
        )
    estimate = result.estimate
    console.print(
        f"Identified by {estimate.method}: rank {estimate.rank} of {estimate.structural_rank} from"
        f" {estimate.samples_used} samples, latched on estimator/parameters."
    )
    return result


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Predictions of one run with identified, nominal and true parameters.

    Attributes:
        identified: Identified robot.
        predictions: Predictions by "identified", "nominal" (URDF without friction) and "truth".
    """

    identified: Identification
    predictions: dict[str, Prediction]

    def rms(self, who: str) -> Array:
        """Return the RMS of the prediction error of each joint [N m]."""
        return np.array([joint["rms"] for joint in self.predictions[who].joints().values()])

    @property
    def against_truth(self) -> float:
        """Ratio of the largest RMS error with identified parameters to that with true parameters."""
        return float(np.max(self.rms("identified") / self.rms("truth")))

    @property
    def against_nominal(self) -> float:
        """Ratio of the error over all joints with nominal parameters to that with identified
        parameters.

        The error of the true parameters (sensor noise, stiction) is removed from both.
        """
        error = {who: p.relative_error() for who, p in self.predictions.items()}
        excess = {who: max(e**2 - error["truth"] ** 2, 0.0) ** 0.5 for who, e in error.items()}
        return excess["nominal"] / max(excess["identified"], 1e-6)

    def checks(self) -> Sequence[Check]:
        """Return the checks of the predicted torques."""
        against_truth, against_nominal = self.against_truth, self.against_nominal
        return (
            (
                f"torque error of every joint at most {TRUTH_RATIO} times that of the true parameters",
                against_truth <= TRUTH_RATIO,
                f"{against_truth:.2f}",
            ),
            (
                f"torques {NOMINAL_RATIO:.0f} times nearer to the truth than the URDF's",
                against_nominal >= NOMINAL_RATIO,
                f"{against_nominal:.1f}" if against_nominal < _BEYOND else f"over {_BEYOND:.0f}",
            ),
        )


def compare(folder: Path, bag: Path, model: RobotModel, link_error: float, seed: int) -> Comparison:
    """Predict a run of a `differing_arm` with the identified, the nominal and the true parameters.

    Args:
        folder: Output folder of `sysid identify`.
        bag: Bag of a held-out run.
        model: Nominal robot model.
        link_error: Relative error of the URDF's links.
        seed: Seed of these errors.
    """
    true_pi = differing_pi(model, link_error, np.random.default_rng(seed))
    identified = Identification.load(folder, model)
    names = identified.names[true_pi.size :]
    truth = [FRICTION.get(name.split(".")[-1], 0.0) for name in names]
    robots = {
        "identified": identified.parameters,
        "nominal": np.concatenate([model.pi.ravel(), np.zeros(len(names))]),
        "truth": np.concatenate([true_pi.ravel(), truth]),
    }
    recording = read_bag(bag)
    return Comparison(
        identified,
        {
            who: Prediction.of(dataclasses.replace(identified, parameters=values), recording)
            for who, values in robots.items()
        },
    )


def show_rows(
    console: Console,
    report: Report,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
) -> None:
    """Show a table in the terminal and in the report; the first column contains names."""
    table = Table(title=escape(caption))
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k else "left")
    for row in rows:
        table.add_row(str(row[0]), *(Report.cell_text(x) for x in row[1:]))
    console.print(table)
    report.table(list(columns), [list(row) for row in rows], caption)


def show_comparison(console: Console, report: Report, comparison: Comparison) -> None:
    """Show the comparison as a table in the terminal, and as table and figure in the report."""
    columns = ("joint", "identified", "R²", "URDF", "truth")
    rows = [
        [name, stats["rms"], stats["r2"], nominal, truth]
        for (name, stats), nominal, truth in zip(
            comparison.predictions["identified"].joints().items(),
            comparison.rms("nominal"),
            comparison.rms("truth"),
            strict=True,
        )
    ]
    caption = "Predicted torques on a held-out motion, RMS [N m]"
    report.heading("A held-out motion")
    show_rows(console, report, f"{caption}, against raw, noisy torques", columns, rows)
    report.figure(
        prediction_chart(comparison.predictions["identified"]),
        "Torques of the validation motion, measured and predicted by the identified robot.",
    )


def judge(
    console: Console, report: Report, out: Path, checks: Sequence[Check], page: str = "report"
) -> int:
    """Show the results of the checks, and write a page (HTML) and `checks.json`; return 0 if all
    checks pass, otherwise 1.
    """
    report.heading("Verdict")
    for text, ok, value in checks:
        sentence = f"{text}: {value}" if value else text
        console.print("[green]✓[/]" if ok else "[red]✗[/]", sentence, highlight=False)
        report.verdict(ok, sentence)
    save_and_list(report, out / f"{page}.html")
    result = {
        "schema": "robot_sysid/demo/1",
        "passed": all(ok for _, ok, _ in checks),
        "checks": [
            {"check": text, "passed": bool(ok), "value": value} for text, ok, value in checks
        ],
    }
    write_json(out / "checks.json", result)
    console.print(f"Checks: {out / page}.html", soft_wrap=True)
    return 0 if result["passed"] else 1
