# SPDX-License-Identifier: Apache-2.0
"""Every URDF of example-robot-data: the structural count against a sampled regressor."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_core.errors import IdentifiabilityError, ModelError
from sysid_core.identifiability.rpna import (
    structural_identifiability,
)
from sysid_core.robot import RobotModel, example_robots
from sysid_studies.cheetah3 import coupling_matrix

FILES = {path: name for name, path in example_robots().items()}
WITH_MIMIC = {path: name for path, name in FILES.items() if "<mimic" in path.read_text()}


def sampled_rank(model, rng, coupled=False):
    """Rank and gap of the regressor at random states, on the coupled motions if asked."""
    pin_model = model.pin_model
    G = coupling_matrix(model) if coupled else np.eye(model.nv)
    K = -(-15 * model.n_bodies // G.shape[1]) + 10
    displacement = rng.uniform(-1.5, 1.5, (K, G.shape[1])) @ G.T
    if coupled:
        for mimic in model.mimic_joints:
            joint = pin_model.joints[pin_model.getJointId(mimic.joint)]
            displacement[:, joint.idx_v] += mimic.offset
    q = [pin.integrate(pin_model, pin.neutral(pin_model), d) for d in displacement]
    v, a = (scale * rng.normal(size=(K, G.shape[1])) @ G.T for scale in (2.0, 5.0))
    Y = G.T @ model.torque_regressor(np.array(q), v, a)
    Y = Y.reshape(-1, Y.shape[-1])
    scale = np.linalg.norm(Y, axis=0)
    seen = scale > 1e-12 * scale.max()
    s = np.linalg.svd(np.linalg.qr(Y[:, seen] / scale[seen], mode="r"), compute_uv=False)
    rank = int(np.count_nonzero(s > 1e-10 * s[0]))
    return rank, s[rank - 1] / s[rank] if rank < len(s) else np.inf


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=FILES.values())
def test_count_of_an_example_robot_is_its_sampled_rank_fixed_and_floating(path, rng):
    for floating in (False, True):
        try:
            model = RobotModel.from_urdf(path, floating_base=floating)
        except ModelError as err:
            assert not floating  # a single body without a joint
            assert "no moving joint" in err.message
            continue
        answer = structural_identifiability(model)
        rank, gap = sampled_rank(model, rng)

        assert answer.n_base == rank
        assert gap > 1e5
        assert answer.floating_base == floating or model.joint_names[0] == "root_joint"


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_MIMIC, ids=WITH_MIMIC.values())
def test_coupled_mimic_joints_are_one_coordinate_or_refused_by_name(path, rng):
    model = RobotModel.from_urdf(path)
    try:
        answer = structural_identifiability(model, mimic="coupled")
    except IdentifiabilityError as err:
        assert "mimic" in err.message
        assert "independent" in err.remedy
        return
    rank, gap = sampled_rank(model, rng, coupled=True)

    assert answer.n_base == rank
    assert gap > 1e5


def test_example_robot_data_is_installed():
    assert len(FILES) > 50
