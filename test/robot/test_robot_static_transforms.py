# SPDX-License-Identifier: Apache-2.0
"""Frames of `tf_static` on a robot: where a sensor is that the description lacks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sysid_core.errors import ModelError, SignalError
from sysid_core.robot import RobotModel, StaticTransform
from sysid_core.signals.wrench import SensorFrame

ADAPTER = StaticTransform("panda_link8", "adapter", (0.0, 0.0, 0.02), (0.0, 0.0, 0.0, 1.0))
TURN = Rotation.from_euler("xyz", [0.3, -0.2, 1.1])
SENSOR = StaticTransform("adapter", "ft", (0.01, 0.02, 0.05), tuple(TURN.as_quat()))


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf("panda")


def placement(model: RobotModel, frame: str) -> np.ndarray:
    return model.pin_model.frames[model.frame_id(frame)].placement.homogeneous


def test_a_chain_of_transforms_in_any_order_is_a_mounting(panda: RobotModel) -> None:
    by_tf = panda.with_static_transforms([SENSOR, ADAPTER])
    pose = [0.01, 0.02, 0.07, *TURN.as_euler("xyz")]  # URDF's rpy turns about fixed axes
    by_hand = panda.with_frame("ft", "panda_link8", pose)
    np.testing.assert_allclose(placement(by_tf, "ft"), placement(by_hand, "ft"), atol=1e-12)


def test_the_descriptions_own_frames_and_strangers_change_nothing(panda: RobotModel) -> None:
    moved = StaticTransform("panda_link0", "panda_link8", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    camera = StaticTransform("world", "camera", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    one = StaticTransform("a", "b", (0.0,) * 3, (0.0, 0.0, 0.0, 1.0))
    other = StaticTransform("b", "a", (0.0,) * 3, (0.0, 0.0, 0.0, 1.0))
    assert panda.with_static_transforms([moved, camera, one, other]) is panda


@pytest.mark.parametrize(
    ("translation", "rotation", "words"),
    [
        ((0.0, float("nan"), 0.0), (0.0, 0.0, 0.0, 1.0), "seven finite"),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), "unit quaternion"),
        ((0.0, 0.0, 0.0), (1e308,) * 4, "unit quaternion"),
    ],
)
def test_what_is_no_rigid_transform_is_refused(translation, rotation, words) -> None:
    vector = SimpleNamespace(**dict(zip("xyz", translation, strict=True)))
    quaternion = SimpleNamespace(**dict(zip("xyzw", rotation, strict=True)))
    stamped = SimpleNamespace(
        header=SimpleNamespace(frame_id="/panda_link8"),
        child_frame_id="ft",
        transform=SimpleNamespace(translation=vector, rotation=quaternion),
    )
    with pytest.raises(ModelError, match=words), np.errstate(over="ignore"):
        StaticTransform.of(stamped)


def test_the_sensor_is_where_the_description_the_user_or_tf_says(panda: RobotModel) -> None:
    assert SensorFrame.mounted(panda, "panda_link8", [ADAPTER, SENSOR]).remark == ""
    by_tf = SensorFrame.mounted(panda, "ft", [ADAPTER, SENSOR])
    assert by_tf.remark == "Sensor frame 'ft' is fixed to 'adapter', according to tf_static."
    by_user = SensorFrame.mounted(panda, "ft", [ADAPTER, SENSOR], parent="panda_link7")
    assert by_user.remark == "" and np.allclose(
        placement(by_user.model, "ft"), placement(panda, "panda_link7")
    )
    with pytest.raises(ModelError, match="tf_static contains no fixed transform from it"):
        SensorFrame.mounted(panda, "ft", [SENSOR])
    assert by_tf.check("ft") == ""
    with pytest.raises(SignalError, match="a link with another pose"):
        by_tf.check("adapter")
