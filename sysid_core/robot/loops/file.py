# SPDX-License-Identifier: Apache-2.0
"""Loops, drives and actuated joints from a YAML file that accompanies the URDF."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sysid_core.errors import ModelError
from sysid_core.files import (
    FileKind,
    nearest,
    read_schema,
    validated,
)
from sysid_core.robot.loops.chain import ClosedChain, JointDrive
from sysid_core.robot.loops.file_schema import DriveEntry, LoopsFile
from sysid_core.robot.loops.mimic import chain_of_mimic_joints
from sysid_core.robot.model import RobotModel
from sysid_core.robot.reference import reference_robots
from sysid_core.robot.urdf import urdf_text

MIMIC = "mimic"
_FILE = FileKind(
    "loops file",
    "It needs `actuated: [joints…]` and `loops: […]`; see docs/closed_chains.md.",
    ModelError,
)


def load_closed_chain(loops: str | Path, urdf: str | Path | None = None) -> ClosedChain:
    """Load a mechanism from its YAML file and URDF.

    The YAML names `actuated` joints and `loops`; `passive`, `measured` (passive joints with an
    encoder), `joints` (drive data), `urdf`, `gravity`, `home` and `excitation` are optional. Where
    `passive` is given, moving joints of the URDF that are in neither list are held at zero, so that
    one leg can be taken from a whole robot.

    Args:
        loops: The YAML file, the name of a reference robot with loops ("own-leg"), or "mimic": the
            followers that the URDF itself names.
        urdf: The URDF (file, text or name, also "own-leg"); default: the file that the YAML names.

    Raises:
        ModelError: The file is damaged, or names joints or links that the robot doesn't have.
    """
    if str(loops) == MIMIC:
        if urdf is None:
            raise ModelError(
                "--loops mimic needs the URDF that defines the mimic joints.",
                remedy="Give the URDF (--robot).",
            )
        return chain_of_mimic_joints(RobotModel.from_urdf(urdf))
    path = _reference_loops().get(str(loops), Path(loops))
    if not path.exists():
        examples = ", ".join(_reference_loops())
        raise _FILE.refusal(path, "there is none", f"{_FILE.remedy} Or give one of: {examples}.")
    file = read_schema(path, LoopsFile, _FILE)
    if urdf is None and not file.urdf:
        raise _FILE.refusal(
            path, "`urdf` is missing", "Name the URDF in the file, or give it as an option."
        )
    if urdf is None:
        source: str | Path = path.parent / file.urdf
    else:
        loops_beside = _reference_loops().get(str(urdf))
        source = loops_beside.with_suffix(".urdf") if loops_beside else urdf
    model = _load_model(urdf_text(source), file)
    try:
        return _closed_chain(file, model)
    except ModelError as err:
        raise _FILE.refusal(path, err.message, err.remedy) from err


def closed_chain_from_mapping(raw: Mapping[str, Any], model: RobotModel) -> ClosedChain:
    """A mechanism from the content of a loops file and a robot.

    Raises:
        ModelError: An entry is missing or names what the robot doesn't have.
    """
    return _closed_chain(validated(raw, LoopsFile, _FILE, "given"), model)


def _closed_chain(file: LoopsFile, model: RobotModel) -> ClosedChain:
    names = {
        "actuated": file.actuated,
        "passive": file.passive,
        "joints": file.joints,
        "home": file.home,
    }
    for key, joints in names.items():
        for joint in joints:
            if joint not in model.joint_names:
                close = nearest(joint, model.joint_names)
                raise ModelError(
                    f"`{key}` names '{joint}', which is not a moving joint of '{model.name}'.",
                    remedy=f"Write `{close}`?"
                    if close
                    else f"Moving joints of the URDF: {', '.join(model.joint_names)}.",
                    unknown=[joint],
                )
    chain = ClosedChain(
        model=model,
        loops=tuple(loop.loop() for loop in file.loops),
        actuated=file.actuated,
        drives={
            joint: JointDrive(**dict(entry or DriveEntry())) for joint, entry in file.joints.items()
        },
        home=np.array([file.home.get(joint, 0.0) for joint in model.joint_names]),
        box=file.motion_box(),
        measured=file.measured,
        couplings=tuple(entry.coupling() for entry in file.couplings),
    )
    _ = chain.attachments  # names a link that isn't there now rather than later
    return chain


def _reference_loops() -> dict[str, Path]:
    """Reference robots that are URDFs with a loops file beside them."""
    files = {name: path.with_suffix(".yaml") for name, path in reference_robots().items()}
    urdfs = {name for name, path in reference_robots().items() if path.suffix == ".urdf"}
    return {name: path for name, path in files.items() if name in urdfs and path.is_file()}


def _load_model(text: str, file: LoopsFile) -> RobotModel:
    whole = RobotModel.from_urdf(text, gravity=file.gravity)
    listed = {*file.actuated, *file.passive}
    others = set(whole.joint_names) - listed if file.passive else set()
    if not others or not listed <= set(whole.joint_names):
        return whole
    part = RobotModel.from_urdf(_with_fixed_joints(text, others), gravity=file.gravity)
    return dataclasses.replace(part, urdf_hash=whole.urdf_hash, urdf_xml=whole.urdf_xml)


def _with_fixed_joints(text: str, joints: set[str]) -> str:
    root = ET.fromstring(text)
    for joint in root.iter("joint"):
        if joint.get("name") in joints:
            joint.set("type", "fixed")
    return ET.tostring(root, encoding="unicode")
