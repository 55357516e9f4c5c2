# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import pytest
from design_plans import QUICK

from sysid_core.planning import ArmPlan, MotionLimits
from sysid_core.planning.design import Unknowns
from sysid_core.robot import RobotModel


@pytest.fixture(scope="session")
def wrist() -> RobotModel:
    """The last three joints of a UR5: a small arm that plans quickly."""
    model = RobotModel.from_urdf("ur5")
    return model.with_locked(dict(zip(model.joint_names[:3], [0.0, -1.2, 1.2], strict=True)))


@pytest.fixture(scope="session")
def limits(wrist) -> MotionLimits:
    return MotionLimits.from_model(wrist, tcp_frame="tool0", ground_height=0.0)


@pytest.fixture(scope="session")
def unknowns(wrist) -> Unknowns:
    return Unknowns.of_arm(wrist)


@pytest.fixture(scope="session")
def plan(wrist, limits) -> ArmPlan:
    return ArmPlan.of(wrist, limits, seed=1, **QUICK)
