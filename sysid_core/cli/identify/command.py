# SPDX-License-Identifier: Apache-2.0
"""`sysid identify`: a whole robot's parameters from recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sysid_core.cli.app import app, console, copy_json, errors, example, require_folder
from sysid_core.cli.mounting import ESTIMATE, GravityOrEstimateOption, MountOption, mounted
from sysid_core.cli.recordings import ColumnsOption, EffortKindOption, JsonPathOption, RobotOption
from sysid_core.errors import EstimationError
from sysid_core.pipeline import METHODS, estimator_from, friction_terms

if TYPE_CHECKING:
    from sysid_core.estimation.arm import Processing
    from sysid_core.robot import FrictionModel, RobotModel
    from sysid_core.signals import Recording
    from sysid_core.studies import SequentialRun


@app.command(
    epilog=example(
        "sysid identify examples/ur5/train.csv --robot ur5 --columns examples/ur5/columns.yaml --validate examples/ur5/validate.csv --out results/ur5"
    )
)
def identify(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="RECORDING...", help="Tables (CSV) or rosbag2 bags.")
    ],
    robot: RobotOption,
    out: Annotated[Path, typer.Option(help="Folder for estimate, result and report.")],
    columns: ColumnsOption = None,
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT[=POSITION]",
            help="Joint that stays where it is (rad or m; default 0), such as a gripper's.",
        ),
    ] = None,
    loaded: Annotated[
        list[Path] | None,
        typer.Option(help="Runs with a load of known mass: they give the drives' gains, too."),
    ] = None,
    load_mass: Annotated[
        float, typer.Option(help="Mass of that load, in kg.", show_default=False)
    ] = 0.0,
    load_frame: Annotated[
        str, typer.Option(help="Frame that carries it, such as tool0; default: the last link.")
    ] = "",
    load_com: Annotated[
        str,
        typer.Option(
            metavar="X,Y,Z", help="Its centre of mass in that frame, in m; default: found as well."
        ),
    ] = "",
    loops: Annotated[
        str, typer.Option(help="YAML of closed loops (or own-leg); efforts must be torques.")
    ] = "",
    validate: Annotated[
        list[Path] | None, typer.Option(help="Runs that aren't fitted; may be repeated.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "auto",
    friction: Annotated[
        str,
        typer.Option(
            help="'auto' (chosen on held-out parts of RECORDING), or terms with commas: usual,"
            " geared (both stand for several), coulomb, viscous, inertia, offset,"
            " asymmetry, stribeck, play, load, saturation, thinning, breakaway, ripple, runout,"
            " speed_ripple, speed_runout."
        ),
    ] = "auto",
    fix: Annotated[
        list[str] | None,
        typer.Option(help="Keep at the URDF's value: inertials, friction, a link, joint or name."),
    ] = None,
    prior_weight: Annotated[
        float,
        typer.Option(
            min=0.0, help="Of the URDF, for lmi and entropic; 0: chosen on held-out parts."
        ),
    ] = 0.0,
    prior_sd: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            help="Declared tolerance of the URDF's inertial parameters, relative to the links' size"
            " (.05: 5 %): lmi and entropic then give deviations of parameters that show only in"
            " combination.",
        ),
    ] = None,
    gravity: GravityOrEstimateOption = "",
    mount: MountOption = "",
    force: Annotated[
        bool, typer.Option("--force", help="Write identified.urdf for a failed fit, too.")
    ] = False,
    plan: Annotated[
        Path | None,
        typer.Option(help="For sequential: the trajectory that `sysid plan sequential` wrote."),
    ] = None,
    unexcited: Annotated[
        str, typer.Option(help="For sequential, what no step shows: 'refuse', or 'prior' (URDF).")
    ] = "refuse",
    at_once: Annotated[
        list[Path] | None,
        typer.Option(help="For sequential: runs of all joints, fitted by OLS as its rival."),
    ] = None,
    rate_hz: Annotated[float, typer.Option(min=1.0, help="Rate of the regressor.")] = 100.0,
    motion_cutoff_hz: Annotated[
        float,
        typer.Option(min=0.0, help="Low-pass of the motion; 0: chosen on held-out parts."),
    ] = 0.0,
    differentiate: Annotated[
        str,
        typer.Option(help="Velocities and accelerations by 'filter', or by 'spline' (docs)."),
    ] = "filter",
    torque_cutoff_hz: Annotated[
        float, typer.Option(min=0.1, help="Low-pass of regressor and torque.")
    ] = 8.0,
    delay: Annotated[
        str, typer.Option(help="Of the efforts [s]; 'auto' corrects the estimated one.")
    ] = "0",
    effort_kind: EffortKindOption = "",
    json_path: JsonPathOption = "",
) -> None:
    """Identify inertial, friction and drive parameters of a robot from recorded motion."""
    from sysid_core.cli.identify.load import known_load, load_section, write_columns
    from sysid_core.cli.identify.result import json_text, print_summary, result_dict
    from sysid_core.cli.recordings import load_fixed_base
    from sysid_core.cli.verdict import next_steps, print_judgement, with_gravity_found
    from sysid_core.errors import EstimationError
    from sysid_core.estimation.arm import Differentiation, Processing
    from sysid_core.pipeline import (
        WITH_PRIOR,
        drives_of,
        identify_arm,
        inputs_of,
        load_recording,
        write_back,
    )
    from sysid_core.plausibility import examine, require_fit
    from sysid_core.report import identification_report, prediction_sentence, save_and_list
    from sysid_core.robot import FrictionModel
    from sysid_core.signals import ColumnMap
    from sysid_core.validation import judge_identification, predict_recording, unexplained

    require_folder(out)
    refused = [
        option
        for option, given in (("--loaded", loaded), ("--lock", lock if loops else None))
        if given and (loops or method == "sequential")
    ]
    if refused:
        raise EstimationError(
            f"{refused[0]} doesn't go with {'--loops' if loops else '--method sequential'}.",
            remedy="Leave one of them out.",
        )
    if loops:
        from sysid_core.cli.identify.loops import identify_closed_chain

        free = [name for name in fix or [] if name != "inertials"]
        identify_closed_chain(
            recordings,
            loops=loops,
            robot=robot,
            out=out,
            columns=None if columns is None else ColumnMap.load(columns),
            validate=validate or [],
            estimator=estimator_from(
                "ols" if method == "auto" else method, free, prior_weight or 1.0, prior_sd
            ),
            inertials="inertials" not in (fix or []),
            effort_kind=effort_kind,
            gravity=gravity,
            mount=mount,
            json_path=json_path,
        )
        return
    column_map = None if columns is None else ColumnMap.load(columns)
    model = mounted(load_fixed_base(robot, lock or []), gravity, mount, column_map)
    load = known_load(model, loaded or [], load_mass, load_frame, load_com)
    auto = friction == "auto"
    terms = friction_terms("usual" if auto else friction)
    if method != "sequential":
        estimator_from(method, fix or [], 1.0)  # refuses a bad name before the work begins
    with errors.status("reading recordings") as status:
        runs = [load_recording(path, column_map, effort_kind) for path in recordings]
        with_load = [load_recording(path, column_map, effort_kind) for path in loaded or []]
        others = [load_recording(path, column_map, effort_kind) for path in validate or []]
        for run in (*runs, *with_load, *others):
            require_fit(model, run)
        drives = drives_of(model, column_map, gains=load is None)
        if gravity == ESTIMATE:
            status.update("looking for gravity")
            model = with_gravity_found(model, runs, drives)
        frictions = FrictionModel(drives, terms)
        processing = Processing(
            rate_hz=rate_hz,
            motion_cutoff_hz=motion_cutoff_hz or Processing.motion_cutoff_hz,
            differentiate=Differentiation.named(differentiate, "--differentiate", EstimationError),
            torque_cutoff_hz=torque_cutoff_hz,
        )
        status.update("looking for faults of data and description")
        examination = examine(model, runs, drives, gains_known=load is None)
        status.update(f"identifying {model.name} ({method})")
        extra: dict[str, object] = {}
        rivals: list[str] = []
        spread = None
        if method == "sequential":
            sequential = _sequential(
                runs,
                model,
                frictions,
                processing,
                validation=others,
                plan=plan,
                unexcited=unexcited,
                at_once=[load_recording(path, column_map, effort_kind) for path in at_once or []],
                fixed=fix or [],
            )
            result, report = sequential.identification, sequential.report()
            training, validation = [], list(sequential.validation)
            extra = {"sequential": sequential.to_dict()}
            rivals = [
                f"{name}, {Path(p.source).stem}: {100 * p.relative_error():.2f} %, R² "
                + ", ".join(f"{stats['r2']:.4f}" for stats in p.joints().values())
                for name, others_of in sequential.rivals.items()
                for p in others_of
            ]
        else:
            arm = identify_arm(
                model,
                runs,
                frictions,
                estimator=lambda weight: estimator_from(method, fix or [], weight, prior_sd),
                processing=processing,
                delay=delay,
                choose_friction=auto,
                prior_weight=prior_weight if method in WITH_PRIOR else None,
                say=status.update,
                loaded=with_load,
                load=load,
                choose_cutoff=not motion_cutoff_hz,
            )
            result, extra, rivals = arm.identification, arm.to_dict(), list(arm.sentences)
            spread = arm.spread
            status.update("predicting efforts")
            training = [predict_recording(result, r) for r in runs]
            if arm.loaded is not None:
                training += [predict_recording(arm.loaded.loaded, r) for r in with_load]
            validation = [predict_recording(result, r) for r in others]
            report = identification_report(result, training, validation, arm.benefits, arm.lag)
            if arm.loaded is not None and load is not None:
                load_section(report, arm.loaded, load)
                out.mkdir(parents=True, exist_ok=True)
                write_columns(columns, arm.loaded, runs[0], out / "columns.yaml")
        judgement = judge_identification(result, training, validation, examination, spread)
        report.judged(
            judgement,
            prediction_sentence(validation or training),
            asked=f"parameters of {model.name} from {len(runs)} recording(s), by {method}",
            next_steps=next_steps(judgement, method, validated=bool(validation)),
        )
        status.update("writing the report")
        out.mkdir(parents=True, exist_ok=True)
        result.estimate.save(out / "estimate.yaml")
        save_and_list(report, out / "report.html")
        urdf = write_back(result, out, urdf=judgement.ok or force)
    inputs = inputs_of(
        robot=robot,
        recordings=recordings,
        validate=validate or [],
        loaded=loaded or [],
        columns=columns,
        settings={
            "effort_kind": effort_kind,
            "delay": delay,
            "fix": fix or [],
            "prior_sd": prior_sd,
        },
    )
    verdict = {
        "inputs": inputs,
        "verdict": judgement.to_dict(),
        "unexplained": unexplained(training) if training else None,
        "gravity": model.gravity.tolist(),
    }
    text = json_text(verdict | result_dict(result, training, validation) | extra)
    (out / "result.json").write_text(text + "\n", encoding="utf-8")
    if copy_json(text, json_path):
        raise typer.Exit(judgement.exit_status)
    print_judgement(judgement, "" if urdf else "identified.urdf isn't written without --force.")
    print_summary(result, training, validation)
    for line in rivals:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    files = ["estimate.yaml", "parameters.yaml", "result.json", "report.html"]
    files += [urdf.name] if urdf else []
    files += ["columns.yaml"] if load is not None else []
    console.print(f"written to {out}: {', '.join(files)}", soft_wrap=True, markup=False)
    raise typer.Exit(judgement.exit_status)


def _sequential(
    runs: list[Recording],
    model: RobotModel,
    friction: FrictionModel,
    processing: Processing,
    *,
    validation: list[Recording],
    plan: Path | None,
    unexcited: str,
    at_once: list[Recording],
    fixed: list[str],
) -> SequentialRun:
    """One joint at a time, from the last to the first."""
    from sysid_core.estimation.sequential import Unexcited
    from sysid_core.excitation import Trajectory
    from sysid_core.studies import run_sequential

    if fixed:
        raise EstimationError(
            "--fix doesn't go with --method sequential.",
            remedy="Leave friction terms out with --friction, or use another method.",
        )
    if unexcited not in [choice.value for choice in Unexcited]:
        raise EstimationError(
            f"--unexcited is '{unexcited}'.", remedy="Choose 'refuse' or 'prior'."
        )
    return run_sequential(
        runs,
        Trajectory.load(plan) if plan is not None else None,
        model,
        friction=friction,
        validation=validation,
        at_once=at_once,
        unexcited=unexcited,
        processing=processing,
    )
