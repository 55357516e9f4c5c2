"""Loops, drives and actuated joints from YAML beside the URDF."""

from __future__ import annotations

import dataclasses
import difflib
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml

from sysid_core.errors import ModelError
from sysid_core.robot.inertia import Array
from sysid_core.robot.loops.chain import ClosedChain, JointDrive, Loop, LoopEnd, MotionBox
from sysid_core.robot.model import STANDARD_GRAVITY, RobotModel
from sysid_core.robot.reference import reference_robots
from sysid_core.robot.urdf import urdf_text

_TOP_KEYS = (
    "urdf", "gravity", "actuated", "passive", "measured", "home", "joints", "loops", "excitation",
    "excitation_center",
)  # fmt: skip
# Keys of a joint's entry and the field of `JointDrive` that they fill; the first that is there counts.
_DRIVE_KEYS = {
    "F_c": ("friction", "friction_urdf"),
    "F_v": ("damping", "damping_urdf"),
    "I_a": ("armature",),
    "beta": ("offset",),
    "gear_ratio": ("gear_ratio",),
    "torque_limit": ("torque_limit", "torque_limit_joint_side"),
}


def load_closed_chain(loops: str | Path, urdf: str | Path | None = None) -> ClosedChain:
    """A mechanism from its YAML file and URDF.

    The YAML names `actuated` joints and `loops`; `passive`, `measured` (passive joints with an
    encoder), `joints` (drive data), `urdf`, `gravity`, `home` and `excitation` are optional. Where `passive` is given, moving joints of the
    URDF that are in neither list are held at zero, so that one leg can be taken from a whole robot.

    Args:
        loops: The YAML file, or the name of a reference robot with loops ("own-leg").
        urdf: The URDF (file, text or name, also "own-leg"); default: the file that the YAML names.

    Raises:
        ModelError: The file is damaged, or names joints or links that the robot doesn't have.
    """
    path = _reference_loops().get(str(loops), Path(loops))
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as err:
        raise ModelError(
            f"Can't read the loops file '{path}': {err}.",
            remedy="Give a YAML file as in docs/closed_chains.md, or one of:"
            f" {', '.join(_reference_loops())}.",
        ) from err
    if not isinstance(raw, dict) or not isinstance(raw.get("actuated"), list):
        raise ModelError(
            f"'{path}' is not a loops file: it has no list `actuated`.",
            remedy="It needs `actuated: [joints…]` and `loops: […]`; see docs/closed_chains.md.",
        )
    _refuse_typing_errors(raw, _TOP_KEYS, str(path))
    if urdf is None:
        source: str | Path = path.parent / str(_need(raw, "urdf", str(path)))
    else:
        loops_beside = _reference_loops().get(str(urdf))
        source = loops_beside.with_suffix(".urdf") if loops_beside else urdf
    model = _load_model(urdf_text(source), raw)
    return closed_chain_from_mapping(raw, model)


def closed_chain_from_mapping(raw: Mapping[str, Any], model: RobotModel) -> ClosedChain:
    """A mechanism from the content of a loops file and a robot.

    Raises:
        ModelError: An entry is missing or names what the robot doesn't have.
    """
    actuated = _names(raw, "actuated")
    passive = _names(raw, "passive")
    joints = _mapping(raw, "joints")
    both = sorted(set(actuated) & set(passive))
    if both:
        raise ModelError(
            f"Joints {both} are named as actuated and as passive.", remedy="Keep one of the two."
        )
    unknown = [j for j in (*actuated, *passive, *joints) if j not in model.joint_names]
    if unknown:
        raise ModelError(
            f"The loops file names joints {sorted(set(unknown))} that '{model.name}' doesn't have.",
            remedy=f"Moving joints of the URDF: {', '.join(model.joint_names)}.",
            unknown=unknown,
        )
    home = np.zeros(model.nv)
    for joint, value in _mapping(raw, "home").items():
        if joint not in model.joint_names:
            raise ModelError(f"`home` names '{joint}', which is no joint of '{model.name}'.")
        home[model.joint_names.index(joint)] = _number(value, f"home of '{joint}'")
    chain = ClosedChain(
        model=model,
        loops=tuple(_loop(entry) for entry in _list(raw, "loops")),
        actuated=actuated,
        drives={joint: _drive(joint, entry or {}) for joint, entry in joints.items()},
        home=home,
        box=_motion_box(raw, actuated),
        measured=_names(raw, "measured"),
    )
    _ = chain.attachments  # names a link that isn't there now rather than later
    return chain


