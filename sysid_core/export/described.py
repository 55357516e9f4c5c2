# SPDX-License-Identifier: Apache-2.0
"""File `identified.urdf`: the description of an identified robot, with its prediction error as a
URDF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_core.estimation.arm import Identification
from sysid_core.export.judged import ExportedError, judge_export
from sysid_core.export.projection import projections
from sysid_core.export.targets import Target
from sysid_core.export.urdf import UrdfReader, remarks_on, urdf_of
from sysid_core.robot import is_physically_consistent
from sysid_core.robot.loops import DrivenRobot
from sysid_core.signals import Recording
from sysid_core.validation import Prediction


@dataclass(frozen=True)
class Description:
    """URDF of the identified robot, and its prediction errors.

    Attributes:
        xml: The text.
        error: Held-out errors inside and as exported.
    """

    xml: str
    error: ExportedError


def describe(
    identification: Identification,
    fitted: Sequence[Recording],
    judged: Sequence[Recording],
    predictions: Sequence[Prediction],
    *,
    held_out: bool,
) -> Description | None:
    """Write the identified robot as a URDF; None if the robot has no URDF, or if simulators would
    refuse the identified bodies.

    Args:
        identification: The result.
        fitted: Runs of the fit, over which friction is projected.
        judged: Runs by which both are judged.
        predictions: Predictions of these runs by the identified robot, one for each.
        held_out: Whether they weren't fitted.
    """
    model = identification.model
    if isinstance(model, DrivenRobot):  # a URDF has no loops
        return None
    if not (model.urdf_xml and np.all(is_physically_consistent(identification.pi))):
        return None
    in_terms = projections(identification, fitted, Target.URDF)
    xml = urdf_of(in_terms.robot, remarks_on(identification))
    reader = UrdfReader(xml, model.joint_names, model.gravity)
    error = judge_export(
        identification,
        Target.URDF,
        reader.torques,
        judged,
        predictions,
        held_out=held_out,
        projections=in_terms,
    )
    return Description(xml, error)
