# SPDX-License-Identifier: Apache-2.0
"""Joints tied by linear laws: mimic joints and parallelograms."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_core.errors import ModelError
from sysid_core.estimation.arm import ArmEquations, Processing
from sysid_core.estimation.fit import ConsistentLeastSquares
from sysid_core.robot import DriveTrain, FrictionModel, RobotModel
from sysid_core.robot.loops import ClosedChain, Coupling, DrivenRobot, load_closed_chain
from sysid_core.robot.loops.file import chain_of_mimic_joints, closed_chain_from_mapping
from sysid_core.signals import EffortKind, JointStream, Recording
from sysid_core.simulation import ClosedChainPlant

_LINK = """<link name="{name}"><inertial><origin xyz="{x} 0 {z}"/><mass value="{mass}"/>
<inertia ixx="0.05" iyy="0.06" izz="0.03" ixy="0.002" ixz="0" iyz="0.001"/></inertial></link>"""
_JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" effort="99"/>
{mimic}</joint>"""


def palletiser() -> str:
    """Shoulder and elbow with motors, and a wrist that rods keep upright: q1 + q2 + q3 = 0.

    `toe` follows the elbow, `q = 0.5 q2 + 0.1`, as its URDF says.
    """
    parts = [
        _LINK.format(name=n, x=x, z=z, mass=m)
        for n, x, z, m in (
            ("base", 0, 0, 5),
            ("upper", 0.2, 0.01, 4),
            ("fore", 0.15, 0.02, 3),
            ("hand", 0.05, -0.03, 2),
            ("toe_link", 0.04, 0.05, 1),
        )
    ]
    for name, parent, child, x, mimic in (
        ("q1", "base", "upper", 0, ""),
        ("q2", "upper", "fore", 0.4, ""),
        ("q3", "fore", "hand", 0.35, ""),
        ("toe", "hand", "toe_link", 0.1, '<mimic joint="q2" multiplier="0.5" offset="0.1"/>'),
    ):
        parts.append(_JOINT.format(name=name, parent=parent, child=child, x=x, mimic=mimic))
    return f'<robot name="palletiser">{"".join(parts)}</robot>'


@pytest.fixture(scope="module")
def chain() -> ClosedChain:
    model = RobotModel.from_urdf(palletiser())
    return ClosedChain(
        model,
        actuated=("q1", "q2"),
        couplings=(
            Coupling("upright", {"q1": 1.0, "q2": 1.0, "q3": 1.0}),
            Coupling("toe_follows", {"toe": 1.0, "q2": -0.5}, 0.1),
        ),
    )


A = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.0, 0.5]])  # q = A q_a + B
B = np.array([0.0, 0.0, 0.0, 0.1])


def test_coupled_joints_follow_and_their_torques_come_to_the_drives(chain):
    rng = np.random.default_rng(0)
    q_a, v_a, a_a = rng.normal(size=(3, 40, 2))
    motion = chain.motion(q_a, v_a, a_a, ordered=False)
    np.testing.assert_allclose(motion.q, q_a @ A.T + B, atol=1e-12)
    np.testing.assert_allclose(motion.v, v_a @ A.T, atol=1e-12)
    np.testing.assert_allclose(motion.a, a_a @ A.T, atol=1e-12)
    Y = chain.model.torque_regressor(q_a @ A.T + B, v_a @ A.T, a_a @ A.T)
    wanted = np.einsum("ji,kjp,p->ki", A, Y, chain.model.pi.ravel())  # A^T Y pi
    np.testing.assert_allclose(chain.torques(motion), wanted, atol=1e-11)


def test_mujoco_moves_coupled_joints_alike(chain):
    plant = ClosedChainPlant(chain, substeps=10)
    plant.reset(chain.assemble([[0.3, -0.4]])[0])
    for _ in range(50):
        plant.step(np.array([3.0, -2.0]))
    assert np.max(np.abs(chain.loop_residual(plant.q))) < 1e-4


def test_mimic_joints_of_the_urdf_are_couplings(chain):
    model = RobotModel.from_urdf(palletiser())
    found = chain_of_mimic_joints(model)
    assert found.actuated == ("q1", "q2", "q3") and found.passive == ("toe",)
    assert dict(found.couplings[0].joints) == {"toe": 1.0, "q2": -0.5}
    assert found.couplings[0].offset == 0.1
    assert load_closed_chain("mimic", palletiser()).passive == ("toe",)
    with pytest.raises(ModelError, match="no mimic joints"):
        chain_of_mimic_joints(RobotModel.from_urdf("ur5"))


def test_an_arm_with_a_parallelogram_is_identified(chain):
    t = np.arange(0.0, 8.0, 0.01)
    w = np.array([1.3, 3.1, 5.3])
    rng = np.random.default_rng(1)
    s, c = rng.normal(size=(2, 3, 2)) * 0.4
    x, y = np.sin(t[:, None] * w), np.cos(t[:, None] * w)
    q, v, a = x @ s + y @ c, (y * w) @ s - (x * w) @ c, -((x * w**2) @ s) - (y * w**2) @ c
    true = chain.with_model(
        chain.model.with_pi(chain.model.pi * rng.uniform(0.8, 1.2, (chain.model.n_bodies, 1)))
    )
    tau = true.torques(true.motion(q, v, a))
    tau = tau + 0.01 * rng.normal(size=tau.shape)
    stream = JointStream(
        chain.actuated, np.round(t * 1e9).astype(np.int64), q, v, None, tau, EffortKind.LINK_TORQUE
    )
    friction = FrictionModel(DriveTrain.direct(chain.actuated))
    recordings = [Recording(stream, source="simulated")]
    equations = ArmEquations.build(DrivenRobot.of(chain), recordings, friction, Processing())
    regression = equations.regression(equations.prior)
    estimate, base = ConsistentLeastSquares().fit(regression), regression.base
    values = base.base_values(np.append(true.model.pi.ravel(), np.zeros(len(base.names) - 40)))
    assert estimate.rank == estimate.structural_rank
    found = estimate.measured or estimate
    # Of 15, as one draw of noise has it: 12 at least in 99 of 100.
    assert np.mean(np.abs(found.values - values) < 2.0 * found.standard_deviations) >= 0.8


@pytest.mark.parametrize(
    ("joints", "words"),
    [({"q1": 1.0}, "doesn't tie two"), ({"q1": 1.0, "q9": 2.0}, "q9"), ({"q1": 1, "q2": 0}, "two")],
)
def test_couplings_that_tie_nothing_are_refused(chain, joints, words):
    raw = {
        "actuated": ["q1", "q2", "toe"],
        "couplings": [{"name": "bad", "joints": joints}],
    }
    with pytest.raises(ModelError, match=words):
        closed_chain_from_mapping(raw, chain.model)