def save_closed_chain(
    chain: ClosedChain, path: str | Path, urdf: str, notes: Sequence[str] = ()
) -> None:
    """Write the loops file of a mechanism.

    Args:
        chain: The mechanism.
        path: The YAML file.
        urdf: Name of the URDF file, relative to the YAML.
        notes: Comment lines at its top.
    """
    head = "".join(f"# {note}\n" for note in notes)
    assert chain.home is not None  # set by ClosedChain itself
    home = dict(zip(chain.model.joint_names, chain.home.tolist(), strict=True))
    raw: dict[str, Any] = {
        "robot": chain.name,
        "urdf": urdf,
        "gravity": chain.model.gravity.tolist(),
        "actuated": list(chain.actuated),
        "passive": list(chain.passive),
        "measured": list(chain.measured),
        "home": {joint: value for joint, value in home.items() if value != 0.0},
        "joints": {
            joint: {
                keys[0]: float(getattr(drive, field))
                for field, keys in _DRIVE_KEYS.items()
                if np.isfinite(getattr(drive, field))
            }
            for joint, drive in chain.drives.items()
        },
        "loops": [_loop_entry(loop) for loop in chain.loops],
    }
    if chain.box is not None:
        raw["excitation"] = [
            {
                "name": name,
                "joints": {j: float(x) for j, x in zip(chain.actuated, column, strict=True) if x},
                "half": float(half),
            }
            for name, column, half in zip(
                chain.box.names, chain.box.directions.T, chain.box.half, strict=True
            )
        ]
        raw["excitation_center"] = dict(
            zip(chain.actuated, (float(x) for x in chain.box.center), strict=True)
        )
    Path(path).write_text(head + yaml.safe_dump(raw, sort_keys=False, width=100), encoding="utf-8")


def _reference_loops() -> dict[str, Path]:
    """Reference robots that are URDFs with a loops file beside them."""
    files = {name: path.with_suffix(".yaml") for name, path in reference_robots().items()}
    urdfs = {name for name, path in reference_robots().items() if path.suffix == ".urdf"}
    return {name: path for name, path in files.items() if name in urdfs and path.is_file()}


def _load_model(text: str, raw: Mapping[str, Any]) -> RobotModel:
    given = raw.get("gravity")
    gravity = STANDARD_GRAVITY if given is None else _numbers(given, 3, "gravity")
    whole = RobotModel.from_urdf(text, gravity=gravity)
    listed = {*raw["actuated"], *(raw.get("passive") or ())}
    others = set(whole.joint_names) - listed if raw.get("passive") else set()
    if not others or not listed <= set(whole.joint_names):
        return whole
    part = RobotModel.from_urdf(_with_fixed_joints(text, others), gravity=gravity)
    return dataclasses.replace(part, urdf_hash=whole.urdf_hash, urdf_xml=whole.urdf_xml)


def _with_fixed_joints(text: str, joints: set[str]) -> str:
    root = ET.fromstring(text)
    for joint in root.iter("joint"):
        if joint.get("name") in joints:
            joint.set("type", "fixed")
    return ET.tostring(root, encoding="unicode")


def _need(entry: Mapping[str, Any], key: str, where: str) -> Any:
    if not isinstance(entry, Mapping) or key not in entry:
        raise ModelError(f"'{where}' has no `{key}`.", remedy="See docs/closed_chains.md.")
    return entry[key]


