# SPDX-License-Identifier: Apache-2.0
"""Export to URDF: inertias, `<dynamics friction damping>`, and a reader."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np

from sysid_core.estimation.arm import Identification
from sysid_core.export.projection import Projection
from sysid_core.export.read_back import ReadTree
from sysid_core.robot import Array, RobotModel, identified_urdf


def remarks_on(result: Identification) -> dict[str, str]:
    """Comments for each link of a URDF: which parameters were identified, and which were kept."""
    estimate = result.estimate
    known = {
        name: f"{value:.4g} +- {sd:.2g} {unit}"
        for name, value, sd, unit in zip(
            estimate.names,
            estimate.values,
            estimate.standard_deviations,
            estimate.units,
            strict=True,
        )
        if np.isfinite(sd)
    }
    out = {}
    for body in result.model.body_names:
        own = [name for name in result.names if name.startswith(f"{body}.")]
        measured = [f"{name.rsplit('.', 1)[1]} {known[name]}" for name in own if name in known]
        open_ = [name.rsplit(".", 1)[1] for name in own if name not in known]
        parts = [f"measured alone: {', '.join(measured)}"] if measured else []
        if open_:
            parts.append(
                f"only in combination with others, with the URDF's share: {', '.join(open_)}"
            )
        out[body] = f"{estimate.method}, about the link's frame; {'; '.join(parts)}"
    return out


def urdf_of(projection: Projection, remarks: Mapping[str, str] | None = None) -> str:
    """URDF of the robot with the identified bodies and the projected friction.

    Args:
        projection: The robot in the terms of a URDF.
        remarks: Link to what is said of its values in a comment.

    Raises:
        ModelError: No URDF behind the model, or parameters that no body can have.
    """
    names = projection.model.joint_names
    return identified_urdf(
        projection.model,
        projection.model.pi,
        coulomb=dict(zip(names, projection.of("F_c").tolist(), strict=True)),
        viscous=dict(zip(names, projection.of("F_v").tolist(), strict=True)),
        remarks=remarks,
    )


class UrdfReader(ReadTree):
    """Torques of a URDF file as simulators compute them: rigid bodies and joint friction.

    Args:
        text: The XML.
        joint_names: Order of the joint arrays, n of them; other joints stand at zero.
        gravity: In the base frame, shape (3,) [m/s^2].
    """

    def __init__(self, text: str, joint_names: tuple[str, ...], gravity: Array) -> None:
        model = RobotModel.from_urdf(text, gravity=gravity)
        model = model.with_locked([n for n in model.joint_names if n not in joint_names])
        dynamics = {j.get("name"): j.find("dynamics") for j in ET.fromstring(text).findall("joint")}

        def attribute(name: str) -> Array:
            found = [dynamics.get(joint) for joint in joint_names]
            return np.array([0.0 if d is None else float(d.get(name, "0")) for d in found])

        super().__init__(model, joint_names, attribute("friction"), attribute("damping"))