def _list(raw: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = raw.get(key)
    if value is not None and not isinstance(value, list | tuple):
        raise ModelError(f"`{key}` is no list: {value!r}.", remedy=f"Write `{key}: [..., ...]`.")
    return value or ()


def _names(raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(str(name) for name in _list(raw, key))


def _mapping(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key) or {}
    if not isinstance(value, Mapping):
        raise ModelError(f"`{key}` is {value!r}.", remedy=f"Write `{key}: {{joint: …}}`.")
    return value


def _number(value: Any, what: str) -> float:
    return float(_numbers([value], 1, what)[0])


def _numbers(values: Any, n: int, what: str) -> Array:
    try:
        out = np.array(values, dtype=float)
    except (TypeError, ValueError):
        out = np.full(1, np.nan)
    if out.shape != (n,) or not np.all(np.isfinite(out)):
        wanted = "one finite number" if n == 1 else f"{n} finite numbers"
        shown = values[0] if n == 1 and isinstance(values, list) else values
        raise ModelError(f"The {what} is {shown!r}.", remedy=f"Give {wanted}, in SI units.")
    return out


def _refuse_typing_errors(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """Files may hold more than is read, but nothing that looks like what is read."""
    for key in given:
        close = difflib.get_close_matches(str(key), known, 1, 0.85)
        if close and key not in known:
            raise ModelError(f"`{key}` in '{where}' means nothing.", remedy=f"Write `{close[0]}`?")


def _loop(entry: Mapping[str, Any]) -> Loop:
    name = str(_need(entry, "name", "an entry of `loops`"))
    kind = str(entry.get("type", "point"))
    length = 0.0
    if kind == "rod":
        length = _number(_need(entry, "length", name), f"length of '{name}'")
    a, b = (_loop_end(_need(entry, side, name), name) for side in ("a", "b"))
    return Loop(name, kind, a, b, length)


def _loop_end(entry: Mapping[str, Any], loop: str) -> LoopEnd:
    key = "frame" if isinstance(entry, Mapping) and "frame" in entry else "link"
    link = str(_need(entry, key, loop))
    xyz, rpy = (
        _numbers(entry.get(key, np.zeros(3)), 3, f"`{key}` of '{loop}' on '{link}'")
        for key in ("xyz", "rpy")
    )
    return LoopEnd(link, xyz, pin.rpy.rpyToMatrix(*rpy))


def _loop_entry(loop: Loop) -> dict[str, Any]:
    def end(side: LoopEnd) -> dict[str, Any]:
        out: dict[str, Any] = {"link": side.link, "xyz": side.xyz.tolist()}
        if loop.kind == "weld":
            out["rpy"] = np.asarray(pin.rpy.matrixToRpy(side.R)).tolist()
        return out

    entry: dict[str, Any] = {"name": loop.name, "type": loop.kind}
    if loop.kind == "rod":
        entry["length"] = loop.length
    return {**entry, "a": end(loop.a), "b": end(loop.b)}


def _drive(joint: str, entry: Mapping[str, Any]) -> JointDrive:
    if not isinstance(entry, Mapping):
        raise ModelError(
            f"The entry of joint '{joint}' is {entry!r}.",
            remedy="Write `{friction: 0.6, damping: 0.9, armature: 0.11, torque_limit: 180}`.",
        )
    _refuse_typing_errors(entry, sum(_DRIVE_KEYS.values(), ()), joint)
    values: dict[str, float] = {}
    for field, keys in _DRIVE_KEYS.items():
        given = [(key, entry[key]) for key in keys if entry.get(key) is not None]
        if given:
            values[field] = _number(given[0][1], f"`{given[0][0]}` of joint '{joint}'")
    negative = [key for key in ("F_c", "F_v", "I_a") if values.get(key, 0.0) < 0.0]
    if negative:
        raise ModelError(f"Joint '{joint}' has a negative {', '.join(negative)}.")
    if not values.get("torque_limit", 1.0) > 0.0:
        raise ModelError(
            f"Joint '{joint}' has a torque limit of {values['torque_limit']:g} N m.",
            remedy="Give a positive `torque_limit`, or none.",
        )
    return JointDrive(**values)


def _motion_box(raw: Mapping[str, Any], actuated: tuple[str, ...]) -> MotionBox | None:
    entries = raw.get("excitation")
    if not entries:
        return None
    if isinstance(entries, Mapping):  # a plain box: middle and half range of every actuated joint
        mid, half = (np.array(_need(entries, key, "excitation"), float) for key in ("mid", "half"))
        if mid.shape != (len(actuated),) or half.shape != (len(actuated),):
            raise ModelError(f"`excitation` needs {len(actuated)} entries in `mid` and `half`.")
        return MotionBox(actuated, mid, np.eye(len(actuated)), half)
    given = _mapping(raw, "excitation_center")
    unknown = [joint for joint in given if joint not in actuated]
    if unknown:
        raise ModelError(f"`excitation_center` names {unknown}, which are not actuated.")
    center = np.array([_number(given.get(j, 0.0), f"excitation_center of '{j}'") for j in actuated])
    if not isinstance(entries, list | tuple) or len(entries) != len(actuated):
        raise ModelError(
            f"`excitation` must list {len(actuated)} coordinates, one per actuated joint.",
            remedy="Each has a `name`, `joints: {joint: share}` and `half`.",
        )
    directions = np.zeros((len(actuated), len(actuated)))
    for i, entry in enumerate(entries):
        _need(entry, "joints", "excitation")
        for joint, share in _mapping(entry, "joints").items():
            if joint not in actuated:
                raise ModelError(f"`excitation` names '{joint}', which is not actuated.")
            directions[actuated.index(joint), i] = _number(share, f"share of '{joint}'")
    if np.linalg.matrix_rank(directions) < len(actuated):
        raise ModelError("The coordinates of `excitation` don't move all actuated joints.")
    return MotionBox(
        names=tuple(str(entry.get("name", i)) for i, entry in enumerate(entries)),
        center=center,
        directions=directions,
        half=np.array(
            [_number(_need(e, "half", "excitation"), "`half` of excitation") for e in entries]
        ),
    )
